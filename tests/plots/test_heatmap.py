"""Heatmaps: cells, labels, frames, descriptions, mouse and keys."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from bertviewer.charts.change_grid import CellNote, MarkedGrid
from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import map_chart
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.charts.token_charts import norms_chart
from bertviewer.core.tensors.reduction import tensor_map
from bertviewer.core.util.text import isolated
from bertviewer.plots.canvas_plot import Point
from bertviewer.plots.export import svg
from bertviewer.plots.heatmap import Heatmap, next_cell
from bertviewer.plots.region_heatmap import RegionHeatmap
from tests.charts.runs import make_run
from tests.core.tensors.made_up import matrix
from tests.plots.looking import (
    box,
    click,
    drag,
    grab,
    hover,
    leave,
    pixel,
    position,
    press,
    sheet,
    texts,
    wheel,
)

NAN = float("nan")
Image = Callable[[str, Any], None]


def square(values: Sequence[Sequence[float]], is_signed: bool = False) -> GridChart:
    """Return tokens × tokens."""
    names = tuple(f"t{n}" for n in range(len(values)))
    keys = tuple(SelectionKey(token=n) for n in range(len(values)))
    array = np.array(values, dtype=np.float32)
    return GridChart(array, names, names, keys, keys, is_signed=is_signed, is_top_down=True)


def norms(**changes: Any) -> GridChart:
    """Return the norms of a run of three layers, whose rows select layers."""
    layers = tuple(SelectionKey(f"layer.{n}") for n in range(3))
    return replace(norms_chart(make_run()), row_keys=layers, **changes)


SIDES: tuple[Literal["right", "left"], ...] = ("right", "left")


@pytest.fixture
def plot(window: QWidget) -> Heatmap:
    plot = Heatmap(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(norms())
    return plot


def marked_grid(value: float) -> MarkedGrid:
    """Return a cell with a value, if it is finite, an equal cell, and a missing one."""
    sign = "" if np.isfinite(value) else "?"
    return MarkedGrid(
        np.array([[value, NAN, NAN]]),
        ("a",),
        ("b", "c", "d"),
        levels=(0.01, 1.0),
        notes={(0, 0): CellNote("n", "n", sign), (0, 1): CellNote("m", "m", "=", "equal")},
        is_log=True,
    )


# Images.


def drawn(
    window: QWidget, chart: GridChart, selection: SelectionKey | None = None, theme: Theme = LIGHT
) -> QImage:
    plot = Heatmap(window)
    plot.set_theme(theme)
    plot.show_chart(chart)
    plot.mark(selection or SelectionKey())
    return grab(plot, 300, 180)


def test_cells_and_their_colours(window: QWidget, image: Image) -> None:
    signed = square([[-2.0, 0.0, 1.0], [-1.0, NAN, 0.0], [0.5, -0.5, 0.0]], is_signed=True)
    masked = np.array([[False, False, True], [True, False, False]])
    hidden = GridChart(np.ones((2, 3)), ("a", "b"), ("c", "d", "e"), masked=masked)
    missing = norms_chart(make_run(norms=((1.0, 2.0, 3.0), (None, 4.0, None))))
    pictures = sheet(
        drawn(window, missing),  # row 0 at the bottom, two empty cells
        drawn(window, square([[0.0, 1.0], [2.0, 3.0]])),  # row 0 at the top
        drawn(window, signed),
        drawn(window, signed, theme=DARK),
        drawn(window, replace(signed, is_root=True)),
        drawn(window, replace(square([[1.0, 2.0], [3.0, 4.0]]), levels=(0.0, 8.0))),
        drawn(window, replace(hidden, levels=(0.0, 1.0))),
        drawn(window, square([[3.0]])),
        drawn(window, marked_grid(0.1)),
        drawn(window, marked_grid(NAN), theme=DARK),  # no value, no colour bar
    )
    image("heatmap cells", pictures)


def test_frames_and_dividers(window: QWidget, image: Image) -> None:
    plain = square([[0.0, 1.0, 2.0]] * 3)
    divided = square([[1.0] * 4] * 4)
    spot = Heatmap(window)
    spot.show_chart(plain)
    spot.mark_spot((1, 2))
    pictures = sheet(
        drawn(window, norms(), SelectionKey("layer.1", token=2)),  # row, column, thick cell
        drawn(window, plain, SelectionKey(token=1), DARK),
        drawn(window, square(np.eye(400).tolist()), SelectionKey(token=399)),  # inside the plot
        drawn(window, replace(divided, column_starts=(1,), row_starts=(3,))),
        drawn(window, replace(divided, column_starts=(0,), row_starts=(4,))),  # no divider
        grab(spot, 300, 180),
    )
    image("heatmap frames", pictures)


def test_titles_labels_and_colour_bars(window: QWidget, image: Image) -> None:
    def pair(left: Heatmap, right: Heatmap) -> list[QImage]:
        for each in (left, right):
            each.resize(300, 180)
        return [grab(each, 300, 180) for each in (left, right)]

    def untitled(count: int) -> QImage:
        plot = Heatmap(window)
        plot.is_titled = False
        names = [f"token{n}" for n in range(count)]
        plot.show_chart(norms_chart(make_run(names, [range(count)] * 2)))
        return grab(plot, 300, 180)

    shared = Heatmap(window), Heatmap(window)
    for plot, side in zip(shared, SIDES, strict=True):
        plot.share(side, "Norm")
        plot.show_chart(norms(value_title="B · Norm"))
    aligned = Heatmap(window), Heatmap(window)
    for plot, names in zip(aligned, (("a", "b", "c"), ("one", "another", "third")), strict=True):
        plot.show_chart(norms_chart(make_run(names)))
    for plot, other in zip(aligned, reversed(aligned), strict=True):
        plot.align(other)
    many = drawn(window, square(np.eye(512).tolist()))
    image(
        "heatmap labels",
        sheet(*pair(*shared), *pair(*aligned), untitled(4), untitled(18), untitled(512), many),
    )


# Descriptions and selection.


def test_descriptions_of_cells(plot: Heatmap) -> None:
    for x, y, text in (
        (0.5, 0.5, "embeddings, [CLS] (token 0): 1"),
        (1.5, 0.02, "embeddings, it's (token 1): 1.25"),
        (1.02, 1.5, "layer 0, it's (token 1): 2.123457"),
        (2.98, 2.98, "layer 1, [SEP] (token 2): 9"),
        (0.02, 2.02, "layer 1, [CLS] (token 0): 3"),
        (-0.02, 0.5, ""),
        (3.02, 0.5, ""),
        (0.5, -0.02, ""),
        (0.5, 3.02, ""),
    ):
        assert plot.text_at(position(plot, x, y)) == text, (x, y)
    plot.show_chart(square([[0.0, 1.0], [2.0, NAN]]))
    assert plot.text_at(position(plot, 0.5, 1.5)) == "t1, t0: 2"
    assert plot.text_at(position(plot, 1.5, 1.5)) == "t1, t1: nan"
    plot.show_chart(replace(square([[0.25]]), is_root=True))
    assert plot.text_at(position(plot, 0.5, 0.5)) == "t0, t0: 0.25"
    plot.show_chart(replace(square([[0.25]]), masked=np.ones((1, 1), dtype=np.bool_)))
    assert plot.text_at(position(plot, 0.5, 0.5)) == "t0, t0: masked"


def test_hovering_describes_the_cell(plot: Heatmap) -> None:
    received: list[str] = []
    plot.hovered.connect(received.append)
    for place in (pixel(plot, 2.5, 2.5), pixel(plot, 0.5, 0.5), QPoint(3, 3)):
        hover(plot, place)
    leave(plot)
    assert received == ["layer 1, [SEP] (token 2): 9", "embeddings, [CLS] (token 0): 1", "", ""]


def test_a_click_selects_row_and_column(plot: Heatmap) -> None:
    received: list[SelectionKey] = []
    plot.clicked.connect(received.append)
    click(plot, pixel(plot, 1.5, 2.5))
    click(plot, pixel(plot, 3.2, 1.5))
    plot.show_chart(norms(column_keys=()))
    plot.show_chart(replace(norms(column_keys=()), row_keys=()))
    click(plot, pixel(plot, 1.5, 2.5))
    assert received == [SelectionKey("layer.2", token=1)]
    plot.show_chart(square([[1.0, 2.0, 3.0]] * 3))
    assert plot.key_at(position(plot, 0.5, 2.5)) == SelectionKey(token=2)


def test_framed_cells_of_a_selection(plot: Heatmap) -> None:
    row, column = (1, 0, 1, 3), (0, 2, 3, 1)
    for selection, thin, thick in (
        (SelectionKey("layer.1"), [row], []),
        (SelectionKey("layer.1.output"), [row], []),
        (SelectionKey(token=2), [column], []),
        (SelectionKey("layer.1", token=2), [row, column], [(1, 2, 1, 1)]),
        (SelectionKey("pooler", token=7), [], []),
        (SelectionKey(), [], []),
    ):
        plot.mark(selection)
        assert plot.framed_cells() == (thin, thick), selection


def test_pairs(window: QWidget) -> None:
    plot = Heatmap(window, selects_pairs=True)
    plot.resize(400, 300)
    plot.show_chart(replace(square([[1.0] * 4] * 4), row_keys=()))
    received: list[object] = []
    plot.paired.connect(lambda row, column: received.append((row, column)))
    plot.clicked.connect(received.append)
    click(plot, pixel(plot, 2.5, 1.5))
    assert received == [(1, 2), SelectionKey(token=2)]
    row, column = (1, 0, 1, 4), (0, 2, 4, 1)
    plot.mark(SelectionKey(token=2))
    assert plot.framed_cells() == ([column], [])
    plot.mark_row(1)
    assert plot.framed_cells() == ([row, column], [(1, 2, 1, 1)])
    press(plot, Qt.Key.Key_Up)
    assert received[2:] == [(0, 2), SelectionKey(token=2)]
    plot.mark_row(3)
    plot.show_chart(square([[1.0]]))
    plot.mark(SelectionKey())
    assert plot.framed_cells() == ([], [])


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        ((0, 0), Qt.Key.Key_Down, (1, 0)),
        ((1, 0), Qt.Key.Key_Up, (0, 0)),
        ((0, 0), Qt.Key.Key_Up, None),
        ((0, 1), Qt.Key.Key_Right, None),
        ((1, 0), Qt.Key.Key_Right, (1, 2)),  # over an empty cell
        ((1, 2), Qt.Key.Key_Home, (1, 0)),
        ((0, 0), Qt.Key.Key_End, (0, 1)),
        (None, Qt.Key.Key_Left, (0, 0)),
        ((0, 0), Qt.Key.Key_A, None),
    ],
)
def test_a_key_leads_to_the_next_cell_with_a_description(
    start: Point | None, key: Qt.Key, end: Point | None
) -> None:
    values = np.array([[1.0, 2.0, NAN], [3.0, NAN, 4.0]])
    notes = {
        (int(row), int(column)): CellNote(f"t{row}{column}", f"tensor {row}{column}")
        for row, column in np.argwhere(np.isfinite(values))
    }
    chart = MarkedGrid(values, ("a", "b"), ("a", "b", "c"), is_top_down=True, notes=notes)
    assert next_cell(chart, start, key) == end


def test_keys_select_like_clicks_and_describe_the_cell(plot: Heatmap) -> None:
    plot.show_chart(square([[0.0, 0.125, 0.25], [1.0, 1.125, 1.25], [2.0, 2.125, 2.25]]))
    keys: list[SelectionKey] = []
    cells: list[Point] = []
    received: list[tuple[str, QPoint]] = []
    plot.clicked.connect(keys.append)
    plot.clicked.connect(plot.mark)
    plot.cell_clicked.connect(lambda row, column: cells.append((row, column)))
    plot.reached.connect(lambda text, at: received.append((text, at)))
    click(plot, pixel(plot, 0.5, 0.5))
    assert not received
    press(plot, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_End)
    assert cells == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert [text for text, _ in received] == ["t0, t1: 0.125", "t1, t1: 1.125", "t1, t2: 1.25"]
    assert len(keys) == 4
    assert (received[-1][1] - pixel(plot, 2.5, 1.5)).manhattanLength() <= 2
    assert plot.framed_cells()[1] == [(1, 2, 1, 1)]
    # In a norms chart row 0 is at the bottom.
    plot.show_chart(norms())
    plot.focused_point = (1, 1)
    press(plot, Qt.Key.Key_Up)
    assert cells[-1] == (2, 1)


def test_wheel_and_drag_request_another_region(window: QWidget) -> None:
    plot = RegionHeatmap(window)
    plot.resize(400, 300)
    whole = matrix(np.random.default_rng(2).normal(size=(40, 30)))
    plot.show_chart(map_chart(tensor_map(whole, (0, 40), (0, 30)), whole, "mean"))
    zooms: list[tuple[float, float, int]] = []
    drags: list[tuple[float, float]] = []
    plot.zoomed.connect(lambda x, y, notches: zooms.append((x, y, notches)))
    plot.dragged.connect(lambda x, y: drags.append((x, y)))
    middle = box(plot).center().toPoint()
    for delta in (60, 60, -240):  # touchpads turn by less than a notch
        wheel(plot, QPointF(middle), delta)
    assert [zoom[2] for zoom in zooms] == [1, -2]
    assert zooms[0][:2] == pytest.approx((0.5, 0.5), abs=0.02)
    drag(plot, middle, middle + QPoint(int(box(plot).width() / 4), 0))
    assert drags == [pytest.approx((0.25, 0), abs=0.02)]


# Texts.


def test_names_of_any_kind_are_drawn_as_they_are(plot: Heatmap) -> None:
    names = (
        "<b>bold</b>",
        "&lt;&amp;",
        "注意力机制是什么意思呢",
        "x" * 200,
        "שלום עולם",
        "\u202eabc",
        "a\nb\tc",
        "",
        "😀👩‍👩‍👧",
        "\0",
    )
    plot.show_chart(norms_chart(make_run(names, [[float(n) for n in range(len(names))]] * 3)))
    assert not grab(plot, 120, 90).isNull()
    plot.resize(2000, 300)
    drawn = {"<b>bold</…", "&lt;&amp;", "注意力机制是什么意…", "xxxxxxxxx…"}
    assert drawn <= set(texts(svg(plot).decode()))
    for column, text in enumerate(names):
        received = plot.text_at(position(plot, column + 0.5, 0.5))
        assert received.startswith(f"embeddings, {isolated(text)} (token {column}): ")


def test_untitled_labels_say_that_some_are_missing_and_paper_has_titles(plot: Heatmap) -> None:
    plot.is_titled = False
    for count, width, is_hinted in ((18, 700, False), (18, 300, True), (512, 700, True)):
        plot.resize(width, 200)
        names = [f"token{n}" for n in range(count)]
        plot.show_chart(norms_chart(make_run(names, [range(count)] * 2)))
        below = QPointF(box(plot).center().x(), box(plot).bottom() + 8)
        assert bool(plot.name_at(below)) == is_hinted
        assert "Token" in texts(svg(plot).decode())


def test_neighbours_share_the_width_of_titles_and_bars(plot: Heatmap) -> None:
    alone, taken = box(plot).width(), plot.reserved_width()
    for side in SIDES:
        plot.share(side, "Norm")
        saved = taken - plot.reserved_width()
        assert saved > 5
        assert box(plot).width() - alone == pytest.approx(saved, abs=1)
    plot.share(None)
    assert box(plot).width() == alone
