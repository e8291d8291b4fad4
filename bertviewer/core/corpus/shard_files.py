"""A finished shard is one file: it is there whole or not at all."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from safetensors.numpy import save

from bertviewer.core.checkpoints.finding import check_inside
from bertviewer.core.corpus.folder_files import MOST_ARRAYS, arrays_in, read_file
from bertviewer.core.corpus.measured import Measured
from bertviewer.core.corpus.plan import FOLDER
from bertviewer.core.corpus.sums import HeadSums, RowSums, StateSums, Sums, kept_arrays, merged
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.util.errors import UserError

Arrays = Mapping[str, NDArray[Any]]

COUNTED = ("sentences", "tokens", "cut", "unread", "batches")
"""What is counted of a shard; ``unread`` sentences are those that the tokenizer refused."""
PARTS = ("rows", "heads", "states")
"""What there are sums of."""
_COUNTED = "counted"
_LEVEL = 1


class Shard(Struct, frozen=True, eq=False):
    """The sums of a shard: of modules' rows, of attentions' heads, of hidden states; by place.

    Attributes:
        counted: how much of what ``COUNTED`` names.
        rows: for each measured call of a module.
        heads: for each call of an attention.
        states: for each hidden state.
    """

    counted: NDArray[np.int64]
    rows: tuple[Arrays, ...]
    heads: tuple[Arrays, ...]
    states: tuple[Arrays, ...]

    def added(self, other: "Shard") -> "Shard":
        """Return the sums of both together, those of this one first."""
        parts = {
            name: tuple(map(merged, getattr(self, name), getattr(other, name))) for name in PARTS
        }
        return Shard(self.counted + other.counted, **parts)


def shard_file(folder: Path, number: int) -> Path:
    """Return where a shard is, or will be."""
    return folder / FOLDER / f"{number:05d}.shard"


def write_shard(file: Path, shard: Shard) -> None:
    """Write a shard.

    Raises:
        UserError: the folder or the disk does not take it.
    """
    arrays: dict[str, NDArray[Any]] = {_COUNTED: shard.counted}
    for name in PARTS:
        for place, sums in enumerate(getattr(shard, name)):
            arrays |= {f"{name}.{place}.{key}": array for key, array in sums.items()}
    content = save(arrays)
    if len(content) > MOST_ARRAYS:
        raise UserError(
            f"{file}: the measurements take {len(content):,} bytes, more than {MOST_ARRAYS:,}; "
            "measure fewer modules with --modules"
        )
    write_atomically(file, zlib.compress(content, _LEVEL))


def check_fits(shard: Shard, measured: Measured) -> None:
    """Return if a shard's arrays have the names, sizes and types of what is measured.

    Raises:
        ValueError: they have not.
    """
    rows = [(len(call.classes), call.layout.width) for call in measured.calls]
    wanted = [
        [_like(RowSums.empty(*_MODEL), sizes) for sizes in rows],
        [_like(HeadSums.empty(_MODEL[1]), (0, one.heads)) for one in measured.attentions],
        [_like(StateSums.empty(_MODEL[1]), (0, measured.width))] * len(measured.state_calls),
    ]
    found = [
        [{name: (array.shape, array.dtype) for name, array in sums.items()} for sums in part]
        for part in (shard.rows, shard.heads, shard.states)
    ]
    is_whole = measured.states == len(measured.state_calls)
    if not is_whole or found != wanted or shard.counted.shape != (len(COUNTED),):
        raise ValueError("its arrays do not match what is measured")


_MODEL = 2, 3  # sizes that no other axis has


def _like(sums: Sums, sizes: tuple[int, int]) -> dict[str, Any]:
    """Return shapes and types of such sums with other sizes, which need not fit into memory."""
    size_of = dict(zip(_MODEL, sizes, strict=True))
    return {
        name: (tuple(size_of.get(size, size) for size in array.shape), array.dtype)
        for name, array in kept_arrays(sums).items()
    }


def read_shard(file: Path) -> Shard:
    """Return a shard.

    Raises:
        UserError: it cannot be read, or is none.
    """
    check_inside(file.parent)
    packed = read_file(file, MOST_ARRAYS, "a corpus shard")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, MOST_ARRAYS)
        if not unpacker.eof:
            raise ValueError("it is truncated or too large")
        return _shard_of(arrays_in(content, file))
    except (zlib.error, KeyError, ValueError) as error:
        raise UserError(f"{file}: not a complete shard: {error}") from error


def is_whole(file: Path) -> bool:
    """Whether a shard is there and can be read."""
    if not file.exists():
        return False
    try:
        read_shard(file)
    except UserError:
        return False
    return True


def _shard_of(arrays: Arrays) -> Shard:
    parts: dict[str, dict[int, dict[str, NDArray[Any]]]] = {name: {} for name in PARTS}
    for name, array in arrays.items():
        if name != _COUNTED:
            part, place, key = name.split(".")
            parts[part].setdefault(int(place), {})[key] = array
    return Shard(
        arrays[_COUNTED],
        **{
            name: tuple(found[place] for place in range(len(found)))
            for name, found in parts.items()
        },
    )
