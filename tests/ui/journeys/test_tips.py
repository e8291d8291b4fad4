"""Tooltips say literally what they were given."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QTableView, QTabWidget, QTreeView, QWidget
from pytestqt.qtbot import QtBot
from safetensors.numpy import save_file

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.status_bar import WeightsLabel
from tests.cli.commands import ROOT
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find

NAME, FILE = "<img src=x>", "an <img src=x> file"


def tips(window: MainWindow) -> Iterator[str]:
    """Return every tooltip that the window has now: of its widgets, cells and headings."""
    for widget in window.findChildren(QWidget):
        yield widget.toolTip()
    for view in (*window.findChildren(QTableView), *window.findChildren(QTreeView)):
        model = view.model()
        if model is not None:
            yield from _tips_of(model, QModelIndex())


def _tips_of(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[str]:
    for row in range(model.rowCount(parent)):
        for column in range(model.columnCount(parent)):
            yield model.index(row, column, parent).data(Qt.ItemDataRole.ToolTipRole) or ""
        yield from _tips_of(model, model.index(row, 0, parent))
    for column in range(model.columnCount(parent)):
        heading = model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
        yield heading or ""


def test_no_name_of_a_file_is_read_as_html(
    window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = tmp_path / "a <img src=x> model"
    folder.mkdir()
    names = (f"{NAME}.weight", f"{NAME}.{NAME}.bias", f"layer.0.{NAME}.weight")
    save_file({name: np.ones((4, 4), np.float32) for name in names}, folder / f"{FILE}.safetensors")
    window.open_named(str(folder / f"{FILE}.safetensors"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    tabs = find(window, QTabWidget, "detailTabs")
    told = set(tips(window))
    for path in ("", NAME):
        window.workspace.selection.select(path)
        for number in range(tabs.count()):
            tabs.setCurrentIndex(number)
            for table in window.findChildren(QTableView, "tensorTable"):
                if table.isVisible():
                    table.selectRow(0)
            qtbot.waitUntil(lambda: not worker.busy)
            told.update(tips(window))
    foreign = {tip for tip in told if "img" in tip}
    assert len(foreign) > 5, "the names are told"
    for tip in foreign:
        shown = QTextDocumentFragment.fromHtml(tip).toPlainText()
        assert "<img" in shown, tip


def test_random_tensors_are_named_literally(
    window: MainWindow, qtbot: QtBot, opened_demo: LoadedModel
) -> None:
    del qtbot
    workspace = window.workspace
    architecture = opened_demo.architecture
    source = replace(architecture.source, random_tensors=(f"{NAME}.weight", "plain.bias"))
    workspace.architecture = replace(architecture, source=source)
    workspace.formulas_changed.emit()
    tip = find(window, WeightsLabel, "statusWeights").toolTip()
    shown = QTextDocumentFragment.fromHtml(tip).toPlainText()
    assert shown.splitlines() == [f"{NAME}.weight", "plain.bias"]


def test_no_widget_has_a_style_sheet_that_would_be_its_tips_too() -> None:
    # Qt lays the sheet of a widget over its tooltip as well, where it names no kind of widget.
    sources = (ROOT / "bertviewer" / "ui").rglob("*.py")
    sheets = [
        line.strip()
        for path in sources
        for line in path.read_text("utf-8").splitlines()
        if "setStyleSheet(" in line and "application.setStyleSheet" not in line
    ]
    assert [sheet for sheet in sheets if "{" not in sheet] == []
