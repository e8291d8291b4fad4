"""Values of stored tensors: decoding, partial reads, and files that change while they are open."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from safetensors.torch import save_file

from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.checkpoints.reading import (
    Values,
    decode_values,
    matrix_shape,
    read_block,
    rounded,
)
from bertviewer.core.checkpoints.stored import DTYPES, ITEM_BYTES, StoredTensor
from bertviewer.core.loading.pretrained import read_state
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.progress import no_progress

BITS_16 = np.arange(1 << 16, dtype=np.uint16)
BITS_8 = np.arange(256, dtype=np.uint8)


def saved(file: Path, **tensors: torch.Tensor) -> StoredTensor:
    """Save tensors, and return the one called ``w``."""
    save_file(tensors, file)
    return next(tensor for tensor in read_header(file) if tensor.name == "w")


def read_rows(tensor: StoredTensor, start: int, stop: int) -> Values:
    return read_block(tensor, (start, stop), (0, matrix_shape(tensor.shape)[1]))


@pytest.mark.parametrize(
    ("name", "bits"),
    [("BF16", BITS_16), ("F16", BITS_16), ("F8_E4M3", BITS_8), ("F8_E5M2", BITS_8)],
)
def test_every_bit_pattern_is_decoded_as_by_torch(name: str, bits: Values) -> None:
    dtype = getattr(torch, DTYPES[name].torch)
    expected = torch.from_numpy(bits.view(f"i{bits.itemsize}")).view(dtype).float().numpy()
    found = decode_values(bits.tobytes(), name)
    assert found.dtype == np.float32
    assert_array_equal(np.isnan(found), np.isnan(expected))
    numbers = ~np.isnan(expected)
    # As bits: -0 is not 0.
    assert_array_equal(found[numbers].view(np.uint32), expected[numbers].view(np.uint32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_values_are_rounded_as_by_torch(dtype: str) -> None:
    # Every third bit pattern of the upper half, with ties and their neighbours in the lower one.
    upper = (BITS_16[::3].astype(np.uint32) << 16)[:, None]
    values = (upper | np.array([0, 1, 0x7FFF, 0x8000, 0x8001], np.uint32)).view(np.float32)
    expected = torch.from_numpy(values).to(getattr(torch, dtype)).float().numpy()
    assert_array_equal(rounded(values, dtype).astype(np.float32), expected)


def test_dtypes_have_the_size_of_torchs() -> None:
    for code, dtype in DTYPES.items():
        packed = 2 if dtype.torch.endswith("_x2") else 1  # torch's element is two of the file's
        if not code.startswith("F6"):
            assert getattr(torch, dtype.torch).itemsize * 8 == packed * dtype.bits


def test_values_of_unsupported_dtypes_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    for code in DTYPES.keys() - ITEM_BYTES.keys():
        size = 4 * DTYPES[code].bits  # bytes of 32 elements
        entries = {"weight": {"dtype": code, "shape": [4, 8], "data_offsets": [0, size]}}
        header = json.dumps(entries).encode()
        file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
        (tensor,) = read_header(file)
        assert (tensor.dtype, tensor.shape, tensor.nbytes) == (code, (4, 8), size)
        with pytest.raises(UserError, match=f"stored as {code}, whose values cannot be read"):
            read_rows(tensor, 0, 1)


@pytest.mark.parametrize("code", ITEM_BYTES)
def test_values_of_supported_dtypes_are_read(code: str, tmp_path: Path) -> None:
    values = torch.tensor([[0, 1, 2], [3, 0, 100]]).to(getattr(torch, DTYPES[code].torch))
    tensor = saved(tmp_path / "m.safetensors", first=torch.ones(3), w=values)
    assert_array_equal(read_rows(tensor, 0, 2), values.to(torch.float64).numpy())


def test_blocks_are_read(tmp_path: Path) -> None:
    values = torch.randn(50, 40)
    tensor = saved(tmp_path / "m.safetensors", a=torch.ones(7), w=values, z=torch.ones(7))
    assert_array_equal(read_rows(tensor, 13, 17), values[13:17].numpy())
    # A narrow block is read row by row, a wide one at once.
    for columns in ((3, 5), (3, 39), (0, 40), (39, 40)):
        expected = values[10:50, slice(*columns)].numpy()
        assert_array_equal(read_block(tensor, (10, 50), columns), expected)
    assert read_block(tensor, (50, 50), (0, 40)).shape == (0, 40)
    assert read_block(tensor, (0, 50), (4, 4)).shape == (50, 0)
    for rows, columns in (((0, 51), (0, 40)), ((0, 1), (-1, 2)), ((3, 2), (0, 1))):
        with pytest.raises(IndexError):
            read_block(tensor, rows, columns)


def test_tensors_of_any_shape_are_matrices(tmp_path: Path) -> None:
    shapes = {(): (1, 1), (5,): (5, 1), (5, 3): (5, 3), (2, 3, 4): (6, 4), (0, 3): (0, 3)}
    for shape, matrix in shapes.items():
        assert matrix_shape(shape) == matrix
        values = torch.randn(shape)
        found = read_rows(saved(tmp_path / "m.safetensors", w=values), 0, matrix[0])
        assert_array_equal(found, values.numpy().reshape(matrix))


def test_only_the_requested_bytes_are_read(tmp_path: Path) -> None:
    # A sparse file of 4 TB.
    file = tmp_path / "sparse"
    rows, columns = 1 << 20, 1 << 20
    with file.open("wb") as opened:
        opened.truncate(rows * columns * 4)
        opened.seek((rows * columns - 2) * 4)
        opened.write(np.array([2.5, 3.5], dtype=np.float32).tobytes())
    tensor = StoredTensor("w", "F32", (rows, columns), file, 0, rows * columns * 4)
    last = read_block(tensor, (rows - 1, rows), (columns - 3, columns))
    assert last.tolist() == [[0.0, 2.5, 3.5]]


def test_a_file_that_is_truncated_or_removed_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    tensor = saved(file, w=torch.ones(100, 10))
    os.truncate(file, tensor.offset + 60)
    for columns in ((0, 10), (2, 3)):
        with pytest.raises(UserError, match=r"m\.safetensors: ends in the middle of w; it was"):
            read_block(tensor, (0, 100), columns)
    file.unlink()
    with pytest.raises(UserError, match=r"m\.safetensors: w cannot be read: No such file"):
        read_rows(tensor, 0, 1)
    os.mkfifo(file)
    with pytest.raises(UserError, match=f"{NOT_REGULAR} any longer"):
        read_rows(tensor, 0, 1)


def write_in_place(file: Path, tensor: StoredTensor) -> None:
    modified = file.stat().st_mtime_ns
    with file.open("r+b") as opened:
        opened.seek(tensor.offset)
        opened.write(bytes(40))
    os.utime(file, ns=(0, modified + 1))


def replace_by(rows: int) -> Callable[[Path, StoredTensor], None]:
    def replace(file: Path, tensor: StoredTensor) -> None:
        modified = file.stat().st_mtime_ns
        save_file({"w": torch.zeros(rows, 10)}, file.with_name("new"))
        file.with_name("new").replace(file)
        os.utime(file, ns=(0, modified))

    return replace


@pytest.mark.parametrize(
    "write", [write_in_place, replace_by(100), replace_by(101)], ids=["in place", "same", "longer"]
)
def test_a_file_that_is_written_is_reported(
    tmp_path: Path, write: Callable[[Path, StoredTensor], None]
) -> None:
    file = tmp_path / "m.safetensors"
    tensor = saved(file, w=torch.ones(100, 10))
    assert read_rows(tensor, 0, 1).sum() == 10
    write(file, tensor)
    for columns in ((0, 10), (2, 3)):  # at once, and row by row
        with pytest.raises(UserError, match=r"m\.safetensors: the file has changed since it was"):
            read_block(tensor, (0, 100), columns)
    with pytest.raises(UserError, match="the file has changed since it was opened"):
        read_state([tensor], no_progress)
    (reopened,) = read_header(file)
    assert read_rows(reopened, 0, 1).sum() == 0
