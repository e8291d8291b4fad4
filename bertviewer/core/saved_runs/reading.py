"""Reads a saved run as any file from a stranger: limits first, then types, then sense."""

import zlib
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from msgspec import Struct, ValidationError

from bertviewer.core.saved_runs.arrays import array_reader
from bertviewer.core.saved_runs.run_file import RunFile, SavedModel
from bertviewer.core.saved_runs.soundness import check_file, check_modules
from bertviewer.core.saved_runs.writing import MAGIC
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.configuration import checked_configuration
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.serialization import Hook, decode

MOST_TEXT = 24_000_000
"""Bytes of JSON: a run of 1,000 layers takes 8 MB."""
MOST_ARRAYS = 400_000_000
"""Bytes of all arrays; two runs of 512 tokens through BERT large take 110 MB."""
MOST_NOTICES = 20
MOST_FILE = 400_000_000
_BLOCK = 4_000_000
"""Bytes that are unpacked at once."""
_T = TypeVar("_T")
_WHAT = "a saved run"


def read_runs(path: Path, progress: Progress = no_progress) -> RunFile:
    """Return what a saved run holds.

    Raises:
        UserError: it is none, damaged, too large, or what it says cannot be.
        Cancelled: by ``progress``.
    """
    text, arrays = _unpacked(path, MOST_TEXT + MOST_ARRAYS, progress)
    file = _decoded(path, text, RunFile, array_reader(arrays))
    try:
        check_file(file)
    except (ValidationError, OverflowError) as error:
        _refuse(path, str(error))
    return file


def check_belongs(path: Path, file: RunFile, architecture: Architecture) -> None:
    """Return if what was read from ``path`` is of the model that its configuration makes.

    Raises:
        UserError: it is not.
    """
    try:
        check_modules(file, architecture)
    except ValidationError as error:
        _refuse(path, str(error))


def read_saved_model(
    path: Path,
) -> tuple[dict[str, Any], str, tuple[str, ...], tuple[str, ...]]:
    """Return a saved model: its configuration, checked, its head, what it does not tie, notices.

    Raises:
        UserError: as above.
    """
    text, _ = _unpacked(path, MOST_TEXT, no_progress)
    file = _decoded(path, text, _WithModel)
    model = file.model
    config = checked_configuration(path, dict(model.config))
    return config, model.task, model.untied, file.run.source.notices[:MOST_NOTICES]


class _Run(Struct, frozen=True):
    source: SourceInfo


class _WithModel(Struct, frozen=True):
    """What a saved run says of its model."""

    model: SavedModel
    run: _Run


def _decoded(path: Path, text: bytes, kind: type[_T], hook: Hook | None = None) -> _T:
    try:
        return decode(text, kind, hook)
    except (ValueError, RecursionError) as error:
        _refuse(path, str(error)[:200])


def _unpacked(path: Path, most: int, progress: Progress) -> tuple[bytes, memoryview]:
    """Return the JSON, and as much of the arrays as there is up to so many bytes of both."""
    packed = read_small_file(path, MOST_FILE, _WHAT)
    if not packed.startswith(MAGIC):
        raise UserError(f"{path}: not {_WHAT} of bertviewer, or of another version")
    content, unpacker, most_bytes = bytearray(), zlib.decompressobj(), 8 + most
    rest: bytes | memoryview = memoryview(packed)[len(MAGIC) :]
    try:
        while not unpacker.eof and len(content) <= most_bytes:
            progress(len(content), 0, f"Reading {path.name}")
            # What is packed is taken in pieces too: what is left of it is copied each time.
            piece = unpacker.unconsumed_tail or rest[:_BLOCK]
            if piece is not unpacker.unconsumed_tail:
                rest = rest[_BLOCK:]
            unpacked = unpacker.decompress(piece, min(_BLOCK, most_bytes + 1 - len(content)))
            if not unpacked and not piece:
                break
            content += unpacked
    except zlib.error:
        _refuse(path, "it is corrupt")
    if not unpacker.eof and most > MOST_TEXT:
        _refuse(path, "it is too large" if len(content) > most_bytes else "it is truncated")
    length = int.from_bytes(content[:8], "little")
    if length > MOST_TEXT or 8 + length > len(content):
        _refuse(path, "it is truncated or too large")
    return bytes(content[8 : 8 + length]), memoryview(content)[8 + length :].toreadonly()


def _refuse(path: Path, why: str) -> NoReturn:
    raise UserError(f"{path}: not {_WHAT} that can be read: {' '.join(why.split())}")
