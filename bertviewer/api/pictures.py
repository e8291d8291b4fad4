"""The figures of a run and of a corpus by name. To add one, add a line to a table."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.report.pictures import Picture
    from bertviewer.report.run_details import RunContext

FigureName = Literal["layers", "norms", "similarity", "attention", "heads", "histogram"]
CorpusFigureName = Literal["layers", "heads", "histogram"]
HeadMeasure = Literal["entropy", "distance", "cls", "sep"]

# What is imported inside functions needs numpy or Qt's plots.


class FigureOptions(Struct, frozen=True):
    """Options of a run's figure.

    Attributes:
        statistic: the statistic to plot by layer.
        layer: number or path of an attention module.
        head: one of its heads, ``None`` for all.
        state: index of a hidden state, -1 for the last one.
        path: a module.
    """

    statistic: str = "std"
    layer: int | str = 0
    head: int | None = None
    state: int = -1
    path: str = ""


def picture_of(name: str, context: "RunContext", options: FigureOptions) -> "Picture":
    """Return a figure of a run, to be drawn.

    Raises:
        UserError: there is no such figure, layer, head or statistic.
    """
    if name not in _RUN_PICTURES:
        raise UserError(f"there is no figure {name!r}; available: {', '.join(_RUN_PICTURES)}")
    picture = _RUN_PICTURES[name](context, options)
    return _with_warning(picture, context.run.source, context.model.architecture)


def picture_of_corpus(
    name: str, architecture: Architecture, corpus: "Corpus", path: str, measure: str
) -> "Picture":
    """Return a figure of a corpus, to be drawn.

    Raises:
        UserError: there is no such figure, module or measure.
    """
    if name not in _CORPUS_PICTURES:
        raise UserError(f"there is no figure {name!r}; available: {', '.join(_CORPUS_PICTURES)}")
    picture = _CORPUS_PICTURES[name](architecture, corpus, path, measure)
    source = SourceInfo.from_json(corpus.manifest["source"])
    return _with_warning(picture, source, architecture)


def _with_warning(picture: "Picture", source: SourceInfo, architecture: Architecture) -> "Picture":
    """Return a picture whose titles say if weights are random."""
    from bertviewer.charts.chart import GridChart, HeadsChart, HistogramChart, LineChart
    from bertviewer.report.summary import random_weights_warning

    warning = random_weights_warning(source, architecture.tensor_count)
    if warning is None:
        return picture
    short = warning.short
    match picture.drawn:
        case LineChart() as chart:
            # Lines of another quantity get their own title.
            lines = tuple(
                replace(line, measure=line.measure and f"{line.measure}, {short}")
                for line in chart.lines
            )
            title = f"{chart.y_title}, {short}"
            return replace(picture, drawn=replace(chart, lines=lines, y_title=title))
        case HistogramChart() as chart:
            # The CSV of a density has counts, to which the title does not refer.
            series = tuple(
                replace(bars, label=f"{bars.label}, {short}") if chart.is_density else bars
                for bars in chart.series
            )
            title = f"{chart.y_title}, {short}"
            return replace(picture, drawn=replace(chart, series=series, y_title=title))
        case GridChart() | HeadsChart() as grid:
            title = f"{grid.value_title}, {short}"
            return replace(picture, drawn=replace(grid, value_title=title))
    return picture


def _layers(context: "RunContext", options: FigureOptions) -> "Picture":
    from bertviewer.charts.layers import check_statistic, layer_chart
    from bertviewer.report.pictures import Picture

    check_statistic(options.statistic)
    context.check_path(options.path)
    architecture = context.model.architecture
    return Picture(layer_chart(architecture, context.run, options.statistic, options.path))


def _norms(context: "RunContext", _options: FigureOptions) -> "Picture":
    from bertviewer.charts.token_charts import norms_chart
    from bertviewer.report.pictures import Picture

    return Picture(norms_chart(context.run), height=290)


def _similarity(context: "RunContext", options: FigureOptions) -> "Picture":
    from bertviewer.charts.token_charts import similarity_chart
    from bertviewer.report.pictures import Picture

    states = range(len(context.run.hidden_states))
    if not -len(states) <= options.state < len(states):
        raise UserError(f"there is no hidden state {options.state}; this run has {len(states)}")
    return Picture(similarity_chart(context.run, states[options.state]), 560, 560)


def _attention(context: "RunContext", options: FigureOptions) -> "Picture":
    from bertviewer.charts.attention import RunAttention, head_chart, heads_chart
    from bertviewer.report.pictures import Picture, heads_picture

    layer = context.attention_layer(options.layer)
    maps = context.attention(layer)
    attended, heads = RunAttention(context.run, maps, layer), len(maps.probabilities)
    if options.head is None:
        return heads_picture(heads_chart(attended))
    if not 0 <= options.head < heads:
        raise UserError(f"{layer.name} has no head {options.head}; available: 0 to {heads - 1}")
    return Picture(head_chart(attended, options.head), 620, 620)


def _heads(context: "RunContext", _options: FigureOptions) -> "Picture":
    from bertviewer.charts.attention import head_measures_chart, most_keys
    from bertviewer.core.analysis.attention_maps import head_measures
    from bertviewer.report.pictures import Picture

    found = {layer: context.attention(layer) for layer in context.attention_layers}
    if not found:
        raise UserError("this run has no attention to show")
    measures = {layer: head_measures(maps, context.run) for layer, maps in found.items()}
    chart = head_measures_chart(tuple(found), measures, "entropy", keys=most_keys(context.run))
    return Picture(chart, 680, 90 + 22 * len(found))


def _histogram(context: "RunContext", options: FigureOptions) -> "Picture":
    from bertviewer.charts.statistics import histogram_chart
    from bertviewer.report.pictures import Picture

    statistics = context.called(options.path).statistics
    return Picture(histogram_chart(context.histogram(options.path), statistics))


def _corpus_layers(
    architecture: Architecture, corpus: "Corpus", _path: str, _measure: str
) -> "Picture":
    from bertviewer.charts.corpus import quantile_chart
    from bertviewer.report.pictures import Picture

    return Picture(quantile_chart(architecture, corpus))


def _corpus_heads(
    architecture: Architecture, corpus: "Corpus", _path: str, measure: str
) -> "Picture":
    from bertviewer.charts.attention import head_measures_chart
    from bertviewer.charts.corpus import corpus_heads
    from bertviewer.report.pictures import Picture

    known = get_args(HeadMeasure)
    if measure not in known:
        raise UserError(
            f"the heads of a corpus have no measure {measure!r}; available: {', '.join(known)}"
        )
    layers, figures = corpus_heads(architecture, corpus)
    if not layers:
        raise UserError("this corpus has no attention to show")
    chosen: HeadMeasure = next(each for each in known if each == measure)
    return Picture(head_measures_chart(layers, figures, chosen), 680, 90 + 22 * len(layers))


def _corpus_histogram(
    _architecture: Architecture, corpus: "Corpus", path: str, _measure: str
) -> "Picture":
    from bertviewer.charts.corpus import corpus_histogram
    from bertviewer.report.pictures import Picture

    sums = corpus.of(path)
    if sums is None:
        raise UserError(f"{path or 'the model'} was not measured in this corpus")
    chart = corpus_histogram(sums)
    if chart is None:
        raise UserError(f"{path or 'the model'} has no two distinct values to plot")
    return Picture(chart)


_RUN_PICTURES: Mapping[str, Callable[["RunContext", FigureOptions], "Picture"]] = {
    "layers": _layers,
    "norms": _norms,
    "similarity": _similarity,
    "attention": _attention,
    "heads": _heads,
    "histogram": _histogram,
}
_CORPUS_PICTURES: Mapping[str, Callable[[Architecture, "Corpus", str, str], "Picture"]] = {
    "layers": _corpus_layers,
    "heads": _corpus_heads,
    "histogram": _corpus_histogram,
}
