"""What a model does to many sentences, as plain data: what the folder of a corpus holds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from bertviewer.core.corpus.histogram import quantiles
from bertviewer.core.corpus.sums import Floats, Ints, Singles
from bertviewer.core.schema.statistics import Statistics

SCHEMA = "bertviewer.corpus/1"

FEW_SENTENCES = 0.05
"""A feature that is an outlier in fewer of the sentences is none of the model's."""

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Those that are told where no others are asked for."""


class ClassSums(Struct, frozen=True, eq=False):
    """What one call of a module gave at the tokens of one class: a row of statistics.parquet.

    Attributes:
        path: of the module.
        call: which of its calls in a forward pass.
        token_class: "content", "cls", "sep", "mask" or "special"; "sentence" for what a module
            gives once for a sentence.
        count: all values.
        total: the sum of the finite ones.
        squares: that of their squares.
        min: the smallest, ``None`` if there is no finite one.
        max: the largest.
        zeros: how many are exactly 0.
        nan: how many are NaN.
        inf: how many are infinite.
        histogram: the finite ones, in the bins of ``histogram``.
    """

    path: str
    call: int
    token_class: str
    count: int
    total: float
    squares: float
    min: float | None
    max: float | None
    zeros: int
    nan: int
    inf: int
    histogram: Ints

    @property
    def statistics(self) -> Statistics:
        """The figures that a run has of a module."""
        finite = self.count - self.nan - self.inf
        apart = self.squares - self.total * self.total / finite if finite else 0.0
        return Statistics(
            self.count,
            self.nan,
            self.inf,
            self.zeros,
            self.total,
            max(apart, 0.0),
            self.min,
            self.max,
        )

    def quantiles(self, shares: tuple[float, ...] = QUANTILES) -> tuple[float, ...] | None:
        """Return quantiles of the finite values; ``None`` if there are none."""
        if self.min is None or self.max is None:
            return None
        found = quantiles(self.histogram, np.array(shares), self.min, self.max, self.zeros)
        return tuple(found.tolist())

    def added(self, other: "ClassSums") -> "ClassSums":
        """Return what both gave together."""
        lows = [low for low in (self.min, other.min) if low is not None]
        highs = [high for high in (self.max, other.max) if high is not None]
        return ClassSums(
            self.path,
            self.call,
            self.token_class if self.token_class == other.token_class else "all",
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            min(lows, default=None),
            max(highs, default=None),
            self.zeros + other.zeros,
            self.nan + other.nan,
            self.inf + other.inf,
            self.histogram + other.histogram,
        )


class Features(Struct, frozen=True, eq=False):
    """The features of one call of a module over all tokens: [D] each.

    Attributes:
        count: finite values.
        mean: their mean, NaN where there are none.
        variance: their population variance.
        min: the smallest.
        max: the largest.
    """

    count: Ints
    mean: Floats
    variance: Floats
    min: Singles
    max: Singles

    def added(self, other: "Features") -> "Features":
        """Return those of both together (Chan, Golub & LeVeque 1983)."""
        count = self.count + other.count
        some = np.maximum(count, 1)
        means = [np.where(one.count > 0, one.mean, 0.0) for one in (self, other)]
        spreads = [np.where(one.count > 0, one.variance, 0.0) for one in (self, other)]
        mean = (self.count * means[0] + other.count * means[1]) / some
        apart = (means[0] - means[1]) ** 2 * self.count * other.count / some
        variance = (self.count * spreads[0] + other.count * spreads[1] + apart) / some
        is_none = count == 0
        return Features(
            count,
            np.where(is_none, np.nan, mean),
            np.where(is_none, np.nan, variance),
            np.fmin(self.min, other.min),
            np.fmax(self.max, other.max),
        )


class Heads(Struct, frozen=True, eq=False):
    """The heads of one call of an attention, means over all queries: [A] each.

    Attributes:
        queries: how many there were.
        entropy: in nats.
        distance: in tokens.
        cls: the share that goes to the token that stands for the whole text.
        sep: the share that goes to those that end a sentence.
    """

    queries: Floats
    entropy: Floats
    distance: Floats
    cls: Floats
    sep: Floats


class Outliers(Struct, frozen=True, eq=False):
    """The outliers of each hidden state by feature, as ``outlier_features`` has them of a run.

    Attributes:
        tokens: at how many tokens a feature is one, [N + 1, D].
        sentences: in how many sentences.
        farthest: the farthest from its sentence's mean, in standard deviations, signed.
    """

    tokens: Ints
    sentences: Ints
    farthest: Singles


class OutlierRow(Struct, frozen=True):
    """A feature that is an outlier, in the hidden state where it is one in most sentences.

    Attributes:
        feature: its number.
        state: the state's.
        share: in what share of the sentences.
        tokens: at how many tokens.
        farthest: the farthest from its sentence's mean, in standard deviations, signed.
    """

    feature: int
    state: int
    share: float
    tokens: int
    farthest: float


Place = tuple[str, int]
"""A module's path, and which of its calls is meant."""


class Corpus(Struct, frozen=True, eq=False):
    """Many sentences' way through a model.

    Attributes:
        manifest: what manifest.json says: model, data, versions, choices, shards, modules.
        rows: sums by module, call and class of token, in the order of the architecture.
        features: of each call whose tensor no other call gave before.
        heads: of each attention that shows its shares.
        outliers: of the hidden states, ``None`` where the model gives none.
    """

    manifest: Mapping[str, Any]
    rows: tuple[ClassSums, ...]
    features: Mapping[Place, Features]
    heads: Mapping[Place, Heads]
    outliers: Outliers | None

    @property
    def sentences(self) -> int:
        """How many sentences were run."""
        return int(self.manifest["sentences"])

    @property
    def tokens(self) -> int:
        """How many tokens, without padding."""
        return int(self.manifest["tokens"])

    @property
    def places(self) -> tuple[Place, ...]:
        """The calls that were measured, in order."""
        return tuple(dict.fromkeys((row.path, row.call) for row in self.rows))

    @property
    def stacks(self) -> tuple[int, ...]:
        """How many hidden states each stack has: an encoder's are before its decoder's."""
        count = 0 if self.outliers is None else len(self.outliers.sentences)
        stacks = tuple(self.manifest.get("stacks") or ())
        return stacks if sum(stacks) == count else (count,)

    def of(self, path: str, call: int | None = None) -> ClassSums | None:
        """Return what a module gave at all tokens, in one of its calls or in all."""
        found = None
        for row in self.rows:
            if row.path == path and call in (None, row.call):
                found = row if found is None else found.added(row)
        return found


def outlier_rows(corpus: Corpus) -> tuple[OutlierRow, ...]:
    """Return the outlier features, those of most sentences first."""
    outliers, sentences = corpus.outliers, max(1, corpus.sentences)
    if outliers is None or not outliers.sentences.size:
        return ()
    most, states = outliers.sentences.max(axis=0), outliers.sentences.argmax(axis=0)
    rows = (
        OutlierRow(
            feature,
            int(states[feature]),
            float(most[feature]) / sentences,
            int(outliers.tokens[states[feature], feature]),
            float(outliers.farthest[states[feature], feature]),
        )
        for feature in np.argsort(-most, kind="stable").tolist()
    )
    return tuple(row for row in rows if row.share >= FEW_SENTENCES)
