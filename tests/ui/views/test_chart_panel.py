"""Panel of a chart: its menu, the selection in two charts, and the value under the pointer."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QAction, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import DARK_NAME, apply_appearance
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.plots.looking import box, position
from tests.ui.finding import find, shown_error
from tests.ui.harness import Harness

VALUES = np.array([[1.0, 2.0, 3.123456789], [4.0, 5.0, 6.0]])


def grid(*columns: str) -> GridChart:
    """Return a chart of some tokens."""
    return GridChart(
        VALUES[:, : len(columns)],
        ("emb", "0"),
        columns,
        row_keys=(SelectionKey("embeddings"), SelectionKey("layer.0")),
        column_keys=tuple(SelectionKey(token=n) for n in range(len(columns))),
        x_title="Token",
        y_title="Layer",
        value_title="Norm",
        levels=(0.0, 6.0),
    )


B, A = grid("[CLS]", "old", "cat"), grid("[CLS]", "cat")
SAME_TOKENS = Alignment(((0, 0), (1, 2)), None, ((0, 0), (1, 2)))


@pytest.fixture
def panel(workspace: Workspace, qtbot: QtBot) -> Iterator[ChartPanel]:
    panel = ChartPanel(workspace, "Token norms", Heatmap)
    panel.plot.setObjectName("tokenHeatmap")
    panel.resize(600, 300)
    harness = Harness(panel, workspace, qtbot)
    panel.show_charts(B)
    yield panel
    harness.window.close()


def menu_of(panel: ChartPanel) -> QMenu:
    menu = find(panel, QToolButton, "chartMenu").menu()
    assert isinstance(menu, QMenu)
    return menu


def trigger(menu: QMenu, name: str) -> None:
    next(action for action in menu.actions() if action.objectName() == name).trigger()


def copied_rows(menu: QMenu) -> list[list[str]]:
    trigger(menu, "copyData")
    lines = QGuiApplication.clipboard().text().splitlines()
    return [*csv.reader(lines, delimiter="\t")]


def answer(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> list[str]:
    """Answer file dialogs with a path; return the list of names that they will propose."""
    proposed: list[str] = []

    def choose(_parent: object, _title: str, name: str, _kinds: str) -> tuple[str, str]:
        proposed.append(name)
        return str(path), "PNG (*.png)"

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    return proposed


def test_data_and_picture_are_copied(panel: ChartPanel) -> None:
    header, *rows = copied_rows(menu_of(panel))
    assert header == ["Layer × Token: Norm", "[CLS]", "old", "cat"]
    assert [[float(cell) for cell in row[1:]] for row in rows] == VALUES.tolist()
    trigger(menu_of(panel), "copyPicture")
    image: QImage = QGuiApplication.clipboard().image()
    # Twice as large as on the screen, and with a title.
    assert image.width() > 2 * panel.plot.width()
    assert image.height() > 2 * panel.plot.height()


@pytest.mark.parametrize(
    ("name", "beginning"), [("a.png", b"\x89PNG"), ("a.svg", b"<svg"), ("a.pdf", b"%PDF")]
)
def test_pictures_are_saved_in_the_format_of_their_suffix(
    panel: ChartPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, beginning: bytes
) -> None:
    answer(monkeypatch, tmp_path / name)
    trigger(menu_of(panel), "savePicture")
    assert beginning in (tmp_path / name).read_bytes()[:300]


def test_a_file_that_cannot_be_written_is_an_error(
    panel: ChartPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, tmp_path / "no" / "plot.png")
    trigger(menu_of(panel), "savePicture")
    assert "no such folder:" in shown_error(panel.window()).text()


def test_each_of_two_charts_has_its_own_menu(
    panel: ChartPanel, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.show_charts(B, A, SAME_TOKENS)
    proposed = answer(monkeypatch, "")
    menus = [action.menu() for action in menu_of(panel).actions()]
    assert [menu.title() for menu in menus if isinstance(menu, QMenu)] == ["A", "B"]
    for menu, columns in zip(menus, ("[CLS] cat", "[CLS] old cat"), strict=True):
        assert isinstance(menu, QMenu)
        assert copied_rows(menu)[0] == [f"Layer × Token: {menu.title()} · Norm", *columns.split()]
        trigger(menu, "savePicture")
        trigger(menu, "saveData")
    assert proposed == [
        *("token-norms-a.png", "token-norms-a.csv", "token-norms-b.png", "token-norms-b.csv")
    ]
    workspace.runs.comparison = "difference"
    panel.show_charts(B, A, SAME_TOKENS)
    assert copied_rows(menu_of(panel))[0][0] == "Layer × Token: Norm, B − A"


def test_a_click_on_the_baseline_selects_the_token_of_the_current_run(
    panel: ChartPanel, workspace: Workspace
) -> None:
    workspace.selection.set_tokens(3, 0)
    panel.show_charts(B, A, SAME_TOKENS)
    (baseline,) = (plot for plot in panel.findChildren(Heatmap) if plot is not panel.plot)

    def marked() -> list[int | None]:
        return [plot.selection.token for plot in (panel.plot, baseline)]

    baseline.clicked.emit(SelectionKey(token=1))
    assert workspace.selection.token == 2
    assert marked() == [2, 1]
    workspace.selection.go(SelectionKey(token=1))  # "old" is not in A
    assert marked() == [1, None]
    panel.show_charts(B)
    assert not baseline.isVisible()
    assert len(panel.charts) == 1


def test_a_plot_that_is_added_later_has_the_same_theme(
    panel: ChartPanel, qapp: QApplication
) -> None:
    apply_appearance(qapp, DARK_NAME)
    panel.show_charts(B, A, SAME_TOKENS)
    assert [plot.theme for plot in panel.findChildren(Heatmap)] == [DARK, DARK]


def test_the_value_under_the_pointer_has_all_digits(panel: ChartPanel) -> None:
    plot = panel.plot
    plot.grab()
    assert box(plot).width() > 50
    assert plot.text_at(position(plot, 2.5, 0.5)).endswith("3.123457")


def test_the_context_menu_has_the_actions_of_the_chart(
    panel: ChartPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)  # not supported offscreen
    panel.plot.customContextMenuRequested.emit(position(panel.plot, 0.5, 0.5).toPoint())
    (menu,) = panel.plot.findChildren(QMenu)
    names = {action.objectName() for action in menu.findChildren(QAction)}
    assert names >= {"copyPicture", "savePicture", "copyData", "saveData"}
    menu.close()
