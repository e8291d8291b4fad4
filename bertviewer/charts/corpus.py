"""Charts and tables of a corpus, and of two corpora in comparison."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bertviewer.charts.chart import Bars, GridChart, HistogramChart, Line, LineChart
from bertviewer.charts.labels import state_labels, state_names
from bertviewer.charts.layers import selected_series
from bertviewer.charts.levels import PARTS
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.statistics import tensor_statistics_table
from bertviewer.charts.table import (
    DataTable,
    Field,
    TableCell,
    TableColumn,
    data_table,
    field,
    number_cell,
    share_cell,
    text_cell,
)
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import HeadMeasures, Measure
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.corpus.comparison import ComparedModule, CorpusComparison
from bertviewer.core.corpus.corpus import (
    QUANTILE_DIGITS,
    QUANTILES,
    CallKey,
    ClassSums,
    Corpus,
    OutlierRow,
    Outliers,
    as_run,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.statistics.histograms import counts_between, float_edges
from bertviewer.core.util.numbers import with_minus

BAND = (0.05, 0.5, 0.95)
"""The quantiles of the chart of layers: a line in a band."""
_BINS = 64
_MEASURES: tuple[Measure, ...] = ("entropy", "distance")
_SHARES: tuple[Measure, ...] = ("cls", "sep")
_HISTOGRAM_ENDS = (0.001, 0.999)
"""The quantiles between which a histogram is drawn, because outliers are far outside."""
_DIGITS, _ENDS = 4, (0.01, 0.99)


def quantile_chart(architecture: Architecture, corpus: Corpus, selected: str = "") -> LineChart:
    """Return the median of each layer's output in a band from 5% to 95%.

    With a line for the part of a layer that the module at ``selected`` is.
    """
    run = as_run(corpus)
    calls = {module.path: len(module.calls) for module in run.modules}
    lines = []
    for series in (
        *layer_series(architecture, run),
        *selected_series(architecture, run, selected),
    ):
        rows = [
            corpus.of(path, call % calls[path]) if path in calls else None
            for path, call in series.points()
        ]
        found = [None if row is None else row.quantiles(BAND) for row in rows]
        low, middle, high = (
            tuple(None if values is None else values[place] for values in found)
            for place in range(len(BAND))
        )
        keys, median = tuple(map(SelectionKey, series.paths)), translate("charts", "median")
        lines.append(Line(series.label, middle, keys, low=low, high=high, measure=median))
    longest = max((len(line.values) for line in lines), default=0)
    titles = translate("charts", "Layer"), translate("charts", "Median, 5% to 95%")
    return LineChart(tuple(lines), *titles, tuple(map(str, range(longest))))


def corpus_histogram(row: ClassSums) -> HistogramChart | None:
    """Return the distribution of a module's values, without the last thousandth at either end.

    Each bar consists of whole bins of the corpus, so its count is exact.
    """
    ends = row.quantiles(_HISTOGRAM_ENDS)
    if ends is None or ends[0] == ends[1]:
        return None
    borders = _bin_edges(*ends)
    counts = counts_between(row.histogram, borders, row.zeros).tolist()
    statistics = row.statistics
    bars = Bars(
        translate("charts", "Elements"),
        tuple(round(count) for count in counts),
        row.nan,
        row.inf,
        statistics.mean,
        statistics.std,
    )
    titles = translate("charts", "Value"), translate("charts", "Density")
    return HistogramChart(tuple(borders.tolist()), (bars,), *titles, is_density=True)


def _bin_edges(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return edges of bins of the corpus around two values, not too close for bars."""
    least = (high - low) / _BINS
    sizes = float_edges()[1]
    kept = [0.0]
    for size in sizes[sizes > 0].tolist():
        if size - kept[-1] >= least:
            kept.append(size)
    both = np.array([*(-size for size in kept[:0:-1]), *kept])
    # A bin includes its edge closer to 0.
    first = np.searchsorted(both, low, "right" if low > 0 else "left") - 1
    last = np.searchsorted(both, high, "left" if high < 0 else "right")
    chosen: np.ndarray[tuple[int], np.dtype[np.float64]] = both[max(first, 0) : last + 1]
    return chosen


def corpus_statistics(row: ClassSums) -> DataTable:
    """Return the statistics of a module's values and their quantiles."""
    name = translate("charts", "{0}% quantile")
    quantiles = row.quantiles() or (None,) * len(QUANTILES)
    further = [
        (name.format(f"{100 * share:g}"), number_cell(value, QUANTILE_DIGITS))
        for share, value in zip(QUANTILES, quantiles, strict=True)
    ]
    return tensor_statistics_table(row.statistics, further)


def corpus_heads(
    architecture: Architecture, corpus: Corpus
) -> tuple[tuple[AttentionLayer, ...], Mapping[AttentionLayer, HeadMeasures]]:
    """Return the attention layers with measured heads, in order, and the measures of these.

    Measures without a value are left out: shares at a start token of models without one, and
    distances in cross-attention.
    """
    layers = attention_layers(architecture, as_run(corpus))
    found = {
        layer: heads
        for layer in layers
        if (heads := corpus.heads.get((layer.path, layer.call))) is not None
    }
    shares = [
        name
        for name in _SHARES
        if any(np.nansum(getattr(heads, name)) > 0 for heads in found.values())
    ]
    figures = {
        layer: {
            measure: values
            for measure in (*_MEASURES, *shares)
            if not np.isnan(values := getattr(heads, measure)).all()
        }
        for layer, heads in found.items()
    }
    return tuple(figures), figures


def corpus_state_names(corpus: Corpus) -> tuple[str, ...]:
    """Return the names of the hidden states, with those of the stacks if there are two."""
    return _of_stacks(corpus, state_names)


def _of_stacks(corpus: Corpus, named: Callable[[int], tuple[str, ...]]) -> tuple[str, ...]:
    if len(corpus.stacks) < 2:
        return tuple(name for count in corpus.stacks for name in named(count))
    sides = translate("charts", "encoder, {0}"), translate("charts", "decoder, {0}")
    pairs = zip(sides, corpus.stacks, strict=False)
    return tuple(side.format(name) for side, count in pairs for name in named(count))


def outlier_table(corpus: Corpus, rows: Sequence[OutlierRow]) -> DataTable:
    """Return outlier features, each in the hidden state where it is one in most sentences."""
    names = corpus_state_names(corpus)

    def deviation(row: OutlierRow) -> TableCell:
        return TableCell(row.farthest, with_minus(f"{row.farthest:+.1f}"))

    fields = [
        field(translate("charts", "Feature"), lambda row: number_cell(row.feature), "number"),
        field(translate("charts", "Sentences"), lambda row: share_cell(row.share), "bar"),
        field(translate("charts", "Most often in"), lambda row: text_cell(names[row.state])),
        field(translate("charts", "Tokens"), lambda row: number_cell(row.tokens), "number"),
        field(translate("charts", "Deviation, std"), deviation, "number"),
    ]
    return data_table(fields, rows, (SelectionKey(feature=row.feature) for row in rows))


def outlier_chart(corpus: Corpus, outliers: Outliers, features: Sequence[int]) -> GridChart:
    """Return the share of sentences in which features (columns) are outliers of states (rows)."""
    shares = outliers.sentences[:, list(features)] / max(1, corpus.sentences)
    states = corpus.manifest["states"]
    keys = tuple(SelectionKey() if state is None else SelectionKey(state[0]) for state in states)
    feature = translate("charts", "feature {0}")
    return GridChart(
        values=shares,
        rows=_of_stacks(corpus, state_labels),
        columns=tuple(map(str, features)),
        row_keys=keys if len(keys) == len(shares) else (),
        column_keys=tuple(SelectionKey(feature=number) for number in features),
        x_title=translate("charts", "Feature"),
        y_title=translate("charts", "Hidden state"),
        value_title=translate("charts", "Fraction of sentences"),
        levels=PARTS,
        row_names=corpus_state_names(corpus),
        column_names=tuple(map(feature.format, features)),
    )


def compared_modules(comparison: CorpusComparison) -> DataTable:
    """Return the modules of both corpora, those with the most different histograms first."""

    def figures(row: ClassSums) -> tuple[float | None, ...]:
        statistics = row.statistics
        return statistics.mean, statistics.std, *(row.quantiles(_ENDS) or (None, None))

    def distance(module: ComparedModule) -> TableCell:
        return share_cell(module.distance, f"{module.distance:.4f}")

    fields = [
        field(translate("charts", "Module"), lambda one: text_cell(_name(one.key))),
        field(
            translate("charts", "Distance"),
            distance,
            "bar",
            translate("charts", "Jensen–Shannon distance of the histograms, from 0 to 1"),
        ),
        _both_field(
            (translate("charts", "Mean"), translate("charts", "Std"), "1%", "99%"),
            lambda one: zip(figures(one.left), figures(one.right), strict=True),
            (_DIGITS, _DIGITS, QUANTILE_DIGITS, QUANTILE_DIGITS),
        ),
    ]
    # Modules that return the tensor of another one have the same numbers.
    own = [one for one in comparison.modules if one.key in comparison.left.features]
    return data_table(fields, own, (SelectionKey(one.key[0]) for one in own))


def compared_heads(comparison: CorpusComparison) -> DataTable:
    """Return the heads of both corpora, those with the most different entropies first."""
    titles = (
        translate("charts", "Entropy"),
        translate("charts", "Distance"),
        translate("charts", "Start"),
        translate("charts", "Separators"),
    )
    fields = [
        field(translate("charts", "Attention"), lambda head: text_cell(_name(head.key))),
        field(translate("charts", "Head"), lambda head: number_cell(head.head), "number"),
        _both_field(titles, lambda head: zip(head.left, head.right, strict=True)),
    ]
    heads = sorted(comparison.heads, key=lambda head: -head.change)
    keys = (SelectionKey(head.key[0], head=head.head) for head in heads)
    return data_table(fields, heads, keys)


def compared_features(comparison: CorpusComparison) -> DataTable:
    """Return outlier features of either corpus, with the shares of sentences."""
    fields = [
        field(translate("charts", "Feature"), lambda one: number_cell(one.index), "number"),
        field(translate("charts", "Sentences, left"), lambda one: share_cell(one.left), "bar"),
        field(translate("charts", "Sentences, right"), lambda one: share_cell(one.right), "bar"),
    ]
    features = comparison.features
    return data_table(fields, features, (SelectionKey(feature=one.index) for one in features))


def _both_field(
    titles: Sequence[str],
    pairs: Callable[[Any], Iterable[tuple[float | None, float | None]]],
    digits: Sequence[int] = (_DIGITS,) * 4,
) -> Field:
    """Return two columns for each title, with so many digits: the left corpus and the right one."""
    left, right = translate("charts", "{0}, left"), translate("charts", "{0}, right")
    columns = [
        TableColumn(shown, "number", name.format(title))
        for title in titles
        for shown, name in ((title, left), ("→", right))
    ]

    def cells(record: Any) -> Iterable[TableCell]:
        found = zip(pairs(record), digits, strict=True)
        return (number_cell(value, count) for pair, count in found for value in pair)

    return Field(columns, cells)


def _name(call: CallKey) -> str:
    path, number = call
    return f"{path or '(model)'}{f' (call {number})' if number else ''}"
