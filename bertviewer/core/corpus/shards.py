"""Sums of a shard: accumulated batch by batch, stored in one file, merged in order."""

import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from safetensors.numpy import save

from bertviewer.core.checkpoints.finding import check_inside
from bertviewer.core.corpus.measurement_spec import MeasurementSpec
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.corpus.reading import MAX_ARRAYS, arrays_in, read_file
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.statistics.accumulators import (
    FeatureSums,
    HeadSums,
    OutlierSums,
    Sums,
    arrays_of,
    larger,
)
from bertviewer.core.util.errors import UserError

Arrays = Mapping[str, NDArray[Any]]

FEATURES = ("totals", "squares", "mins", "maxs", "left_out")
"""The arrays of ``FeatureSums`` by class and feature, [C, D]."""
COUNTED = ("sentences", "tokens", "cut", "unread", "batches")
"""What is counted in a shard; ``unread`` sentences are those that the tokenizer rejected."""
PARTS = ("rows", "heads", "states")
"""Fields of a ``Shard`` with arrays for each call, attention or hidden state."""
_LEVEL = 1
_SMALL = 2, 3  # distinct sizes of a small accumulator, from which shapes are derived


_MERGED: Mapping[str, Callable[[Any, Any], Any]] = {
    **{"mins": np.minimum, "class_mins": np.minimum, "farthest": larger},
    **{"maxs": np.maximum, "class_maxs": np.maximum},
}
"""How two arrays are merged; all others are added."""


def stored_arrays(sums: Sums) -> dict[str, NDArray[Any]]:
    """Return the arrays that a shard stores.

    Those of ``FEATURES`` are reduced: over classes, and as ``class_…`` over features.
    """
    arrays = arrays_of(sums)
    if not isinstance(sums, FeatureSums):
        return arrays
    reductions = {"mins": np.min, "maxs": np.max}
    for name in FEATURES:
        reduce, array = reductions.get(name, np.sum), arrays.pop(name)
        arrays |= {name: reduce(array, axis=0), f"class_{name}": reduce(array, axis=1)}
    return arrays


class ShardSums:
    """Accumulators of a shard that is being run.

    Attributes:
        counted: counts by ``COUNTED``.
        rows: one accumulator for each measured call.
        heads: one for each attention.
        states: one for each hidden state.
        nbytes: memory of all of them.
    """

    def __init__(self, measured: MeasurementSpec) -> None:
        self.counted: Counter[str] = Counter()
        self.rows = [
            FeatureSums.empty(len(call.classes), call.layout.width) for call in measured.calls
        ]
        self.heads = [HeadSums.empty(attention.heads) for attention in measured.attentions]
        self.states = [OutlierSums.empty(measured.width) for _ in range(measured.states)]
        every: list[Sums] = [*self.rows, *self.heads, *self.states]
        self.nbytes = sum(a.nbytes for sums in every for a in arrays_of(sums).values())

    def shard(self) -> "Shard":
        """Return the arrays to store."""
        return Shard(
            np.array([self.counted[name] for name in COUNTED], np.int64),
            *(tuple(map(stored_arrays, sums)) for sums in (self.rows, self.heads, self.states)),
        )


class Shard(Struct, frozen=True, eq=False):
    """The stored sums of a shard.

    Attributes:
        counted: counts by ``COUNTED``.
        rows: arrays of each measured call.
        heads: arrays of each attention.
        states: arrays of each hidden state.
    """

    counted: NDArray[np.int64]
    rows: tuple[Arrays, ...]
    heads: tuple[Arrays, ...]
    states: tuple[Arrays, ...]

    def merge(self, other: "Shard") -> "Shard":
        """Return the sums of both, this one's first.

        Raises:
            ValueError: the arrays differ in shape.
        """
        parts = (
            tuple(
                {name: _merge(name, one[name], two[name]) for name in one}
                for one, two in zip(getattr(self, part), getattr(other, part), strict=True)
            )
            for part in PARTS
        )
        return Shard(self.counted + other.counted, *parts)


def _merge(name: str, left: NDArray[Any], right: NDArray[Any]) -> Any:
    if left.shape != right.shape:
        raise ValueError("sums of other shapes")
    return _MERGED.get(name, np.add)(left, right)


def shard_file(folder: Path, number: int) -> Path:
    """Return the file of a shard, which need not exist."""
    return folder / SHARDS_FOLDER / f"{number:05d}.shard"


def write_shard(file: Path, shard: Shard) -> None:
    """Write a shard atomically.

    Raises:
        UserError: it is too large, or cannot be written.
    """
    arrays: dict[str, NDArray[Any]] = {"counted": shard.counted}
    for part in PARTS:
        for place, sums in enumerate(getattr(shard, part)):
            arrays |= {f"{part}.{place}.{key}": array for key, array in sums.items()}
    content = save(arrays)
    if len(content) > MAX_ARRAYS:
        raise UserError(
            f"{file}: the measurements take {len(content):,} bytes, more than {MAX_ARRAYS:,}; "
            "measure fewer modules with --modules"
        )
    write_atomically(file, zlib.compress(content, _LEVEL))


def read_shard(file: Path) -> Shard:
    """Return a shard.

    Raises:
        UserError: it cannot be read, or is not a shard.
    """
    check_inside(file.parent)
    packed = read_file(file, MAX_ARRAYS, "a corpus shard")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, MAX_ARRAYS)
        if not unpacker.eof:
            raise ValueError("it is truncated or too large")
        parts: dict[str, dict[int, dict[str, NDArray[Any]]]] = {name: {} for name in PARTS}
        arrays = arrays_in(content, file)
        counted = arrays.pop("counted")
        for name, array in arrays.items():
            part, place, key = name.split(".")
            parts[part].setdefault(int(place), {})[key] = array
        return Shard(
            counted, *(tuple(part[n] for n in range(len(part))) for part in parts.values())
        )
    except (zlib.error, KeyError, ValueError) as error:
        raise UserError(f"{file}: not a complete shard: {error}") from error


def is_complete(file: Path) -> bool:
    """Whether a shard exists and can be read."""
    if not file.exists():
        return False
    try:
        read_shard(file)
    except UserError:
        return False
    return True


def check_fits(shard: Shard, measured: MeasurementSpec) -> None:
    """Check that a shard's arrays have the names, shapes and types of what is measured.

    Raises:
        ValueError: they differ.
    """
    rows = [(len(call.classes), call.layout.width) for call in measured.calls]
    expected = [
        [_expected(FeatureSums.empty(*_SMALL), sizes) for sizes in rows],
        [_expected(HeadSums.empty(_SMALL[1]), (0, one.heads)) for one in measured.attentions],
        [_expected(OutlierSums.empty(_SMALL[1]), (0, measured.width))] * len(measured.state_calls),
    ]
    found = [
        [{name: (array.shape, array.dtype) for name, array in sums.items()} for sums in part]
        for part in (shard.rows, shard.heads, shard.states)
    ]
    is_whole = measured.states == len(measured.state_calls)
    if not is_whole or found != expected or shard.counted.shape != (len(COUNTED),):
        raise ValueError("its arrays do not match what is measured")


def _expected(sums: Sums, sizes: tuple[int, int]) -> dict[str, Any]:
    """Return shapes and types of an accumulator of these sizes, which may exceed the memory."""
    size_of = dict(zip(_SMALL, sizes, strict=True))
    return {
        name: (tuple(size_of.get(size, size) for size in array.shape), array.dtype)
        for name, array in stored_arrays(sums).items()
    }
