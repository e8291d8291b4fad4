import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.torch import save_file

from bertviewer.core.building.backend import torch
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.checkpoints.reading import Values, decode_values, matrix_shape, read_block
from bertviewer.core.checkpoints.stored import (
    DTYPES,
    ITEM_BYTES,
    TORCH_NAMES,
    StoredTensor,
)
from bertviewer.core.loading.pretrained import read_state
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.progress import no_progress
from tests.core.tensors.made_up import stored_in

ALL_16 = np.arange(1 << 16, dtype=np.uint16)
ALL_8 = np.arange(256, dtype=np.uint8)
HALVES = (("BF16", torch.bfloat16), ("F16", torch.float16))
EIGHTHS = (("F8_E4M3", torch.float8_e4m3fn), ("F8_E5M2", torch.float8_e5m2))


def read_rows(tensor: StoredTensor, start: int, stop: int) -> Values:
    return read_block(tensor, (start, stop), (0, matrix_shape(tensor.shape)[1]))


@pytest.mark.parametrize(("name", "dtype"), HALVES)
def test_every_pattern_of_16_bits_is_read_as_torch_reads_it(name: str, dtype: torch.dtype) -> None:
    expected = torch.from_numpy(ALL_16.view(np.int16)).view(dtype).float().numpy()
    found = decode_values(ALL_16.tobytes(), name)
    assert found.dtype == np.float32
    assert_array_equal(np.isnan(found), np.isnan(expected))
    numbers = ~np.isnan(expected)
    # Bit by bit: -0 is not 0.
    assert_array_equal(found[numbers].view(np.uint32), expected[numbers].view(np.uint32))


@pytest.mark.parametrize(("name", "dtype"), EIGHTHS)
def test_every_pattern_of_8_bits_is_read_as_torch_reads_it(name: str, dtype: torch.dtype) -> None:
    expected = torch.from_numpy(ALL_8).view(dtype).float().numpy()
    found = decode_values(ALL_8.tobytes(), name)
    assert found.dtype == np.float32
    assert_array_equal(np.isnan(found), np.isnan(expected))
    numbers = ~np.isnan(expected)
    assert_array_equal(found[numbers].view(np.uint32), expected[numbers].view(np.uint32))


def test_every_dtype_has_torchs_name() -> None:
    for code, dtype in DTYPES.items():
        packed = 2 if dtype.torch.endswith("_x2") else 1  # torch's element is two of the file's
        if not code.startswith("F6"):
            assert getattr(torch, dtype.torch).itemsize * 8 == packed * dtype.bits


@pytest.mark.parametrize("code", sorted(DTYPES.keys() - ITEM_BYTES.keys()))
def test_values_of_a_dtype_that_is_known_by_name_alone_are_refused(
    code: str, tmp_path: Path
) -> None:
    size = 4 * DTYPES[code].bits  # bytes of 32 elements
    entries = {"weight": {"dtype": code, "shape": [4, 8], "data_offsets": [0, size]}}
    header = json.dumps(entries).encode()
    file = tmp_path / "m.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
    (tensor,) = read_header(file)
    assert (tensor.dtype, tensor.shape, tensor.nbytes) == (code, (4, 8), size)
    with pytest.raises(UserError, match=f"weight is stored as {code}, whose values cannot be read"):
        read_rows(tensor, 0, 1)


@pytest.mark.parametrize("name", [TORCH_NAMES[code] for code in ITEM_BYTES])
def test_each_dtype_comes_back_from_a_file(name: str, tmp_path: Path) -> None:
    numbers = torch.tensor([[0, 1, 2], [3, 0, 100]])
    wanted = numbers.to(getattr(torch, name))
    save_file({"first": torch.ones(3), "weight": wanted}, tmp_path / "m.safetensors")
    found = read_rows(stored_in(tmp_path / "m.safetensors")["weight"], 0, 2)
    assert_array_equal(found, wanted.to(torch.float64).numpy())


def test_rows_and_blocks_are_those_of_the_file(tmp_path: Path) -> None:
    values = torch.randn(50, 40)
    save_file({"a": torch.ones(7), "w": values, "z": torch.ones(7)}, tmp_path / "m.safetensors")
    stored = stored_in(tmp_path / "m.safetensors")["w"]
    assert_array_equal(read_rows(stored, 13, 17), values[13:17].numpy())
    # A narrow block is read row by row, a wide one in one go.
    for columns in ((3, 5), (3, 39), (0, 40), (39, 40)):
        expected = values[10:50, slice(*columns)].numpy()
        assert_array_equal(read_block(stored, (10, 50), columns), expected)
    assert read_block(stored, (50, 50), (0, 40)).shape == (0, 40)
    assert read_block(stored, (0, 50), (4, 4)).shape == (50, 0)
    for rows, columns in (((0, 51), (0, 40)), ((0, 1), (-1, 2)), ((3, 2), (0, 1))):
        with pytest.raises(IndexError):
            read_block(stored, rows, columns)


@pytest.mark.parametrize(
    ("shape", "matrix"),
    [((), (1, 1)), ((5,), (5, 1)), ((5, 3), (5, 3)), ((2, 3, 4), (6, 4)), ((0, 3), (0, 3))],
)
def test_tensors_are_matrices(
    shape: tuple[int, ...], matrix: tuple[int, int], tmp_path: Path
) -> None:
    assert matrix_shape(shape) == matrix
    values = torch.randn(shape)
    save_file({"w": values}, tmp_path / "m.safetensors")
    found = read_rows(stored_in(tmp_path / "m.safetensors")["w"], 0, matrix[0])
    assert_array_equal(found, values.numpy().reshape(matrix))


def test_a_file_that_is_cut_off_while_it_is_open_is_told(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    save_file({"w": torch.ones(100, 10)}, file)
    stored = stored_in(file)["w"]
    with file.open("r+b") as opened:
        opened.truncate(stored.offset + 60)
    assert read_rows(stored, 0, 1).sum() == 10
    with pytest.raises(UserError, match=r"m\.safetensors: ends in the middle of w; it was"):
        read_rows(stored, 1, 2)
    with pytest.raises(UserError, match="ends in the middle of w"):
        read_block(stored, (0, 100), (2, 3))
    file.unlink()
    with pytest.raises(UserError, match=r"m\.safetensors: w cannot be read: No such file"):
        read_rows(stored, 0, 1)


def test_a_pipe_in_the_files_place_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(4)}, file)
    (tensor,) = read_header(file)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UserError, match=f"{NOT_REGULAR} any longer"):
        read_rows(tensor, 0, 1)


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    # 4 TB by name, a hole on the disk.
    file = tmp_path / "holes"
    rows, columns = 1 << 20, 1 << 20
    with file.open("wb") as opened:
        opened.truncate(rows * columns * 4)
        opened.seek((rows * columns - 2) * 4)
        opened.write(np.array([2.5, 3.5], dtype=np.float32).tobytes())
    stored = StoredTensor("w", "F32", (rows, columns), file, 0, rows * columns * 4)
    last = read_block(stored, (rows - 1, rows), (columns - 3, columns))
    assert last.tolist() == [[0.0, 2.5, 3.5]]


@pytest.mark.parametrize("anew", ["in place", "another file", "longer"])
def test_a_file_that_is_written_anew_while_it_is_open_is_told(tmp_path: Path, anew: str) -> None:
    file = tmp_path / "m.safetensors"
    save_file({"w": torch.ones(100, 10)}, file)
    (tensor,) = read_header(file)
    assert read_rows(tensor, 0, 1).sum() == 10
    as_it_was = file.stat()
    if anew == "in place":
        with file.open("r+b") as opened:
            opened.seek(tensor.offset)
            opened.write(bytes(40))
        os.utime(file, ns=(0, as_it_was.st_mtime_ns + 1))
    else:
        rows = 101 if anew == "longer" else 100
        save_file({"w": torch.zeros(rows, 10)}, tmp_path / "new")
        (tmp_path / "new").replace(file)
        os.utime(file, ns=(0, as_it_was.st_mtime_ns))
    for columns in ((0, 10), (2, 3)):  # in one go, and row by row
        with pytest.raises(UserError, match=r"m\.safetensors: the file has changed since it was"):
            read_block(tensor, (0, 100), columns)
    with pytest.raises(UserError, match="the file has changed since it was opened"):
        read_state([tensor], no_progress)
    (again,) = read_header(file)
    assert read_rows(again, 0, 1).sum() == 0
