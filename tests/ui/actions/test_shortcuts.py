"""Shortcuts of the window work wherever the focus is, also in text fields."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QTabBar,
    QTreeView,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.ui.actions.action_set import ShortcutOverride
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import activate, find, show_tab

KINDS = (QLineEdit, QAbstractSpinBox, QPlainTextEdit, QTreeView, QComboBox, QTabBar)
CLAIMED = {("sourceView", "Ctrl+F")}
"""The source is searched with the shortcut that filters the tree elsewhere."""


def claims(widget: QWidget, keys: str) -> bool:
    """Return whether a widget with the focus claims a shortcut."""
    code = QKeySequence.fromString(keys)
    event = QKeyEvent(QEvent.Type.ShortcutOverride, code[0].key(), code[0].keyboardModifiers())  # type: ignore[index]
    event.ignore()
    QCoreApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_no_widget_claims_a_shortcut_of_the_window(demo_window: MainWindow, qtbot: QtBot) -> None:
    activate(demo_window, qtbot)
    for title in ("Source", "What if", "Tensors", "Configuration", "Map"):
        show_tab(demo_window, title)
    widgets = [each for kind in KINDS for each in demo_window.findChildren(kind)]
    assert len(widgets) > 8
    claimed = set()
    for widget in widgets:
        if widget.isVisible() and widget.isEnabled():
            widget.setFocus()
            keys = (each for each in demo_window.action_set.shortcuts if claims(widget, each))
            claimed |= {(widget.objectName(), each) for each in keys}
    assert claimed <= CLAIMED


@pytest.mark.parametrize("name", ["sentenceEdit", "treeFilter"])
def test_shortcuts_work_in_text_fields(name: str, demo_window: MainWindow, qtbot: QtBot) -> None:
    """On X11, Ctrl+E and Ctrl+P are editing keys."""
    activate(demo_window, qtbot)
    field = find(demo_window, QLineEdit, name)
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    assert find(demo_window, QLineEdit, "paletteEdit").hasFocus()
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    find(demo_window, QDialog, "reportDialog").close()


def test_only_shortcuts_of_the_own_window_are_left_unclaimed(qtbot: QtBot) -> None:
    window, field, spin = QWidget(), QLineEdit("a text"), QSpinBox()
    lines = QVBoxLayout(window)
    lines.addWidget(field)
    lines.addWidget(spin)
    dialog = QDialog(window)
    in_dialog = QLineEdit(dialog)
    ShortcutOverride(window, {"Ctrl+A"})
    qtbot.addWidget(window)
    for each in (window, dialog):
        each.show()
    for widget, keys, is_claimed in (
        (field, "Ctrl+A", False),
        (spin, "Ctrl+A", False),
        (field, "Ctrl+C", True),
        (in_dialog, "Ctrl+A", True),
        (field, "Ctrl+A", False),
    ):
        activate(widget.window(), qtbot)
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        assert claims(widget, keys) == is_claimed, (widget, keys)
