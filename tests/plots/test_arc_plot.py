"""Arc plots: attention as lines between two rows of tokens."""

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from bertviewer.charts.arcs import arcs_text
from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots import export
from bertviewer.plots.arc_plot import ArcLayout, ArcPlot, Token
from tests.plots.looking import click, drag, grab, hover, leave, press, sheet
from tests.plots.test_token_matrix import chart_of


@pytest.fixture
def plot(window: QWidget) -> ArcPlot:
    plot = ArcPlot(window)
    plot.resize(540, 270)
    plot.show()
    plot.show_chart(chart_of(16))
    return plot


def layout_of(plot: ArcPlot) -> ArcLayout:
    layout = plot.layout_of_arcs()
    assert layout is not None
    return layout


def above(plot: ArcPlot, index: int) -> QPoint:
    layout = layout_of(plot)
    return QPointF(layout.x(index, layout.rows), layout.top - 10).toPoint()


def below(plot: ArcPlot, index: int) -> QPoint:
    layout = layout_of(plot)
    return QPointF(layout.x(index, layout.columns), layout.bottom + 10).toPoint()


def words(plot: ArcPlot) -> tuple[str, list[int]]:
    """Return the horizontal texts, and the numbers of all tokens that are named."""
    page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
    upright = page.extract_text(orientations=(90,))
    flat = page.extract_text(orientations=(0,))
    found = re.findall(r"word(\d+)", f"{flat} {upright}")
    return " ".join(flat.split()), sorted(map(int, found))


def test_lines_names_masks_and_signs(window: QWidget, image: Callable[[str, Any], None]) -> None:
    def drawn(
        chart: GridChart,
        token: int | None = None,
        *,
        theme: Theme = LIGHT,
        under: Token | None = None,
        zoom: float = 0,
    ) -> QImage:
        plot = ArcPlot(window)
        plot.resize(220, 140)
        plot.set_theme(theme)
        plot.show_chart(chart)
        plot.mark(SelectionKey(token=token))
        plot.zoom_at(QPointF(110, 70), zoom)
        if under is not None:
            hover(plot, (above if under.is_row else below)(plot, under.index))
        return grab(plot, 220, 140)

    weights = np.random.default_rng(0).dirichlet(np.full(5, 0.3), size=5)
    plain = replace(chart_of(5), values=weights)
    lines = sheet(
        drawn(plain),
        drawn(plain, 2),  # its lines are ahead of all others, with their weights
        drawn(plain, 2, under=Token(is_row=True, index=4)),  # only the lines of a query
        drawn(plain, under=Token(is_row=False, index=1)),  # only the lines of a key
    )
    image("arcs", lines)
    masked = replace(plain, masked=np.triu(np.ones((5, 5), dtype=np.bool_), 1))
    signed = replace(plain, values=weights - weights.T, is_signed=True, levels=(-1.0, 1.0))
    others = sheet(
        drawn(signed, 3, theme=DARK),
        drawn(masked, 2),  # hatched, and a measured 0 is empty
        drawn(replace(plain, is_root=True, row_starts=(2,), column_starts=(3,))),
        drawn(chart_of(2, 12)),  # names flat above, upright below
    )
    image("arcs of other charts", others)


def test_all_tokens_are_named_above_and_below(plot: ArcPlot) -> None:
    flat, numbers = words(plot)
    assert numbers == sorted([*range(16), *range(16)])
    assert "Query" in flat
    assert "Key" in flat
    assert "Only weights ≥ 0.005 are shown." in flat
    for shape, upright in (((4, 4), (False, False)), ((2, 40), (False, True))):
        plot.show_chart(chart_of(*shape))
        assert layout_of(plot).upright == upright


@pytest.mark.parametrize("count", [70, 512])
def test_of_many_tokens_some_are_named_and_all_when_zoomed_in(plot: ArcPlot, count: int) -> None:
    plot.show_chart(chart_of(count))
    flat, numbers = words(plot)
    assert f"Only the {1200 // count} largest weights of each token" in flat
    assert len(set(numbers)) > 10
    press(plot, *[Qt.Key.Key_Plus] * 20)
    span = layout_of(plot).tokens(count)
    assert set(range(int(span.start) + 1, int(span.end))) <= set(words(plot)[1])
    press(plot, Qt.Key.Key_0)
    assert layout_of(plot).span.is_whole


def test_notes_say_what_lines_mean(plot: ArcPlot) -> None:
    plot.show_chart(replace(chart_of(16), is_root=True))
    assert "Square-root scale" in words(plot)[0]
    masked = np.triu(np.ones((16, 16), dtype=np.bool_), 1)
    plot.show_chart(replace(chart_of(16), masked=masked))
    assert "Hatched" not in words(plot)[0]
    plot.mark(SelectionKey(token=4))
    assert "Hatched: masked." in words(plot)[0]
    assert "1.00" in words(plot)[0]  # the weight of the selected token's line
    assert words(plot)[1].count(4) == 2  # the strong name is whole
    assert plot.text_at(QPointF(above(plot, 4))).endswith("11 masked")


def test_hovering_describes_the_lines_of_a_token(plot: ArcPlot) -> None:
    received: list[str] = []
    plot.hovered.connect(received.append)
    hover(plot, above(plot, 3))
    hovered = plot.hovered_token
    assert hovered == Token(True, 3)
    hover(plot, below(plot, 9))
    leave(plot)
    hovered = plot.hovered_token
    assert hovered is None
    assert received == ["query word3 → key word3 1", "query word9 1 → key word9", ""]


def test_a_click_selects_a_token(plot: ArcPlot) -> None:
    received: list[SelectionKey] = []
    plot.clicked.connect(received.append)
    click(plot, above(plot, 3))
    click(plot, below(plot, 11))
    assert [key.token for key in received] == [3, 11]


def test_keys_go_from_token_to_token_and_bring_them_into_view(plot: ArcPlot) -> None:
    plot.show_chart(chart_of(70))
    plot.clicked.connect(plot.mark)
    received: list[SelectionKey] = []
    plot.clicked.connect(received.append)
    texts: list[str] = []
    plot.reached.connect(lambda text, _at: texts.append(text))
    press(plot, *[Qt.Key.Key_Plus] * 10)
    press(plot, Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_End, Qt.Key.Key_Left)
    assert [key.token for key in received] == [0, 1, 69, 68]
    assert plot.chart is not None
    assert texts == [arcs_text(plot.chart, token, True) for token in (0, 1, 69, 68)]
    span = layout_of(plot).tokens(70)
    assert span.start <= 68 < span.end


def test_a_drag_pans(plot: ArcPlot) -> None:
    press(plot, *[Qt.Key.Key_Plus] * 4)
    before = layout_of(plot).span.start
    drag(plot, plot.rect().center(), plot.rect().center() + QPoint(-50, 0))
    assert layout_of(plot).span.start > before
