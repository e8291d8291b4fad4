"""What the window shows of attention, and choosing in it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
import transformers
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox, QLabel

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.core.sources.presets import demo_folder
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run.attention_view import AttentionView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.ui.finding import bring_view, find

Settle = Callable[[], None]

A, B = "the cat sat on the mat", "the bank by the river was closed"


@cache
def eager(text: str) -> list[np.ndarray]:
    """Return the attention of each layer, as transformers gives it when called plainly."""
    folder = demo_folder()
    encoding = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        attentions = model(**encoding, output_attentions=True).attentions
    return [weights[0].double().numpy() for weights in attentions]


def plain_entropies(weights: np.ndarray) -> list[float]:
    return [float(np.mean(-np.sum(head * np.log(head), axis=1))) for head in weights]


def plain_distances(weights: np.ndarray) -> list[float]:
    places = np.arange(weights.shape[1])
    apart = np.abs(places[:, None] - places)
    return [float(np.mean(np.sum(head * apart, axis=1))) for head in weights]


def run(window: MainWindow, settle: Settle, text: str) -> None:
    window.set_sentence(text, None)
    window.run()
    settle()


def show(window: MainWindow, settle: Settle) -> None:
    """Bring the view into sight."""
    bring_view(window, "Attention")
    settle()


def show_layer_2(window: MainWindow, settle: Settle) -> None:
    """Run B, and bring the attention of layer 2 into sight."""
    run(window, settle, B)
    window.workspace.selection.select("encoder.layer.2")
    show(window, settle)


def view_of(window: MainWindow) -> AttentionView:
    return find(window, AttentionView)


def charts(window: MainWindow, name: str) -> tuple[Any, ...]:
    """Return what the panel of the plot of that name shows."""
    (panel,) = (
        panel
        for panel in view_of(window).findChildren(ChartPanel)
        if panel.plot.objectName() == name
    )
    return panel.charts


def heads(window: MainWindow) -> HeadsChart:
    (chart,) = charts(window, "headGrid")
    assert isinstance(chart, HeadsChart)
    return chart


def head(window: MainWindow) -> GridChart:
    (chart,) = charts(window, "headPlot")
    assert isinstance(chart, GridChart)
    return chart


def cell_pixel(plot: TokenMatrix, row: int, column: int) -> QPoint:
    """Return the middle of a cell in the large head's widget."""
    layout = plot.layout_of_cells()
    assert layout is not None
    return layout.rect(row, column).center().toPoint()


def choice(window: MainWindow) -> QComboBox:
    return find(window, QComboBox, "attentionChoice")


def choose(window: MainWindow, settle: Settle, name: str) -> None:
    choice(window).setCurrentIndex(choice(window).findText(name))
    settle()


def titles(window: MainWindow) -> list[str]:
    return [label.text() for label in view_of(window).findChildren(QLabel) if label.text()]
