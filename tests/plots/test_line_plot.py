"""Line plots: what is drawn, in which colours, with which axes, marks and legend."""

from math import inf, nan

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, HistogramChart, Line, LineChart
from bertviewer.charts.comparison import line_difference, line_overlay
from bertviewer.charts.layers import series_chart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import spectrum_chart
from bertviewer.charts.theme import DARK, GREY, LIGHT, Theme
from bertviewer.charts.token_charts import TracedToken, path_charts
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.plots.export import svg
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot, SpectrumPlot
from tests.charts.runs import make_run
from tests.plots.lines import (
    OUTPUT,
    bottom_labels,
    chart,
    left_labels,
    lines_in,
    marked,
    places,
    rings,
)
from tests.plots.looking import box, color, colors, colors_of, pixel, position
from tests.plots.test_svg import texts

PLACES = tuple(SelectionKey(path=f"layer.{n}") for n in range(3))
RANKS = LineChart(
    (Line("mat", (10_000, 100, 1), PLACES),), "Layer", "Rank", ("emb", "0", "1"), is_log=True
)
BANK, RIVER, SEA = (Line(name, (1.0, 2.0)) for name in ("bank", "river", "sea"))


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def test_lines_are_drawn_through_their_values_with_gaps(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, 1.0, inf, nan, 2.0, 2.0), places("p", 6))))
    image = plot.grab().toImage()
    seen = {x for x in range(6) if has_ink(plot, image, x, (1, 2)[x > 3])}
    between = {x for x in range(5) if has_ink(plot, image, x + 0.5, (1, 2)[x > 3])}
    assert (seen, between) == ({0, 1, 4, 5}, {0, 4})
    # The layer of a gap can be selected.
    assert plot.key_at(position(plot, 2, 1.5)) == SelectionKey("p.2")


def has_ink(plot: LinePlot, image: QImage, x: float, y: float) -> bool:
    """Return whether a picture is blue near a point."""
    center = pixel(plot, x, y)
    near = colors_of(image.copy(center.x() - 2, center.y() - 2, 5, 5))
    return any(QColor(each).blue() > QColor(each).red() + 60 for each in near)


def test_everything_is_in_view(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, 2.0), low=(-5.0, None), high=(4.0, 5.0), max=(8.0, 9.0))))
    layout = plot.layout_of_axes()
    assert layout.x_range == pytest.approx((-0.4, 1.4))
    low, high = layout.y_range
    assert low < -5
    assert high > 9


def test_a_band_is_where_it_should_be(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (2.0, 2.0, 2.0), low=(1.0,) * 3, high=(3.0,) * 3)))
    tint = QColor(color(plot, 0.5, 1.6))
    assert tint.name() not in (LIGHT.surface, LIGHT.series[0])
    assert tint.blue() > tint.red()
    assert color(plot, 1.5, 2.6) == tint.name()
    for x, y in ((0.5, 0.97), (0.5, 3.12), (-0.2, 2.45), (2.2, 2.45)):
        assert color(plot, x, y) == LIGHT.surface, (x, y)


def test_a_band_has_the_gaps_of_its_edges(plot: LinePlot) -> None:
    low = (1.0, 1.0, None, 1.0, 1.0, nan, 1.0)
    plot.show_chart(chart(Line("x", (5.0,) * 7, low=low, high=(3.0,) * 7)))
    inside = {x / 4 for x in range(-1, 26) if color(plot, x / 4 + 0.01, 2.2) != LIGHT.surface}
    assert inside == {0, 0.25, 0.5, 0.75, 3, 3.25, 3.5, 3.75, 6}


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_six_lines_have_six_colours_and_symbols(plot: LinePlot, theme: Theme) -> None:
    lines = [Line(f"line {n}", (1.0 + n, 2.0 + n)) for n in range(6)]
    plot.set_theme(theme)
    plot.show_chart(chart(*lines))
    plot.mark(SelectionKey("a.1"))
    assert {theme.surface, *theme.series} <= colors(plot)
    other = DARK if theme is LIGHT else LIGHT
    assert not {other.surface, other.text, *other.series} & colors(plot)
    assert len({entry.symbol for entry in plot.legend.entries}) == 6


def test_lines_may_share_a_colour(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("b", (1.0, 2.0)), Line("a", (1.5, 1.0), style="dashed", color=0)))
    first, second = (entry.pen for entry in plot.legend.entries)
    assert first.color() == second.color()
    assert (first.style(), second.style()) == (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine)
    assert LIGHT.series[1] not in colors(plot)


def test_without_hues_lines_have_dashes(plot: LinePlot) -> None:
    both = (Line("a", (1.0, 2.0)), Line("b", (2.0, 3.0)), Line("c", (2.0, 1.0), style="dashed"))
    plot.show_chart(chart(*both))
    assert [entry.pen.dashPattern() for entry in plot.legend.entries] == [[], [], [4, 2]]
    plot.set_theme(GREY)
    dashes = [entry.pen.dashPattern() for entry in plot.legend.entries]
    assert dashes == [[], list(GREY.dash(1)), [4, 2]]


@pytest.mark.parametrize("unit", [0.0, 7.25, -3e-12])
def test_a_constant_is_drawn_and_found(plot: LinePlot, unit: float) -> None:
    plot.show_chart(chart(Line("x", (unit,) * 3, places("p"))))
    low, high = plot.layout_of_axes().y_range
    assert low < unit < high
    assert plot.key_at(position(plot, 1, unit)) == SelectionKey("p.1")
    assert LIGHT.series[0] in colors(plot)


@pytest.mark.parametrize("unit", [1e-38, 1e-9, 1e15, 1e37, 1e300])
def test_lines_of_any_size_look_the_same(plot: LinePlot, unit: float) -> None:
    """Exploding activations may be what one is looking for."""

    def picture(size: float) -> list[bool]:
        plot.show_chart(chart(Line("x", tuple(n * size for n in (1.0, 3.0, 2.0)), places("p", 3))))
        image, one = plot.grab().toImage(), plot.points.heights[0][0]
        assert one is not None
        at = [(x / 4, y * one) for x in range(9) for y in (1, 1.5, 2, 2.5, 3, 3.2)]
        return [has_ink(plot, image, *each) for each in at]

    one = picture(1.0)
    assert any(one)
    assert picture(unit) == one


def test_axes_have_titles_and_as_many_labels_as_fit(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT, title="rms"))
    assert {"Layer", "rms"} <= set(texts(svg(plot).decode()))
    for layers in (1, 12, 24, 48, 100):
        line = Line("x", tuple(map(float, range(layers))), places("p", layers))
        plot.show_chart(chart(line))
        shown = bottom_labels(plot)
        assert (len(shown) == layers) == (layers <= 24)
        assert len(shown) < 35
        assert shown[:1] == [(0, "0")]
        assert all(str(at) == text for at, text in shown)


def test_a_title_without_room_keeps_its_end(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT, title="Cosine to the layer before it, B − A <b>"))
    for height, is_whole in ((400, True), (150, False)):
        plot.resize(640, height)
        (title,) = (text for text in texts(svg(plot).decode()) if text.endswith("<b>"))
        assert ("…" not in title) == is_whole
        assert title.startswith("Cosine")


def test_the_legend_hides_no_line_and_leaves_most_of_the_height(plot: LinePlot) -> None:
    for count in (3, 6):
        lines = [Line(f"a.rather.long.name.of.{n}: output", (1.0, 1.0 + n)) for n in range(count)]
        for size in ((900, 400), (640, 320), (300, 250)):
            plot.resize(*size)
            plot.show_chart(chart(*lines))
            rect, (wide, high) = box(plot), plot.legend.size
            assert high > 20
            assert position(plot, 1, float(count)).y() > rect.top() + high
            assert high < 0.45 * rect.height()
            assert wide <= rect.width() + 1


def test_zero_is_drawn_where_values_are_on_both_sides(plot: LinePlot) -> None:
    def darkest(x: float, y: float) -> int:
        at = pixel(plot, x, y)
        near = colors_of(plot.grab().toImage().copy(at.x(), at.y() - 1, 1, 3))
        return min(QColor(each).lightness() for each in near)

    plot.show_chart(chart(Line("difference", (-1.0, 1.0, 2.0, 2.0))))
    assert darkest(2.5, 0) < 215
    assert darkest(2.5, 1) > 215  # a line of the grid


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ((-1.0, 0.2, 1.0), (-1.0, 1.0)),
        ((0.1, 1.0000001), (-1.0, 1.0)),
        ((1.0, 1.0), (0.0, 1.0)),
        ((0.0, 0.0), (0.0, inf)),
        ((0.0, 1.6e308), (0.0, 1.7e308)),
    ],
)
def test_no_label_is_beyond_what_a_value_can_be(
    plot: LinePlot, values: tuple[float, ...], bounds: tuple[float, float]
) -> None:
    # Several names take room above the lines, where there would be further labels.
    lines = chart(*(Line(f"a name that takes room {n}", values) for n in range(5)))

    def are_inside(bounds: tuple[float, float]) -> list[bool]:
        found = []
        for height in (150, 200, 250, 300, 350, 400, 800):
            plot.resize(300, height)
            plot.show_chart(replace(lines, bounds=bounds))
            shown = [float(text.replace("−", "-").replace(",", "")) for text in left_labels(plot)]
            found.append(least <= shown[0] <= shown[-1] <= most)
        return found

    least, most = bounds
    assert all(are_inside(bounds))
    assert not all(are_inside((-inf, inf)))


def test_counts_have_whole_numbers(plot: LinePlot) -> None:
    for values, most in (((0.0, 0.0), 1), ((0.0, 2.0), 2), ((3.0, 4000.0), 4000)):
        for height in (150, 400):
            plot.resize(300, height)
            plot.show_chart(replace(chart(Line("a", values)), bounds=(0.0, inf), is_whole=True))
            found = [int(text.replace(",", "")) for text in left_labels(plot)]
            assert 0 in found
            assert max(found) <= 1.5 * most
    plot.show_chart(chart(Line("a", (0.0, 0.5))))
    assert any("." in text for text in left_labels(plot))
    assert series_chart(make_run(), (), "nan_count").is_whole
    assert not series_chart(make_run(), (), "std").is_whole


def test_bounds_of_charts() -> None:
    run = make_run()
    paths = path_charts(run, [TracedToken(1, "it", 0)])
    assert paths.norms.bounds == (0.0, inf)
    for cosines in (paths.to_start, paths.to_before):
        assert cosines.bounds == (-1.0, 1.0)
    assert [series_chart(run, (), name).bounds for name in ("mean", "std", "zero_fraction")] == [
        (-inf, inf),
        (0.0, inf),
        (0.0, 1.0),
    ]
    assert line_difference(paths.to_start, paths.to_start).bounds == (-inf, inf)
    assert line_overlay(paths.to_start, paths.to_start).bounds == (-1, 1)


def test_nothing_finite_has_no_labels_at_the_left(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (None, nan, None))))
    assert left_labels(plot) == []
    assert bottom_labels(plot) == [(0, "0"), (1, "1"), (2, "2")]


@pytest.mark.parametrize("empty", [None, chart()])
def test_nothing_to_show(plot: LinePlot, empty: LineChart | None) -> None:
    plot.mark(SelectionKey("a.1"))
    plot.show_chart(empty)
    assert (marked(plot), plot.legend.labels, bottom_labels(plot)) == ([], (), [])
    assert plot.key_at(position(plot, 0, 0.5)) is None
    assert plot.text_at(position(plot, 0, 0.5)) == ""
    assert color(plot, 0.1, 0.5) == LIGHT.surface
    assert LIGHT.series[0] not in colors(plot)


def test_marks(plot: LinePlot) -> None:
    for selection, xs, points in (
        (SelectionKey("a.1"), [1], [(1, 2.0)]),
        (SelectionKey("a.1.attention.self"), [1], [(1, 2.0)]),
        (SelectionKey("b.3"), [3], [(3, 4.5)]),
        (SelectionKey("b.1"), [1], []),  # a gap
        (SelectionKey("c"), [], []),
        (SelectionKey(token=3), [], []),
        (SelectionKey(), [], []),
    ):
        plot.mark(selection)
        assert marked(plot) == xs, selection
        assert rings(plot) == points, selection


def test_a_mark_is_a_ring_and_a_vertical_line(plot: LinePlot) -> None:
    def column(x: float) -> set[str]:
        at = pixel(plot, x, 3.0)
        return colors_of(plot.grab().toImage().copy(at.x() - 1, at.y() - 20, 3, 40))

    def lightness(x: float, y: float) -> list[int]:
        at = pixel(plot, x, y)
        near = colors_of(plot.grab().toImage().copy(at.x() - 9, at.y() - 2, 5, 5))
        return [QColor(each).lightness() for each in near]

    plain, bare = column(1), min(lightness(1, 2.0))
    plot.mark(SelectionKey("a.1"))
    assert len(column(1)) > len(plain)
    assert min(lightness(1, 2.0)) < bare - 40
    plot.set_theme(DARK)
    assert max(lightness(1, 2.0)) > 190


def test_two_lines_of_one_place_are_both_marked(plot: LinePlot) -> None:
    plot.show_chart(
        chart(Line("B", (1.0, 2.0), places("a", 2)), Line("A", (3.0, 4.0), places("a", 2)))
    )
    plot.mark(SelectionKey("a.1"))
    assert marked(plot) == [1]
    assert sorted(rings(plot)) == [(1, 2.0), (1, 4.0)]


def test_a_module_that_is_everywhere_marks_nothing(plot: LinePlot) -> None:
    """ALBERT's one layer gives all states but the first."""
    shared = (SelectionKey("start"), *(SelectionKey("shared"),) * 2)
    plot.show_chart(chart(Line("x", (1.0, 2.0, 3.0), shared)))
    plot.mark(SelectionKey("shared"))
    assert marked(plot) == []
    plot.mark(SelectionKey("start"))
    assert marked(plot) == [0]


def test_a_selected_point_has_its_value_next_to_it_on_the_screen(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT))
    for number, text in ((0, "layer 0: 1"), (3, "layer 3: 4"), (2, "")):  # the last one is a gap
        plot.mark(SelectionKey(f"a.{number}"))
        assert plot.callout() == text
        assert "layer 0: 1" not in texts(svg(plot).decode())
    plot.mark(SelectionKey("a.1"))
    before = plot.grab().toImage()
    plot.is_on_paper = True
    assert plot.grab().toImage() != before


def test_several_things_in_two_runs_are_named_once(plot: LinePlot) -> None:
    def names(shown: LineChart) -> tuple[str, ...]:
        plot.show_chart(shown)
        return plot.legend.labels

    both = line_overlay(chart(BANK, SEA), chart(BANK, RIVER))
    assert names(both) == ("B", "A", "bank", "sea", "river")
    # Descriptions of points and exported data name both.
    assert [line.label for line in both.lines] == ["B · bank", "B · sea", "A · bank", "A · river"]
    columns = ("B · bank, std", "B · sea, std", "A · bank, std", "A · river, std")
    assert both.table()[0] == ("Layer", *columns)
    assert names(line_overlay(chart(BANK), chart(BANK))) == ("B · bank", "A · bank")
    assert names(chart(BANK, SEA)) == ("bank", "sea")
    assert names(line_difference(chart(BANK, SEA), chart(BANK, SEA))) == ("bank", "sea")
    assert names(line_overlay(chart(BANK, SEA), chart())) == ("B · bank", "B · sea")


def test_in_a_legend_of_two_runs_the_style_is_the_run_and_the_colour_the_thing(
    plot: LinePlot,
) -> None:
    plot.set_theme(DARK)
    plot.show_chart(line_overlay(chart(BANK, RIVER), chart(BANK, RIVER)))
    b, a, bank, river = plot.legend.entries
    assert b.pen.color().name() == a.pen.color().name() == DARK.text
    assert (b.brush.color().name(), a.brush.color().name()) == (DARK.text, DARK.surface)
    assert (b.pen.style(), a.pen.style()) == (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine)
    assert [thing.pen.color().name() for thing in (bank, river)] == list(DARK.series[:2])
    assert {b.symbol, a.symbol} == {"o"}
    assert bank.symbol != river.symbol
    long = [Line(name, tuple(map(float, range(101)))) for name in "ab"]
    plot.show_chart(line_overlay(chart(*long), chart(*long)))
    assert {entry.symbol for entry in plot.legend.entries} == {""}


def test_logarithmic_lines_are_found_and_described_plainly(plot: LinePlot) -> None:
    plot.show_chart(RANKS)
    low, high = plot.y_range()
    assert low < 0
    assert high > 4
    assert plot.text_at(position(plot, 1, 2)) == "mat, Layer 0: 100"
    assert plot.key_at(position(plot, 0, 4)) == PLACES[0]
    assert plot.text_at(position(plot, -0.3, 4)) == "mat, Layer emb: 10000"
    assert not line_difference(RANKS, RANKS).is_log
    lines = tuple(replace(RANKS.lines[0], label=f"a long name {n}") for n in range(8))
    plot.resize(300, 200)
    plot.show_chart(replace(RANKS, lines=lines))
    assert float(left_labels(plot)[-1].replace(",", "")) > 30_000
    plot.show_chart(replace(RANKS, lines=lines, bounds=(1.0, 30_000.0)))
    assert left_labels(plot)[-1] == "10,000"


def test_singular_values_have_a_logarithmic_axis(window: QWidget) -> None:
    plot = SpectrumPlot(window)
    plot.resize(400, 300)
    plot.show_chart(spectrum_chart(Spectrum(np.array([100.0, 1.0, 0.001, 0.0]), 4)))
    low, high = plot.y_range()
    assert low == pytest.approx(-3, abs=0.5)
    assert high == pytest.approx(2, abs=0.5)
    assert left_labels(plot) == ["0.001", "0.01", "0.1", "1", "10", "100"]


def test_lines_are_painted_on_anything_alike(plot: LinePlot) -> None:
    """A picture of twice the size has lines of twice the width."""
    widths = []
    for scale in (1, 3):
        image = QImage(plot.size() * scale, QImage.Format.Format_RGB32)
        painter = QPainter(image)
        painter.scale(scale, scale)
        plot.draw_on(painter)
        painter.end()
        wanted = int(f"ff{LIGHT.series[0][1:]}", 16)
        widths.append(sum(
            image.pixel(x, y) == wanted
            for x in range(0, image.width(), scale)
            for y in range(image.height())
        ))  # fmt: skip
    assert widths[1] > 2 * widths[0] > 0


def test_a_histogram_has_a_logarithmic_axis_too(window: QWidget) -> None:
    plot = HistogramPlot(window)
    plot.resize(640, 320)
    plot.show_chart(HistogramChart((0.0, 1.0, 2.0, 3.0), (Bars("B", (1, 1000, 0)),), is_log=True))

    def is_filled(x: float, y: float) -> bool:
        found = QColor(color(plot, x, y))
        return found.blue() > found.red() + 80

    filled = [(0.5, -0.1), (0.5, 0.2), (1.5, 2.9), (1.5, 3.1), (2.5, -0.2)]
    assert [is_filled(*each) for each in filled] == [True, False, True, False, False]
    assert plot.text_at(position(plot, 1.5, 1.0)) == "1 … 2: 1,000"
