"""Token labels lie flat where there is room, and stand upright where there is not."""

import io
from collections.abc import Sequence

import pypdf
import pytest
from PySide6.QtGui import QFontMetricsF
from pytestqt.qtbot import QtBot

from bertviewer.plots.paper import plot_pdf
from bertviewer.plots.token_axis import TokenAxis
from bertviewer.plots.token_heatmap import TokenHeatmap
from tests.plots.test_token_heatmap import make_run

TEXTS = ("one", "another", "third")


@pytest.fixture
def heatmap(qtbot: QtBot) -> TokenHeatmap:
    heatmap = TokenHeatmap()
    qtbot.addWidget(heatmap)
    heatmap.show()
    qtbot.waitExposed(heatmap)
    return heatmap


def show(heatmap: TokenHeatmap, texts: Sequence[str]) -> None:
    heatmap.show_run(make_run(texts, [range(len(texts))] * 2))


def axis_of(heatmap: TokenHeatmap) -> TokenAxis:
    axis: TokenAxis = heatmap.getPlotItem().getAxis("bottom")
    return axis


def words(heatmap: TokenHeatmap, width: int, angle: int) -> set[str]:
    """Return the words that are drawn turned by so many degrees."""
    pdf = plot_pdf(heatmap, width, 300)
    page = pypdf.PdfReader(io.BytesIO(pdf)).pages[0]
    return set(page.extract_text(orientations=(angle,)).split())


def test_flat_when_wide_and_upright_when_narrow(heatmap: TokenHeatmap) -> None:
    show(heatmap, TEXTS)
    assert set(TEXTS) <= words(heatmap, 700, 0)
    assert not set(TEXTS) & words(heatmap, 700, 90)
    assert set(TEXTS) <= words(heatmap, 220, 90)
    assert not set(TEXTS) & words(heatmap, 220, 0)


def test_wider_again_is_flat_again(heatmap: TokenHeatmap) -> None:
    show(heatmap, TEXTS)
    assert set(TEXTS) <= words(heatmap, 220, 90)
    assert set(TEXTS) <= words(heatmap, 700, 0)


def test_other_labels_choose_again(heatmap: TokenHeatmap) -> None:
    show(heatmap, ["a", "b"])
    assert {"a", "b"} <= words(heatmap, 220, 0)
    show(heatmap, [f"word{number}" for number in range(30)])
    assert {"word0", "word29"} <= words(heatmap, 700, 90)


def test_upright_labels_get_the_height_that_they_need(heatmap: TokenHeatmap) -> None:
    show(heatmap, TEXTS)
    axis, metrics = axis_of(heatmap), QFontMetricsF(axis_of(heatmap).font())
    heatmap.resize(700, 300)
    heatmap.grab()
    flat = axis.size().height()
    heatmap.resize(220, 300)
    heatmap.grab()
    upright = axis.size().height()
    widest = max(metrics.horizontalAdvance(text) for text in TEXTS)
    assert upright >= widest + metrics.height()  # and the title below
    assert upright - flat == pytest.approx(widest - metrics.height() + 6, abs=2)


def test_an_axis_without_labels(heatmap: TokenHeatmap) -> None:
    axis_of(heatmap).set_labels([])
    heatmap.resize(50, 300)
    assert not heatmap.grab().isNull()
