"""Sums of module outputs over many batches, by class of token, head or feature.

Rows are added one after another in float64, where the square of a float32 is exact: the C module
and NumPy give the same bits, on any processor. Squares instead of deviations from a mean, which
``row_statistics`` has, make the result independent of how rows are grouped into batches.
"""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.statistics.histograms import FLOAT_BINS, float_bins
from bertviewer.core.statistics.row_statistics import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

DEVIATIONS = 6.0
"""Standard deviations from the mean beyond which a value is an outlier, as in ``_sums.c``."""
COUNTS = ("rows", "zeros", "nan", "inf")
"""Columns of ``FeatureSums.counts``."""
HEAD_SUMS = ("queries", "entropy", "distance", "cls", "sep")
"""Columns of ``HeadSums.sums``, over the queries whose attention weights are finite."""
_BLOCK = 1024


def larger(left: Singles, right: Singles) -> Singles:
    """Return the elements of larger magnitude; of equal ones the first."""
    chosen: Singles = np.where(np.abs(right) > np.abs(left), right, left)
    return chosen


class FeatureSums(Struct, frozen=True, eq=False):
    """Sums of rows of width D for each of C classes; the arrays are updated in place.

    Attributes:
        totals: sums of the finite values of each feature, [C, D].
        squares: sums of their squares.
        mins: smallest values, Inf without one.
        maxs: largest values, -Inf without one.
        left_out: number of NaN or Inf values.
        histogram: finite values of all features, [C, FLOAT_BINS].
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
    def empty(classes: int, width: int) -> "FeatureSums":
        """Return the sums of no rows."""
        shape = classes, width
        return FeatureSums(
            np.zeros(shape),
            np.zeros(shape),
            np.full(shape, np.inf, np.float32),
            np.full(shape, -np.inf, np.float32),
            np.zeros(shape, np.int64),
            np.zeros((classes, FLOAT_BINS), np.int64),
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
        self.histogram[one] += np.bincount(float_bins(values[is_finite]), minlength=FLOAT_BINS)
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


class OutlierSums(Struct, frozen=True, eq=False):
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
    def empty(width: int) -> "OutlierSums":
        """Return the sums of no sentences."""
        return OutlierSums(
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


Sums = FeatureSums | HeadSums | OutlierSums


def _addresses(sums: Sums) -> list[int]:
    return [array.ctypes.data for array in arrays_of(sums).values()]


def arrays_of(sums: Sums) -> dict[str, NDArray[Any]]:
    """Return the arrays of an accumulator by name."""
    return {name: getattr(sums, name) for name in sums.__struct_fields__}
