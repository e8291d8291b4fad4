"""Token labels lie flat where there is room, and stand upright where there is not."""

import io
from collections.abc import Sequence

import pypdf
import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from bertviewer.plots.paper import plot_pdf
from bertviewer.plots.token_axis import TokenAxis
from bertviewer.plots.token_heatmap import TokenHeatmap
from tests.plots.test_token_heatmap import make_run

TEXTS = ("one", "another", "third")


@pytest.fixture
def heatmap(window: QWidget) -> TokenHeatmap:
    heatmap = TokenHeatmap(window)
    heatmap.show()
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

    def height(width: int) -> float:
        plot_pdf(heatmap, width, 300)
        found: float = axis.height()
        return found

    widest = max(metrics.horizontalAdvance(text) for text in TEXTS)
    flat, upright = height(700), height(220)
    assert upright >= widest + metrics.height()  # and the title below
    assert upright - flat == pytest.approx(widest - metrics.height() + 6, abs=2)


def test_hundreds_of_labels_leave_some_out(heatmap: TokenHeatmap) -> None:
    show(heatmap, [f"w{number}" for number in range(300)])
    shown = [word for word in words(heatmap, 700, 90) if word.startswith("w")]
    assert "w0" in shown
    assert 20 < len(shown) < 60
    assert len(words(heatmap, 3000, 90)) > 2 * len(shown)


def test_an_axis_without_labels(heatmap: TokenHeatmap) -> None:
    axis_of(heatmap).set_labels([])
    heatmap.resize(50, 300)
    assert not heatmap.grab().isNull()
