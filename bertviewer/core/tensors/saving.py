"""Writes a tensor to a file, piece by piece: .npy for programs, CSV for people."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.saving import files
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.tensors.matrix import TILE, Matrix

CSV_TILE = TILE // 16
"""Elements that are texts at once: a text takes many times the bytes of its number."""


def save(
    matrix: Matrix,
    path: Path,
    models: Iterable[ModelSource],
    progress: Progress = no_progress,
) -> Path:
    """Write .npy, or CSV where the file's name ends so; the path comes back.

    No file of ``models`` is replaced: they are those that are open.

    Raises:
        UserError: the disk does not take it, or the tensor's file cannot be read any more; an
            older file is left as it was.
        Cancelled: ``progress`` said so.
    """
    is_csv = path.suffix.lower() == ".csv"
    pieces = csv_pieces(matrix, progress) if is_csv else npy_pieces(matrix, progress)
    files.save(path, pieces, models)
    return path


def npy_pieces(matrix: Matrix, progress: Progress = no_progress) -> Iterator[bytes]:
    """Yield a file of numpy's: a whole tensor in its own shape, a slice as rows and columns.

    Floats of 16 and 8 bits are written as float32, with the same values.
    """
    rank = len(matrix.values.shape)
    shape = matrix.values.shape if matrix.is_whole else matrix.shape[: max(1, rank)]
    dtype = matrix.block((0, 0)).dtype
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header,
        {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape},
    )
    yield header.getvalue()
    # Tiles that do not reach across are parts of a single row: so all come in the file's order.
    for rows, columns in matrix.tiles():
        progress(rows[0], matrix.shape[0], _label(matrix))
        yield matrix.block(rows, columns).tobytes()


def csv_pieces(matrix: Matrix, progress: Progress = no_progress) -> Iterator[bytes]:
    """Yield CSV after RFC 4180: a line for each row, with its index before its values.

    Numbers have all digits that it takes to read the same number back.
    """
    left, right = matrix.column_span
    yield (",".join(["row", *map(str, range(left, right))]) + "\r\n").encode()
    height, width = matrix.shape
    step = max(1, CSV_TILE // max(1, width))
    first = matrix.row_span[0]
    for start in range(0, height, step):
        progress(start, height, _label(matrix))
        rows = matrix.block((start, min(start + step, height))).tolist()
        yield "".join(
            f"{first + start + number},{','.join(map(repr, row))}\r\n"
            for number, row in enumerate(rows)
        ).encode()


def _label(matrix: Matrix) -> str:
    return f"Writing {matrix.values.name}"
