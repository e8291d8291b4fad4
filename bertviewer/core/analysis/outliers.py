"""Outlier features: dimensions in which hidden states are far from the mean.

A dimension d is an outlier of a hidden state h [S, D] if a token t has
|h[t, d] - mean(h)| > 6 std(h), with mean and population standard deviation over all of h. This is
the definition of Bondarenko, Nagel and Blankevoort (2021, "Understanding and Overcoming the
Challenges of Efficient Transformer Quantization"; 2023, "Quantizable Transformers"), applied to
hidden states. Related definitions:

- Kovaleva et al. (2021, "BERT Busters") find outliers in weights: scales and biases of the output
  LayerNorm, at the same position in many layers. Hence the order here: first the features that are
  outliers of most states.
- Dettmers et al. (2022, "LLM.int8()") require a magnitude |h[t, d]| >= 6 in a quarter of the layers
  and at 6 % of the positions. Standard deviations make ours independent of the model's scale.
- Timkey and van Schijndel (2021, "All Bark and No Bite") measure the share of one dimension in the
  mean cosine between tokens: such features are why all tokens seem similar.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.core.statistics.row_statistics import measure_rows


class Outlier(Struct, frozen=True):
    """A feature in one hidden state of which it is an outlier.

    Attributes:
        state: the hidden state.
        tokens: the number of tokens with an outlier.
        deviation: the largest distance from the state's mean in standard deviations, signed.
        token: the token that has it.
    """

    state: int
    tokens: int
    deviation: float
    token: int


class OutlierFeature(Struct, frozen=True):
    """A dimension of the hidden states, and the states of which it is an outlier, in order."""

    index: int
    outliers: tuple[Outlier, ...]

    @property
    def states(self) -> tuple[int, ...]:
        """The hidden states of which it is an outlier."""
        return tuple(outlier.state for outlier in self.outliers)

    @property
    def largest(self) -> Outlier:
        """The outlier farthest from the mean."""
        return max(self.outliers, key=lambda outlier: abs(outlier.deviation))


class MeanStd(Struct, frozen=True):
    """Mean and population standard deviation of the finite values of a hidden state."""

    mean: float
    std: float


class FeaturePath(Struct, frozen=True, eq=False):
    """One feature in every hidden state; ``None`` if a state has no finite value of it.

    Attributes:
        means: the mean over the tokens' finite values.
        mins: the smallest of them.
        maxs: the largest of them.
        values: [N + 1, S], the value of each token, finite or not.
    """

    means: tuple[float | None, ...]
    mins: tuple[float | None, ...]
    maxs: tuple[float | None, ...]
    values: NDArray[np.float64]


def outlier_features(run: ActivationRun) -> tuple[OutlierFeature, ...]:
    """Return the outlier features, those of most states first, then those farthest from the mean.

    NaN and Inf are left out. A state of 512 tokens and 1024 features takes about a millisecond.
    """
    found: dict[int, list[Outlier]] = {}
    for number, state in enumerate(run.hidden_states):
        centred = _centred(state)
        if centred is None or centred[1].std == 0:
            continue
        values, level = centred
        limit = DEVIATIONS * level.std
        is_outlier = (values.max(axis=0) > limit) | (values.min(axis=0) < -limit)
        indices = np.flatnonzero(is_outlier)
        sizes = np.abs(values[:, indices])
        counts, tokens = (sizes > limit).sum(axis=0), sizes.argmax(axis=0)
        for index, count, token in zip(indices, counts, tokens, strict=True):
            deviation = float(values[token, index]) / level.std
            outlier = Outlier(number, int(count), deviation, int(token))
            found.setdefault(int(index), []).append(outlier)
    features = (OutlierFeature(index, tuple(outliers)) for index, outliers in found.items())
    return tuple(
        sorted(features, key=lambda f: (-len(f.outliers), -abs(f.largest.deviation), f.index))
    )


def state_mean_stds(run: ActivationRun) -> tuple[MeanStd | None, ...]:
    """Return mean and standard deviation of each hidden state, ``None`` without finite values."""
    found = map(_centred, run.hidden_states)
    return tuple(None if state is None else state[1] for state in found)


def feature_path(
    run: ActivationRun, feature: int, tokens: Sequence[int] | None = None
) -> FeaturePath:
    """Return one feature through the hidden states, of all tokens or of those given.

    Raises:
        IndexError: there is no such feature.
    """
    chosen = slice(None) if tokens is None else list(tokens)
    rows = [np.array(state[chosen, feature], dtype=np.float64) for state in run.hidden_states]
    finite = [row[np.isfinite(row)] for row in rows]
    return FeaturePath(
        # Divided before they are added, values near the end of float64 do not overflow.
        tuple(float((row / row.size).sum()) if row.size else None for row in finite),
        tuple(float(row.min()) if row.size else None for row in finite),
        tuple(float(row.max()) if row.size else None for row in finite),
        np.stack(rows) if rows else np.empty((0, len(run.tokens))),
    )


def _centred(state: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], MeanStd] | None:
    """Subtract a state's mean in float64; NaN and Inf become 0. ``None`` without finite values."""
    statistics = measure_rows(state)[0]
    mean, std = statistics.mean, statistics.std
    if mean is None or std is None:
        return None
    values = np.array(state, dtype=np.float64)
    with np.errstate(over="ignore"):
        values -= mean
    if statistics.nan_count or statistics.inf_count:
        values[~np.isfinite(values)] = 0.0
    return values, MeanStd(mean, std)
