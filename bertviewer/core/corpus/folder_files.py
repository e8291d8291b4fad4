"""Reads the files of a corpus's folder, which may be anybody's, within limits of their sizes."""

from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from bertviewer.core.checkpoints.decoding import decode
from bertviewer.core.checkpoints.finding import check_inside
from bertviewer.core.checkpoints.header import parse_header, parse_json, shown_name
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file

MOST_JSON = 20_000_000
"""Bytes of JSON; a manifest of 10,000 shards takes 2 MB."""
MOST_ARRAYS = 1_000_000_000
"""Bytes of arrays; those of a model with 2,000 modules of 4,096 features take 300 MB."""

_DTYPES = ("F64", "F32", "I64")


def read_file(file: Path, most: int, what: str) -> bytes:
    """Return the content of a regular file that lies in its folder.

    Raises:
        UserError: it is something else, a link that leaves the folder, larger than ``most`` bytes,
            or cannot be read.
    """
    check_inside(file)
    return read_small_file(file, most, what)


def read_json(file: Path, what: str) -> Any:
    """Return the JSON in a file of the folder; none of its texts has half a pair of surrogates.

    Raises:
        UserError: as ``read_file``, or it is no JSON.
    """
    content = read_file(file, MOST_JSON, f"a {what}")
    found = parse_json(content, file, what, fractions=True)
    # Only an escape can make such a half, in bytes that are UTF-8.
    if b"\\u" in content:
        try:
            msgspec.json.encode(found)
        except (UnicodeEncodeError, OverflowError) as error:
            raise UserError(f"{file}: bad {what}: {error}") from error
    return found


def arrays_in(content: bytes, file: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, without copies; ``file`` is for messages.

    Raises:
        UserError: the content breaks the format, or has arrays of a kind that no corpus has.
    """
    found: dict[str, NDArray[Any]] = {}
    for tensor in parse_header(content, file, len(content)):
        if tensor.dtype not in _DTYPES:
            raise UserError(f"{file}: {shown_name(tensor.name)} is stored as {tensor.dtype}")
        raw = memoryview(content)[tensor.offset : tensor.offset + tensor.nbytes]
        found[tensor.name] = decode(raw, tensor.dtype).reshape(tensor.shape)
    return found
