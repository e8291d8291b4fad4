"""Finds a text in another one that is read: how often it is there, and where next."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPalette, QTextCursor
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QToolButton,
    QWidget,
)

from bertviewer.ui.facts import plain_label

OTHERS, CURRENT = 70, 190  # of 255: how much of the selection's colour lies on a match


class FindBar(QWidget):
    """A slim line, out of sight until it is opened; upper and lower case are the same to it.

    Enter goes to the next match and Shift+Enter to the one before; Escape closes the bar.
    """

    def __init__(self, view: QPlainTextEdit, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self._view = view
        self._matches: list[QTextCursor] = []
        self._current = -1
        self._field = QLineEdit()
        self._field.setObjectName("findField")
        self._field.setPlaceholderText(self.tr("Find"))
        self._field.setAccessibleName(self.tr("Find in the text"))
        self._field.setClearButtonEnabled(True)
        self._count: QLabel = plain_label("")
        self._count.setObjectName("findCount")
        self._count.setWordWrap(False)
        self._count.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._before = _button("findBefore", "↑", self.tr("The match before (Shift+Enter)"))
        self._next = _button("findNext", "↓", self.tr("The next match (Enter)"))
        close = _button("findClose", "×", self.tr("Close (Esc)"))
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 6, 0, 0)
        line.setSpacing(4)
        line.addWidget(self._field, 1)
        for widget in (self._count, self._before, self._next, close):
            line.addWidget(widget)
        self._field.textChanged.connect(self._search)
        self._before.clicked.connect(lambda: self.step(-1))
        self._next.clicked.connect(lambda: self.step(1))
        close.clicked.connect(self.close_bar)
        view.textChanged.connect(self._on_other_text)
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

    def changeEvent(self, event: QEvent) -> None:
        """Mark in the window's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_matches"):
            self._mark()

    def _search(self) -> None:
        """Find all matches, and go to the first one from the cursor on."""
        words, document = self._field.text(), self._view.document()
        start = self._view.textCursor().selectionStart()
        self._matches, found = [], QTextCursor(document)
        while words and not (found := document.find(words, found)).isNull():
            self._matches.append(found)
        self._current = -1
        if self._matches:
            after = (n for n, one in enumerate(self._matches) if one.selectionStart() >= start)
            self._go(next(after, 0))
        else:
            self._tell()

    def _go(self, number: int) -> None:
        self._current = number
        self._view.setTextCursor(self._matches[number])
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
        marks = []
        for number, match in enumerate(self._matches):
            color = QColor(self.palette().color(QPalette.ColorRole.Highlight))
            color.setAlpha(CURRENT if number == self._current else OTHERS)
            mark = QTextEdit.ExtraSelection()
            mark.cursor = match
            mark.format.setBackground(color)
            marks.append(mark)
        self._view.setExtraSelections(marks)

    def _on_other_text(self) -> None:
        if self.isVisible():
            self._search()


def _button(name: str, text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setObjectName(name)
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setAutoRaise(True)
    return button
