"""The contents of a pickle are known without running it; all but tensors are refused."""

import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bertviewer.core.checkpoints.stored import ITEM_BYTES, TORCH_NAMES
from bertviewer.core.pickles import contents
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.util.errors import UserError
from tests.core.pickles.bad_pickles import BAD_PICKLES, Call, saved
from tests.tools.refusals import refusals

TENSORS = ("collections.OrderedDict", "torch.FloatStorage", "torch._utils._rebuild_tensor_v2")


def refuse(file: Path) -> None:
    """Raise the error for a file that is not converted."""
    if refusal := read_contents(file).refusal:
        raise UserError(refusal)


def test_every_kind_of_bad_file_has_its_message(
    file: Path, golden: Callable[[str, str], None]
) -> None:
    def read(content: bytes) -> None:
        file.write_bytes(content)
        refuse(file)

    golden("refusals/pickles.txt", refusals(read, BAD_PICKLES, file.parent))


@pytest.mark.parametrize("is_zip", [True, False])
def test_tensors_are_accepted(is_zip: bool, file: Path) -> None:
    dtypes = {code: torch.zeros(3).to(getattr(torch, TORCH_NAMES[code])) for code in ITEM_BYTES}
    weights = OrderedDict(a=torch.zeros(2, 3), b=torch.nn.Parameter(torch.ones(4)), **dtypes)
    torch.save(weights, file, _use_new_zipfile_serialization=is_zip)
    found = read_contents(file)
    assert (found.refusal, found.unsafe_globals, found.unsafe_opcodes) == ("", (), ())
    assert set(TENSORS) <= set(found.globals)
    assert found.nbytes == file.stat().st_size


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (torch.nn.Linear(2, 2), "torch.nn.modules.linear.Linear"),
        (torch.zeros(3, dtype=torch.complex64), "torch.ComplexFloatStorage"),
        (torch.eye(3).to_sparse(), "torch._utils._rebuild_sparse_tensor"),
    ],
)
def test_other_objects_are_unsafe(value: object, name: str, file: Path) -> None:
    torch.save({"a": value}, file)
    assert name in read_contents(file).unsafe_globals


def test_reading_the_contents_runs_nothing(tmp_path: Path, file: Path) -> None:
    marker = tmp_path / "marker"
    command = f"touch {marker}"
    for is_zip in (True, False):
        value = {"a": torch.zeros(2), "b": Call(os.system, command)}
        torch.save(value, file, _use_new_zipfile_serialization=is_zip)
        assert read_contents(file).unsafe_globals == (f"{os.system.__module__}.system",)
    assert not marker.exists()
    os.system(command)
    assert marker.exists()


@pytest.mark.parametrize("limit", ["MAX_OPCODES", "MAX_PROGRAM_BYTES"])
def test_long_programs_are_refused(file: Path, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(saved([None] * 2000))
    assert read_contents(file).refusal == ""
    monkeypatch.setattr(contents, limit, 1000)
    with pytest.raises(UserError, match="it lists too many tensors"):
        read_contents(file)


def test_missing_files_and_folders_are_refused(file: Path) -> None:
    for path, reason in ((file, "No such file or directory"), (file.parent, "Is a directory")):
        with pytest.raises(UserError) as raised:
            read_contents(path)
        assert str(raised.value) == f"{path}: {reason}"
