"""Labels lie flat where there is room, and stand upright where there is not."""

import io
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pypdf
import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.labels import shortened
from bertviewer.charts.token_charts import norms_chart
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.label_axis import LEFT_OUT, LabelAxis
from bertviewer.plots.paper import plot_pdf
from tests.charts.runs import make_run
from tests.plots.looking import set_ticks

TEXTS = ("one", "another", "third")


@pytest.fixture
def grid(window: QWidget) -> GridPlot:
    grid = GridPlot(window)
    grid.show()
    return grid


def show(grid: GridPlot, texts: Sequence[str]) -> None:
    grid.show_chart(norms_chart(make_run(texts, [range(len(texts))] * 2)))


def axis_of(grid: GridPlot) -> LabelAxis:
    axis: LabelAxis = grid.area.getAxis("bottom")
    return axis


def words(grid: GridPlot, width: int, angle: int) -> set[str]:
    """Return the words that are drawn turned by so many degrees."""
    pdf = plot_pdf(grid, width, 300)
    page = pypdf.PdfReader(io.BytesIO(pdf)).pages[0]
    return set(page.extract_text(orientations=(angle,)).split())


def test_flat_when_wide_and_upright_when_narrow(grid: GridPlot) -> None:
    show(grid, TEXTS)
    assert set(TEXTS) <= words(grid, 700, 0)
    assert not set(TEXTS) & words(grid, 700, 90)
    assert set(TEXTS) <= words(grid, 220, 90)
    assert not set(TEXTS) & words(grid, 220, 0)


def test_wider_again_is_flat_again(grid: GridPlot) -> None:
    show(grid, TEXTS)
    assert set(TEXTS) <= words(grid, 220, 90)
    assert set(TEXTS) <= words(grid, 700, 0)


def test_other_labels_choose_again(grid: GridPlot) -> None:
    show(grid, ["a", "b"])
    assert {"a", "b"} <= words(grid, 220, 0)
    show(grid, [f"word{number}" for number in range(30)])
    assert {"word0", "word29"} <= words(grid, 700, 90)


def test_upright_labels_get_the_height_that_they_need(grid: GridPlot) -> None:
    show(grid, TEXTS)
    axis, metrics = axis_of(grid), QFontMetricsF(axis_of(grid).font())

    def height(width: int) -> float:
        plot_pdf(grid, width, 300)
        found: float = axis.height()
        return found

    widest = max(metrics.horizontalAdvance(text) for text in TEXTS)
    flat, upright = height(700), height(220)
    assert upright >= widest + metrics.height()  # and the title below
    assert upright - flat == pytest.approx(widest - metrics.height() + 6, abs=2)


def test_hundreds_of_labels_leave_some_out(grid: GridPlot) -> None:
    show(grid, [f"w{number}" for number in range(300)])
    shown = [word for word in words(grid, 700, 90) if word.startswith("w")]
    assert "w0" in shown
    assert 20 < len(shown) < 60
    assert len(words(grid, 3000, 90)) > 2 * len(shown)


def test_upright_labels_that_are_left_out_take_no_height(grid: GridPlot) -> None:
    show(grid, ["[CLS]", "very-long", *["word"] * 298])
    assert {"[CLS]", "word"} == words(grid, 700, 90) - {"Layer", "Norm"}
    axis = axis_of(grid)
    metrics = QFontMetricsF(axis.font())
    assert axis.style["tickTextHeight"] == int(metrics.horizontalAdvance("[CLS]") + 6)
    assert "very-long" in words(grid, 6000, 90)
    assert axis.style["tickTextHeight"] == int(metrics.horizontalAdvance("very-long") + 6)


def test_two_axes_are_as_high(window: QWidget) -> None:
    grids = [GridPlot(window) for _ in range(2)]
    for place, (grid, texts) in enumerate(zip(grids, (["a", "b", "c"], TEXTS), strict=True)):
        grid.setGeometry(200 * place, 0, 200, 300)
        grid.show()
        show(grid, texts)
        grid.grab()
    low, high = (axis_of(grid).style["tickTextHeight"] for grid in grids)
    assert low < high
    for grid, other in zip(grids, reversed(grids), strict=True):
        grid.align(other)
    assert [axis_of(grid).style["tickTextHeight"] for grid in grids] == [high, high]
    show(grids[1], ["a", "b", "c"])
    grids[1].grab()
    assert [axis_of(grid).style["tickTextHeight"] for grid in grids] == [low, low]
    show(grids[1], TEXTS)
    for grid in grids:
        grid.align(None)
    assert [axis_of(grid).style["tickTextHeight"] for grid in grids] == [low, high]


def test_an_axis_without_labels(grid: GridPlot) -> None:
    axis_of(grid).set_labels([])
    grid.resize(50, 300)
    assert not grid.grab().isNull()


def test_short_labels_are_left_out_and_not_turned(grid: GridPlot) -> None:
    show(grid, [str(number) for number in range(200)])
    flat = words(grid, 800, 0)
    assert "0" in flat
    assert not {str(number) for number in range(100, 200)} & words(grid, 800, 90)
    assert 15 < len([word for word in flat if word.isdigit()]) < 60


def test_labels_at_the_side_leave_some_out(grid: GridPlot) -> None:
    rows = [[1.0, 2.0]] * 60
    grid.show_chart(norms_chart(make_run(["a", "b"], rows)))
    shown = words(grid, 300, 0) & {"emb", *map(str, range(60))}
    assert "emb" in shown
    assert 8 < len(shown) < 30
    axis = grid.area.getAxis("left")
    assert axis.labels() == ("emb", *map(str, range(59)))


def test_the_first_label_may_reach_beyond_the_axis(grid: GridPlot) -> None:
    show(grid, ["[CLS]", *(f"word{number}" for number in range(300))])
    assert "[CLS]" in words(grid, 500, 90)


def test_shortened() -> None:
    assert shortened("word", 4) == "word"
    assert shortened("words", 4) == "wor…"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([str(n) for n in range(32)], ("0", "5", "10", "15", "20", "25", "30")),
        ([str(n) for n in range(1, 33)], ("1", "5", "10", "15", "20", "25", "30")),
        ([str(2 * n) for n in range(32)], ("0", "10", "20", "30", "40", "50", "60")),
        (["emb", *map(str, range(31))], ("emb", "5", "10", "15", "20", "25", "30")),
        (["emb", *map(str, range(12))], ("emb", "2", "4", "6", "8", "10")),
        (["emb", "0", "1", "2"], ("emb", "0", "1", "2")),
        ([f"t{n}" for n in range(8)], tuple(f"t{n}" for n in range(8))),
    ],
)
def test_numbers_that_are_left_out_leave_round_ones(
    window: QWidget, labels: list[str], expected: tuple[str, ...]
) -> None:
    grid = GridPlot(window)
    grid.show_chart(GridChart(np.zeros((len(labels), 2)), tuple(labels), ("a", "b")))
    grid.resize(400, 170)
    grid.grab()
    shown = set_ticks(grid, "left")
    assert shown is not None
    assert tuple(text for _, text in shown) == expected
    assert all(labels[int(place)] == text for place, text in shown)


@pytest.mark.parametrize(("count", "width"), [(18, 700), (18, 300), (512, 700)])
def test_labels_that_repeat_what_stands_elsewhere_never_stand_up(
    grid: GridPlot, count: int, width: int
) -> None:
    texts = [f"token{number}" for number in range(count)]
    grid.is_titled = False
    grid.resize(width, 200)
    show(grid, texts)
    grid.grab()
    axis = axis_of(grid)
    ticks = set_ticks(grid, "bottom") or []
    shown = [(place, text) for place, text in ticks if text != LEFT_OUT]
    assert shown
    # What is left out is not left out silently.
    assert bool(axis.toolTip()) == (len(shown) < count)
    if width == 300:
        assert len(ticks) == count
    metrics = QFontMetricsF(axis.font())
    gap = axis.size().width() / count
    places = [place for place, _ in shown]
    rooms = [gap * (after - before) for before, after in pairwise(places)]
    assert max(metrics.horizontalAdvance(text) for _, text in shown) <= min(rooms)
    assert axis.size().height() < 2 * metrics.height() + 8
    # On paper nothing stands elsewhere.
    assert "Token" in words(grid, 700, 0)
