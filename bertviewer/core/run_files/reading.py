"""Reads a saved run as any file from a stranger: limits first, then types, then sense."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.errors import UserError
from bertviewer.core.plain_data import Odd
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run_files.arrays import reader_of
from bertviewer.core.run_files.run_file import RunFile
from bertviewer.core.run_files.soundness import check_file, check_modules
from bertviewer.core.run_files.writing import MAGIC
from bertviewer.core.source.configuration import checked_configuration
from bertviewer.core.system.files import read_small_file
from bertviewer.core.text.json_text import loads
from bertviewer.core.text.special_floats import decoded

MOST_TEXT = 24_000_000
"""Bytes of JSON: a run of 1,000 layers takes 8 MB."""
MOST_ARRAYS = 400_000_000
"""Bytes of all arrays; two runs of 512 tokens through BERT large take 110 MB."""
MOST_NOTICES = 20
MOST_FILE = 400_000_000
_BLOCK = 4_000_000
"""Bytes that are unpacked at once."""
_MOST_DIGITS = 25
_WHAT = "a saved run"


def read_runs(path: Path, progress: Progress = no_progress) -> RunFile:
    """Return what a saved run holds.

    Raises:
        UserError: it is none, damaged, too large, or what it says cannot be.
        Cancelled: by ``progress``.
    """
    data, arrays = _unpacked(path, MOST_TEXT + MOST_ARRAYS, progress)
    try:
        file: RunFile = reader_of(arrays).read(RunFile, data)
        check_file(file)
    except Odd as error:
        _refuse(path, str(error))
    except (OverflowError, RecursionError) as error:
        _refuse(path, str(error))
    return file


def check_belongs(path: Path, file: RunFile, architecture: Architecture) -> None:
    """Return if what was read from ``path`` is of the model that its configuration makes.

    Raises:
        UserError: it is not.
    """
    try:
        check_modules(file, architecture)
    except Odd as error:
        _refuse(path, str(error))


def read_saved_model(
    path: Path,
) -> tuple[dict[str, Any], str, tuple[str, ...], tuple[str, ...]]:
    """Return a saved model: its configuration, checked, its head, what it does not tie, notices.

    Raises:
        UserError: as above.
    """
    data, _ = _unpacked(path, MOST_TEXT, no_progress)
    model = data.get("model") if isinstance(data, dict) else None
    config, task = (model.get("config"), model.get("task")) if isinstance(model, dict) else (0, 0)
    if not isinstance(task, str):
        _refuse(path, "it names no model")
    untied = model.get("untied", []) if isinstance(model, dict) else []
    if not isinstance(untied, list) or not all(isinstance(name, str) for name in untied):
        _refuse(path, "its list of untied tensors is not a list of names")
    config = checked_configuration(path, decoded(config))
    return config, task, tuple(untied), _notices(data)


def _notices(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what qualified the figures of the run when it was saved."""
    run = data.get("run")
    source = run.get("source") if isinstance(run, dict) else None
    found = source.get("notices") if isinstance(source, dict) else None
    texts = found[:MOST_NOTICES] if isinstance(found, list) else []
    return tuple(text for text in texts if isinstance(text, str))


def _unpacked(path: Path, most: int, progress: Progress) -> tuple[Any, memoryview]:
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
    try:
        text = bytes(content[8 : 8 + length]).decode("utf-8")
        data = loads(text, parse_int=_whole, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"not valid JSON: {str(error)[:200]}")
    return data, memoryview(content)[8 + length :].toreadonly()


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number with too many digits")
    return int(digits)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _refuse(path: Path, why: str) -> NoReturn:
    raise UserError(f"{path}: not {_WHAT} that can be read: {' '.join(why.split())}")
