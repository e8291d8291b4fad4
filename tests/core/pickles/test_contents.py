"""What a pickle asks for is known without running it, and every bad one is told in its words."""

import os
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from bertviewer.core.pickles import contents as pickle_contents
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.util.errors import UserError
from tests.core.checkpoints.bad_safetensors import BadFile
from tests.core.pickles.bad_pickles import BAD_PICKLES, Call, program, zipped

TENSORS = ("collections.OrderedDict", "torch.FloatStorage", "torch._utils._rebuild_tensor_v2")


def said_of(file: Path) -> str:
    """Return what is said of a file that is not read, and nothing for one that may be."""
    try:
        return read_contents(file).refusal
    except UserError as error:
        return str(error)


@pytest.mark.parametrize("bad", BAD_PICKLES, ids=lambda bad: bad.name)
def test_every_bad_file_in_its_own_words(bad: BadFile, tmp_path: Path) -> None:
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(bad.content)
    assert said_of(file) == f"{file}: {bad.message}"


@pytest.mark.parametrize("is_zip", [True, False])
def test_tensors_ask_for_little(is_zip: bool, tmp_path: Path) -> None:
    file = tmp_path / "pytorch_model.bin"
    weights = OrderedDict(a=torch.zeros(2, 3), b=torch.nn.Parameter(torch.ones(4)))
    torch.save(weights, file, _use_new_zipfile_serialization=is_zip)
    found = read_contents(file)
    assert (found.refusal, found.unsafe_globals, found.unsafe_opcodes) == ("", (), ())
    assert set(TENSORS) <= set(found.globals)
    assert found.nbytes == file.stat().st_size


@pytest.mark.parametrize(
    "dtype",
    ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
     "bool", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"],
)  # fmt: skip
def test_every_dtype_that_can_be_read_is_allowed(dtype: str, tmp_path: Path) -> None:
    file = tmp_path / "pytorch_model.bin"
    torch.save({"a": torch.zeros(3).to(getattr(torch, dtype))}, file)
    assert read_contents(file).refusal == ""


@pytest.mark.parametrize(
    ("thing", "asked"),
    [
        (torch.nn.Linear(2, 2), "torch.nn.modules.linear.Linear"),
        (torch.zeros(3, dtype=torch.complex64), "torch.ComplexFloatStorage"),
        (torch.eye(3).to_sparse(), "torch._utils._rebuild_sparse_tensor"),
    ],
)
def test_what_is_more_than_a_tensor_is_named(thing: object, asked: str, tmp_path: Path) -> None:
    file = tmp_path / "pytorch_model.bin"
    torch.save({"a": thing}, file)
    assert asked in read_contents(file).unsafe_globals


def test_looking_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    file = tmp_path / "pytorch_model.bin"
    for is_zip in (True, False):
        thing = {"a": torch.zeros(2), "b": Call(os.system, f"touch {marker}")}
        torch.save(thing, file, _use_new_zipfile_serialization=is_zip)
        assert read_contents(file).unsafe_globals == (f"{os.system.__module__}.system",)
    assert not marker.exists()
    # It would have run.
    os.system(f"touch {marker}")
    assert marker.exists()


def test_a_program_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_contents, "MAX_OPCODES", 1000)
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(zipped(("archive/data.pkl", program([None] * 2000))))
    assert said_of(file) == f"{file}: it lists too many tensors"
    monkeypatch.setattr(pickle_contents, "MAX_PROGRAM_BYTES", 1000)
    assert said_of(file) == f"{file}: it lists too many tensors"


def test_no_file(tmp_path: Path) -> None:
    assert said_of(tmp_path / "x") == f"{tmp_path / 'x'}: No such file or directory"
    assert said_of(tmp_path) == f"{tmp_path}: Is a directory"
