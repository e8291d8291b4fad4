"""What the worker makes of a file; the helper process has its limits."""

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.pickles.worker import convert
from bertviewer.core.util.errors import UserError
from tests.core.pickles.bad_pickles import Call
from tests.core.pickles.some_tensors import assert_equal, some_tensors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pytorch_model.bin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def refusal(thing: Any, file: Path, out: Path) -> str:
    """Return the error message for a file with ``thing`` in it."""
    torch.save(thing, file)
    with pytest.raises(UserError) as raised:
        convert(str(file), str(out / "x"))
    return str(raised.value)


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_same_tensors(file: Path, out: Path, is_zip: bool) -> None:
    torch.save(some_tensors(), file, _use_new_zipfile_serialization=is_zip)
    convert(str(file), str(out / "x"))
    assert_equal(load_file(out / "x"), some_tensors())


def test_shared_and_strided_tensors(file: Path, out: Path) -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    parts = {"turned": whole.T, "part": whole[1:, 2:], "flat": whole.view(12)}
    torch.save({"a": whole, "b": whole, **parts}, file)
    convert(str(file), str(out / "x"))
    # The first of two names is kept; a part is not the same, though it shares the memory.
    assert_equal(load_file(out / "x"), {"a": whole, **parts})


@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_a_checkpoint_of_training(file: Path, out: Path, key: str) -> None:
    inner = OrderedDict(a=torch.ones(2), b=torch.nn.Parameter(torch.zeros(3)))
    torch.save({"epoch": 3, key: inner, "best": None}, file)
    convert(str(file), str(out / "x"))
    assert_equal(load_file(out / "x"), {"a": torch.ones(2), "b": torch.zeros(3)})


@pytest.mark.parametrize("thing", [torch.ones(3), {}, {"step": 1}, [torch.ones(2)], None])
def test_nothing_with_a_name(file: Path, out: Path, thing: Any) -> None:
    assert refusal(thing, file, out) == "it contains no named tensors"


def test_what_safetensors_cannot_hold(file: Path, out: Path) -> None:
    what = "is a tensor of {}, which cannot be read"
    numbers = torch.zeros(2, dtype=torch.complex64)
    assert refusal({"a": numbers}, file, out) == f"'a' {what.format('complex64')}"
    sparse = torch.eye(2).to_sparse()
    assert refusal({"a": sparse}, file, out) == f"'a' {what.format('sparse_coo')}"
    assert refusal({3: torch.ones(2)}, file, out) == "it contains a tensor without a valid name"


def test_a_tensor_that_is_larger_than_its_file(file: Path, out: Path) -> None:
    # One number, seen as 800 GB of them.
    huge = {"a": torch.zeros(1).expand(10**5, 2 * 10**6)}
    assert refusal(huge, file, out) == "its tensors claim to be larger than the file"


@pytest.mark.parametrize("thing", [torch.nn.Linear(2, 2), Call(os.system, "exit 0")])
def test_torchs_advice_is_not_repeated(file: Path, out: Path, thing: Any) -> None:
    said = refusal({"a": thing}, file, out)
    assert said == "truncated or corrupt (UnpicklingError)"


def test_numbers_missing(file: Path, out: Path) -> None:
    torch.save(some_tensors(), file, _use_new_zipfile_serialization=False)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"^truncated or corrupt \(\w+\)$"):
        convert(str(file), str(out / "x"))
