"""A corpus: statistics of a model over many sentences, as plain data."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics.accumulators import Floats, Ints, Singles, larger
from bertviewer.core.statistics.histograms import quantiles
from bertviewer.core.util.errors import UserError

SCHEMA = "bertviewer.corpus/1"

FEW_SENTENCES = 0.05
"""A feature that is an outlier in a smaller fraction of the sentences is not listed."""

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The quantiles that are reported by default."""
QUANTILE_DIGITS = 2
"""Significant digits that the bins of the histograms support."""

CallKey = tuple[str, int]
"""A call: the module's path, and the number of the call in a forward pass."""


class ClassSums(Struct, frozen=True, eq=False):
    """Output of one call of a module at the tokens of one class: a row of statistics.parquet.

    Attributes:
        path: path of the module.
        call: number of the call in a forward pass.
        token_class: "content", "cls", "sep", "mask" or "special"; "sentence" for outputs with one
            vector per sentence.
        count: number of values.
        total: sum of the finite values.
        squares: sum of their squares.
        min: smallest finite value, ``None`` without one.
        max: largest finite value.
        zeros: values that are exactly 0.
        nan: NaN values.
        inf: infinite values.
        histogram: counts of the finite values in ``FLOAT_BINS`` bins.
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
    def key(self) -> CallKey:
        """The key of the call."""
        return self.path, self.call

    @property
    def statistics(self) -> Statistics:
        """The same statistics as those of a run."""
        finite = self.count - self.nan - self.inf
        deviations = self.squares - self.total * self.total / finite if finite else 0.0
        return Statistics(
            *(self.count, self.nan, self.inf, self.zeros, self.total, max(deviations, 0.0)),
            *(self.min, self.max),
        )

    def quantiles(self, shares: tuple[float, ...] = QUANTILES) -> tuple[float, ...] | None:
        """Return quantiles of the finite values, ``None`` without one."""
        if self.min is None or self.max is None:
            return None
        found = quantiles(self.histogram, np.array(shares), self.min, self.max, self.zeros)
        return tuple(found.tolist())

    def merge(self, other: "ClassSums") -> "ClassSums":
        """Return the sums of both; ``token_class`` is "all" for two classes."""
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
    """Statistics of each feature of a call's output over all tokens, [D] each.

    Attributes:
        count: number of finite values.
        mean: mean, NaN without a finite value.
        variance: population variance.
        min: smallest value.
        max: largest value.
    """

    count: Ints
    mean: Floats
    variance: Floats
    min: Singles
    max: Singles

    def merge(self, other: "Features") -> "Features":
        """Return the statistics of both (Chan, Golub & LeVeque 1983)."""
        count = self.count + other.count
        some = np.maximum(count, 1)
        means = [np.where(one.count > 0, one.mean, 0.0) for one in (self, other)]
        variances = [np.where(one.count > 0, one.variance, 0.0) for one in (self, other)]
        mean = (self.count * means[0] + other.count * means[1]) / some
        between = (means[0] - means[1]) ** 2 * self.count * other.count / some
        variance = (self.count * variances[0] + other.count * variances[1] + between) / some
        is_empty = count == 0
        return Features(
            count,
            np.where(is_empty, np.nan, mean),
            np.where(is_empty, np.nan, variance),
            np.fmin(self.min, other.min),
            np.fmax(self.max, other.max),
        )


class Heads(Struct, frozen=True, eq=False):
    """Statistics of each head of a call of an attention: means over all queries, [A] each.

    Attributes:
        queries: number of queries.
        entropy: entropy of the attention weights, in nats.
        distance: mean distance between query and key, in tokens.
        cls: weight on the token that represents the sequence.
        sep: weight on separators.
    """

    queries: Floats
    entropy: Floats
    distance: Floats
    cls: Floats
    sep: Floats

    def merge(self, other: "Heads") -> "Heads":
        """Return the means over the queries of both."""
        queries = self.queries + other.queries
        some = np.where(queries > 0, queries, np.nan)
        pairs = ((getattr(self, name), getattr(other, name)) for name in HEAD_FIGURES)
        return Heads(
            queries,
            *(
                np.where(
                    np.isnan(one) & np.isnan(two),
                    np.nan,
                    (self.queries * np.nan_to_num(one) + other.queries * np.nan_to_num(two)) / some,
                )
                for one, two in pairs
            ),
        )


HEAD_FIGURES = Heads.__struct_fields__[1:]


class Outliers(Struct, frozen=True, eq=False):
    """Outliers of each hidden state by feature, as ``outlier_features`` of a run: [N + 1, D].

    Attributes:
        tokens: number of tokens at which the feature is an outlier.
        sentences: number of sentences with such a token.
        farthest: largest deviation from a sentence's mean, in standard deviations, signed.
    """

    tokens: Ints
    sentences: Ints
    farthest: Singles

    def merge(self, other: "Outliers") -> "Outliers":
        """Return the outliers of both."""
        return Outliers(
            self.tokens + other.tokens,
            self.sentences + other.sentences,
            larger(self.farthest, other.farthest),
        )


class OutlierRow(Struct, frozen=True):
    """An outlier feature in the hidden state where it is one in most sentences.

    Attributes:
        feature: index of the feature.
        state: index of the hidden state.
        share: fraction of the sentences.
        tokens: number of tokens.
        farthest: largest deviation from a sentence's mean, in standard deviations, signed.
    """

    feature: int
    state: int
    share: float
    tokens: int
    farthest: float


class Corpus(Struct, frozen=True, eq=False):
    """Statistics of a model over many sentences.

    Attributes:
        manifest: content of manifest.json: model, data, versions, choices, shards, modules.
        rows: sums by module, call and token class, in the order of the architecture.
        features: statistics of each distinct output tensor.
        heads: statistics of each attention that returns its weights.
        outliers: outliers of the hidden states, ``None`` for models that return none.
    """

    manifest: Mapping[str, Any]
    rows: tuple[ClassSums, ...]
    features: Mapping[CallKey, Features]
    heads: Mapping[CallKey, Heads]
    outliers: Outliers | None

    @property
    def sentences(self) -> int:
        """The number of sentences that were run."""
        return int(self.manifest["sentences"])

    @property
    def tokens(self) -> int:
        """The number of tokens, without padding."""
        return int(self.manifest["tokens"])

    @property
    def call_keys(self) -> tuple[CallKey, ...]:
        """The keys of the measured calls, in order."""
        return tuple(dict.fromkeys(row.key for row in self.rows))

    @property
    def stacks(self) -> tuple[int, ...]:
        """The number of hidden states of each stack, the encoder's first."""
        count = 0 if self.outliers is None else len(self.outliers.sentences)
        stacks = tuple(self.manifest.get("stacks") or ())
        return stacks if sum(stacks) == count else (count,)

    @property
    def calls(self) -> dict[CallKey, ClassSums]:
        """The sums of each call over all token classes."""
        found: dict[CallKey, ClassSums] = {}
        for row in self.rows:
            found[row.key] = found[row.key].merge(row) if row.key in found else row
        return found

    def of(self, path: str, call: int | None = None) -> ClassSums | None:
        """Return a module's sums over all token classes, of one call or of all (``None``)."""
        found = None
        for row in self.rows:
            if row.path == path and call in (None, row.call):
                found = row if found is None else found.merge(row)
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


def as_run(corpus: Corpus) -> ActivationRun:
    """Return a corpus as a run without tokens, with the statistics of each call of each module."""
    calls: dict[str, list[Statistics]] = {}
    for (path, _call), found in corpus.calls.items():
        calls.setdefault(path, []).append(found.statistics)
    classes = {module["path"]: module["class"] for module in corpus.manifest["modules"]}
    return ActivationRun(
        source=SourceInfo.from_json(corpus.manifest["source"]),
        sentence=Sentence(f"{corpus.sentences:,} sentences"),
        tokenizer="model",
        tokens=(),
        modules=tuple(
            ModuleActivation(path, classes.get(path, ""), None, (), tuple(statistics), None)
            for path, statistics in calls.items()
        ),
        token_norms=(),
        seconds_forward=0.0,
        seconds_total=0.0,
    )


def check_model(corpus: Corpus, architecture: Architecture) -> None:
    """Check that a corpus belongs to a model with this configuration.

    Raises:
        UserError: it belongs to another model.
    """
    if corpus.manifest["model"].get("configuration") != configuration_digest(architecture.config):
        name = corpus.manifest["source"].get("name")
        raise UserError(f"the corpus was made with another model: {name}")


def configuration_digest(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a configuration, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest()
