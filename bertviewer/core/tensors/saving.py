"""Export of a tensor, block by block: .npy, .safetensors and .csv."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from pathlib import Path

import numpy as np

from bertviewer.core.checkpoints.reading import Values, encode_values
from bertviewer.core.checkpoints.stored import ITEM_BYTES, TORCH_NAMES
from bertviewer.core.saving import atomic_files as files
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tensors.matrix import TILE, Matrix, TensorPart
from bertviewer.core.util.progress import Progress, no_progress

CSV_TILE = TILE // 16
"""Elements that are text at once, which takes many times the bytes of a number."""
_CODES = {name: code for code, name in TORCH_NAMES.items()}
_ALIGNED = 8
# Spreadsheets evaluate cells that begin with these.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

Pieces = Iterator[bytes]


def save(
    part: TensorPart,
    path: Path,
    models: Iterable[ModelSource],
    progress: Progress = no_progress,
) -> Path:
    """Write a file in the format of its suffix, by default .npy; return the path.

    Files of ``models``, which are open, are not replaced.

    Raises:
        UserError: the file cannot be written, and an older one is unchanged, or the tensor's file
            is no longer readable.
        Cancelled: by ``progress``.
    """
    write = WRITERS.get(path.suffix.lower(), npy_pieces)
    files.save(path, write(part, progress), models)
    return path


def npy_pieces(part: TensorPart, progress: Progress = no_progress) -> Pieces:
    """Yield a .npy file: a whole tensor in its own shape, a slice as rows and columns.

    Floats of 16 and 8 bits are written as float32, with the same values.
    """
    matrix = part.matrix
    dtype = np.lib.format.dtype_to_descr(matrix.block((0, 0)).dtype)
    header = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": _shape(matrix)}
    np.lib.format.write_array_header_1_0(header, fields)
    yield header.getvalue()
    for block in _blocks(matrix, progress):
        yield block.tobytes()


def safetensors_pieces(part: TensorPart, progress: Progress = no_progress) -> Pieces:
    """Yield a .safetensors file with metadata, in the tensor's own dtype.

    A checked step has three tensors: given, recomputed and the difference. Floats of 8 bits are
    written as float32, with the same values. (The safetensors library writes from memory only.)
    """
    matrices = part.interleaved or {part.matrix.values.name: part.matrix}
    header: dict[str, object] = {}
    if part.metadata:
        header["__metadata__"] = dict(part.metadata)
    end = 0
    codes = {name: _code(matrix) for name, matrix in matrices.items()}
    for name, matrix in matrices.items():
        start, shape = end, _shape(matrix)
        end = start + prod(shape) * ITEM_BYTES[codes[name]]
        offsets = [start, end]
        header[name] = {"dtype": codes[name], "shape": list(shape), "data_offsets": offsets}
    text = json.dumps(header, ensure_ascii=False).encode(errors="replace")
    text += b" " * (-len(text) % _ALIGNED)
    yield len(text).to_bytes(_ALIGNED, "little") + text
    for name, matrix in matrices.items():
        for block in _blocks(matrix, progress):
            yield encode_values(block, codes[name])


def csv_pieces(part: TensorPart, progress: Progress = no_progress) -> Pieces:
    """Yield CSV (RFC 4180) as displayed: a line for each row, a single row as a column.

    The first cells are the index and, if known, the token; one that spreadsheets would evaluate
    gets an apostrophe. Numbers have all digits needed to read the same value.
    """
    height, width = part.shape
    has_names = len(part.down.names) > 0
    names = [part.down.kind or "token"] if has_names else []
    titles = (_text(part.column_title(column)) for column in range(width))
    yield _csv([["row", *names, *titles]])
    step = max(1, CSV_TILE // max(1, width))
    for start in range(0, height, step):
        progress(start, height, _label(part.matrix))
        lines = part.block((start, min(start + step, height)), (0, width)).tolist()
        yield _csv(
            [part.first_line + n, *([_text(part.line_name(n))] if has_names else []), *line]
            for n, line in enumerate(lines, start)
        )


WRITERS: Mapping[str, Callable[[TensorPart, Progress], Pieces]] = {
    ".npy": npy_pieces,
    ".safetensors": safetensors_pieces,
    ".csv": csv_pieces,
}
"""The formats by suffix."""


def _csv(lines: Iterable[list[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    return text.getvalue().encode()


def _text(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _blocks(matrix: Matrix, progress: Progress) -> Iterator[Values]:
    # Tiles narrower than the matrix are parts of a single row, so that all are in file order.
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
