"""What the child process makes of a file, and what its limits and its hook stop."""

import os
import signal
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.pickles.child import convert
from bertviewer.core.util.errors import UserError
from tests.core.pickles.bad_pickles import Call
from tests.core.pickles.pickle_process import assert_equal, child, names_in, some_tensors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pytorch_model.bin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


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
        assert refusal(thing, file, out) == "it contains no named tensors"

    def test_what_safetensors_cannot_hold(self, file: Path, out: Path) -> None:
        what = "is a tensor of {}, which cannot be read"
        numbers = torch.zeros(2, dtype=torch.complex64)
        assert refusal({"a": numbers}, file, out) == f"'a' {what.format('complex64')}"
        sparse = torch.eye(2).to_sparse()
        assert refusal({"a": sparse}, file, out) == f"'a' {what.format('sparse_coo')}"
        assert refusal({3: torch.ones(2)}, file, out) == "it contains a tensor without a valid name"

    def test_a_tensor_that_is_larger_than_its_file(self, file: Path, out: Path) -> None:
        # One number, seen as 800 GB of them.
        huge = {"a": torch.zeros(1).expand(10**5, 2 * 10**6)}
        assert refusal(huge, file, out) == "its tensors claim to be larger than the file"

    @pytest.mark.parametrize("thing", [torch.nn.Linear(2, 2), Call(os.system, "exit 0")])
    def test_torchs_advice_is_not_repeated(self, file: Path, out: Path, thing: Any) -> None:
        said = refusal({"a": thing}, file, out)
        assert said == "truncated or corrupt (UnpicklingError)"

    def test_numbers_missing(self, file: Path, out: Path) -> None:
        torch.save(some_tensors(), file, _use_new_zipfile_serialization=False)
        file.write_bytes(file.read_bytes()[:-20])
        with pytest.raises(UserError, match=r"pytorch_model\.bin: truncated or corrupt \(\w+\)$"):
            convert(file, out / "x")


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
    assert told.startswith(
        f"{file}: refused: reading it tried to do something tensors never need ("
    )
    assert status == 2
    assert names_in(tmp_path) == [file.name]


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
def test_memory_is_capped(tmp_path: Path, file: Path) -> None:
    torch.save({"a": torch.ones(2)}, file)
    before = "import torch\ntorch.load = lambda *_, **__: {'a': torch.zeros(10**9)}\n"
    status, said = child(file, tmp_path / "x", before)
    assert (status, said) == (
        2,
        f"{file}: reading it takes far more memory than its size explains",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
def test_time_is_capped(tmp_path: Path, file: Path) -> None:
    torch.save({"a": torch.ones(2)}, file)
    before = (
        "import torch\nfrom bertviewer.core.pickles import child as pickle_child\n"
        "pickle_child.SECONDS = 1\n"
        "def spin(*_, **__):\n    while True: pass\n"
        "torch.load = spin\n"
    )
    status, _ = child(file, tmp_path / "x", before)
    assert status in (-signal.SIGXCPU, -signal.SIGKILL)
