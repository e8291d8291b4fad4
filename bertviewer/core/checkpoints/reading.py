"""Reads values of a stored tensor: those that are asked for, and nothing else of the file.

Files are read and never mapped: one that is cut off meanwhile would end the program otherwise.
"""

from io import FileIO
from math import prod

import numpy as np

from bertviewer.core.checkpoints.decoding import Values, decode
from bertviewer.core.checkpoints.stored import ITEM_BYTES, StoredTensor
from bertviewer.core.checkpoints.version import check_version
from bertviewer.core.util.errors import NOT_REGULAR, UserError

Span = tuple[int, int]
"""From the first index up to, and without, the second."""

_WORTH_A_SEEK = 4
"""Rows are read whole and cut where this part of them, or more, is wanted."""


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns of a tensor whose last dimension is kept and all others are one.

    A vector is a single column, a scalar a single cell.
    """
    if len(shape) < 2:
        return prod(shape), 1
    return prod(shape[:-1]), shape[-1]


def read_block(tensor: StoredTensor, rows: Span, columns: Span) -> Values:
    """Return a part of a tensor, seen as a matrix, as [rows, columns].

    Floats of 16 and 8 bits become float32; see ``decode``.

    Raises:
        UserError: the file cannot be read, ends before the tensor does, or is no longer the one
            that was opened; or values of this dtype cannot be read.
        IndexError: the tensor has no such rows or columns.
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
        return decode(b"", tensor.dtype).reshape(count, kept)
    try:
        if tensor.file.exists() and not tensor.file.is_file():
            raise UserError(f"{tensor.file}: {NOT_REGULAR} any longer")
        with tensor.file.open("rb", buffering=0) as file:
            if kept * _WORTH_A_SEEK >= width:
                place = tensor.offset + rows[0] * width * item
                raw = _read(file, place, count * width * item, tensor)
                check_version(tensor.file, file, tensor.version)
                whole = decode(raw, tensor.dtype).reshape(count, width)
                return whole[:, columns[0] : columns[1]]
            pieces = [
                _read(file, tensor.offset + (row * width + columns[0]) * item, kept * item, tensor)
                for row in range(*rows)
            ]
            check_version(tensor.file, file, tensor.version)
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise UserError(f"{tensor.file}: {tensor.name} cannot be read: {reason}") from error
    return np.stack([decode(piece, tensor.dtype) for piece in pieces])


def _read(file: FileIO, place: int, size: int, tensor: StoredTensor) -> bytearray:
    """Return so many bytes from a place in a file.

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
