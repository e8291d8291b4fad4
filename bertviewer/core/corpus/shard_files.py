"""A finished shard is one file: it is there whole or not at all."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from bertviewer.core.corpus.plan import FOLDER
from bertviewer.core.corpus.sums import merged
from bertviewer.core.errors import UserError
from bertviewer.core.frozen import frozen
from bertviewer.core.saving.files import write_atomically

Arrays = Mapping[str, NDArray[Any]]

COUNTED = ("sentences", "tokens", "cut", "unread", "batches")
"""What is counted of a shard; ``unread`` sentences are those that the tokenizer refused."""
PARTS = ("rows", "heads", "states")
"""What there are sums of."""
MOST_BYTES = 8_000_000_000
"""A stranger's few bytes may say that they are more when they are unpacked."""
_COUNTED = "counted"
_LEVEL = 1


@frozen(eq=False)
class Shard:
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
    write_atomically(file, zlib.compress(save(arrays), _LEVEL))


def read_shard(file: Path) -> Shard:
    """Return a shard.

    Raises:
        UserError: it cannot be read, or is none.
    """
    try:
        unpacker = zlib.decompressobj()
        arrays = load(unpacker.decompress(file.read_bytes(), MOST_BYTES))
        if not unpacker.eof:
            raise ValueError("it is cut off, or too large")
        return _shard_of(arrays)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    except (zlib.error, SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{file}: it is no shard, or not a whole one: {error}") from error


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
