"""A field to go to a row by its number or, where rows are tokens, by a token's text."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QLineEdit

from bertviewer.core.tensors.axes import NO_TOKENS, Axis

OFFERED = 12
DIGITS = 9
GAP = "   "


class _Completer(QCompleter):
    """Puts the token into the field, and not its row, which stands beside it in the list."""

    def pathFromIndex(self, index: QModelIndex | QPersistentModelIndex) -> str:
        """Return what is put into the field; Qt calls it."""
        return str(index.data()).rpartition(GAP)[0]


class GoTo(QLineEdit):
    """``chosen`` carries the tensor's row; ``missed`` what was typed and is not there."""

    chosen = Signal(int)
    missed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("goToRow")
        self.setClearButtonEnabled(True)
        self._tokens = NO_TOKENS
        self._offered: tuple[int, ...] = ()
        self._list = QStringListModel(self)
        completer = _Completer(self._list, self)
        # The list holds only what fits, found faster than Qt would; a mark may come before it.
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setMaxVisibleItems(OFFERED)
        completer.activated[QModelIndex].connect(self._on_offer)  # type: ignore[index]
        self.setCompleter(completer)
        popup = completer.popup()
        assert popup is not None
        self._popup = popup
        self.textEdited.connect(self._offer)
        self.set_axis(Axis())

    def set_axis(self, axis: Axis) -> None:
        """Know what other rows stand for, as tokens."""
        self._tokens = axis.names
        self._offered = ()
        self._list.setStringList([])
        words = self.tr("Go to feature") if axis.kind == "feature" else self.tr("Go to row")
        if len(axis.names):
            words = self.tr("Go to row or token")
        self.setPlaceholderText(words)
        self.setAccessibleName(words)
        self.setToolTip(words)

    def offered(self) -> tuple[str, ...]:
        """Return the tokens that are offered, each with its row."""
        return tuple(self._list.stringList())

    def _offer(self, text: str) -> None:
        self._offered = self._tokens.starting(text.strip(), OFFERED)
        names = self._tokens.names
        self._list.setStringList([f"{names[row]}{GAP}{row}" for row in self._offered])

    def _on_offer(self, index: QModelIndex) -> None:
        if 0 <= index.row() < len(self._offered):
            row = self._offered[index.row()]
            self.setText(self._tokens.names[row])
            self.chosen.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go where Enter is pressed, whatever is offered meanwhile; Qt calls it."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif self._popup.isVisible() and self._popup.currentIndex().isValid():
            event.ignore()  # the list takes it: one of its tokens is chosen
        else:
            self._go()

    def _go(self) -> None:
        text = self.text().strip()
        if not text:
            return
        # Longer numbers are no row of anything, and too large for a signal.
        is_row = text.isascii() and text.isdecimal() and len(text) <= DIGITS
        row = int(text) if is_row else self._tokens.find(text)
        if row is None:
            self.missed.emit(text)
        else:
            self.chosen.emit(row)
        self._popup.hide()
