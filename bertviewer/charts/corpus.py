"""What a model does to many sentences, as charts and tables of figures.

Two corpora side by side, as tables: of each figure the left one's and the right one's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.chart import Bars, GridChart, HistogramChart, Line, LineChart
from bertviewer.charts.labels import state_labels, state_names
from bertviewer.charts.layers import selected_series
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.statistics import tensor_statistics_table
from bertviewer.charts.table import DataTable, TableCell, TableColumn, number_cell, text_cell
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import HeadMeasures, Measure
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.corpus.comparison import ComparedModule, CorpusComparison
from bertviewer.core.corpus.corpus import (
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
"""The quantiles of the layers' chart: a band, and the line in it."""
_BINS = 64
_MEASURES: tuple[Measure, ...] = ("entropy", "distance")
_SHARES: tuple[Measure, ...] = ("cls", "sep")
_MOST = (0.001, 0.999)
"""The quantiles that a histogram reaches to: what stands out is far outside."""


def quantile_chart(architecture: Architecture, corpus: Corpus, selected: str = "") -> LineChart:
    """Return the median of each layer's output, and the band from 5 % to 95 %.

    The part of a layer that the module at ``selected`` is has a line of its own.
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
        lines.append(
            Line(
                series.label,
                middle,
                tuple(map(SelectionKey, series.paths)),
                low=low,
                high=high,
                measure=translate("charts", "median"),
            )
        )
    longest = max((len(line.values) for line in lines), default=0)
    title = translate("charts", "Median, 5% to 95%")
    return LineChart(
        tuple(lines), translate("charts", "Layer"), title, tuple(map(str, range(longest)))
    )


def corpus_histogram(row: ClassSums) -> HistogramChart | None:
    """Return how a module's values are spread, without the last thousandth at either end.

    Each bar has bins of the corpus in it, one or several: its count is exact.
    """
    ends = row.quantiles(_MOST)
    if ends is None or ends[0] == ends[1]:
        return None
    borders = _borders(*ends)
    statistics = row.statistics
    bars = Bars(
        translate("charts", "Elements"),
        tuple(round(count) for count in counts_between(row.histogram, borders, row.zeros).tolist()),
        row.nan,
        row.inf,
        statistics.mean,
        statistics.std,
    )
    return HistogramChart(
        tuple(borders.tolist()),
        (bars,),
        translate("charts", "Value"),
        translate("charts", "Density"),
        is_density=True,
    )


def _borders(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return edges of bins around two values, no closer together than bars can be seen."""
    least = (high - low) / _BINS
    sizes = float_edges()[1]
    kept = [0.0]
    for size in sizes[sizes > 0].tolist():
        if size - kept[-1] >= least:
            kept.append(size)
    both = np.array([*(-size for size in kept[:0:-1]), *kept])
    # A bin has the edge of its own that is nearer to 0.
    first = np.searchsorted(both, low, "right" if low > 0 else "left") - 1
    last = np.searchsorted(both, high, "left" if high < 0 else "right")
    chosen: np.ndarray[tuple[int], np.dtype[np.float64]] = both[max(first, 0) : last + 1]
    return chosen


def corpus_statistics(row: ClassSums) -> DataTable:
    """Return the statistics of a module's values, and quantiles of them."""
    table = tensor_statistics_table(row.statistics)
    name = translate("charts", "{0}% quantile")
    quantiles = row.quantiles() or (None,) * len(QUANTILES)
    rows = tuple(
        (text_cell(name.format(f"{100 * share:g}")), number_cell(value, 4))
        for share, value in zip(QUANTILES, quantiles, strict=True)
    )
    return replace(table, rows=(*table.rows, *rows))


def corpus_heads(
    architecture: Architecture, corpus: Corpus
) -> tuple[tuple[AttentionLayer, ...], Mapping[AttentionLayer, HeadMeasures]]:
    """Return the attentions whose heads were measured, in order, and the figures of these.

    What no head has is left out: a share at the start token of a model without one, or how far
    those look that ask another text.
    """
    layers = attention_layers(architecture, as_run(corpus))
    found = {
        layer: heads
        for layer in layers
        if (heads := corpus.heads.get((layer.path, layer.call))) is not None
    }
    shares = [name for name in _SHARES if any(np.nansum(getattr(heads, name)) > 0
                                              for heads in found.values())]  # fmt: skip
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
    """Return the names of the hidden states in words, and whose they are if two stacks have any."""
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
    columns = (
        TableColumn(translate("charts", "Feature"), "number"),
        TableColumn(translate("charts", "Sentences"), "bar"),
        TableColumn(translate("charts", "Most often in")),
        TableColumn(translate("charts", "Tokens"), "number"),
        TableColumn(translate("charts", "Deviation, std"), "number"),
    )
    cells = tuple(
        (
            number_cell(row.feature),
            TableCell(row.share, f"{row.share:.1%}", row.share),
            text_cell(names[row.state]),
            number_cell(row.tokens),
            TableCell(row.farthest, with_minus(f"{row.farthest:+.1f}")),
        )
        for row in rows
    )
    return DataTable(columns, cells, tuple(SelectionKey(feature=row.feature) for row in rows))


def outlier_chart(corpus: Corpus, outliers: Outliers, features: Sequence[int]) -> GridChart:
    """Return in what share of the sentences features (columns) are outliers of states (rows)."""
    shares = outliers.sentences[:, list(features)] / max(1, corpus.sentences)
    count = len(shares)
    states = corpus.manifest["states"]
    places = [SelectionKey() if state is None else SelectionKey(state[0]) for state in states]
    feature = translate("charts", "feature {0}")
    return GridChart(
        values=shares,
        rows=_of_stacks(corpus, state_labels),
        columns=tuple(map(str, features)),
        row_keys=tuple(places) if len(places) == count else (),
        column_keys=tuple(SelectionKey(feature=number) for number in features),
        x_title=translate("charts", "Feature"),
        y_title=translate("charts", "Hidden state"),
        value_title=translate("charts", "Fraction of sentences"),
        levels=(0.0, 1.0),
        row_names=corpus_state_names(corpus),
        column_names=tuple(map(feature.format, features)),
    )


_DIGITS = 4
_ENDS = (0.01, 0.99)


def compared_modules(comparison: CorpusComparison) -> DataTable:
    """Return the modules that both have, those whose histograms are farthest apart first."""
    distance = translate("charts", "Distance")
    name = translate("charts", "Jensen–Shannon distance of the histograms, from 0 to 1")
    pairs = (translate("charts", "Mean"), translate("charts", "Std"), "1%", "99%")
    columns = (
        TableColumn(translate("charts", "Module")),
        TableColumn(distance, "bar", name),
        *_both(pairs),
    )
    # What hands on another's tensor has the same figures.
    own = [one for one in comparison.modules if one.key in comparison.left.features]
    rows = tuple(
        (
            text_cell(_name(one.key)),
            TableCell(one.distance, f"{one.distance:.4f}", one.distance),
            *_pairs_of(one),
        )
        for one in own
    )
    return DataTable(columns, rows, tuple(SelectionKey(one.key[0]) for one in own))


def compared_heads(comparison: CorpusComparison) -> DataTable:
    """Return the heads that both have, those whose entropy differs most first."""
    pairs = (
        translate("charts", "Entropy"),
        translate("charts", "Distance"),
        translate("charts", "Start"),
        translate("charts", "Separators"),
    )
    columns = (
        TableColumn(translate("charts", "Attention")),
        TableColumn(translate("charts", "Head"), "number"),
        *_both(pairs),
    )
    heads = sorted(comparison.heads, key=lambda head: -head.change)
    rows = tuple(
        (
            text_cell(_name(head.key)),
            number_cell(head.head),
            *(
                number_cell(value, _DIGITS)
                for pair in zip(head.left, head.right, strict=True)
                for value in pair
            ),
        )
        for head in heads
    )
    return DataTable(
        columns, rows, tuple(SelectionKey(head.key[0], head=head.head) for head in heads)
    )


def compared_features(comparison: CorpusComparison) -> DataTable:
    """Return outlier features of either, with the share of the sentences in which they are so."""
    columns = (
        TableColumn(translate("charts", "Feature"), "number"),
        TableColumn(translate("charts", "Sentences, left"), "bar"),
        TableColumn(translate("charts", "Sentences, right"), "bar"),
    )
    rows = tuple(
        (
            number_cell(one.index),
            *(TableCell(share, f"{share:.1%}", share) for share in (one.left, one.right)),
        )
        for one in comparison.features
    )
    return DataTable(
        columns, rows, tuple(SelectionKey(feature=one.index) for one in comparison.features)
    )


def _both(titles: Sequence[str]) -> Iterator[TableColumn]:
    left, right = translate("charts", "{0}, left"), translate("charts", "{0}, right")
    for title in titles:
        yield TableColumn(title, "number", left.format(title))
        yield TableColumn("→", "number", right.format(title))


def _pairs_of(module: ComparedModule) -> Iterator[TableCell]:
    sides = module.left, module.right
    for values in zip(*map(_figures, sides), strict=True):
        yield from (number_cell(value, _DIGITS) for value in values)


def _figures(row: ClassSums) -> tuple[float | None, ...]:
    statistics = row.statistics
    return statistics.mean, statistics.std, *(row.quantiles(_ENDS) or (None, None))


def _name(call: CallKey) -> str:
    path, number_of_call = call
    return f"{path or '(model)'}{f' (call {number_of_call})' if number_of_call else ''}"
