"""Two corpora side by side: what modules gave, where heads look, which features are outliers."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from bertviewer.core.corpus.corpus import FEW_SENTENCES, QUANTILES, ClassSums, Corpus, Place
from bertviewer.core.corpus.histogram import distance
from bertviewer.core.schema.statistics import STATISTIC_NAMES, figure

SCHEMA = "bertviewer.corpus-comparison/1"
HEAD_FIGURES = ("entropy", "distance", "cls", "sep")


class ComparedModule(Struct, frozen=True, eq=False):
    """What one call of a module gave in both corpora, at all tokens.

    Attributes:
        place: the module's path, and which of its calls.
        left: its sums in the first.
        right: its sums in the second.
        distance: Jensen-Shannon's of the histograms, from 0 to 1.
    """

    place: Place
    left: ClassSums
    right: ClassSums
    distance: float


class ComparedHead(Struct, frozen=True):
    """A head in both corpora, as ``HEAD_FIGURES``; ``None`` where a figure has no meaning."""

    place: Place
    head: int
    left: tuple[float | None, ...]
    right: tuple[float | None, ...]

    @property
    def change(self) -> float:
        """By how much the entropy differs, in nats."""
        pair = self.left[0], self.right[0]
        return 0.0 if None in pair else abs(float(pair[1] or 0) - float(pair[0] or 0))


class ComparedFeature(Struct, frozen=True):
    """A feature that is an outlier: in what share of the sentences, at most of the states."""

    index: int
    left: float
    right: float


class CorpusComparison(Struct, frozen=True, eq=False):
    """What differs between two corpora.

    Attributes:
        left: the first.
        right: the second.
        modules: that both have, those whose histograms are farthest apart first.
        only_left: places that the first alone has.
        only_right: places that the second alone has.
        heads: that both have, in order.
        features: outliers of either, those that differ most first.
    """

    left: Corpus
    right: Corpus
    modules: tuple[ComparedModule, ...]
    only_left: tuple[Place, ...]
    only_right: tuple[Place, ...]
    heads: tuple[ComparedHead, ...]
    features: tuple[ComparedFeature, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.corpus-comparison/1``."""
        return {
            "schema": SCHEMA,
            "left": _head(self.left),
            "right": _head(self.right),
            "quantiles": list(QUANTILES),
            "modules": [
                {
                    "path": module.place[0],
                    "call": module.place[1],
                    "distance": module.distance,
                    "left": _figures(module.left),
                    "right": _figures(module.right),
                }
                for module in self.modules
            ],
            "only_left": [list(place) for place in self.only_left],
            "only_right": [list(place) for place in self.only_right],
            "heads": [
                {
                    "path": head.place[0],
                    "call": head.place[1],
                    "head": head.head,
                    "left": dict(zip(HEAD_FIGURES, head.left, strict=True)),
                    "right": dict(zip(HEAD_FIGURES, head.right, strict=True)),
                }
                for head in self.heads
            ],
            "outlier_features": [
                {"feature": one.index, "left": one.left, "right": one.right}
                for one in self.features
            ],
        }


def compare_corpora(left: Corpus, right: Corpus) -> CorpusComparison:
    """Compare two corpora, of one model or of two with modules of the same paths."""
    both = whole_calls(left), whole_calls(right)
    modules = [
        ComparedModule(
            place, found, both[1][place], distance(found.histogram, both[1][place].histogram)
        )
        for place, found in both[0].items()
        if place in both[1]
    ]
    return CorpusComparison(
        left,
        right,
        tuple(sorted(modules, key=lambda module: -module.distance)),
        tuple(place for place in both[0] if place not in both[1]),
        tuple(place for place in both[1] if place not in both[0]),
        tuple(_heads(left, right)),
        _features(left, right),
    )


def whole_calls(corpus: Corpus) -> Mapping[Place, ClassSums]:
    """Return what each call gave at all tokens."""
    found: dict[Place, ClassSums] = {}
    for row in corpus.rows:
        place = row.path, row.call
        found[place] = found[place].added(row) if place in found else row
    return found


def _heads(left: Corpus, right: Corpus) -> Iterable[ComparedHead]:
    for place, one in left.heads.items():
        other = right.heads.get(place)
        if other is None:
            continue
        for head in range(min(len(one.queries), len(other.queries))):
            figures = (
                tuple(_or_none(getattr(heads, name)[head]) for name in HEAD_FIGURES)
                for heads in (one, other)
            )
            yield ComparedHead(place, head, *figures)


def _features(left: Corpus, right: Corpus) -> tuple[ComparedFeature, ...]:
    shares = [_shares(left), _shares(right)]
    width = max(map(len, shares))
    one, other = (np.pad(found, (0, width - len(found))) for found in shares)
    chosen = np.flatnonzero(np.maximum(one, other) >= FEW_SENTENCES)
    found = [ComparedFeature(int(n), float(one[n]), float(other[n])) for n in chosen]
    return tuple(sorted(found, key=lambda each: (-abs(each.right - each.left), each.index)))


def _shares(corpus: Corpus) -> Any:
    """Return in what share of the sentences each feature is an outlier, in the state of most."""
    if corpus.outliers is None or not corpus.outliers.sentences.size:
        return np.zeros(0)
    return corpus.outliers.sentences.max(axis=0) / max(1, corpus.sentences)


def _head(corpus: Corpus) -> dict[str, Any]:
    return {
        "source": dict(corpus.manifest["source"]),
        "data": [file["name"] for file in corpus.manifest.get("data", ())],
        "sentences": corpus.sentences,
        "tokens": corpus.tokens,
    }


def _figures(row: ClassSums) -> dict[str, Any]:
    return {
        "count": row.count,
        **{name: figure(row.statistics, name) for name in STATISTIC_NAMES},
        "quantiles": None if (found := row.quantiles()) is None else list(found),
    }


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
