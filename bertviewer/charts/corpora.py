"""What a model does to many sentences, as charts: quantiles by layer, histograms, heads."""

from collections.abc import Mapping

import numpy as np

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.histogram_chart import Bars, HistogramChart
from bertviewer.charts.place import Place
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.head_figures import HeadFigures, Measure
from bertviewer.core.analysis.layer_parts import layer_series
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.corpus.as_run import as_run
from bertviewer.core.corpus.corpus import ClassSums, Corpus
from bertviewer.core.corpus.histogram import counts_between

BAND = (0.05, 0.5, 0.95)
"""The quantiles of the layers' chart: a band, and the line in it."""
_BINS = 64
_MEASURES: tuple[Measure, ...] = ("entropy", "distance", "cls", "sep")
_MOST = (0.001, 0.999)
"""The quantiles that a histogram reaches to: what stands out is far outside."""


def quantile_chart(architecture: Architecture, corpus: Corpus) -> LineChart:
    """Return the median of each layer's output, and the band from 5 % to 95 %."""
    run = as_run(corpus)
    calls = {module.path: len(module.calls) for module in run.modules}
    lines = []
    for series in layer_series(architecture, run):
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
    ticks = tuple(map(str, range(longest)))
    names = tuple(translate("charts", "layer {0}").format(tick) for tick in ticks)
    title = translate("charts", "Median, 5 % to 95 %")
    return LineChart(tuple(lines), translate("charts", "Layer"), title, ticks, tick_names=names)


def value_chart(row: ClassSums) -> HistogramChart | None:
    """Return how a module's values are spread, without the last thousandth at either end."""
    ends = row.quantiles(_MOST)
    if ends is None or ends[0] == ends[1]:
        return None
    edges = np.linspace(ends[0], ends[1], _BINS + 1)
    statistics = row.statistics
    bars = Bars(
        translate("charts", "Elements"),
        tuple(counts_between(row.histogram, edges, row.zeros).tolist()),
        row.nan,
        row.inf,
        statistics.mean,
        statistics.std,
    )
    return HistogramChart(
        tuple(edges.tolist()),
        (bars,),
        translate("charts", "Value"),
        translate("charts", "Elements"),
    )


def heads_of(
    architecture: Architecture, corpus: Corpus
) -> tuple[tuple[AttentionLayer, ...], Mapping[AttentionLayer, HeadFigures]]:
    """Return the attentions whose heads were measured, in order, and the figures of these."""
    layers = attention_layers(architecture, as_run(corpus))
    figures = {
        layer: HeadFigures(
            {
                measure: found
                for measure in _MEASURES
                if not np.isnan(found := getattr(heads, measure)).all()
            }
        )
        for layer in layers
        if (heads := corpus.heads.get((layer.path, layer.call))) is not None
    }
    return tuple(layer for layer in layers if layer in figures), figures
