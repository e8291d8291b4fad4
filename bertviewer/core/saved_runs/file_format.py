"""Reading and writing saved runs: a schema line, then compressed JSON and arrays.

The JSON comes first, after its length in 8 bytes (little-endian), so that it can be read alone. It
has each array's dtype, shape and offset; the arrays' bytes follow it. Files are not trusted: their
sizes are limited, their types checked, and then their consistency (``validation``).
"""

import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_args

import msgspec
import numpy as np
from msgspec import Meta, Struct, ValidationError
from numpy.typing import NDArray

from bertviewer.core.saved_runs.run_file import SCHEMA, RunFile, SavedModel
from bertviewer.core.saved_runs.validation import check_modules, check_run
from bertviewer.core.schema import activation_run
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.configuration import validate_configuration
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.serialization import (
    Hook,
    NonNegative,
    convert,
    decode,
    dumps,
    encode_floats,
)

MAGIC = f"{SCHEMA}\n".encode()
MAX_TEXT = 24_000_000
"""Bytes of JSON: a run of 1,000 layers takes 8 MB."""
MAX_ARRAYS = 400_000_000
"""Bytes of all arrays; two runs of 512 tokens through BERT large take 110 MB."""
MAX_FILE = 400_000_000
MAX_NOTICES = 20

_LEVEL = 3  # floats hardly compress better at higher levels
_BLOCK = 4_000_000
"""Bytes that are decompressed at once."""
_WHAT = "a saved run"
_MAX_DIMENSIONS = 4
_Dtype = Literal["<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "|i1", "|u1", "|b1"]
_T = TypeVar("_T")

# Its annotations of arrays are strings, so that importing it imports no numpy. msgspec evaluates
# them in the namespace of the module.
vars(activation_run).update(np=np, NDArray=NDArray)


class _ArrayPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """An array's dtype and shape, and the offset of its bytes."""

    dtype: _Dtype
    shape: Annotated[tuple[NonNegative, ...], Meta(max_length=_MAX_DIMENSIONS)]
    at: NonNegative


class _RunHead(Struct, frozen=True):
    source: SourceInfo


class _FileHead(Struct, frozen=True):
    """The part of a ``RunFile`` that opening its model needs."""

    model: SavedModel
    run: _RunHead


def encode_runs(file: RunFile, progress: Progress = no_progress) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces.

    Raises:
        Cancelled: by ``progress``.
    """
    arrays: list[bytes] = []
    end = 0

    def encode_array(array: Any) -> dict[str, Any]:
        nonlocal end
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{type(array).__name__} cannot be written")
        held = np.ascontiguousarray(array)
        held = held.astype(held.dtype.newbyteorder("<"), copy=False)
        if held.dtype.str not in get_args(_Dtype) or held.ndim > _MAX_DIMENSIONS:
            raise TypeError(f"an array of {held.dtype} in {held.ndim} dimensions cannot be written")
        place = {"dtype": held.dtype.str, "shape": list(array.shape), "at": end}
        arrays.append(held.tobytes())
        end += held.nbytes
        return place

    data = encode_floats(msgspec.to_builtins(file, enc_hook=encode_array))
    text = dumps(data, separators=(",", ":"), allow_nan=False)
    compressor = zlib.compressobj(_LEVEL)
    yield MAGIC
    yield compressor.compress(len(text).to_bytes(8, "little") + text)
    for number, piece in enumerate(arrays):
        progress(number, len(arrays), "Writing the runs")
        yield compressor.compress(piece)
    yield compressor.flush()


def read_runs(path: Path, progress: Progress = no_progress) -> RunFile:
    """Return the content of a file of saved runs.

    Raises:
        UserError: it is something else, damaged, too large, or inconsistent.
        Cancelled: by ``progress``.
    """
    text, arrays = _decompressed(path, MAX_TEXT + MAX_ARRAYS, progress)
    file = _decoded(path, text, RunFile, _array_decoder(arrays))
    try:
        for run in file.runs:
            check_run(run)
    except (ValidationError, OverflowError) as error:
        _refuse(path, str(error))
    return file


def check_belongs(path: Path, file: RunFile, architecture: Architecture) -> None:
    """Check that runs from ``path`` belong to the model that their configuration builds.

    Raises:
        UserError: they do not.
    """
    try:
        check_modules(file, architecture)
    except ValidationError as error:
        _refuse(path, str(error))


def read_saved_model(path: Path) -> tuple[dict[str, Any], str, tuple[str, ...], tuple[str, ...]]:
    """Return the model of saved runs: configuration (checked), task, untied parameters, notices.

    Raises:
        UserError: as ``read_runs``.
    """
    text, _ = _decompressed(path, MAX_TEXT, no_progress)
    file = _decoded(path, text, _FileHead)
    model = file.model
    config = validate_configuration(path, dict(model.config))
    return config, model.task, model.untied, file.run.source.notices[:MAX_NOTICES]


def _decoded(path: Path, text: bytes, kind: type[_T], hook: Hook | None = None) -> _T:
    try:
        return decode(text, kind, hook)
    except (ValueError, RecursionError) as error:
        _refuse(path, str(error)[:200])


def _array_decoder(content: memoryview) -> Hook:
    """Return the msgspec hook that reads arrays, together at most as many bytes as there are."""
    left = len(content)

    def decode_array(_kind: type, data: Any) -> NDArray[Any]:
        nonlocal left
        try:
            place = convert(data, _ArrayPlace)
        except ValidationError as error:
            # As a ValueError, so that msgspec adds the location of the array.
            raise ValueError(f"not an array: {error}") from None
        count = math.prod(place.shape)
        end = place.at + count * np.dtype(place.dtype).itemsize
        if end > len(content):
            raise ValueError("an array does not lie inside the file")
        left -= end - place.at
        if left < 0:
            raise ValueError("an array overlaps another one")
        return np.frombuffer(content, place.dtype, count, place.at).reshape(place.shape)

    return decode_array


def _decompressed(path: Path, most: int, progress: Progress) -> tuple[bytes, memoryview]:
    """Return the JSON and the arrays, of both at most ``most`` bytes."""
    compressed = read_small_file(path, MAX_FILE, _WHAT)
    if not compressed.startswith(MAGIC):
        raise UserError(f"{path}: not {_WHAT} of bertviewer, or of another version")
    content, decompressor, limit = bytearray(), zlib.decompressobj(), 8 + most
    rest: bytes | memoryview = memoryview(compressed)[len(MAGIC) :]
    try:
        while not decompressor.eof and len(content) <= limit:
            progress(len(content), 0, f"Reading {path.name}")
            # The input is passed in blocks too, because the unconsumed tail is copied each time.
            block = decompressor.unconsumed_tail or rest[:_BLOCK]
            if block is not decompressor.unconsumed_tail:
                rest = rest[_BLOCK:]
            found = decompressor.decompress(block, min(_BLOCK, limit + 1 - len(content)))
            if not found and not block:
                break
            content += found
    except zlib.error:
        _refuse(path, "it is corrupt")
    if not decompressor.eof and most > MAX_TEXT:
        _refuse(path, "it is too large" if len(content) > limit else "it is truncated")
    length = int.from_bytes(content[:8], "little")
    if length > MAX_TEXT or 8 + length > len(content):
        _refuse(path, "it is truncated or too large")
    return bytes(content[8 : 8 + length]), memoryview(content)[8 + length :].toreadonly()


def _refuse(path: Path, why: str) -> NoReturn:
    raise UserError(f"{path}: not {_WHAT} that can be read: {' '.join(why.split())}")
