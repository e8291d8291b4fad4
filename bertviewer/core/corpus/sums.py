"""The sums of a corpus: of a module's rows by class of token, of heads, of hidden states.

Rows are added one after another in float64, where the square of a float32 is exact: the C module
and numpy give the same bits, on any processor.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.outliers import DEVIATIONS
from bertviewer.core.corpus.histogram import BINS, bins_of

compiled: Any
"""The C module; ``None`` where there was no C compiler when bertviewer was installed."""
try:
    from bertviewer.core.corpus import _sums

    compiled = _sums
except ImportError:
    compiled = None

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

COUNTS = ("rows", "zeros", "nan", "inf")
"""What is counted of the rows of a class."""
HEAD_SUMS = ("queries", "entropy", "distance", "cls", "sep")
"""What is summed of a head, over the queries whose shares are numbers."""
FEATURES = ("totals", "squares", "mins", "maxs", "left_out")
"""What is kept of each feature."""
OF_CLASSES = "class_"
"""What the names of arrays [C] begin with."""
_BLOCK = 1024


class RowSums(Struct, frozen=True, eq=False):
    """The sums of rows of a width D, for each of C classes. The arrays are added to in place.

    Attributes:
        totals: of the finite values of a feature, [C, D].
        squares: of their squares.
        mins: the smallest, Inf where there is none.
        maxs: the largest, -Inf where there is none.
        left_out: how many are NaN or Inf.
        histogram: the finite values of all features, [C, BINS].
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
        """Return the sums of nothing."""
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
        """Add rows of ``values`` [R, D]: class c has those at rows[starts[c]:starts[c + 1]]."""
        classes, width = self.totals.shape
        if values.shape[1:] != (width,) or len(starts) != classes + 1:
            raise ValueError(f"rows of {values.shape[1:]} in {len(starts) - 1} classes")
        if compiled is not None:
            own = (getattr(self, name).ctypes.data for name in self.__struct_fields__)
            held = np.ascontiguousarray(values, np.float32)
            compiled.add_rows(
                held.ctypes.data, width, rows.ctypes.data, starts.ctypes.data, classes, *own
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
            # One row after another, from what is there.
            sums[one] = np.add.reduce(np.vstack([sums[one], added]), axis=0)
        self.mins[one] = np.minimum(
            self.mins[one], np.min(values, axis=0, where=is_finite, initial=np.inf)
        )
        self.maxs[one] = np.maximum(
            self.maxs[one], np.max(values, axis=0, where=is_finite, initial=-np.inf)
        )


class HeadSums(Struct, frozen=True, eq=False):
    """The sums of an attention's heads over queries, [A, HEAD_SUMS]: what a query gives its keys.

    ``entropy`` is -Σ p ln p, ``distance`` Σ p |i - j|, ``cls`` and ``sep`` are the shares at such
    keys, as ``head_figures`` has them.
    """

    sums: Floats

    @staticmethod
    def empty(heads: int) -> "HeadSums":
        """Return the sums of nothing."""
        return HeadSums(np.zeros((heads, len(HEAD_SUMS))))

    def add(self, shares: Singles, lengths: Ints, is_cls: Singles, is_sep: Singles) -> None:
        """Add [B, A, S, S]; of a sentence the first of ``lengths`` are tokens; marks are [B, S]."""
        sentences, heads, length, _ = shares.shape
        if compiled is not None:
            held = np.ascontiguousarray(shares, np.float32)
            compiled.add_heads(
                *(held.ctypes.data, sentences, heads, length, lengths.ctypes.data),
                *(is_cls.ctypes.data, is_sep.ctypes.data, self.sums.ctypes.data),
            )
            return
        for sentence, size in enumerate(lengths.tolist()):
            p = shares[sentence, :, :size, :size].astype(np.float64)
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
            is_there = np.isfinite(p).all(axis=2, keepdims=True)
            self.sums[...] += np.where(is_there, found, 0.0).sum(axis=1)


class StateSums(Struct, frozen=True, eq=False):
    """The outliers of one hidden state by feature, [D]: beyond six deviations of their sentence's.

    Attributes:
        tokens: how many tokens have one.
        sentences: how many sentences.
        farthest: the one farthest from its sentence's mean, in standard deviations, signed.
    """

    tokens: Ints
    sentences: Ints
    farthest: Singles

    @staticmethod
    def empty(width: int) -> "StateSums":
        """Return the counts of nothing."""
        return StateSums(
            np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.float32)
        )

    def add(self, states: Singles, lengths: Ints) -> None:
        """Add [B, S, D]; of a sentence the first of ``lengths`` are tokens."""
        sentences, length, width = states.shape
        if compiled is not None:
            held = np.ascontiguousarray(states, np.float32)
            own = (getattr(self, name).ctypes.data for name in self.__struct_fields__)
            compiled.add_outliers(
                held.ctypes.data, sentences, length, width, lengths.ctypes.data, *own
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


def larger(left: Singles, right: Singles) -> Singles:
    """Return of each two the one of the larger size; of equal ones the first."""
    chosen: Singles = np.where(np.abs(right) > np.abs(left), right, left)
    return chosen


def is_compiled() -> bool:
    """Whether the C module is there."""
    return compiled is not None


Sums = RowSums | HeadSums | StateSums
"""What there are sums of."""


def arrays_of(sums: Sums) -> dict[str, NDArray[Any]]:
    """Return the arrays of sums by their names."""
    return {name: getattr(sums, name) for name in sums.__struct_fields__}


def kept_arrays(sums: Sums) -> dict[str, NDArray[Any]]:
    """Return what a shard keeps of sums: of rows the features of all classes together.

    What begins with ``OF_CLASSES`` is what the features of each class come to.
    """
    arrays = arrays_of(sums)
    if not isinstance(sums, RowSums):
        return arrays
    ways = {"mins": np.min, "maxs": np.max}
    features = {name: arrays[name] for name in FEATURES}
    return {
        **{name: array for name, array in arrays.items() if name not in features},
        **{name: ways.get(name, np.sum)(array, axis=0) for name, array in features.items()},
        **{
            f"{OF_CLASSES}{name}": ways.get(name, np.sum)(array, axis=1)
            for name, array in features.items()
        },
    }


def merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of sums of both together, the left ones first.

    Raises:
        ValueError: they are of other shapes.
    """
    if any(left[name].shape != right[name].shape for name in left):
        raise ValueError("sums of other shapes")
    return {
        name: _WAYS.get(name.removeprefix(OF_CLASSES), np.add)(left[name], right[name])
        for name in left
    }


_WAYS: Mapping[str, Callable[[Any, Any], Any]] = {
    "mins": np.minimum,
    "maxs": np.maximum,
    "farthest": larger,
}
