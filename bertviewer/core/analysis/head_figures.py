"""One figure of each head: how evenly and how far it looks, and how much at which kind of token."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.token_classes import token_classes
from bertviewer.core.schema.activation_run import ActivationRun

Measure = Literal["entropy", "distance", "previous", "next", "same", "cls", "sep", "first"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

_STEPS: Mapping[Measure, int] = {"previous": -1, "same": 0, "next": 1}


class HeadFigures(Struct, frozen=True, eq=False):
    """Figures [A] of the heads of one attention, by measure; those without a meaning are left out.

    NaN stands where a head has no row of numbers.
    """

    values: Mapping[Measure, NDArray[np.float64]]

    @property
    def count(self) -> int:
        """How many heads there are."""
        return max(map(len, self.values.values()), default=0)

    def of(self, measure: Measure) -> NDArray[np.float64] | None:
        """Return one figure for each head, ``None`` where it has no meaning."""
        return self.values.get(measure)


class RankedHead(Struct, frozen=True):
    """A head, and its figure of some measure."""

    layer: AttentionLayer
    head: int
    value: float


def head_figures(maps: AttentionMaps, run: ActivationRun) -> HeadFigures:
    """Return all figures of the heads of an attention, p[i, j] being what query i gives key j.

    - entropy: mean over i of -Σ_j p[i, j] ln p[i, j] (Clark et al. 2019, "What Does BERT Look
      At?", section 3.3);
    - distance: mean over i of Σ_j p[i, j] |i - j| (Vig & Belinkov 2019, "Analyzing the Structure
      of Attention in a Transformer Language Model");
    - previous, next, same: mean of p[i, i - 1], p[i, i + 1], p[i, i], over the i that have such a
      key, and for which no mask hides it (Clark et al. 2019, section 3.1; Kovaleva et al. 2019,
      "Revealing the Dark Secrets of BERT", section 4.1, whose diagonal heads these are);
    - cls, sep: mean over i of Σ p[i, j] over the j that are such a token (Clark et al. 2019,
      section 3.2; Kovaleva et al. 2019, whose vertical heads these are);
    - first: mean over i of p[i, 0], where the first token is no cls token.

    Sums are in float64. Where queries and keys are of two texts, what compares their places has no
    meaning. Rows that are not finite are left out.
    """
    values: dict[Measure, NDArray[np.float64]] = {"entropy": maps.entropies}
    if maps.distances is not None:
        values["distance"] = maps.distances
        for measure, step in _STEPS.items():
            values[measure] = _on_diagonal(maps, step)
    classes = {one.name: set(one.tokens) for one in token_classes(run)}
    for name in ("cls", "sep"):
        keys = [n for n, token in enumerate(maps.key_tokens) if token in classes.get(name, ())]
        if keys:
            values["cls" if name == "cls" else "sep"] = _on_keys(maps, keys)
    if maps.key_tokens and maps.key_tokens[0] not in classes.get("cls", ()):
        values["first"] = _on_keys(maps, [0])
    return HeadFigures({m: found for m, found in values.items() if not np.isnan(found).all()})


def ranked(
    figures: Mapping[AttentionLayer, HeadFigures], measure: Measure
) -> tuple[RankedHead, ...]:
    """Return all heads by a measure, the highest first; of equal ones the first layer's."""
    found = [
        RankedHead(layer, head, value)
        for layer, each in figures.items()
        if (row := each.of(measure)) is not None
        for head, value in enumerate(row.tolist())
        if np.isfinite(value)
    ]
    return tuple(sorted(found, key=lambda one: -one.value))


def _on_diagonal(maps: AttentionMaps, step: int) -> NDArray[np.float64]:
    """Return the mean share of the keys so many places after each query; [A]."""
    shares = np.diagonal(maps.probabilities, step, 1, 2).astype(np.float64)
    if maps.masked is not None:
        shares[np.diagonal(maps.masked, step, 1, 2)] = np.nan
    return _means(shares)


def _on_keys(maps: AttentionMaps, keys: Sequence[int]) -> NDArray[np.float64]:
    """Return the mean share of some keys together; [A]."""
    return _means(maps.probabilities[:, :, keys].sum(axis=2, dtype=np.float64))


def _means(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each head's mean over its queries [A, S], those left out that are not finite."""
    is_there = np.isfinite(shares)
    counts = is_there.sum(axis=1)
    sums = np.where(is_there, shares, 0.0).sum(axis=1)
    means = np.full(len(shares), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
