"""torch and transformers are imported once, without blocking, and waiting can be cancelled."""

import gc
import subprocess
import sys
import threading
import time

import pytest

from bertviewer.core.util import libraries
from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.libraries import SWITCH_INTERVAL, Import, background_import
from bertviewer.core.util.memory import gc_paused


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the threads that import; each takes a moment for it."""
    names: list[str] = []

    def note() -> None:
        names.append(threading.current_thread().name)
        time.sleep(0.05)

    monkeypatch.setattr(libraries, "shared_import", Import(note))
    return names


def in_threads(count: int) -> None:
    threads = [threading.Thread(target=libraries.load) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_main_thread_imports_them_itself(imports: list[str]) -> None:
    libraries.load()
    libraries.load()
    assert imports == [threading.main_thread().name]
    assert libraries.are_loaded()


def test_of_several_workers_one_thread_imports(imports: list[str]) -> None:
    in_threads(8)
    assert imports == ["bertviewer-import"]
    assert not libraries.are_loading()


def test_waiting_can_be_stopped_and_the_import_goes_on(imports: list[str]) -> None:
    ends: list[type[BaseException]] = []

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    def wait() -> None:
        try:
            libraries.load(stop)
        except Cancelled as error:
            ends.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert ends == [Cancelled]
    in_threads(1)
    assert imports == ["bertviewer-import"]


def test_an_error_is_told_to_who_waits_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []
    failures: list[str] = []

    def fail() -> None:
        tries.append(1)
        raise ImportError("no torch")

    def wait() -> None:
        try:
            libraries.load()
        except ImportError as error:
            failures.append(str(error))

    monkeypatch.setattr(libraries, "shared_import", Import(fail))
    for _ in range(2):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert failures == ["no torch"] * 2
    assert len(tries) == 2
    assert libraries.are_settled()
    assert not libraries.are_loaded()


def test_everything_is_as_before_afterwards() -> None:
    before = sys.getswitchinterval()

    def fail() -> None:
        with background_import():
            assert not gc.isenabled()
            assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
            raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert gc.isenabled()
    assert sys.getswitchinterval() == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch loads its libraries itself")
def test_torchs_library_is_there_before_torch_is() -> None:
    code = """
import sys
from pathlib import Path
from bertviewer.core.util.libraries import background_import
def is_there():
    return "libtorch_cpu.so" in Path("/proc/self/maps").read_text()
print(is_there())
with background_import():
    print(is_there(), "torch" in sys.modules)
    import torch
print(torch.ones(2).sum().item())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "False", "2.0"], done.stderr


def test_the_search_is_off_meanwhile_and_on_again_whatever_happens() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        _ = 1 // 0
    assert gc.isenabled()
