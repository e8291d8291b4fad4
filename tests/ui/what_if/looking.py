"""What a person does with the What-if tab, and sees of it."""

from functools import cache

from PySide6.QtCore import QRegularExpression
from PySide6.QtWidgets import (
    QLabel,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QTableView,
    QWidget,
)

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.what_if.figures import FigureGrid
from bertviewer.ui.what_if.tab import WhatIfTab
from tests.ui.finding import find


@cache
def bert() -> Architecture:
    return open_model(parse_source("bert-base-uncased")).with_formulas()


@cache
def demo() -> Architecture:
    return open_model(parse_source("demo")).with_formulas()


def workspace_of(tab: WhatIfTab) -> Workspace:
    return find(tab, Workspace)


def open_in(tab: WhatIfTab, architecture: Architecture) -> None:
    workspace = workspace_of(tab)
    workspace.architecture = architecture
    workspace.selection.tree = workspace.selection.row = fold(workspace.architecture)
    workspace.architecture_changed.emit(workspace.architecture)
    tab.refresh()


def select(tab: WhatIfTab, key: str) -> TreeRow:
    workspace = workspace_of(tab)
    workspace.selection.select(key)
    tab.refresh()
    assert workspace.selection.row is not None
    assert workspace.selection.row.key == key
    return workspace.selection.row


def spin(tab: QWidget, letter: str) -> QSpinBox:
    return find(tab, QSpinBox, f"whatIf_{letter}")


def figures(tab: QWidget, name: str = "whatIfModelFigures") -> dict[str, tuple[str, ...]]:
    return {line[0]: line[1:] for line in find(tab, FigureGrid, name).texts()}


def message(tab: QWidget) -> str:
    return find(tab, QLabel, "whatIfMessage").text()


def results_are_grey(tab: QWidget) -> bool:
    page = find(tab, QScrollArea, "whatIfResults").widget()
    assert page is not None
    return not page.isEnabled()


def tensors(tab: QWidget) -> list[list[str]]:
    model = find(tab, QTableView, "whatIfTensors").model()
    rows, columns = range(model.rowCount()), range(model.columnCount())
    return [[model.index(row, column).data() for column in columns] for row in rows]


def offers(tab: QWidget) -> list[str]:
    buttons = tab.findChildren(QPushButton, QRegularExpression("^whatIfOffer_"))
    return [button.text() for button in buttons if not button.isHidden()]
