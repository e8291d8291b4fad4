"""Exported tensors are read by NumPy, safetensors and spreadsheets as they are."""

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors import safe_open
from safetensors.numpy import load_file
from safetensors.torch import save_file

from bertviewer.core.building.backend import torch
from bertviewer.core.tensors import matrix as module
from bertviewer.core.tensors import saving
from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.saving import save
from bertviewer.core.tensors.values import Origin, file_values
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.tensors.made_up import in_memory, matrix, stored_in

RANDOM = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 64)
    monkeypatch.setattr(saving, "CSV_TILE", 64)


@pytest.mark.parametrize("shape", [(30, 20), (3, 200), (90,), (), (0, 4), (1, 1, 8, 9)])
def test_npy_has_the_tensor(shape: tuple[int, ...], tmp_path: Path) -> None:
    values = RANDOM.normal(size=shape).astype(np.float32)
    whole = Matrix(in_memory(values), leading=(0,) * max(0, len(shape) - 2))
    assert save(TensorPart(whole), tmp_path / "t.npy", ()) == tmp_path / "t.npy"
    found = np.load(tmp_path / "t.npy", allow_pickle=False)
    assert found.dtype == np.float32
    assert_array_equal(found, values)


def test_npy_of_slices(tmp_path: Path) -> None:
    values = RANDOM.normal(size=(4, 20, 30))
    save(TensorPart(Matrix(in_memory(values), (2,), (5, 9), (10, 25))), tmp_path / "t.npy", ())
    assert_array_equal(np.load(tmp_path / "t.npy"), values[2, 5:9, 10:25])
    save(TensorPart(Matrix(in_memory(values[0, 0]), rows=(5, 9))), tmp_path / "v.npy", ())
    assert_array_equal(np.load(tmp_path / "v.npy"), values[0, 0, 5:9])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float16])
def test_npy_has_short_floats_as_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    values = torch.randn(9, 5).to(dtype)
    save_file({"w": values}, tmp_path / "m.safetensors")
    stored = stored_in(tmp_path / "m.safetensors")["w"]
    save(TensorPart(Matrix(file_values("w", stored))), tmp_path / "t.npy", ())
    found = np.load(tmp_path / "t.npy")
    assert found.dtype == np.float32
    assert_array_equal(found, values.float().numpy())


@pytest.mark.parametrize(
    ("dtype", "written"),
    [
        *((it, it) for it in (torch.float32, torch.float64, torch.bfloat16, torch.float16)),
        *((torch.int64, torch.int64), (torch.bool, torch.bool)),
        (torch.float8_e4m3fn, torch.float32),
    ],
)
def test_safetensors_has_the_dtype_and_metadata(
    dtype: torch.dtype, written: torch.dtype, tmp_path: Path
) -> None:
    values = torch.randn(1, 9, 5) * 3
    if dtype.is_floating_point and dtype.itemsize > 1:
        values[0, 0, :3] = torch.tensor([torch.inf, -torch.inf, torch.nan])
    values = values.to(dtype)
    whole = Matrix(from_tensor("output", values, Origin("drawn")), (0,))
    metadata = {"model": "demo", "sentence": "ä"}
    save(TensorPart(whole, metadata=metadata), tmp_path / "t.safetensors", ())
    with safe_open(tmp_path / "t.safetensors", "pt") as file:
        assert file.metadata() == metadata
        assert list(file.keys()) == ["output"]
        found = file.get_tensor("output")
    assert (found.dtype, found.shape) == (written, values.shape)
    assert torch.equal(found.double().nan_to_num(5.5), values.double().nan_to_num(5.5))


def test_safetensors_has_all_compared_tensors(tmp_path: Path) -> None:
    given = RANDOM.normal(size=(30, 20)).astype(np.float32)
    recomputed = given.astype(np.float64) + 1e-9
    both = {"given": Matrix(in_memory(given)), "recomputed": Matrix(in_memory(recomputed))}
    save(TensorPart(both["given"], interleaved=both), tmp_path / "t.safetensors", ())
    found = load_file(tmp_path / "t.safetensors")
    assert_array_equal(found["given"], given)
    assert_array_equal(found["recomputed"], recomputed)


def test_csv_has_all_digits_and_the_tensors_indices(tmp_path: Path) -> None:
    values = RANDOM.normal(size=(40, 7)).astype(np.float32)
    part = TensorPart(Matrix(in_memory(values), rows=(10, 30), columns=(2, 7)))
    save(part, tmp_path / "t.CSV", ())
    lines = (tmp_path / "t.CSV").read_bytes().split(b"\r\n")
    assert lines[0] == b"row,2,3,4,5,6"
    table = np.array([list(map(float, line.split(b","))) for line in lines[1:-1]])
    assert_array_equal(table[:, 0], np.arange(10, 30))
    assert_array_equal(table[:, 1:].astype(np.float32), values[10:30, 2:7])


def test_csv_has_tokens_and_no_formulas(tmp_path: Path) -> None:
    texts = ["=1+1", "-5", "@x", 'say "hi"', "a,b", "bank"]
    tokens = Axis(TokenIndex(texts), "token", tuple(range(6)))
    values = RANDOM.normal(size=(1, 6, 6))
    save(TensorPart(Matrix(in_memory(values), (0,)), tokens, tokens), tmp_path / "t.csv", ())
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["row", "token", *(f"{n} {text}" for n, text in enumerate(texts))]
    assert [row[1] for row in rows] == ["'=1+1", "'-5", "'@x", 'say "hi"', "a,b", "bank"]
    assert [[float(cell) for cell in row[2:]] for row in rows] == values[0].tolist()


def test_csv_of_one_token_has_a_line_for_each_feature(tmp_path: Path) -> None:
    tokens = Axis(TokenIndex(["the", "bank"]), "token", (0, 1))
    values = RANDOM.normal(size=(1, 2, 40))
    part = TensorPart(Matrix(in_memory(values), (0,), rows=(1, 2)), tokens, Axis(kind="feature"))
    save(part, tmp_path / "t.csv", ())
    header, *lines = (tmp_path / "t.csv").read_text().splitlines()
    assert header == "row,1 bank"
    assert [float(line.split(",")[1]) for line in lines] == values[0, 1].tolist()


def test_csv_is_never_whole_in_memory() -> None:
    pieces = saving.csv_pieces(TensorPart(matrix(np.zeros((1000, 8)))))
    assert max(map(len, pieces)) < 1000


def test_an_older_file_stays_where_saving_fails(tmp_path: Path) -> None:
    file, target = tmp_path / "m.safetensors", tmp_path / "t.npy"
    save_file({"w": torch.ones(100, 10)}, file)
    stored = stored_in(file)["w"]
    part = TensorPart(Matrix(file_values("w", stored)))
    target.write_bytes(b"before")

    def progress(done: int, total: int, label: str) -> None:
        assert (total, label) == (100, "Writing w")
        if done > 50:
            raise Cancelled

    with pytest.raises(Cancelled):
        save(part, target, (), progress)
    with file.open("r+b") as opened:
        opened.truncate(stored.offset + 2000)
    with pytest.raises(UserError, match="ends in the middle of w"):
        save(part, target, ())
    assert target.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "t.npy"]
