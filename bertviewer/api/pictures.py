"""The figures of a run by their names: whoever adds one adds a line here."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.api.closer_look import CloserLook
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError

if TYPE_CHECKING:
    from bertviewer.report.pictures import Picture

FigureName = Literal["layers", "norms", "similarity", "attention", "heads", "histogram"]
FIGURE_NAMES: tuple[FigureName, ...] = get_args(FigureName)


class Wish(Struct, frozen=True):
    """What can be chosen of a figure.

    Attributes:
        statistic: what is drawn layer by layer.
        layer: a layer of attention, by its number or its path.
        head: one head of it; ``None`` for all.
        state: a hidden state; -1 is the last one.
        path: a module.
    """

    statistic: str = "std"
    layer: int | str = 0
    head: int | None = None
    state: int = -1
    path: str = ""


def picture_of(name: str, look: CloserLook, wish: Wish) -> "Picture":
    """Return a figure, not drawn yet.

    Raises:
        UserError: there is none of that name, or it has no such layer, head or statistic.
    """
    if name not in _PICTURES:
        raise UserError(f"there is no figure {name!r}; available: {', '.join(FIGURE_NAMES)}")
    picture = _PICTURES[name](look, wish)
    return with_random_words(picture, look.run.source, look.model.architecture)


def with_random_words(
    picture: "Picture", source: SourceInfo, architecture: Architecture
) -> "Picture":
    """Return a picture whose numbers say that chance made the weights, where it did."""
    from bertviewer.charts.chart import GridChart, HeadsChart, HistogramChart, LineChart
    from bertviewer.report.random_words import random_words

    words = random_words(source, architecture.tensor_count)
    if words is None:
        return picture
    match picture.drawn:
        case LineChart() as chart:
            # A line whose values are something else than the title says has words of its own.
            lines = tuple(
                replace(line, measure=line.measure and f"{line.measure}, {words.short}")
                for line in chart.lines
            )
            title = f"{chart.y_title}, {words.short}"
            return replace(picture, drawn=replace(chart, lines=lines, y_title=title))
        case HistogramChart() as chart:
            # The table of a density has the counts, of which the title says nothing.
            series = tuple(
                replace(bars, label=f"{bars.label}, {words.short}") if chart.is_density else bars
                for bars in chart.series
            )
            title = f"{chart.y_title}, {words.short}"
            return replace(picture, drawn=replace(chart, series=series, y_title=title))
        case GridChart() | HeadsChart() as grid:
            title = f"{grid.value_title}, {words.short}"
            return replace(picture, drawn=replace(grid, value_title=title))
    return picture


def _layers(look: CloserLook, wish: Wish) -> "Picture":
    from bertviewer.charts.layers import check_statistic, layer_chart
    from bertviewer.report.pictures import Picture

    check_statistic(wish.statistic)
    look.check_path(wish.path)
    return Picture(layer_chart(look.model.architecture, look.run, wish.statistic, wish.path))


def _norms(look: CloserLook, _wish: Wish) -> "Picture":
    from bertviewer.charts.token_charts import norms_chart
    from bertviewer.report.pictures import Picture

    return Picture(norms_chart(look.run), height=290)


def _similarity(look: CloserLook, wish: Wish) -> "Picture":
    from bertviewer.charts.token_charts import similarity_chart
    from bertviewer.report.pictures import Picture

    states = range(len(look.run.hidden_states))
    if not -len(states) <= wish.state < len(states):
        raise UserError(f"there is no hidden state {wish.state}; this run has {len(states)}")
    return Picture(similarity_chart(look.run, states[wish.state]), 560, 560)


def _attention(look: CloserLook, wish: Wish) -> "Picture":
    from bertviewer.charts.attention import RunAttention, head_chart, heads_chart
    from bertviewer.report.pictures import Picture

    layer = look.attention_layer(wish.layer)
    maps = look.attention(layer)
    attended, heads = RunAttention(look.run, maps, layer), len(maps.probabilities)
    if wish.head is None:
        rows = -(-heads // 6)
        return Picture(heads_chart(attended), 680, 24 + 128 * rows)
    if not 0 <= wish.head < heads:
        raise UserError(f"{layer.name} has no head {wish.head}; available: 0 to {heads - 1}")
    return Picture(head_chart(attended, wish.head), 620, 620)


def _heads(look: CloserLook, _wish: Wish) -> "Picture":
    from bertviewer.charts.attention import head_measures_chart
    from bertviewer.core.analysis.attention_maps import head_measures
    from bertviewer.report.pictures import Picture

    found = {layer: look.attention(layer) for layer in look.attention_layers()}
    if not found:
        raise UserError("this run has no attention to show")
    figures = {layer: head_measures(maps, look.run) for layer, maps in found.items()}
    return Picture(head_measures_chart(tuple(found), figures, "entropy"), 680, 90 + 22 * len(found))


def _histogram(look: CloserLook, wish: Wish) -> "Picture":
    from bertviewer.charts.statistics import histogram_chart
    from bertviewer.report.pictures import Picture

    statistics = look.called(wish.path).statistics
    return Picture(histogram_chart(look.histogram(wish.path), statistics))


_PICTURES: dict[str, Callable[[CloserLook, Wish], "Picture"]] = {
    "layers": _layers,
    "norms": _norms,
    "similarity": _similarity,
    "attention": _attention,
    "heads": _heads,
    "histogram": _histogram,
}
