"""Sums of a shard: accumulated batch by batch, stored in one file, merged in order.

Rows are added one after another in float64, where the square of a float32 is exact: the C module
and NumPy give the same bits, on any processor.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from safetensors.numpy import save

from bertviewer.core.analysis.outliers import DEVIATIONS
from bertviewer.core.checkpoints.finding import check_inside
from bertviewer.core.corpus.corpus import Floats, Heads, Ints, Singles, larger
from bertviewer.core.corpus.histogram import BINS, bins_of
from bertviewer.core.corpus.measurement_spec import MeasurementSpec
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.corpus.reading import MAX_ARRAYS, arrays_in, read_file
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.schema.row_statistics import compiled
from bertviewer.core.util.errors import UserError

Arrays = Mapping[str, NDArray[Any]]

COUNTS = ("rows", "zeros", "nan", "inf")
"""Columns of ``RowSums.counts``."""
HEAD_SUMS = Heads.__struct_fields__
"""Columns of ``HeadSums.sums``, over the queries whose attention weights are finite."""
FEATURES = ("totals", "squares", "mins", "maxs", "left_out")
"""The arrays of ``RowSums`` by class and feature, [C, D]."""
COUNTED = ("sentences", "tokens", "cut", "unread", "batches")
"""What is counted in a shard; ``unread`` sentences are those that the tokenizer rejected."""
PARTS = ("rows", "heads", "states")
"""Fields of a ``Shard`` with arrays for each call, attention or hidden state."""
_BLOCK = 1024
_LEVEL = 1
_SMALL = 2, 3  # distinct sizes of a small accumulator, from which shapes are derived


class RowSums(Struct, frozen=True, eq=False):
    """Sums of rows of width D for each of C classes; the arrays are updated in place.

    Attributes:
        totals: sums of the finite values of each feature, [C, D].
        squares: sums of their squares.
        mins: smallest values, Inf without one.
        maxs: largest values, -Inf without one.
        left_out: number of NaN or Inf values.
        histogram: finite values of all features, [C, BINS].
        counts: [C, COUNTS].
    """

    totals: Floats
    squares: Floats
    mins: Singles
    maxs: Singles
    left_out: Ints
    histogram: Ints
    counts: Ints

    @staticmethod
    def empty(classes: int, width: int) -> "RowSums":
        """Return the sums of no rows."""
        shape = classes, width
        return RowSums(
            np.zeros(shape),
            np.zeros(shape),
            np.full(shape, np.inf, np.float32),
            np.full(shape, -np.inf, np.float32),
            np.zeros(shape, np.int64),
            np.zeros((classes, BINS), np.int64),
            np.zeros((classes, len(COUNTS)), np.int64),
        )

    def add(self, values: Singles, rows: Ints, starts: Ints) -> None:
        """Add rows of ``values`` [R, D]: those of class c are rows[starts[c]:starts[c + 1]]."""
        classes, width = self.totals.shape
        if values.shape[1:] != (width,) or len(starts) != classes + 1:
            raise ValueError(f"rows of {values.shape[1:]} in {len(starts) - 1} classes")
        if compiled is not None:
            held = np.ascontiguousarray(values, np.float32)
            compiled.add_rows(
                *(held.ctypes.data, width, rows.ctypes.data, starts.ctypes.data, classes),
                *_addresses(self),
            )
            return
        for one in range(classes):
            chosen = rows[starts[one] : starts[one + 1]]
            for start in range(0, len(chosen), _BLOCK):
                self._add_class(one, values[chosen[start : start + _BLOCK]])

    def _add_class(self, one: int, values: Singles) -> None:
        is_finite = np.isfinite(values)
        nan, inf = np.isnan(values).sum(), np.isinf(values).sum()
        self.counts[one] += (len(values), (values == 0).sum(), nan, inf)
        self.left_out[one] += (~is_finite).sum(axis=0)
        self.histogram[one] += np.bincount(bins_of(values[is_finite]), minlength=BINS)
        exact = np.where(is_finite, values, 0).astype(np.float64)
        for sums, added in ((self.totals, exact), (self.squares, exact * exact)):
            # NumPy reduces the first axis in order, so the sums so far are the first row.
            sums[one] = np.add.reduce(np.vstack([sums[one], added]), axis=0)
        self.mins[one] = np.minimum(
            self.mins[one], np.min(values, axis=0, where=is_finite, initial=np.inf)
        )
        self.maxs[one] = np.maximum(
            self.maxs[one], np.max(values, axis=0, where=is_finite, initial=-np.inf)
        )


class HeadSums(Struct, frozen=True, eq=False):
    """Sums over the queries of an attention's heads, [A, HEAD_SUMS].

    ``entropy`` is -Σ p ln p, ``distance`` Σ p |i - j|, ``cls`` and ``sep`` are the weights on such
    keys, as in ``head_figures``.
    """

    sums: Floats

    @staticmethod
    def empty(heads: int) -> "HeadSums":
        """Return the sums of no queries."""
        return HeadSums(np.zeros((heads, len(HEAD_SUMS))))

    def add(self, weights: Singles, lengths: Ints, is_cls: Singles, is_sep: Singles) -> None:
        """Add attention weights [B, A, S, S] of sentences of these lengths; marks are [B, S]."""
        sentences, heads, length, _ = weights.shape
        if compiled is not None:
            held = np.ascontiguousarray(weights, np.float32)
            compiled.add_heads(
                *(held.ctypes.data, sentences, heads, length, lengths.ctypes.data),
                *(is_cls.ctypes.data, is_sep.ctypes.data, self.sums.ctypes.data),
            )
            return
        for sentence, size in enumerate(lengths.tolist()):
            p = weights[sentence, :, :size, :size].astype(np.float64)
            apart = np.abs(np.arange(size)[:, None] - np.arange(size))
            logs = np.log(np.maximum(p, np.finfo(np.float32).tiny))
            found = np.stack(
                [
                    np.ones(p.shape[:2]),
                    -(p * logs).sum(axis=2),
                    (p * apart).sum(axis=2),
                    (p * is_cls[sentence, :size]).sum(axis=2),
                    (p * is_sep[sentence, :size]).sum(axis=2),
                ],
                axis=2,
            )
            is_finite = np.isfinite(p).all(axis=2, keepdims=True)
            self.sums[...] += np.where(is_finite, found, 0.0).sum(axis=1)


class StateSums(Struct, frozen=True, eq=False):
    """Outliers of one hidden state by feature, [D]: over six standard deviations of the sentence.

    Attributes:
        tokens: number of tokens with an outlier.
        sentences: number of sentences.
        farthest: largest deviation from a sentence's mean, in standard deviations, signed.
    """

    tokens: Ints
    sentences: Ints
    farthest: Singles

    @staticmethod
    def empty(width: int) -> "StateSums":
        """Return the sums of no sentences."""
        return StateSums(
            np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.float32)
        )

    def add(self, states: Singles, lengths: Ints) -> None:
        """Add hidden states [B, S, D] of sentences of these lengths."""
        sentences, length, width = states.shape
        if compiled is not None:
            held = np.ascontiguousarray(states, np.float32)
            compiled.add_outliers(
                *(held.ctypes.data, sentences, length, width, lengths.ctypes.data),
                *_addresses(self),
            )
            return
        for state, size in zip(states, lengths.tolist(), strict=True):
            self._add_sentence(state[:size].astype(np.float64))

    def _add_sentence(self, state: Floats) -> None:
        finite = state[np.isfinite(state)]
        if not finite.size or not (deviation := finite.std()) > 0:
            return
        apart = np.where(np.isfinite(state), state - finite.mean(), 0.0) / deviation
        is_outlier = np.abs(apart) > DEVIATIONS
        self.tokens[...] += is_outlier.sum(axis=0)
        self.sentences[...] += is_outlier.any(axis=0)
        found = np.where(is_outlier, apart, 0.0)
        tokens = np.abs(found).argmax(axis=0)
        farthest = found[tokens, np.arange(found.shape[1])].astype(np.float32)
        self.farthest[...] = larger(self.farthest, farthest)


Sums = RowSums | HeadSums | StateSums


def _addresses(sums: Sums) -> list[int]:
    return [array.ctypes.data for array in arrays_of(sums).values()]


def arrays_of(sums: Sums) -> dict[str, NDArray[Any]]:
    """Return the arrays of an accumulator by name."""
    return {name: getattr(sums, name) for name in sums.__struct_fields__}


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
    if not isinstance(sums, RowSums):
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
        self.rows = [RowSums.empty(len(call.classes), call.layout.width) for call in measured.calls]
        self.heads = [HeadSums.empty(attention.heads) for attention in measured.attentions]
        self.states = [StateSums.empty(measured.width) for _ in range(measured.states)]
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
        [_expected(RowSums.empty(*_SMALL), sizes) for sizes in rows],
        [_expected(HeadSums.empty(_SMALL[1]), (0, one.heads)) for one in measured.attentions],
        [_expected(StateSums.empty(_SMALL[1]), (0, measured.width))] * len(measured.state_calls),
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
