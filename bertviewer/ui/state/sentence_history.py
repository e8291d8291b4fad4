"""The sentences that were run before, and the field in which the arrow keys go through them."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.tokenization.sentence import MAX_CHARACTERS

MOST = 50


class SentenceHistory(QObject):
    """Sentences, the oldest first, each once; and where in them a person is.

    ``changed`` says that there are others. Whoever keeps them from one session to the next reads
    ``entries`` then, and gives them back with ``set_entries()``.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entries: tuple[Sentence, ...] = ()
        self._place: int | None = None  # among the entries; ``None`` is what is being typed
        self._typed = Sentence("")

    def set_entries(self, entries: Iterable[Sentence]) -> None:
        """Put others in place of those that are there, the oldest first."""
        self.entries = tuple(dict.fromkeys(entries))[-MOST:]
        self._place = None
        self.changed.emit()

    def add(self, sentence: Sentence) -> None:
        """Take in a sentence as the newest."""
        plain = Sentence(sentence.text, sentence.pair)
        self.set_entries((*(entry for entry in self.entries if entry != plain), plain))

    def earlier(self, shown: Sentence) -> Sentence | None:
        """Return the one before the one that is shown, ``None`` if there is none."""
        if self._place is None:
            self._typed = shown
        place = len(self.entries) if self._place is None else self._place
        # What is shown is often the newest itself: it was run.
        while place > 0:
            place -= 1
            if self.entries[place] != shown:
                self._place = place
                return self.entries[place]
        return None

    def later(self, shown: Sentence) -> Sentence | None:
        """Return the one after the one that is shown; after the newest it is what was typed."""
        place = self._place
        while place is not None:
            place = place + 1 if place + 1 < len(self.entries) else None
            found = self._typed if place is None else self.entries[place]
            self._place = place
            if found != shown:
                return found
        return None


class SentenceEdit(QLineEdit):
    """One line of text. ``earlier`` and ``later`` are wished with arrow up and down."""

    earlier = Signal()
    later = Signal()

    def __init__(self, name: str, hint: str, tip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setPlaceholderText(hint)
        self.setAccessibleName(hint)
        self.setToolTip(tip)
        # Longer texts are refused with a word about it; the default would cut them off in silence.
        self.setMaxLength(MAX_CHARACTERS + 1)

    def show_text(self, text: str) -> None:
        """Show another text, its beginning in sight."""
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go through the sentences before; Qt calls it."""
        wishes = {Qt.Key.Key_Up: self.earlier, Qt.Key.Key_Down: self.later}
        wish = wishes.get(Qt.Key(event.key()))
        if wish is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
            return
        event.accept()
        wish.emit()
