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
from bertviewer.core.util.progress import Progress, no_progress


@pytest.fixture
def importing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the threads that import, each of which takes a moment."""
    names: list[str] = []

    def work() -> None:
        names.append(threading.current_thread().name)
        time.sleep(0.05)

    monkeypatch.setattr(libraries, "shared_import", Import(work))
    return names


def load_in_threads(count: int = 1, progress: Progress = no_progress) -> list[BaseException]:
    """Load in several threads at once, and return their errors."""
    errors: list[BaseException] = []

    def load() -> None:
        try:
            libraries.load(progress)
        except (ImportError, Cancelled) as error:
            errors.append(error)

    threads = [threading.Thread(target=load) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_the_main_thread_imports(importing: list[str]) -> None:
    libraries.load()
    libraries.load()
    assert importing == [threading.main_thread().name]
    assert libraries.are_loaded()


def test_one_thread_imports_for_several_workers(importing: list[str]) -> None:
    load_in_threads(8)
    assert importing == ["bertviewer-import"]
    assert not libraries.are_loading()


def test_a_cancelled_wait_does_not_stop_the_import(importing: list[str]) -> None:
    def cancel(done: int, total: int, label: str) -> None:
        raise Cancelled

    assert len(load_in_threads(progress=cancel)) == 1
    load_in_threads()
    assert importing == ["bertviewer-import"]


def test_a_failed_import_is_reported_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def fail() -> None:
        tries.append(1)
        raise ImportError("no torch")

    monkeypatch.setattr(libraries, "shared_import", Import(fail))
    errors = load_in_threads() + load_in_threads()
    assert [str(error) for error in errors] == ["no torch"] * 2
    assert len(tries) == 2
    assert libraries.are_settled()
    assert not libraries.are_loaded()


def test_a_failed_import_restores_the_interpreter() -> None:
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


@pytest.mark.skipif(sys.platform != "linux", reason="dlopen is used on Linux only")
def test_libtorch_is_loaded_before_torch_is_imported() -> None:
    code = """
import sys
from pathlib import Path
from bertviewer.core.util.libraries import background_import
def is_mapped():
    return "libtorch_cpu.so" in Path("/proc/self/maps").read_text()
print(is_mapped())
with background_import():
    print(is_mapped(), "torch" in sys.modules)
    import torch
print(torch.ones(2).sum().item())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "False", "2.0"], done.stderr


def test_pauses_of_the_garbage_collector_can_be_nested() -> None:
    assert gc.isenabled()
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        _ = 1 // 0
    assert gc.isenabled()
