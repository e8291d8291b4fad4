"""What a model does to many sentences, as charts and tables of figures."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.figures import Figure, FigureColumn, FigureTable, number, words
from bertviewer.charts.histogram_chart import Bars, HistogramChart
from bertviewer.charts.layers import selected_series
from bertviewer.charts.naming import state_labels, state_names
from bertviewer.charts.place import Place
from bertviewer.charts.statistics_table import tensor_statistics_table
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import HeadMeasures, Measure
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.corpus.corpus import QUANTILES, ClassSums, Corpus, OutlierRow, Outliers, as_run
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
                tuple(map(Place, series.paths)),
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


def value_chart(row: ClassSums) -> HistogramChart | None:
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


def value_table(row: ClassSums) -> FigureTable:
    """Return the statistics of a module's values, and quantiles of them."""
    table = tensor_statistics_table(row.statistics)
    name = translate("charts", "{0}% quantile")
    quantiles = row.quantiles() or (None,) * len(QUANTILES)
    rows = tuple(
        (words(name.format(f"{100 * share:g}")), number(value, 4))
        for share, value in zip(QUANTILES, quantiles, strict=True)
    )
    return replace(table, rows=(*table.rows, *rows))


def heads_of(
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


def names_of_states(corpus: Corpus) -> tuple[str, ...]:
    """Return the names of the hidden states in words, and whose they are if two stacks have any."""
    return _of_stacks(corpus, state_names)


def _of_stacks(corpus: Corpus, named: Callable[[int], tuple[str, ...]]) -> tuple[str, ...]:
    if len(corpus.stacks) < 2:
        return tuple(name for count in corpus.stacks for name in named(count))
    sides = translate("charts", "encoder, {0}"), translate("charts", "decoder, {0}")
    pairs = zip(sides, corpus.stacks, strict=False)
    return tuple(side.format(name) for side, count in pairs for name in named(count))


def outlier_table(corpus: Corpus, rows: Sequence[OutlierRow]) -> FigureTable:
    """Return outlier features, each in the hidden state where it is one in most sentences."""
    names = names_of_states(corpus)
    columns = (
        FigureColumn(translate("charts", "Feature"), "number"),
        FigureColumn(translate("charts", "Sentences"), "bar"),
        FigureColumn(translate("charts", "Most often in")),
        FigureColumn(translate("charts", "Tokens"), "number"),
        FigureColumn(translate("charts", "Deviation, std"), "number"),
    )
    cells = tuple(
        (
            number(row.feature),
            Figure(row.share, f"{row.share:.1%}", row.share),
            words(names[row.state]),
            number(row.tokens),
            Figure(row.farthest, with_minus(f"{row.farthest:+.1f}")),
        )
        for row in rows
    )
    return FigureTable(columns, cells, tuple(Place(feature=row.feature) for row in rows))


def outlier_chart(corpus: Corpus, outliers: Outliers, features: Sequence[int]) -> GridChart:
    """Return in what share of the sentences features (columns) are outliers of states (rows)."""
    shares = outliers.sentences[:, list(features)] / max(1, corpus.sentences)
    count = len(shares)
    states = corpus.manifest["states"]
    places = [Place() if state is None else Place(state[0]) for state in states]
    feature = translate("charts", "feature {0}")
    return GridChart(
        values=shares,
        rows=_of_stacks(corpus, state_labels),
        columns=tuple(map(str, features)),
        row_places=tuple(places) if len(places) == count else (),
        column_places=tuple(Place(feature=number) for number in features),
        x_title=translate("charts", "Feature"),
        y_title=translate("charts", "Hidden state"),
        value_title=translate("charts", "Fraction of sentences"),
        levels=(0.0, 1.0),
        row_names=names_of_states(corpus),
        column_names=tuple(map(feature.format, features)),
    )
