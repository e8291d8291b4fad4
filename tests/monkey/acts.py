"""Acts of the monkey: each is a function that returns a description."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QLineEdit,
    QTabWidget,
    QWidget,
)
from shiboken6 import isValid

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.actions.action import Action, disabled_reason

if TYPE_CHECKING:
    from tests.monkey.__main__ import Monkey

TEXTS = (
    "", " ", "The bank by the river was closed.", "she [MASK] to the bank", "中文句子，很好。",
    "שלום עולם, مرحبا", "a\0b", "🙂👩‍👩‍👧 é", "w" * 10_000, "word " * 700,
    "<b>bold</b> <img src=x> &amp;", "(.*[a-z", "{0} %s %n {} \\", "class:Linear params>1M",
    "layer:3 shape:768", "encoder.layer", "\udcff \u202e reversed", "1e999", "-1", "nan",
)  # fmt: skip
SIZES = ((800, 600), (1024, 700), (1366, 768), (1440, 900), (500, 400), (2560, 1440))
KEYS = (
    *(Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home),
    *(Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Return, Qt.Key.Key_Tab),
    *(Qt.Key.Key_Space, Qt.Key.Key_Escape, Qt.Key.Key_Backtab, Qt.Key.Key_Plus, Qt.Key.Key_A),
    *(Qt.Key.Key_Minus, Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Asterisk),
)
PLAIN, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def action(monkey: "Monkey") -> str:
    """Do an action of the window, unless it is disabled."""
    entry = monkey.choose(monkey.window.action_set.entries)
    if entry.name == "quit" or disabled_reason(entry, monkey.window.workspace):
        return f"{entry.name}, which is disabled"
    if isinstance(entry, Action):
        monkey.say(entry.name)
        entry.call()
        return entry.name
    options = entry.options()
    if not options:
        return f"{entry.name}, without options"
    option = monkey.choose(options)
    monkey.say(f"{entry.name} {option.name}")
    entry.choose(option.name)
    return f"{entry.name} {option.name}"


def open_model(monkey: "Monkey") -> str:
    """Open a model."""
    name = monkey.choose(monkey.models)
    monkey.window.open_named(name)
    return name


def run(monkey: "Monkey") -> str:
    """Run a sentence."""
    window = monkey.window
    text, pair = monkey.choose(TEXTS), monkey.choose((None, None, "And that?"))
    window.set_sentence(text, pair)
    window.workspace.run_input.set_random_weights(monkey.random.random() < 0.8)
    window.run()
    return repr(Sentence(text[:40], pair))


def select(monkey: "Monkey") -> str:
    """Select a module, a token and a head."""
    workspace = monkey.window.workspace
    if workspace.architecture is None:
        return "nothing"
    path = monkey.choose(workspace.architecture.modules).path
    place = SelectionKey(path, monkey.random.randrange(20), monkey.random.randrange(16))
    workspace.selection.go(place)
    return repr(place)


def click(monkey: "Monkey") -> str:
    """Click, double click, drag or turn the wheel somewhere in a widget."""
    widget = monkey.widget(QWidget)
    if widget is None:
        return "nothing"
    rect = widget.rect()
    place, other = (
        QPoint(monkey.random.randint(0, rect.width()), monkey.random.randint(0, rect.height()))
        for _ in range(2)
    )
    keys = monkey.choose((PLAIN, PLAIN, PLAIN, SHIFT, CONTROL))
    kind = monkey.choose(("click", "click", "click", "double", "drag", "wheel", "menu"))
    monkey.say(f"{kind} {name_of(widget)} {place.toTuple()} {keys.name}")
    if kind == "click":
        QTest.mouseClick(widget, LEFT, keys, place)
    elif kind == "double":
        QTest.mouseDClick(widget, LEFT, keys, place)
    elif kind == "menu":
        QTest.mouseClick(widget, RIGHT, keys, place)
    elif kind == "drag":
        QTest.mousePress(widget, LEFT, keys, place)
        QTest.mouseMove(widget, other)
        QTest.mouseRelease(widget, LEFT, keys, other)
    else:
        _turn_wheel(monkey, widget, place, keys)
    return kind


def _turn_wheel(
    monkey: "Monkey", widget: QWidget, place: QPoint, keys: Qt.KeyboardModifier
) -> None:
    turn = QPoint(0, monkey.choose((-1200, -120, 120, 1200)))
    event = QWheelEvent(
        QPointF(place), QPointF(widget.mapToGlobal(place)), QPoint(), turn,
        Qt.MouseButton.NoButton, keys, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def press_keys(monkey: "Monkey") -> str:
    """Press keys in the widget with the focus, or in another one."""
    widget = QApplication.focusWidget()
    if widget is None or monkey.random.random() < 0.3:
        widget = monkey.widget(QAbstractScrollArea)
    if widget is None:
        return "nothing"
    keys, with_key = monkey.choose(KEYS), monkey.choose((PLAIN, PLAIN, SHIFT, CONTROL))
    times = monkey.random.randint(1, 5)
    monkey.say(f"{times} times {with_key.name} {keys.name} in {name_of(widget)}")
    for _ in range(times):
        QTest.keyClick(widget, keys, with_key)
        monkey.wait(0)
        if not isValid(widget):
            break
    return keys.name


def type_text(monkey: "Monkey") -> str:
    """Type into a field."""
    edit = monkey.widget(QLineEdit)
    if edit is None:
        return "nothing"
    text = monkey.choose(TEXTS)
    monkey.say(f"{text[:40]!r} into {name_of(edit)}")
    edit.setText(text)
    edit.textEdited.emit(edit.text())
    if monkey.random.random() < 0.5:
        QTest.keyClick(edit, Qt.Key.Key_Return)
    return text[:20]


def choose_in_box(monkey: "Monkey") -> str:
    """Choose an entry of a combo box, a tab, or a cell."""
    kinds: tuple[type[QWidget], ...] = (QComboBox, QTabWidget, QAbstractItemView)
    widget = monkey.widget(monkey.choose(kinds))
    if widget is None:
        return "nothing"
    if isinstance(widget, QComboBox | QTabWidget):
        number = monkey.random.randrange(max(1, widget.count()))
        monkey.say(f"{name_of(widget)} {number}")
        widget.setCurrentIndex(number)
        if isinstance(widget, QComboBox):
            widget.activated.emit(number)
    elif isinstance(widget, QAbstractItemView) and (model := widget.model()) is not None:
        row = monkey.random.randrange(max(1, model.rowCount(widget.rootIndex())))
        monkey.say(f"{name_of(widget)} row {row}")
        widget.setCurrentIndex(model.index(row, 0, widget.rootIndex()))
    return name_of(widget)


def resize(monkey: "Monkey") -> str:
    """Resize the window."""
    size = monkey.choose(SIZES)
    monkey.window.resize(QSize(*size))
    return repr(size)


def cancel(monkey: "Monkey") -> str:
    """Cancel the running job."""
    monkey.window.workspace.jobs.cancel()
    return ""


def close_and_open(monkey: "Monkey") -> str:
    """Close the window, and start again with its session."""
    monkey.restart()
    return ""


def name_of(widget: QWidget) -> str:
    """Return the name of a widget for a report."""
    return f"{type(widget).__name__} {widget.objectName()!r} in {widget.window().objectName()!r}"


ACTS: dict[Callable[["Monkey"], str], int] = {
    action: 25, click: 40, press_keys: 15, type_text: 12, choose_in_box: 15, select: 8,
    run: 8, open_model: 4, resize: 3, cancel: 2, close_and_open: 1,
}  # fmt: skip
"""Their relative frequencies."""
