"""Find bar of a text view, with match count and highlighting."""

import re
from array import array
from bisect import bisect_left

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPalette, QShowEvent, QTextCursor
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QTextEdit, QWidget
from typing_extensions import override

from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named

OTHERS, CURRENT = 70, 190  # of 255: opacity of a match's background


class FindBar(QWidget):
    """Case-insensitive search in a view, hidden until it is opened.

    Enter goes to the next match, Shift+Enter to the previous one, Escape closes the bar. Only
    visible matches are highlighted, as there may be tens of thousands.
    """

    def __init__(self, view: QPlainTextEdit) -> None:
        super().__init__()
        self.setObjectName("findBar")
        self._view = view
        self._matches: list[tuple[int, int]] = []  # start and end of each
        self._length = 0  # of the searched text
        self._current = -1
        self._field = named(QLineEdit(), "findField", accessible_name=self.tr("Find in the text"))
        self._field.setPlaceholderText(self.tr("Find"))
        self._field.setClearButtonEnabled(True)
        self._count: QLabel = plain_label("")
        self._count.setObjectName("findCount")
        self._count.setWordWrap(False)
        self._count.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._previous = flat_button("findBefore", "↑", self.tr("Previous match (Shift+Enter)"))
        self._next = flat_button("findNext", "↓", self.tr("Next match (Enter)"))
        close = flat_button("findClose", "×", self.tr("Close (Esc)"))
        hbox(
            (self._field, 1),
            self._count,
            self._previous,
            self._next,
            close,
            parent=self,
            margins=(0, 6, 0, 0),
            spacing=4,
        )
        self._field.textChanged.connect(self._search)
        self._previous.clicked.connect(lambda: self.step(-1))
        self._next.clicked.connect(lambda: self.step(1))
        close.clicked.connect(self.close_bar)
        view.textChanged.connect(self._on_text_changed)
        view.verticalScrollBar().valueChanged.connect(self._highlight)
        view.viewport().installEventFilter(self)
        self.hide()

    def open_bar(self) -> None:
        """Show the bar with focus in its field, and search for the selected text."""
        selected = self._view.textCursor().selectedText()
        self.show()
        if selected and "\u2029" not in selected:  # Qt's paragraph separator
            self._field.setText(selected)
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self._search()

    def close_bar(self) -> None:
        """Hide the bar; the current match stays selected."""
        self.hide()
        self._matches = []
        self._view.setExtraSelections([])
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def step(self, by: int) -> None:
        """Move ``by`` matches on, cyclically."""
        if self._matches:
            self._go((self._current + by) % len(self._matches))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        else:
            super().keyPressEvent(event)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._highlight()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_matches"):
            self._highlight()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._highlight()
        return super().eventFilter(watched, event)

    def _search(self) -> None:
        """Find all matches, and go to the first at or after the cursor."""
        start, document = self._view.textCursor().selectionStart(), self._view.document()
        self._matches = _matches(self._field.text(), document.toRawText())
        self._length = document.characterCount()
        self._current = -1
        if self._matches:
            self._go(bisect_left(self._matches, (start, 0)) % len(self._matches))
        else:
            self._update_count()

    def _go(self, number: int) -> None:
        self._current = number
        self._view.setTextCursor(self._cursor(number))
        self._update_count()

    def _update_count(self) -> None:
        count = len(self._matches)
        self._previous.setEnabled(count > 0)
        self._next.setEnabled(count > 0)
        if count:
            text = self.tr("{0} of {1}").format(f"{self._current + 1:,}", f"{count:,}")
        else:
            text = self.tr("not found") if self._field.text() else ""
        self._count.setText(text)
        self._highlight()

    def _highlight(self) -> None:
        """Highlight the visible matches."""
        # A new text scrolls the view before it emits ``textChanged``.
        if not self.isVisible() or self._view.document().characterCount() != self._length:
            return
        first, last = self._visible_matches()
        selections = []
        for number in range(first, last):
            color = QColor(self.palette().color(QPalette.ColorRole.Accent))
            color.setAlpha(CURRENT if number == self._current else OTHERS)
            selection = QTextEdit.ExtraSelection()
            selection.cursor = self._cursor(number)
            selection.format.setBackground(color)
            selections.append(selection)
        self._view.setExtraSelections(selections)

    def _visible_matches(self) -> tuple[int, int]:
        """Return the range of visible matches, as start and stop."""
        area = self._view.viewport().rect()
        above = self._view.cursorForPosition(QPoint(0, area.top())).block()
        below = self._view.cursorForPosition(QPoint(0, area.bottom())).block()
        start, end = above.position(), below.position() + below.length()
        return bisect_left(self._matches, (start, 0)), bisect_left(self._matches, (end, 0))

    def _cursor(self, number: int) -> QTextCursor:
        """Return a cursor that selects a match."""
        start, end = self._matches[number]
        cursor = QTextCursor(self._view.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _on_text_changed(self) -> None:
        if not self.isHidden():  # open, even if its tab is hidden
            self._search()


def _matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return start and end of all matches, in UTF-16 code units as Qt counts.

    ``QTextDocument.find`` takes ten times as long for thousands of matches.
    """
    if not pattern:
        return []
    found = re.finditer(re.escape(_units(pattern)), _units(text), re.IGNORECASE)
    return [match.span() for match in found]


def _units(text: str) -> str:
    return "".join(map(chr, array("H", text.encode("utf-16", "surrogatepass")[2:])))
