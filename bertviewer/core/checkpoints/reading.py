"""Values of stored tensors: reading, decoding and comparing them.

Files are read and never memory-mapped: a mapped file that is truncated ends the program (SIGBUS).
numpy has neither bfloat16 nor float8: their bits are converted here.
"""

from io import FileIO
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.stored import (
    DTYPES,
    ITEM_BYTES,
    Checkpoint,
    StoredTensor,
    check_version,
)
from bertviewer.core.util.errors import NOT_REGULAR, UserError, error_reason
from bertviewer.core.util.progress import Progress, no_progress

Values = NDArray[Any]


def decode_values(raw: bytes | bytearray | memoryview, dtype: str) -> Values:
    """Return the elements in little-endian bytes as a vector, by safetensors' name of their dtype.

    Floats of 16 and 8 bits become float32, which represents all of their values exactly; others
    keep their type.
    """
    stored: Values = np.frombuffer(raw, DTYPES[dtype].numpy)
    if dtype == "F16":
        return stored.astype(np.float32)
    if dtype == "BF16":  # the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    if dtype == "F8_E4M3":
        return np.asarray(_E4M3[stored])
    if dtype == "F8_E5M2":  # the upper half of a float16
        return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    return stored != 0 if dtype == "BOOL" else stored


def encode_values(values: Values, dtype: str) -> bytes:
    """Return elements as bytes of a dtype, by safetensors' name; inverts ``decode_values``."""
    if dtype == "BF16":
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return values.astype(DTYPES[dtype].numpy).tobytes()


def rounded(values: Values, dtype: str) -> Values:
    """Return floats rounded to a dtype, by torch's name, as torch does; bfloat16 as float32.

    Other values, and those of other dtypes, are returned unchanged.
    """
    if values.dtype.kind != "f" or dtype not in ("float32", "float16", "bfloat16"):
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        if dtype != "bfloat16":
            return values.astype(np.float16) if dtype == "float16" else single
    bits = single.view(np.uint32)
    # To nearest, ties to even; infinity and NaN must not be rounded.
    upper = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isfinite(single), upper.view(np.float32), single)


def _e4m3_table() -> NDArray[np.float32]:
    """Return the values of all bytes: sign, 4 bits of exponent, 3 of fraction (arXiv 2209.05433).

    The exponent's bias is 7. There is no infinity; exponent and fraction all ones are NaN.
    """
    bits = np.arange(256)
    sign = np.where(bits & 0x80, -1.0, 1.0)
    exponent, fraction = (bits >> 3) & 0xF, (bits & 0x7) / 8
    size = np.where(exponent == 0, fraction * 2.0**-6, (1 + fraction) * 2.0 ** (exponent - 7.0))
    size[(bits & 0x7F) == 0x7F] = np.nan
    return (sign * size).astype(np.float32)


_E4M3 = _e4m3_table()


Span = tuple[int, int]
"""First index, and the index after the last one."""

_WORTH_A_SEEK = 4
"""Whole rows are read if at least 1 / this of their columns is requested."""


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the shape of a tensor as a matrix: all dimensions but the last are flattened.

    A vector is one column, a scalar one element.
    """
    if len(shape) < 2:
        return prod(shape), 1
    return prod(shape[:-1]), shape[-1]


def read_block(tensor: StoredTensor, rows: Span, columns: Span) -> Values:
    """Return a part of a tensor, viewed as a matrix, as [rows, columns].

    Floats of 16 and 8 bits become float32; see ``decode_values``.

    Raises:
        UserError: the file cannot be read, is truncated or has changed, or the dtype is not
            supported.
        IndexError: the tensor does not have these rows or columns.
    """
    height, width = matrix_shape(tensor.shape)
    count, kept = rows[1] - rows[0], columns[1] - columns[0]
    if not (0 <= rows[0] <= rows[1] <= height and 0 <= columns[0] <= columns[1] <= width):
        raise IndexError(f"{rows} x {columns} of a tensor of {height} x {width}")
    if (item := ITEM_BYTES.get(tensor.dtype)) is None:
        raise UserError(
            f"{tensor.file}: {tensor.name} is stored as {tensor.dtype}, whose values cannot be read"
        )
    if not count or not kept:
        return decode_values(b"", tensor.dtype).reshape(count, kept)
    try:
        if tensor.file.exists() and not tensor.file.is_file():
            raise UserError(f"{tensor.file}: {NOT_REGULAR} any longer")
        with tensor.file.open("rb", buffering=0) as file:
            if kept * _WORTH_A_SEEK >= width:
                place = tensor.offset + rows[0] * width * item
                raw = _read(file, place, count * width * item, tensor)
                check_version(tensor.file, file, tensor.version)
                whole = decode_values(raw, tensor.dtype).reshape(count, width)
                return whole[:, columns[0] : columns[1]]
            pieces = [
                _read(file, tensor.offset + (row * width + columns[0]) * item, kept * item, tensor)
                for row in range(*rows)
            ]
            check_version(tensor.file, file, tensor.version)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{tensor.file}: {tensor.name} cannot be read: {error_reason(error)}"
        ) from error
    return np.stack([decode_values(piece, tensor.dtype) for piece in pieces])


def _read(file: FileIO, place: int, size: int, tensor: StoredTensor) -> bytearray:
    """Return ``size`` bytes of a file from ``place`` on.

    Raises:
        UserError: the file has fewer.
    """
    file.seek(place)
    raw = bytearray(size)
    view, done = memoryview(raw), 0
    while done < size:
        got = file.readinto(view[done:])
        if not got:
            raise UserError(
                f"{tensor.file}: ends in the middle of {tensor.name}; it was truncated after it "
                "was opened"
            )
        done += got
    return raw


BLOCK = 1 << 20
"""Number of elements that are compared at once."""


def untied_names(
    report: LoadReport, checkpoint: Checkpoint, progress: Progress = no_progress
) -> tuple[str, ...]:
    """Return the parameters that transformers does not tie as the checkpoint's values differ.

    They are compared in the model's dtype. Values are read only where a checkpoint stores both
    of two tied tensors. Those in a file that is not downloaded yet are assumed to differ: equal
    ones are usually stored once.

    Raises:
        UserError: a file cannot be read.
        Cancelled: by ``progress``.
    """
    found = []
    for name, leader in report.stored_twice.items():
        one, other = (checkpoint.tensors[report.stored[key]] for key in (name, leader))
        is_here = one.file.exists() and other.file.exists()
        if not (is_here and _same_values(one, other, report.dtype, progress)):
            found.append(name)
    return tuple(found)


def _same_values(one: StoredTensor, other: StoredTensor, dtype: str, progress: Progress) -> bool:
    """Tell whether two tensors are equal in a dtype of torch, as ``torch.equal``: NaN != NaN.

    Both are read up to the first difference.

    Raises:
        UserError: as ``read_block``.
        Cancelled: by ``progress``.
    """
    if one.shape != other.shape:
        return False
    height, width = matrix_shape(one.shape)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, height, step):
        progress(start, height, f"Comparing {one.name} with {other.name}")
        block = (start, min(height, start + step)), (0, width)
        left, right = (rounded(read_block(tensor, *block), dtype) for tensor in (one, other))
        if not np.array_equal(left, right):
            return False
    return True
