"""The sentences that were run before, to be gone through with the arrow keys."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from bertviewer.core.activations.activation_run import Sentence

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
