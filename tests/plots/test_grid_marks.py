"""The frames that mark rows, columns and cells of the grid."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QRectF
from PySide6.QtWidgets import QWidget

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.charts.token_charts import norms_chart
from bertviewer.plots.frames import Frames
from bertviewer.plots.grid_plot import GridPlot
from tests.charts.runs import make_run
from tests.plots.grids import grid_in, square
from tests.plots.looking import pixel


@pytest.fixture
def plot(window: QWidget) -> GridPlot:
    return grid_in(window)


def frames(plot: GridPlot) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Return the thin and the thick frames as x, y, width, height."""
    (item,) = (i for i in plot.area.items if isinstance(i, Frames))

    def numbers(rects: Sequence[QRectF]) -> list[tuple[float, ...]]:
        return [(r.x(), r.y(), r.width(), r.height()) for r in rects]

    return numbers(item.thin), numbers(item.thick)


def test_marks(plot: GridPlot) -> None:
    chart = norms_chart(make_run())
    plot.show_chart(replace(chart, row_keys=tuple(SelectionKey(f"layer.{n}") for n in range(3))))
    row, column = (0, 1, 3, 1), (2, 0, 1, 3)
    for selection, thin, thick in (
        (SelectionKey("layer.1"), [row], []),
        (SelectionKey("layer.1.output"), [row], []),
        (SelectionKey(token=2), [column], []),
        (SelectionKey("layer.1", token=2), [row, column], [(2, 1, 1, 1)]),
        (SelectionKey("pooler", token=7), [], []),
        (SelectionKey(), [], []),
    ):
        plot.mark(selection)
        assert frames(plot) == (thin, thick), selection


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_mark_is_seen_around_its_cell_and_not_on_it(plot: GridPlot, theme: Theme) -> None:
    plot.set_theme(theme)
    plot.show_chart(square([[0.0, 1.0, 2.0]] * 3))
    before = plot.grab().toImage()
    plot.mark(SelectionKey(token=1))
    after = plot.grab().toImage()
    middle, corner = pixel(plot, 1.5, 1.5), pixel(plot, 1, 1)
    assert before.pixelColor(middle) == after.pixelColor(middle)
    near = {
        after.pixelColor(corner + QPoint(x, y)).name() for x in range(-5, 2) for y in range(-5, 2)
    }
    assert {theme.text, theme.surface} <= near
    plot.mark(SelectionKey())
    assert plot.grab().toImage() == before


def test_the_last_of_many_is_marked_inside_of_the_plot(plot: GridPlot) -> None:
    plot.show_chart(square(np.eye(400).tolist()))
    before = plot.grab().toImage()
    plot.mark(SelectionKey(token=399))
    after = plot.grab().toImage()
    box = plot.area.vb.sceneBoundingRect()
    changed = [
        x
        for x in range(after.width())
        if before.pixelColor(x, int(box.center().y()) + 20)
        != after.pixelColor(x, int(box.center().y()) + 20)
    ]
    assert changed
    assert box.right() - 8 <= min(changed) <= max(changed) <= box.right() + 1
