from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.torch import save_file

from bertviewer.core.backend import torch
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.tensors import matrix as module
from bertviewer.core.tensors import saving
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.saving import save
from bertviewer.core.tensors.values import FileValues
from tests.core.tensors.made_up import in_memory, matrix, stored_in

RANDOM = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 64)
    monkeypatch.setattr(saving, "CSV_TILE", 64)


@pytest.mark.parametrize("shape", [(30, 20), (3, 200), (90,), (), (0, 4), (1, 1, 8, 9)])
def test_npy_is_the_tensor(shape: tuple[int, ...], tmp_path: Path) -> None:
    values = RANDOM.normal(size=shape).astype(np.float32)
    whole = Matrix(in_memory(values), leading=(0,) * max(0, len(shape) - 2))
    assert save(whole, tmp_path / "t.npy", ()) == tmp_path / "t.npy"
    found = np.load(tmp_path / "t.npy", allow_pickle=False)
    assert found.dtype == np.float32
    assert_array_equal(found, values)


def test_slices_are_saved_alone(tmp_path: Path) -> None:
    values = RANDOM.normal(size=(4, 20, 30))
    save(Matrix(in_memory(values), (2,), (5, 9), (10, 25)), tmp_path / "t.npy", ())
    assert_array_equal(np.load(tmp_path / "t.npy"), values[2, 5:9, 10:25])
    save(Matrix(in_memory(values[0, 0]), rows=(5, 9)), tmp_path / "v.npy", ())
    assert_array_equal(np.load(tmp_path / "v.npy"), values[0, 0, 5:9])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float16])
def test_small_floats_are_saved_as_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    values = torch.randn(9, 5).to(dtype)
    save_file({"w": values}, tmp_path / "m.safetensors")
    stored = stored_in(tmp_path / "m.safetensors")["w"]
    save(Matrix(FileValues("w", stored)), tmp_path / "t.npy", ())
    found = np.load(tmp_path / "t.npy")
    assert found.dtype == np.float32
    assert_array_equal(found, values.float().numpy())


def test_csv_has_all_digits_and_the_tensors_own_indices(tmp_path: Path) -> None:
    values = RANDOM.normal(size=(40, 7)).astype(np.float32)
    save(Matrix(in_memory(values), rows=(10, 30), columns=(2, 7)), tmp_path / "t.CSV", ())
    lines = (tmp_path / "t.CSV").read_bytes().split(b"\r\n")
    assert lines[0] == b"row,2,3,4,5,6"
    table = np.array([list(map(float, line.split(b","))) for line in lines[1:-1]])
    assert_array_equal(table[:, 0], np.arange(10, 30))
    assert_array_equal(table[:, 1:].astype(np.float32), values[10:30, 2:7])


def test_an_older_file_stays_where_saving_fails(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    save_file({"w": torch.ones(100, 10)}, file)
    stored = stored_in(file)["w"]
    target = tmp_path / "t.npy"
    target.write_bytes(b"before")

    def progress(done: int, total: int, label: str) -> None:
        assert (total, label) == (100, "Writing w")
        if done > 50:
            raise Cancelled

    with pytest.raises(Cancelled):
        save(Matrix(FileValues("w", stored)), target, (), progress)
    with file.open("r+b") as opened:
        opened.truncate(stored.offset + 2000)
    with pytest.raises(UserError, match="ends in the middle of w"):
        save(Matrix(FileValues("w", stored)), target, ())
    assert target.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "t.npy"]


def test_a_csv_is_never_whole_in_memory() -> None:
    pieces = saving.csv_pieces(matrix(np.zeros((1000, 8))))
    assert max(map(len, pieces)) < 1000
