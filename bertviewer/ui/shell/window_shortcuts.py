"""Window shortcuts that also work while a text field has the focus."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

_TEXT_FIELDS = (QLineEdit, QAbstractSpinBox, QComboBox, QPlainTextEdit, QTextEdit)


class WindowShortcuts(QObject):
    """Keeps text fields from claiming the shortcuts of a window.

    A text field accepts ``ShortcutOverride`` for its editing keys, which differ by platform: on X11
    Ctrl+E moves to the end of the line. Here the event is left unaccepted for keys that the window
    uses, so that Qt goes on to the parents, which may still claim it, and then to the shortcuts.
    """

    def __init__(self, window: QWidget, keys: Iterable[str]) -> None:
        super().__init__(window)
        self._window = window
        self._keys = {QKeySequence(each).toString() for each in keys}
        self._field: QWidget | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._follow)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the window's keys unaccepted; Qt calls it."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and QKeySequence(event.keyCombination()).toString() in self._keys
        ):
            event.ignore()
            return True
        return False

    def _follow(self, _old: QWidget | None, new: QWidget | None) -> None:
        if self._field is not None:
            self._field.removeEventFilter(self)
            self._field.destroyed.disconnect(self._forget)
            self._field = None
        if isinstance(new, _TEXT_FIELDS) and self._is_of_window(new.window()):
            self._field = new
            new.installEventFilter(self)
            new.destroyed.connect(self._forget)

    def _is_of_window(self, window: QWidget) -> bool:
        """Tell whether the window's shortcuts work there: in itself and in its floating panes."""
        return window is self._window or (
            isinstance(window, QDockWidget) and window.parent() is self._window
        )

    def _forget(self) -> None:
        self._field = None
