"""Shortcuts of the window work wherever the focus is, also in text fields."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QSpinBox,
    QTabBar,
    QTreeView,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.ui.actions.action_set import ShortcutOverride
from bertviewer.ui.palette.results import ROW_ROLE, HitRow
from bertviewer.ui.shell.exporting import Exporting
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import activate, find, show_tab

KINDS = (QLineEdit, QAbstractSpinBox, QPlainTextEdit, QTreeView, QComboBox, QTabBar)
KEPT = {("sourceView", "Ctrl+F")}
"""A text that is read is searched with the key that filters the tree elsewhere."""


def claimed(widget: QWidget, keys: str) -> bool:
    """Return whether a widget with the focus keeps a shortcut for itself."""
    code = QKeySequence.fromString(keys)
    event = QKeyEvent(QEvent.Type.ShortcutOverride, code[0].key(), code[0].keyboardModifiers())  # type: ignore[index]
    event.ignore()
    QCoreApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_no_place_keeps_a_shortcut(demo_window: MainWindow, qtbot: QtBot) -> None:
    activate(demo_window, qtbot)
    for title in ("Source", "What if", "Tensors", "Configuration", "Map"):
        show_tab(demo_window, title)
    places = [each for kind in KINDS for each in demo_window.findChildren(kind)]
    assert len(places) > 8
    kept = set()
    for place in places:
        if place.isVisible() and place.isEnabled():
            place.setFocus()
            keys = (each for each in demo_window.action_set.shortcuts if claimed(place, each))
            kept |= {(place.objectName(), each) for each in keys}
    assert kept <= KEPT


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> list[Exporting]:
    """Return who was called to export a report; asked for before the window is made."""
    called: list[Exporting] = []

    def choose_report(self: Exporting) -> None:
        called.append(self)

    monkeypatch.setattr(Exporting, "choose_report", choose_report)
    return called


def test_a_report_is_exported_from_the_sentence(
    exports: list[Exporting], demo_window: MainWindow, qtbot: QtBot
) -> None:
    activate(demo_window, qtbot)
    for name in ("sentenceEdit", "treeFilter"):
        field = find(demo_window, QLineEdit, name)
        field.setFocus()
        qtbot.keyClick(field, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert exports == [demo_window.exporting] * 2


@pytest.mark.parametrize(
    ("key", "shift", "kinds"),
    [
        (Qt.Key.Key_P, False, {"Commands"}),
        (Qt.Key.Key_P, True, {"Commands"}),
        (Qt.Key.Key_Comma, False, {"Settings"}),
    ],
)
def test_the_search_has_the_keys_of_editors(
    demo_window: MainWindow, qtbot: QtBot, key: Qt.Key, shift: bool, kinds: set[str]
) -> None:
    activate(demo_window, qtbot)
    field = find(demo_window, QLineEdit, "sentenceEdit")
    field.setFocus()
    modifiers = Qt.KeyboardModifier.ControlModifier
    if shift:
        modifiers |= Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(field, key, modifiers)
    assert find(demo_window, QLineEdit, "paletteEdit").hasFocus()
    model = find(demo_window, QListView, "paletteHits").model()
    rows: list[HitRow] = [model.index(n, 0).data(ROW_ROLE) for n in range(model.rowCount())]
    assert {row.heading for row in rows if row.hit is None} == kinds


def test_text_fields_leave_the_keys_of_their_window_alone(qtbot: QtBot) -> None:
    # On X11 Ctrl+E goes to the end of a line; Ctrl+A selects everywhere.
    window, field, spin = QWidget(), QLineEdit("a text"), QSpinBox()
    lines = QVBoxLayout(window)
    lines.addWidget(field)
    lines.addWidget(spin)
    dialog = QDialog(window)
    own = QLineEdit(dialog)
    ShortcutOverride(window, {"Ctrl+A"})
    qtbot.addWidget(window)
    for each in (window, dialog):
        each.show()
    for widget, keys, is_kept in (
        (field, "Ctrl+A", False),
        (spin, "Ctrl+A", False),
        (field, "Ctrl+C", True),
        (own, "Ctrl+A", True),
        (field, "Ctrl+A", False),
    ):
        activate(widget.window(), qtbot)
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        assert claimed(widget, keys) == is_kept, (widget, keys)
