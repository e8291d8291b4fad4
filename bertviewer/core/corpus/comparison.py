"""Comparison of two corpora: outputs of modules, attention heads, outlier features."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct

from bertviewer.core.corpus.corpus import (
    FEW_SENTENCES,
    HEAD_FIGURES,
    QUANTILES,
    CallKey,
    ClassSums,
    Corpus,
)
from bertviewer.core.schema.statistics import STATISTIC_NAMES, statistic_value
from bertviewer.core.statistics.histograms import distance

SCHEMA = "bertviewer.corpus-comparison/1"


class ComparedModule(Struct, frozen=True, eq=False):
    """One call of a module in both corpora, over all tokens.

    Attributes:
        key: the call.
        left: its sums in the first corpus.
        right: its sums in the second one.
        distance: Jensen-Shannon distance of the histograms, from 0 to 1.
    """

    key: CallKey
    left: ClassSums
    right: ClassSums
    distance: float


class ComparedHead(Struct, frozen=True):
    """A head in both corpora, as ``HEAD_FIGURES``; undefined figures are ``None``."""

    key: CallKey
    head: int
    left: tuple[float | None, ...]
    right: tuple[float | None, ...]

    @property
    def change(self) -> float:
        """The absolute difference of the entropies, in nats."""
        pair = self.left[0], self.right[0]
        return 0.0 if None in pair else abs(float(pair[1] or 0) - float(pair[0] or 0))


class ComparedFeature(Struct, frozen=True):
    """An outlier feature: its fraction of the sentences in both, largest over hidden states."""

    index: int
    left: float
    right: float


class CorpusComparison(Struct, frozen=True, eq=False):
    """Differences of two corpora.

    Attributes:
        left: the first corpus.
        right: the second corpus.
        modules: calls in both, those with the most distant histograms first.
        only_left: calls in the first corpus only.
        only_right: calls in the second corpus only.
        heads: heads in both, in order.
        features: outlier features of either, those with the largest difference first.
    """

    left: Corpus
    right: Corpus
    modules: tuple[ComparedModule, ...]
    only_left: tuple[CallKey, ...]
    only_right: tuple[CallKey, ...]
    heads: tuple[ComparedHead, ...]
    features: tuple[ComparedFeature, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.corpus-comparison/1``."""
        return {
            "schema": SCHEMA,
            "left": _corpus_json(self.left),
            "right": _corpus_json(self.right),
            "quantiles": list(QUANTILES),
            "modules": [
                {
                    "path": module.key[0],
                    "call": module.key[1],
                    "distance": module.distance,
                    "left": _figures(module.left),
                    "right": _figures(module.right),
                }
                for module in self.modules
            ],
            "only_left": [list(key) for key in self.only_left],
            "only_right": [list(key) for key in self.only_right],
            "heads": [
                {
                    "path": head.key[0],
                    "call": head.key[1],
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
    lefts, rights = left.calls, right.calls
    modules = [
        ComparedModule(key, one, other, distance(one.histogram, other.histogram))
        for key, one in lefts.items()
        if (other := rights.get(key)) is not None
    ]
    return CorpusComparison(
        left,
        right,
        tuple(sorted(modules, key=lambda module: -module.distance)),
        tuple(key for key in lefts if key not in rights),
        tuple(key for key in rights if key not in lefts),
        tuple(_heads(left, right)),
        _features(left, right),
    )


def _heads(left: Corpus, right: Corpus) -> Iterable[ComparedHead]:
    for key, one in left.heads.items():
        if (other := right.heads.get(key)) is None:
            continue
        for head in range(min(len(one.queries), len(other.queries))):
            figures = (
                tuple(_or_none(getattr(heads, name)[head]) for name in HEAD_FIGURES)
                for heads in (one, other)
            )
            yield ComparedHead(key, head, *figures)


def _features(left: Corpus, right: Corpus) -> tuple[ComparedFeature, ...]:
    shares = [_outlier_shares(left), _outlier_shares(right)]
    width = max(map(len, shares))
    one, other = (np.pad(found, (0, width - len(found))) for found in shares)
    chosen = np.flatnonzero(np.maximum(one, other) >= FEW_SENTENCES)
    found = [ComparedFeature(int(n), float(one[n]), float(other[n])) for n in chosen]
    return tuple(sorted(found, key=lambda each: (-abs(each.right - each.left), each.index)))


def _outlier_shares(corpus: Corpus) -> Any:
    """Return each feature's largest fraction of sentences over the hidden states: [D]."""
    if corpus.outliers is None or not corpus.outliers.sentences.size:
        return np.zeros(0)
    return corpus.outliers.sentences.max(axis=0) / max(1, corpus.sentences)


def _corpus_json(corpus: Corpus) -> dict[str, Any]:
    return {
        "source": dict(corpus.manifest["source"]),
        "data": [file["name"] for file in corpus.manifest.get("data", ())],
        "sentences": corpus.sentences,
        "tokens": corpus.tokens,
    }


def _figures(row: ClassSums) -> dict[str, Any]:
    return {
        "count": row.count,
        **{name: statistic_value(row.statistics, name) for name in STATISTIC_NAMES},
        "quantiles": None if (found := row.quantiles()) is None else list(found),
    }


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
