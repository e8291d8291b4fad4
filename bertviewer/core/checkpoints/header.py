"""Header of a safetensors file: reading and validating it, before any library opens the file.

Format: 8 bytes with the length of the header (little-endian), the header (JSON: dtype, shape, first
and last byte of each tensor), then the bytes of the tensors without gaps.
"""

import math
import stat
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from bertviewer.core.checkpoints.stored import DTYPES, FileVersion, StoredTensor, version_of
from bertviewer.core.util.errors import NOT_REGULAR, UserError, error_reason
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.serialization import INTEGER_LIMIT
from bertviewer.core.util.text import MAX_SHOWN, shown_name

PREFIX_BYTES = 8
MAX_HEADER = 30_000_000  # bytes; room for more tensors than MAX_TENSORS
MAX_TENSORS = 200_000
MAX_DIMENSIONS = 64
MAX_NAME = 1_000  # characters of a tensor's name

_METADATA = "__metadata__"
_INVALID = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
LFS_POINTER = "a Git LFS pointer instead of the weights ('git lfs pull' fetches them)"
WEB_PAGE = "a web page instead of weights: the download failed"
# First bytes of other kinds of files. None of them is a plausible length of a header.
_OTHER_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"version ", LFS_POINTER),
    (b"<!", WEB_PAGE),
    (b"<html", WEB_PAGE),
    (b"<head", WEB_PAGE),
    (b"<?xml", "an XML document instead of weights: the download failed"),
    (b"pk\x03\x04", "a zip archive such as a PyTorch pickle, not a safetensors file"),
    (b"\x80\x02", "a Python pickle, not a safetensors file"),
    (b"\x80\x04", "a Python pickle, not a safetensors file"),
    (b"\x89hdf", "an HDF5 file (as written by TensorFlow), not a safetensors file"),
    (b"gguf", "a GGUF file, not a safetensors file"),
    (b"\x1f\x8b", "compressed (gzip); decompress it first"),
    (b"{", "JSON text, not a safetensors file"),
)


_Count = Annotated[int, Meta(ge=0, le=INTEGER_LIMIT - 1)]


class _Entry(Struct, frozen=True):
    """A tensor in the header."""

    dtype: str
    shape: tuple[_Count, ...]
    data_offsets: tuple[_Count, _Count]


_ENTRY = msgspec.json.Decoder(_Entry)
_METADATA_DECODER = msgspec.json.Decoder(dict[str, str])


def read_header(file: Path) -> tuple[StoredTensor, ...]:
    """Return the tensors of a safetensors file in the order of their bytes, without values.

    Raises:
        UserError: it is not a regular file, cannot be read, or is not valid.
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
        raise UserError(f"{file}: {error_reason(error)}") from error


def header_bytes(first: bytes, file: Path, file_bytes: int | None = None) -> int:
    """Return the size of the header with its length: how much of the file has to be read.

    Args:
        first: the first 8 bytes of the file, or fewer if it has fewer.
        file: its name in messages.
        file_bytes: size of the whole file, if it is known.

    Raises:
        UserError: a safetensors file of that size cannot begin with these bytes.
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
    """Return the tensors of a header, in the order of their bytes.

    Args:
        raw: the first bytes of the file, at least to the end of the header.
        file: the file of the tensors, and its name in messages.
        file_bytes: size of the whole file.
        version: of the file, if it is on this disk.

    Raises:
        UserError: the header is not valid, or does not fit the file.
    """
    end = header_bytes(raw[:PREFIX_BYTES], file, file_bytes)
    if len(raw) < end:
        raise UserError(
            f"{file}: truncated: {end:,} bytes of header expected, but only {len(raw):,} received"
        )
    entries = _entries(raw[PREFIX_BYTES:end], file)
    try:
        _METADATA_DECODER.decode(entries.pop(_METADATA, Raw(b"{}")))
    except _INVALID as error:
        raise UserError(f"{file}: bad header: {_METADATA} is not an object of strings") from error
    tensors = [_tensor(name, raw_entry, file, end, version) for name, raw_entry in entries.items()]
    if not tensors:
        raise UserError(f"{file}: it contains no tensors")
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.nbytes))
    _check_places(tensors, end, file, file_bytes)
    return tuple(tensors)


def json_error(error: Exception) -> str:
    """Return what is wrong with a JSON document, for a message."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _entries(text: bytes, file: Path) -> dict[str, Raw]:
    """Return the entries of a header by name, still as JSON."""
    if not text.startswith(b"{"):
        raise UserError(f"{file}: not a safetensors file: its header is not a JSON object")
    count = text.count(b'"data_offsets"')
    if count > MAX_TENSORS:
        raise UserError(f"{file}: it holds {count:,} tensors, more than any real file")
    try:
        entries = msgspec.json.decode(text, type=dict[str, Raw])
    except _INVALID as error:
        raise UserError(f"{file}: bad header: {json_error(error)}") from error
    if count > len(entries):
        raise UserError(f"{file}: bad header: a name appears twice")
    return entries


def _tensor(
    name: str, raw: Raw, file: Path, data_start: int, version: FileVersion | None
) -> StoredTensor:
    def bad(cause: str) -> UserError:
        return UserError(f"{file}: bad header: {shown_name(name)} {cause}")

    if len(name) > MAX_NAME:
        raise bad(f"is a name of {len(name):,} characters")
    if not name.isprintable():
        raise bad("is a name with unprintable characters")
    try:
        entry = _ENTRY.decode(raw)
    except _INVALID as error:
        raise bad(f"is not valid: {json_error(error)}") from error
    dtype, shape, (begin, end) = entry.dtype, entry.shape, entry.data_offsets
    if dtype not in DTYPES:
        raise bad(f"has the unknown dtype {shown_name(dtype)}")
    if len(shape) > MAX_DIMENSIONS:
        raise bad(f"has {len(shape):,} dimensions")
    if begin > end:
        raise bad(f"ends at byte {end:,}, before it begins at {begin:,}")
    needed, rest = divmod(math.prod(shape) * DTYPES[dtype].bits, 8)
    if rest:
        raise bad(f"does not fill whole bytes: {dtype} of the shape {_short(shape)}")
    if needed != end - begin:
        # 64 dimensions of 19 digits are more than Python turns into decimal digits at once.
        size = f"{needed:,}" if needed < INTEGER_LIMIT else "far more"
        raise bad(
            f"takes {_bytes(end - begin)}, but {dtype} of the shape {_short(shape)} needs {size}"
        )
    return StoredTensor(name, dtype, shape, file, data_start + begin, needed, version)


def _check_places(tensors: list[StoredTensor], start: int, file: Path, file_bytes: int) -> None:
    """Refuse overlaps, gaps, and tensors past the end of the file."""
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
