"""Writes a tensor to a file, piece by piece: .npy and .safetensors for programs, CSV for people."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from pathlib import Path

import numpy as np

from bertviewer.core.checkpoints.decoding import Values, encode
from bertviewer.core.checkpoints.stored import ITEM_BYTES, TORCH_NAMES
from bertviewer.core.saving import atomic_files as files
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tensors.matrix import TILE, Matrix
from bertviewer.core.tensors.part import TensorPart
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.text import csv_cell

CSV_TILE = TILE // 16
"""Elements that are texts at once: a text takes many times the bytes of its number."""
_CODES = {name: code for code, name in TORCH_NAMES.items()}
_ALIGNED = 8

Pieces = Iterator[bytes]


def save(
    part: TensorPart,
    path: Path,
    models: Iterable[ModelSource],
    progress: Progress = no_progress,
) -> Path:
    """Write .npy, or .safetensors or CSV where the file's name ends so; the path comes back.

    No file of ``models`` is replaced: they are those that are open.

    Raises:
        UserError: the disk does not take it, or the tensor's file cannot be read any more; an
            older file is left as it was.
        Cancelled: ``progress`` said so.
    """
    write = WAYS.get(path.suffix.lower(), npy_pieces)
    files.save(path, write(part, progress), models)
    return path


def npy_pieces(part: TensorPart, progress: Progress = no_progress) -> Pieces:
    """Yield a file of numpy's: a whole tensor in its own shape, a slice as rows and columns.

    Floats of 16 and 8 bits are written as float32, with the same values.
    """
    matrix = part.matrix
    dtype = matrix.block((0, 0)).dtype
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header,
        {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": _shape(matrix),
        },
    )
    yield header.getvalue()
    for block in _blocks(matrix, progress):
        yield block.tobytes()


def safetensors_pieces(part: TensorPart, progress: Progress = no_progress) -> Pieces:
    """Yield a file of safetensors with what is known of the tensor, in its own dtype.

    Of a checked step it holds what was given, what was recomputed, and the difference. Floats of 8
    bits are written as float32, with the same values.
    """
    matrices = part.beside or {part.matrix.values.name: part.matrix}
    header: dict[str, object] = {}
    if part.metadata:
        header["__metadata__"] = dict(part.metadata)
    end = 0
    codes = {name: _code(matrix) for name, matrix in matrices.items()}
    for name, matrix in matrices.items():
        start, shape = end, _shape(matrix)
        end = start + prod(shape) * ITEM_BYTES[codes[name]]
        header[name] = {
            "dtype": codes[name],
            "shape": list(shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, ensure_ascii=False).encode(errors="replace")
    text += b" " * (-len(text) % _ALIGNED)
    yield len(text).to_bytes(_ALIGNED, "little") + text
    for name, matrix in matrices.items():
        for block in _blocks(matrix, progress):
            yield encode(block, codes[name])


def csv_pieces(part: TensorPart, progress: Progress = no_progress) -> Pieces:
    """Yield CSV after RFC 4180, as the part is read: a line for each row, a single row as a column.

    Before its values a line has its index, and its token where there is one. Numbers have all
    digits that it takes to read the same number back. A token is a text for spreadsheets too.
    """
    height, width = part.shape
    has_names = len(part.down.names) > 0
    names = [part.down.kind or "token"] if has_names else []
    head = ["row", *names, *(csv_cell(part.column_title(column)) for column in range(width))]
    yield (",".join(head) + "\r\n").encode()
    step = max(1, CSV_TILE // max(1, width))
    for start in range(0, height, step):
        progress(start, height, _label(part.matrix))
        lines = part.block((start, min(start + step, height)), (0, width)).tolist()
        text = io.StringIO()
        for number, line in enumerate(lines, start):
            text.write(str(part.first_line + number))
            if has_names:
                text.write("," + csv_cell(part.line_name(number)))
            text.write("," + ",".join(map(repr, line)) + "\r\n")
        yield text.getvalue().encode()


WAYS: Mapping[str, Callable[[TensorPart, Progress], Pieces]] = {
    ".npy": npy_pieces,
    ".safetensors": safetensors_pieces,
    ".csv": csv_pieces,
}
"""How a file is written, by the end of its name."""


def _blocks(matrix: Matrix, progress: Progress) -> Iterator[Values]:
    # Tiles that do not reach across are parts of a single row: so all come in the file's order.
    for rows, columns in matrix.tiles():
        progress(rows[0], matrix.shape[0], _label(matrix))
        yield matrix.block(rows, columns)


def _shape(matrix: Matrix) -> tuple[int, ...]:
    rank = len(matrix.values.shape)
    return matrix.values.shape if matrix.is_whole else matrix.shape[: max(1, rank)]


def _code(matrix: Matrix) -> str:
    """Return safetensors' name of the dtype that a matrix is written in."""
    code = _CODES[matrix.values.dtype]
    return "F32" if code.startswith("F8_") else code


def _label(matrix: Matrix) -> str:
    return f"Writing {matrix.values.name}"
