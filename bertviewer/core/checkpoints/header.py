"""Reads the header of a safetensors file with suspicion, before any library sees the file.

The format: 8 bytes that say how long the header is (little-endian), the header (JSON: each tensor's
dtype, shape, and where its bytes begin and end), then the tensors' bytes without gaps.
"""

import json
import math
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertviewer.core.checkpoints.stored import StoredTensor, bits_of
from bertviewer.core.checkpoints.version import FileVersion, version_of
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.serialization import loads

PREFIX_BYTES = 8
MAX_HEADER = 30_000_000  # bytes; room for more tensors than MAX_TENSORS
MAX_TENSORS = 200_000
MAX_DIMENSIONS = 64
MAX_DIGITS = 18  # of a whole number: below 2^63, and no file is as long
MAX_NAME = 1_000  # characters of a tensor's name
MAX_SHOWN = 80  # characters of a name in a message

_METADATA = "__metadata__"
# What a file of another kind begins with, and what it is then. They are looked for only where
# the first 8 bytes make no sense as a length, which is always so for these.
_OTHER_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"version ", "a Git LFS pointer instead of the weights ('git lfs pull' fetches them)"),
    (b"<!", "a web page instead of weights: the download failed"),
    (b"<html", "a web page instead of weights: the download failed"),
    (b"<head", "a web page instead of weights: the download failed"),
    (b"<?xml", "an XML document instead of weights: the download failed"),
    (b"pk\x03\x04", "a zip archive such as a PyTorch pickle, not a safetensors file"),
    (b"\x80\x02", "a Python pickle, not a safetensors file"),
    (b"\x80\x04", "a Python pickle, not a safetensors file"),
    (b"\x89hdf", "an HDF5 file (as written by TensorFlow), not a safetensors file"),
    (b"gguf", "a GGUF file, not a safetensors file"),
    (b"\x1f\x8b", "compressed (gzip); decompress it first"),
    (b"{", "JSON text, not a safetensors file"),
)


def read_header(file: Path) -> tuple[StoredTensor, ...]:
    """Return the tensors of a safetensors file in the order of their bytes, reading no values.

    Raises:
        UserError: it is no regular file, cannot be read, or breaks the format anywhere.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise UserError(f"{file}: {NOT_REGULAR}")
        with file.open("rb") as opened:
            version = version_of(opened.fileno())
            first = opened.read(PREFIX_BYTES)
            length = header_bytes(first, file, version.nbytes)
            raw = first + opened.read(length - len(first))
            return parse_header(raw, file, version.nbytes, version)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error


def header_bytes(first: bytes, file: Path, file_bytes: int | None = None) -> int:
    """Return how many bytes the header takes, its length included: what has to be read next.

    Args:
        first: the first 8 bytes of the file, or fewer if it has fewer.
        file: what the messages name.
        file_bytes: the size of the whole file, if it is known.

    Raises:
        UserError: these cannot be the first bytes of a safetensors file of that size.
    """
    if not first:
        raise UserError(f"{file}: the file is empty")
    start = first.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    other = next((text for magic, text in _OTHER_KINDS if start.startswith(magic)), None)
    if len(first) < PREFIX_BYTES:
        raise UserError(f"{file}: {other or f'only {_bytes(len(first))}, too short for weights'}")
    length = int.from_bytes(first[:PREFIX_BYTES], "little")
    if length > MAX_HEADER:
        cause = f"its header would be {length:,} bytes long, more than in any real file"
        raise UserError(f"{file}: {other or f'not a safetensors file: {cause}'}")
    if file_bytes is not None and PREFIX_BYTES + length > file_bytes:
        raise UserError(
            f"{file}: truncated: the header takes {PREFIX_BYTES + length:,} bytes, but the "
            f"file has only {file_bytes:,}"
        )
    if length < len("{}"):
        raise UserError(f"{file}: not a safetensors file: its header is empty")
    return PREFIX_BYTES + length


def parse_header(
    raw: bytes, file: Path, file_bytes: int, version: FileVersion | None = None
) -> tuple[StoredTensor, ...]:
    """Return the tensors that a header describes, in the order of their bytes.

    Args:
        raw: the file from its first byte on, at least as far as the header goes.
        file: where the tensors are said to be, and what the messages name.
        file_bytes: the size of the whole file.
        version: the file's, if it is on this disk.

    Raises:
        UserError: the header is not one, or does not fit the file.
    """
    end = header_bytes(raw[:PREFIX_BYTES], file, file_bytes)
    if len(raw) < end:
        raise UserError(
            f"{file}: truncated: {end:,} bytes of header expected, but only {len(raw):,} received"
        )
    entries = _entries(raw[PREFIX_BYTES:end], file)
    metadata = entries.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise UserError(f"{file}: bad header: {_METADATA} is not an object of strings")
    tensors = [_tensor(name, entry, file, end, version) for name, entry in entries.items()]
    if not tensors:
        raise UserError(f"{file}: it contains no tensors")
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.nbytes))
    _check_places(tensors, end, file, file_bytes)
    return tuple(tensors)


def shown_name(name: str) -> str:
    """Return a stranger's name in quotes, on one line and not too long, for a message."""
    text = repr(name)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…'"


def parse_json(text: bytes, file: Path, what: str, fractions: bool = False) -> Any:
    """Return JSON that has no huge whole numbers, no others but by ``fractions``, no key twice.

    Raises:
        UserError: it has, or is no JSON; ``what`` names in the message what it was to be.
    """
    try:
        decoded = text.decode("utf-8")
        data = loads(
            decoded,
            object_pairs_hook=_table,
            parse_int=_whole,
            parse_float=float if fractions else _refused,
            parse_constant=_refused,
        )
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: bad {what}: not UTF-8") from error
    except RecursionError as error:
        raise UserError(f"{file}: bad {what}: nested too deeply") from error
    except json.JSONDecodeError as error:
        place = f"at character {error.pos:,}"
        raise UserError(f"{file}: bad {what}: not JSON {place}") from error
    except ValueError as error:
        raise UserError(f"{file}: bad {what}: {error}") from error
    return data


def _entries(text: bytes, file: Path) -> dict[str, Any]:
    if not text.startswith(b"{"):
        raise UserError(f"{file}: not a safetensors file: its header is not a JSON object")
    # Before they are taken apart, which takes a second for every 100,000.
    if (count := text.count(b'"data_offsets"')) > MAX_TENSORS:
        raise UserError(f"{file}: it holds {count:,} tensors, more than any real file")
    entries = parse_json(text, file, "header")
    assert isinstance(entries, dict)  # it begins with a brace
    return entries


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"{shown_name(name)} appears twice")
            seen.add(name)
    return table


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _refused(text: str) -> None:
    raise ValueError(f"{text[:MAX_DIGITS]} is not an integer")


def _tensor(
    name: str, entry: Any, file: Path, data_start: int, version: FileVersion | None
) -> StoredTensor:
    def bad(cause: str) -> UserError:
        return UserError(f"{file}: bad header: {shown_name(name)} {cause}")

    if len(name) > MAX_NAME:
        raise bad(f"is a name of {len(name):,} characters")
    if not name.isprintable():
        raise bad("is a name with unprintable characters")
    if not isinstance(entry, Mapping):
        raise bad("is not an object")
    dtype, shape = entry.get("dtype"), _whole_numbers(entry.get("shape"))
    offsets = _whole_numbers(entry.get("data_offsets"))
    if not isinstance(dtype, str):
        raise bad("has no dtype")
    if (bits := bits_of(dtype)) is None:
        raise bad(f"has the unknown dtype {shown_name(dtype)}")
    if shape is None:
        raise bad("has no valid shape")
    if len(shape) > MAX_DIMENSIONS:
        raise bad(f"has {len(shape):,} dimensions")
    if offsets is None or len(offsets) != 2:
        raise bad("has no valid data_offsets")
    begin, end = offsets
    if begin > end:
        raise bad(f"ends at byte {end:,}, before it begins at {begin:,}")
    needed, rest = divmod(math.prod(shape) * bits, 8)
    if rest:
        raise bad(f"does not fill whole bytes: {dtype} of the shape {_short(shape)}")
    if needed != end - begin:
        raise bad(
            f"takes {_bytes(end - begin)}, but {dtype} of the shape {_short(shape)} "
            f"needs {_short_number(needed)}"
        )
    return StoredTensor(name, dtype, shape, file, data_start + begin, needed, version)


def _whole_numbers(value: Any) -> tuple[int, ...] | None:
    """Return a list of whole numbers from 0 on; ``None`` for anything else."""
    if not isinstance(value, list):
        return None
    # JSON's true is a whole number to Python.
    if any(type(number) is not int or number < 0 for number in value):
        return None
    return tuple(value)


def _check_places(tensors: list[StoredTensor], start: int, file: Path, file_bytes: int) -> None:
    """Refuse bytes that belong to two tensors, to none, or that are not there."""
    at = start
    for tensor in tensors:
        if tensor.offset != at:
            name, gap = shown_name(tensor.name), tensor.offset - at
            cause = (
                f"{_bytes(gap)} before {name} {_belong(gap)} to no tensor"
                if gap > 0
                else f"{name} overlaps the tensor before it"
            )
            raise UserError(f"{file}: bad header: {cause}")
        at += tensor.nbytes
    if at > file_bytes:
        raise UserError(
            f"{file}: truncated: its tensors end at byte {at:,}, but the file has only "
            f"{file_bytes:,}"
        )
    if at < file_bytes:
        more = file_bytes - at
        raise UserError(f"{file}: {_bytes(more)} after its last tensor {_belong(more)} to none")


def _bytes(count: int) -> str:
    return count_text(count, "1 byte", "{0} bytes")


def _belong(count: int) -> str:
    return "belongs" if count == 1 else "belong"


def _short(shape: tuple[int, ...]) -> str:
    text = str(list(shape))
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…]"


def _short_number(value: int) -> str:
    # 64 dimensions of 18 digits are more than Python turns into decimal digits at once.
    return f"{value:,}" if value < 10**MAX_DIGITS else "far more"
