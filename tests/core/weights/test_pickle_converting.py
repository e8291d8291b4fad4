"""The child process: what it writes, what it refuses, how it dies, and that it can be stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.app import main
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.weights import pickle_child, pickle_converting
from bertviewer.core.weights.finding import find_checkpoint
from bertviewer.core.weights.pickle_child import convert
from bertviewer.core.weights.pickle_converting import convert_pickle
from tests.core.weights.bad_pickles import Call

Tensors = dict[str, torch.Tensor]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pytorch_model.bin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def some_tensors() -> Tensors:
    values = torch.linspace(-3, 3, 24).reshape(4, 6)
    return {
        "h.weight": values,
        "half": values.half(),
        "brain": values.bfloat16(),
        "double": values.double(),
        "numbers": torch.arange(5),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "flags": values > 0,
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "special": torch.tensor([float("nan"), float("inf"), -0.0]),
    }


def assert_equal(found: Tensors, expected: Tensors) -> None:
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name].nan_to_num(7), tensor.nan_to_num(7)), name


def refusal(thing: Any, file: Path, out: Path) -> str:
    """Return what the child says of a file with ``thing`` in it, without its name."""
    torch.save(thing, file)
    with pytest.raises(UserError) as raised:
        convert(file, out / "x")
    return str(raised.value).removeprefix(f"{file}: ")


class TestConverting:
    """In this process: what the child does once it runs."""

    @pytest.mark.parametrize("is_zip", [True, False])
    def test_the_same_tensors(self, file: Path, out: Path, is_zip: bool) -> None:
        torch.save(some_tensors(), file, _use_new_zipfile_serialization=is_zip)
        convert(file, out / "x")
        assert_equal(load_file(out / "x"), some_tensors())

    def test_shared_and_strided_tensors(self, file: Path, out: Path) -> None:
        whole = torch.arange(12.0).reshape(3, 4)
        parts = {"turned": whole.T, "part": whole[1:, 2:], "flat": whole.view(12)}
        torch.save({"a": whole, "b": whole, **parts}, file)
        convert(file, out / "x")
        # The first of two names is kept; a part is not the same, though it shares the memory.
        assert_equal(load_file(out / "x"), {"a": whole, **parts})

    @pytest.mark.parametrize("key", ["state_dict", "model"])
    def test_a_checkpoint_of_training(self, file: Path, out: Path, key: str) -> None:
        inner = OrderedDict(a=torch.ones(2), b=torch.nn.Parameter(torch.zeros(3)))
        torch.save({"epoch": 3, key: inner, "best": None}, file)
        convert(file, out / "x")
        assert_equal(load_file(out / "x"), {"a": torch.ones(2), "b": torch.zeros(3)})

    @pytest.mark.parametrize("thing", [torch.ones(3), {}, {"step": 1}, [torch.ones(2)], None])
    def test_nothing_with_a_name(self, file: Path, out: Path, thing: Any) -> None:
        assert refusal(thing, file, out) == "there are no named tensors in it"

    def test_what_safetensors_cannot_hold(self, file: Path, out: Path) -> None:
        what = "is a tensor of {}, which cannot be read"
        numbers = torch.zeros(2, dtype=torch.complex64)
        assert refusal({"a": numbers}, file, out) == f"'a' {what.format('complex64')}"
        sparse = torch.eye(2).to_sparse()
        assert refusal({"a": sparse}, file, out) == f"'a' {what.format('sparse_coo')}"
        assert refusal({3: torch.ones(2)}, file, out) == "a tensor in it has no proper name"

    def test_a_tensor_that_is_larger_than_its_file(self, file: Path, out: Path) -> None:
        # One number, seen as 800 GB of them.
        huge = {"a": torch.zeros(1).expand(10**5, 2 * 10**6)}
        assert refusal(huge, file, out) == "its tensors claim to be larger than the file"

    @pytest.mark.parametrize("thing", [torch.nn.Linear(2, 2), Call(os.system, "exit 0")])
    def test_torchs_advice_is_not_repeated(self, file: Path, out: Path, thing: Any) -> None:
        said = refusal({"a": thing}, file, out)
        assert said == "cut off or damaged (UnpicklingError)"

    def test_numbers_missing(self, file: Path, out: Path) -> None:
        torch.save(some_tensors(), file, _use_new_zipfile_serialization=False)
        file.write_bytes(file.read_bytes()[:-20])
        with pytest.raises(UserError, match=r"pytorch_model\.bin: cut off or damaged \(\w+\)$"):
            convert(file, out / "x")


class TestProcess:
    """Through a real child."""

    def test_one_file(self, file: Path, out: Path) -> None:
        torch.save(some_tensors(), file)
        steps: list[tuple[int, int, str]] = []
        made = convert_pickle(file, out, lambda *step: steps.append(step))
        assert made == out
        assert names_in(out) == ["model.safetensors"]
        assert_equal(load_file(out / "model.safetensors"), some_tensors())
        assert all(0 <= done <= total == 1000 for done, total, _ in steps)
        assert {label for _, _, label in steps} == {
            "Reading pytorch_model.bin in a process of its own"
        }

    def test_too_large_for_the_memory(
        self, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.save(some_tensors(), file)
        monkeypatch.setattr(pickle_converting, "available_memory", lambda: 1000)
        with pytest.raises(UserError, match=r"reading it needs 0\.\d GB of memory, and only 0\.0"):
            convert_pickle(file, out)

    def test_several_files(self, tmp_path: Path, out: Path) -> None:
        names = {"a": "pytorch_model-2.bin", "b": "pytorch_model-1.bin"}
        for key, name in names.items():
            torch.save({key: torch.ones(2)}, tmp_path / name)
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": names}))
        found = find_checkpoint(convert_pickle(index, out))
        assert found is not None
        assert set(found.tensors) == {"a", "b"}
        assert len(found.files) == 2

    def test_a_malicious_file_runs_nothing(self, tmp_path: Path, file: Path, out: Path) -> None:
        marker = tmp_path / "marker"
        thing = {"a": torch.ones(2), "b": Call(os.system, f"touch {marker}")}
        for is_zip in (True, False):
            torch.save(thing, file, _use_new_zipfile_serialization=is_zip)
            with pytest.raises(UserError, match=r"refused: it asks for \w+\.system, which"):
                convert_pickle(file, out)
        # Nor where the first look is left out.
        status, said = child(file, out / "x")
        assert (status, said) == (2, f"{file}: cut off or damaged (UnpicklingError)")
        assert not marker.exists()
        assert names_in(out) == []

    def test_a_crash_is_one_line(self, file: Path, out: Path, dying: Callable[[str], None]) -> None:
        torch.save({"a": torch.ones(2)}, file)
        dying("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        with pytest.raises(UserError) as raised:
            convert_pickle(file, out)
        assert str(raised.value) == (
            f"{file}: reading it was stopped by the system (SIGKILL): too much memory or time"
        )
        dying("import os; os.abort()")
        with pytest.raises(UserError, match="the process that read it died; the details are in"):
            convert_pickle(file, out)
        # One that gives nothing, and one that gives nonsense.
        dying("")
        with pytest.raises(UserError, match="the process that read it died"):
            convert_pickle(file, out)
        dying("import sys; open(sys.argv[2], 'w').write('nonsense')")
        with pytest.raises(UserError, match="not a safetensors file"):
            convert_pickle(file, out)
        assert names_in(out) == []

    def test_cancelling_kills_it(self, file: Path, out: Path, dying: Callable[[str], None]) -> None:
        torch.save({"a": torch.ones(2)}, file)
        pids: list[int] = []
        dying(
            "import os, sys, time; open(sys.argv[2], 'w').write(str(os.getpid())); time.sleep(60)"
        )

        def progress(done: int, total: int, label: str) -> None:
            for started in out.iterdir():
                if text := started.read_text():
                    pids.append(int(text))
                    raise Cancelled

        began = time.monotonic()
        with pytest.raises(Cancelled):
            convert_pickle(file, out, progress)
        assert time.monotonic() - began < 20
        assert names_in(out) == []
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a program of the test's own in the child's place."""

    def use(code: str) -> None:
        monkeypatch.setattr(
            pickle_converting,
            "_command",
            lambda file, target: [sys.executable, "-c", code, str(file), str(target)],
        )

    return use


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def child(file: Path, target: Path, before: str = "") -> tuple[int, str]:
    """Run the child as the program runs it; return its exit status and what it says."""
    code = f"{before}\nimport sys\nfrom bertviewer.app import main\nsys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, pickle_child.ARGUMENT, str(file), str(target)],
        env=pickle_converting._environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_hook_stops_what_gets_past_torch(tmp_path: Path, file: Path) -> None:
    torch.save({"a": torch.ones(2)}, file)
    marker = str(tmp_path / "marker")
    attempts = {
        f"os.system('touch {marker}')": "os.system",
        f"open({marker!r}, 'w')": "open",
        f"os.open({marker!r}, os.O_CREAT)": "open",
        f"os.mkdir({marker!r})": "os.mkdir",
        f"os.rename({str(file)!r}, {marker!r})": "os.rename",
        f"os.posix_spawn('/bin/touch', ['touch', {marker!r}], {{}})": "os.posix_spawn",
        "os.fork()": "os.fork",
        "socket.socket()": "socket.__new__",
        "socket.getaddrinfo('localhost', 1)": "socket.getaddrinfo",
        f"subprocess.Popen(['touch', {marker!r}])": "subprocess.Popen",
        "pickle.loads(b'cos\\nsystem\\n.')": "pickle.find_class",
        "ctypes.CDLL(None)": "ctypes.dlopen",
    }
    # As if torch had been made to do it, one after the other.
    before = f"""
import ctypes, os, pickle, socket, subprocess, torch
def load(*_, **__):
    for attempt in {list(attempts)!r}:
        try:
            eval(attempt)
        except RuntimeError as error:
            print(error, flush=True)
            last = error
        else:
            print("done", flush=True)
    raise last
torch.load = load
"""
    status, said = child(file, tmp_path / "x", before)
    *stopped, told = said.splitlines()
    assert stopped == list(attempts.values())
    assert told.startswith(f"{file}: refused: reading it tried to do what tensors never need (")
    assert status == 2
    assert names_in(tmp_path) == [file.name]


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
def test_memory_is_capped(tmp_path: Path, file: Path) -> None:
    torch.save({"a": torch.ones(2)}, file)
    before = "import torch\ntorch.load = lambda *_, **__: {'a': torch.zeros(10**9)}\n"
    status, said = child(file, tmp_path / "x", before)
    assert (status, said) == (
        2,
        f"{file}: reading it takes far more memory than its size accounts for",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
def test_time_is_capped(tmp_path: Path, file: Path) -> None:
    torch.save({"a": torch.ones(2)}, file)
    before = (
        "import torch\nfrom bertviewer.core.weights import pickle_child\n"
        "pickle_child.SECONDS = 1\n"
        "def spin(*_, **__):\n    while True: pass\n"
        "torch.load = spin\n"
    )
    status, _ = child(file, tmp_path / "x", before)
    assert status in (-signal.SIGXCPU, -signal.SIGKILL)


def test_secrets_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert "hf_secret" not in str(pickle_converting._environment())


def test_a_bundle_calls_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/bertviewer/bertviewer")
    command = pickle_converting._command(tmp_path / "a", tmp_path / "b")
    assert command[:2] == ["/opt/bertviewer/bertviewer", pickle_child.ARGUMENT]
    called: list[list[str]] = []

    def converted(given: list[str]) -> int:
        called.append(given)
        return 0

    monkeypatch.setattr(pickle_child, "main", converted)
    assert main(command[1:]) == 0
    assert called == [[str(tmp_path / "a"), str(tmp_path / "b")]]
