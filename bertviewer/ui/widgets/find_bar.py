"""Finds a text in another one that is read: how often it is there, and where next."""

import re
from array import array
from bisect import bisect_left

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPalette, QShowEvent, QTextCursor
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from bertviewer.ui.widgets.flat_button import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import in_row, named

OTHERS, CURRENT = 70, 190  # of 255: how much of the selection's colour lies on a match


class FindBar(QWidget):
    """A slim line, out of sight until it is opened; upper and lower case are the same to it.

    Enter goes to the next match and Shift+Enter to the one before; Escape closes the bar. Only the
    matches in sight are marked: there may be tens of thousands.
    """

    def __init__(self, view: QPlainTextEdit) -> None:
        super().__init__()
        self.setObjectName("findBar")
        self._view = view
        self._matches: list[tuple[int, int]] = []  # where each begins and ends
        self._length = 0  # of the text that they are in
        self._current = -1
        self._field = named(QLineEdit(), "findField", says=self.tr("Find in the text"))
        self._field.setPlaceholderText(self.tr("Find"))
        self._field.setClearButtonEnabled(True)
        self._count: QLabel = plain_label("")
        self._count.setObjectName("findCount")
        self._count.setWordWrap(False)
        self._count.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._before = flat_button("findBefore", "↑", self.tr("Previous match (Shift+Enter)"))
        self._next = flat_button("findNext", "↓", self.tr("Next match (Enter)"))
        close = flat_button("findClose", "×", self.tr("Close (Esc)"))
        in_row(
            (self._field, 1),
            self._count,
            self._before,
            self._next,
            close,
            on=self,
            margins=(0, 6, 0, 0),
            spacing=4,
        )
        self._field.textChanged.connect(self._search)
        self._before.clicked.connect(lambda: self.step(-1))
        self._next.clicked.connect(lambda: self.step(1))
        close.clicked.connect(self.close_bar)
        view.textChanged.connect(self._on_other_text)
        view.verticalScrollBar().valueChanged.connect(self._mark)
        view.viewport().installEventFilter(self)
        self.hide()

    def open_bar(self) -> None:
        """Come into sight, with the cursor in the field; what is selected is looked for."""
        selected = self._view.textCursor().selectedText()
        self.show()
        if selected and "\u2029" not in selected:  # Qt's end of a line
            self._field.setText(selected)
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self._search()

    def close_bar(self) -> None:
        """Go out of sight; the last match stays selected."""
        self.hide()
        self._matches = []
        self._view.setExtraSelections([])
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def step(self, by: int) -> None:
        """Go to the next match, or to the one before, and from the last to the first."""
        if self._matches:
            self._go((self._current + by) % len(self._matches))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step or close; Qt calls it."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Mark what could not be marked out of sight; Qt calls it."""
        super().showEvent(event)
        self._mark()

    def changeEvent(self, event: QEvent) -> None:
        """Mark in the window's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_matches"):
            self._mark()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Mark what a larger view brings into sight; Qt calls it."""
        if event.type() == QEvent.Type.Resize:
            self._mark()
        return super().eventFilter(watched, event)

    def _search(self) -> None:
        """Find all matches, and go to the first one from the cursor on."""
        start, document = self._view.textCursor().selectionStart(), self._view.document()
        self._matches = _matches(self._field.text(), document.toRawText())
        self._length = document.characterCount()
        self._current = -1
        if self._matches:
            self._go(bisect_left(self._matches, (start, 0)) % len(self._matches))
        else:
            self._tell()

    def _go(self, number: int) -> None:
        self._current = number
        self._view.setTextCursor(self._cursor(number))
        self._tell()

    def _tell(self) -> None:
        count = len(self._matches)
        self._before.setEnabled(count > 0)
        self._next.setEnabled(count > 0)
        if count:
            text = self.tr("{0} of {1}").format(f"{self._current + 1:,}", f"{count:,}")
        else:
            text = self.tr("not found") if self._field.text() else ""
        self._count.setText(text)
        self._mark()

    def _mark(self) -> None:
        """Colour the matches in the lines that are in sight, the current one most."""
        # Another text scrolls the view before it tells of itself.
        if not self.isVisible() or self._view.document().characterCount() != self._length:
            return
        first, last = self._in_sight()
        marks = []
        for number in range(first, last):
            color = QColor(self.palette().color(QPalette.ColorRole.Accent))
            color.setAlpha(CURRENT if number == self._current else OTHERS)
            mark = QTextEdit.ExtraSelection()
            mark.cursor = self._cursor(number)
            mark.format.setBackground(color)
            marks.append(mark)
        self._view.setExtraSelections(marks)

    def _in_sight(self) -> tuple[int, int]:
        """Return the numbers of the first match in sight and of the one after the last."""
        area = self._view.viewport().rect()
        above = self._view.cursorForPosition(QPoint(0, area.top())).block()
        below = self._view.cursorForPosition(QPoint(0, area.bottom())).block()
        start, end = above.position(), below.position() + below.length()
        return bisect_left(self._matches, (start, 0)), bisect_left(self._matches, (end, 0))

    def _cursor(self, number: int) -> QTextCursor:
        """Return a match, selected."""
        start, end = self._matches[number]
        cursor = QTextCursor(self._view.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _on_other_text(self) -> None:
        if not self.isHidden():  # it is open, be it out of sight
            self._search()


def _matches(words: str, text: str) -> list[tuple[int, int]]:
    """Return where the words begin and end in a text, counted as Qt does: in UTF-16 units.

    Qt's own search takes ten times as long for thousands of matches.
    """
    if not words:
        return []
    found = re.finditer(re.escape(_units(words)), _units(text), re.IGNORECASE)
    return [match.span() for match in found]


def _units(text: str) -> str:
    return "".join(map(chr, array("H", text.encode("utf-16", "surrogatepass")[2:])))
