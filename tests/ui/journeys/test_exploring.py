"""Journeys through the structure of a model: tree, pages, links, search, and hostile names."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QScrollBar,
    QTableView,
    QTabWidget,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot
from safetensors.numpy import save_file

from bertviewer.ui.docks.dock import PaneTitle
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.formula_tab import FormulaTab
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.palette.popup import PalettePopup
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import MODULE_PAGES, RUN_PAGES
from bertviewer.ui.tree.columns import CLASS, MODULE
from bertviewer.ui.views.links import PathLink
from bertviewer.ui.widgets.formula_view import FormulaView
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import activate, find, is_drawn, show_tab

PATH = "encoder.layer.3.attention.self"


def child(model: QAbstractItemModel, parent: QModelIndex, name: str) -> QModelIndex:
    for row in range(model.rowCount(parent)):
        index = model.index(row, MODULE, parent)
        if index.data() == name:
            return index
    raise AssertionError(f"no row {name!r}")


def click_row(tree: QTreeView, qtbot: QtBot, names: list[str]) -> QModelIndex:
    """Expand the rows of these names one below the other, and click the last."""
    index = tree.model().index(0, MODULE)
    for name in names:
        tree.expand(index)
        index = child(tree.model(), index, name)
    tree.scrollTo(index)
    place = tree.visualRect(index).center()
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    return index


def press(window: MainWindow, key: Qt.Key, modifier: Qt.KeyboardModifier, qtbot: QtBot) -> None:
    qtbot.keyClick(QApplication.focusWidget() or window, key, modifier)


def test_from_the_tree_to_formula_tensors_and_back(demo_window: MainWindow, qtbot: QtBot) -> None:
    window, selection = demo_window, demo_window.workspace.selection
    activate(window, qtbot)
    tree, tabs = find(window, QTreeView, "moduleTree"), find(window, QTabWidget, "detailTabs")
    index = click_row(tree, qtbot, ["encoder", "layer", "0–5", "3", "attention", "self"])
    assert index.siblingAtColumn(CLASS).data() == "BertSelfAttention"
    assert selection.place.path == PATH
    for number in reversed(range(tabs.count())):
        press(window, Qt.Key(Qt.Key.Key_1.value + number), Qt.KeyboardModifier.AltModifier, qtbot)
        assert tabs.currentIndex() == number
    show_tab(window, "Formula")
    formula = find(find(window, FormulaTab), FormulaView)
    assert "softmax" in formula.accessibleDescription()
    assert formula.height() > 100
    show_tab(window, "Tensors")
    tensors = find(window, QTableView, "tensorTable").model()
    assert tensors.rowCount() == 6
    first = [tensors.index(0, column).data() for column in range(4)]
    assert first == ["query.weight", "[384, 384]", "[D, D]", "147,456"]

    def link(text: str) -> PathLink:
        links = find(window, Inspector).findChildren(PathLink)
        (found,) = [each for each in links if each.text() == text]
        return found

    qtbot.mouseClick(link("encoder.layer.3.attention"), Qt.MouseButton.LeftButton)
    assert selection.place.path == "encoder.layer.3.attention"
    qtbot.mouseClick(link("self"), Qt.MouseButton.LeftButton)
    visited = [selection.place.path]
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Right):
        press(window, key, Qt.KeyboardModifier.AltModifier, qtbot)
        visited.append(selection.place.path)
    assert visited == [PATH, "encoder.layer.3.attention", PATH, "encoder.layer.3.attention"]


def test_a_filter_keeps_matches_and_the_selection(demo_window: MainWindow, qtbot: QtBot) -> None:
    tree, field = (
        find(demo_window, QTreeView, "moduleTree"),
        find(demo_window, QLineEdit, "treeFilter"),
    )
    demo_window.workspace.selection.select("pooler")
    qtbot.keyClicks(field, "token_type")
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.model().index(0, MODULE)) == 1)
    embeddings = child(tree.model(), tree.model().index(0, MODULE), "embeddings")
    assert tree.isExpanded(embeddings)
    assert tree.model().rowCount(embeddings) == 1
    assert child(tree.model(), embeddings, "token_type_embeddings").isValid()
    assert demo_window.workspace.selection.place.path == "pooler"
    field.clear()
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.model().index(0, MODULE)) == 3)
    assert tree.currentIndex().data() == "pooler"


def test_a_search_opens_a_tensor(demo_window: MainWindow, qtbot: QtBot) -> None:
    window = demo_window
    activate(window, qtbot)
    press(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier, qtbot)
    edit = find(window, QLineEdit, "paletteEdit")
    assert edit.hasFocus()
    qtbot.keyClicks(edit, "#pooler.dense.bias")
    qtbot.waitUntil(lambda: not find(window, PalettePopup).is_searching)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    tabs = find(window, QTabWidget, "detailTabs")
    qtbot.waitUntil(lambda: tabs.tabText(tabs.currentIndex()) == "Tensors")
    assert window.workspace.selection.place.path == "pooler.dense"
    table = find(window, QTableView, "tensorTable")
    assert table.currentIndex().siblingAtColumn(0).data() == "bias"


NAME, FILE = "<img src=x>", "an <img src=x> file"


def tooltips(window: MainWindow) -> Iterator[str]:
    """Yield the tooltips of all widgets, cells and column titles."""
    for widget in window.findChildren(QWidget):
        yield widget.toolTip()
    for view in (*window.findChildren(QTableView), *window.findChildren(QTreeView)):
        if (model := view.model()) is not None:
            yield from _cell_tooltips(model, QModelIndex())


def _cell_tooltips(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[str]:
    role = Qt.ItemDataRole.ToolTipRole
    for row in range(model.rowCount(parent)):
        for column in range(model.columnCount(parent)):
            yield model.index(row, column, parent).data(role) or ""
        yield from _cell_tooltips(model, model.index(row, 0, parent))
    for column in range(model.columnCount(parent)):
        yield model.headerData(column, Qt.Orientation.Horizontal, role) or ""


def test_names_in_files_are_never_read_as_html(
    window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = tmp_path / "a <img src=x> model"
    folder.mkdir()
    names = (f"{NAME}.weight", f"{NAME}.{NAME}.bias", f"layer.0.{NAME}.weight")
    save_file({name: np.ones((4, 4), np.float32) for name in names}, folder / f"{FILE}.safetensors")
    window.open_named(str(folder / f"{FILE}.safetensors"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    tabs, found = find(window, QTabWidget, "detailTabs"), set(tooltips(window))
    for path in ("", NAME):
        window.workspace.selection.select(path)
        for number in range(tabs.count()):
            tabs.setCurrentIndex(number)
            for table in window.findChildren(QTableView, "tensorTable"):
                if table.isVisible():
                    table.selectRow(0)
            qtbot.waitUntil(lambda: not worker.busy)
            found.update(tooltips(window))
    hostile = {tip for tip in found if "img" in tip}
    assert len(hostile) > 5
    for tip in hostile:
        assert "<img" in QTextDocumentFragment.fromHtml(tip).toPlainText(), tip


CONTROLS = (
    *(QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox),
    *(QComboBox, QLineEdit),
)


def controls(window: MainWindow) -> Iterator[QWidget]:
    """Yield the visible controls, without the parts that Qt makes them of."""
    for widget in window.findChildren(QWidget):
        parent = widget.parentWidget()
        is_part = isinstance(parent, QComboBox | QAbstractSpinBox | QLineEdit | QAbstractItemView)
        is_part = is_part or isinstance(widget, QScrollBar) or "Header" in type(widget).__name__
        if isinstance(widget, CONTROLS) and widget.isVisibleTo(window) and not is_part:
            yield widget


def inaccessible(window: MainWindow) -> Iterator[str]:
    """Yield controls without a name, and those that Tab does not reach."""
    for widget in controls(window):
        parent = widget.parentWidget()
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        name = f"{type(widget).__name__} {widget.objectName()!r} in {type(parent).__name__}"
        if not (widget.accessibleName().strip() or any(map(str.isalnum, text))):
            yield f"{name} has no name"
        # Panes are moved by actions, too.
        if not (widget.focusPolicy() & Qt.FocusPolicy.TabFocus or isinstance(parent, PaneTitle)):
            yield f"{name} is not reached by Tab"


def test_every_control_has_a_name_and_is_reached_by_tab(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    assert list(inaccessible(window)) == []
    window.open_named("demo")
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    window.set_sentence("The bank by the river.", "Another.")
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    window.workspace.runs.keep()
    found = set(inaccessible(window))
    for page in (*MODULE_PAGES, *RUN_PAGES):
        window.workspace.show_page(page)
        qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy, timeout=OPEN_TIMEOUT)
        found |= set(inaccessible(window))
    assert found == set()
