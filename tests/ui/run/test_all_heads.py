"""All heads of all layers: their figures, their pictures, and the one with most of something."""

import numpy as np
import pytest
from PySide6.QtWidgets import QComboBox, QToolButton

from bertviewer.charts.attention import AllHeadsChart
from bertviewer.core.util.errors import UserError
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.run import jobs
from bertviewer.ui.shell.main_window import MainWindow
from tests.plots.looking import colors_of, pixel
from tests.ui.finding import find
from tests.ui.run.attention_window import (
    A,
    B,
    Settle,
    charts,
    choice,
    eager,
    head,
    run,
    show_layer_2,
    titles,
)


@pytest.fixture
def shown(demo_window: MainWindow, settle: Settle) -> MainWindow:
    show_layer_2(demo_window, settle)
    find(demo_window, QToolButton, "allLayers").click()
    settle()
    return demo_window


def measure(window: MainWindow) -> QComboBox:
    return find(window, QComboBox, "headMeasure")


def shares(text: str, step: int) -> np.ndarray:
    """Return each head's mean share on the token so many places away; [layers, heads]."""
    return np.array(
        [[np.mean(np.diagonal(weights, step)) for weights in layer] for layer in eager(text)]
    )


def test_each_measure_has_its_figures(shown: MainWindow, settle: Settle) -> None:
    names = [measure(shown).itemText(n) for n in range(measure(shown).count())]
    assert names == [
        "entropy", "distance", "previous token", "next token", "same token", "[CLS]", "[SEP]"
    ]  # fmt: skip
    weights = np.array(eager(B))
    expected = {
        "previous": shares(B, -1),
        "next": shares(B, 1),
        "same": shares(B, 0),
        "cls": weights[:, :, :, 0].mean(-1),
        "sep": weights[:, :, :, -1].mean(-1),
    }
    for name, figures in expected.items():
        measure(shown).setCurrentIndex(measure(shown).findData(name))
        settle()
        (chart,) = charts(shown, "allHeads")
        assert chart.values == pytest.approx(figures, abs=1e-5), name
    assert charts(shown, "allHeads")[0].value_title == "Attention to: [SEP]"


def test_the_highest_is_marked_and_gone_to(shown: MainWindow, settle: Settle) -> None:
    measure(shown).setCurrentIndex(measure(shown).findData("previous"))
    settle()
    figures = shares(B, -1)
    layer, number = map(int, np.unravel_index(figures.argmax(), figures.shape))
    button = find(shown, QToolButton, "bestHead")
    assert button.text() == f"highest: layer {layer}, head {number} · {figures.max():.3f}"
    assert button.toolTip().count("layer") == 5
    grid = find(shown, Heatmap, "allHeads")
    corner = pixel(grid, number + 1, layer + 1)
    spot = grid.grab().toImage().copy(corner.x() - 10, corner.y() + 1, 9, 9)
    assert grid.theme.text in colors_of(spot)
    button.click()
    settle()
    assert choice(shown).currentText() == f"layer {layer}"
    assert shown.workspace.selection.head == number
    assert head(shown).values == pytest.approx(eager(B)[layer][number], abs=1e-5)


def test_pictures_of_all_heads(shown: MainWindow, settle: Settle) -> None:
    (chart,) = charts(shown, "allHeads")
    assert isinstance(chart, AllHeadsChart)
    assert chart.pictures is None
    table = repr(chart.table())
    grid = find(shown, Heatmap, "allHeads")
    before = grid.grab().toImage()
    find(shown, QToolButton, "headPictures").click()
    settle()
    (chart,) = charts(shown, "allHeads")
    assert isinstance(chart, AllHeadsChart)
    assert chart.pictures is not None
    # Each in shades of its own, the square roots of its weights.
    weights = np.array(eager(B)[2][7])
    shades = 1 + 254 * np.sqrt(weights / weights.max())
    assert chart.pictures[2][7] == pytest.approx(shades, abs=1)
    assert grid.grab().toImage() != before
    # What is taken along, and told, stay the figures.
    assert repr(chart.table()) == table


def test_two_runs_mark_none(shown: MainWindow, settle: Settle) -> None:
    shown.workspace.runs.keep()
    run(shown, settle, A)
    measure(shown).setCurrentIndex(measure(shown).findData("previous"))
    settle()
    b, a = charts(shown, "allHeads")
    assert b.values == pytest.approx(shares(A, -1), abs=1e-5)
    assert a.values == pytest.approx(shares(B, -1), abs=1e-5)


def test_why_there_are_none(
    demo_window: MainWindow, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    show_layer_2(demo_window, settle)

    def refuse(*_: object) -> None:
        raise UserError("<b> is no attention")

    monkeypatch.setattr(jobs, "attention_job", refuse)
    find(demo_window, QToolButton, "allLayers").click()
    settle()
    assert "<b> is no attention" in titles(demo_window)
    assert not find(demo_window, QToolButton, "bestHead").isVisible()
