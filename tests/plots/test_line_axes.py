"""What is around lines: axes with their numbers and titles, and the legend."""

from math import inf

import pyqtgraph as pg
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.charts.chart import Line
from bertviewer.charts.comparison import line_difference, line_overlay
from bertviewer.charts.layers import series_chart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import TracedToken, path_charts
from bertviewer.plots.legend import Legend
from bertviewer.plots.line_plot import LinePlot
from tests.charts.runs import make_run
from tests.plots.lines import OUTPUT, chart, curves, lines_in, places
from tests.plots.looking import scene, set_ticks


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def test_axes_have_their_titles(plot: LinePlot) -> None:
    left, bottom = plot.area.getAxis("left"), plot.area.getAxis("bottom")
    assert (bottom.labelText, left.labelText) == ("Layer", "std")
    plot.show_chart(chart(OUTPUT, title="rms"))
    assert left.labelText == "rms"
    plot.show_chart(chart(Line("tiny", (1e-6, 2e-6))))
    plot.grab()
    # A quiet "x1e-6" in a corner would be overlooked.
    assert left.autoSIPrefixScale == 1.0


def test_many_layers_have_fewer_numbers(plot: LinePlot) -> None:
    for layers in (1, 12, 24, 48, 100):
        line = Line("x", tuple(map(float, range(layers))), places("p", layers))
        plot.show_chart(chart(line))
        shown = set_ticks(plot, "bottom")
        assert shown is not None
        assert len(shown) == layers if layers <= 24 else 15 < len(shown) < 35
        assert dict(shown)[0] == "0"
        assert all(str(at) == text for at, text in shown)
        last = SelectionKey(f"p.{layers - 1}")
        assert plot.place_at(scene(plot, layers - 1, layers - 1)) == last


def test_the_legend_hides_no_line(plot: LinePlot) -> None:
    for count in (3, 6):
        lines = [
            Line(f"a.rather.long.name.of.layers.{n}: output", (1.0, 1.0 + n)) for n in range(count)
        ]
        for width, height in ((900, 400), (640, 320), (300, 250)):
            plot.resize(width, height)
            plot.show_chart(chart(*lines))
            plot.grab()
            legend: Legend = plot.legend
            names = legend.mapRectToScene(legend.boundingRect())
            assert names.height() > 20
            assert scene(plot, 1, float(count)).y() > names.bottom(), (count, width, height)
            # Most of the height stays the lines'.
            box = plot.area.vb.sceneBoundingRect()
            assert names.height() < 0.45 * box.height()
            assert names.right() <= box.right() + 1


def test_a_name_is_drawn_as_it_is(plot: LinePlot) -> None:
    """Tags take room like other letters; as markup these would all look the same."""
    pictures = []
    for name in ("<s>", "<b>", "<s>"):
        plot.show_chart(chart(Line(name, (1.0, 2.0)), title=f"norm of {name}"))
        pictures.append(plot.grab().toImage())
    assert pictures[0] == pictures[2]
    assert pictures[0] != pictures[1]


def test_zero_is_drawn_where_values_are_on_both_sides(plot: LinePlot) -> None:
    def zeros() -> int:
        items = plot.area.items
        return sum(isinstance(i, pg.InfiniteLine) and i.angle == 0 for i in items)

    assert zeros() == 0
    plot.show_chart(chart(Line("difference", (-1.0, 2.0))))
    assert zeros() == 1


def numbers(plot: LinePlot) -> list[float]:
    """Return what stands at the axis at the left."""
    axis = plot.area.getAxis("left")
    ((step, values),) = axis.tickValues(*axis.range, axis.size().height())
    texts = axis.tickStrings(values, 1.0, step)
    return [float(text.replace("−", "-").replace(",", "")) for text in texts]


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
def test_no_number_is_beyond_what_a_value_can_be(
    plot: LinePlot, values: tuple[float, ...], bounds: tuple[float, float]
) -> None:
    # Several names take room above the lines, where there would be further numbers.
    lines = chart(*(Line(f"a name that takes room {n}", values) for n in range(5)))

    def ends(bounds: tuple[float, float]) -> list[tuple[float, float]]:
        """Return the first and the last number at the axis of low and of high plots."""
        found = []
        for height in (150, 200, 250, 300, 350, 400, 800):
            plot.resize(300, height)
            plot.show_chart(replace(lines, bounds=bounds))
            plot.grab()
            shown = numbers(plot)
            found.append((shown[0], shown[-1]))
        return found

    least, most = bounds
    assert all(least <= first <= last <= most for first, last in ends(bounds))
    assert not all(least <= first <= last <= most for first, last in ends((-inf, inf)))
    low, high = plot.y_range()
    last = curves(plot)[-1]
    heights = [height for height in last.heights if height is not None]
    assert low < min(heights) <= max(heights) < high


def test_counts_have_whole_numbers(plot: LinePlot) -> None:
    for values, most in (((0.0, 0.0), 1), ((0.0, 2.0), 2), ((3.0, 4000.0), 4000)):
        for height in (150, 400):
            plot.resize(300, height)
            plot.show_chart(replace(chart(Line("a", values)), bounds=(0.0, inf), is_whole=True))
            plot.grab()
            found = numbers(plot)
            assert found == [round(number) for number in found]
            assert 0 in found
            assert max(found) <= 1.5 * most
    plot.show_chart(chart(Line("a", (0.0, 0.5))))
    plot.grab()
    assert 0.5 in numbers(plot)
    assert series_chart(make_run(), (), "nan_count").is_whole
    assert not series_chart(make_run(), (), "std").is_whole


def test_what_is_bounded_says_so() -> None:
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
    # What a difference can be is another matter.
    assert line_difference(paths.to_start, paths.to_start).bounds == (-inf, inf)
    assert line_overlay(paths.to_start, paths.to_start).bounds == (-1, 1)


def test_names_keep_their_room_where_the_axis_gets_longer_numbers(plot: LinePlot) -> None:
    for values in ((1.0, 2.0), (12345678.0, 12345679.0)):
        plot.show_chart(chart(Line("a", values), Line("b", values)))
        plot.grab()  # the axis finds its width while it is drawn
        QApplication.processEvents()
        assert plot.legend.boundingRect().width() <= plot.area.vb.width()


def test_nothing_finite_has_no_numbers_beside_it(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (None, float("nan"), None))))
    assert set_ticks(plot, "left") == []
    assert set_ticks(plot, "bottom") == [(0, "0"), (1, "1"), (2, "2")]
    plot.show_chart(chart(OUTPUT))
    assert set_ticks(plot, "left") is None
