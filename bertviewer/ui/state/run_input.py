"""Input of the next run: the sentence, the weights, what is missing, and earlier sentences."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit
from typing_extensions import override

from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.files import lacks_tokenizer
from bertviewer.core.tokenization.sentence import MAX_CHARACTERS

MAX_SENTENCES = 50


class RunInput(QObject):
    """The sentence that is typed, whether random weights are allowed, and earlier sentences.

    ``changed`` is emitted when any of it changes.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sentence = Sentence("")
        self.random_weights = False
        self.history = SentenceHistory(self)
        self.has_tokenizer = True
        self.is_trained = False
        self._source: ModelSource | None = None

    @property
    def lacks_weights(self) -> bool:
        """Whether nothing can be run unless random weights are chosen."""
        return (
            self._source is not None
            and self.has_tokenizer
            and not self.is_trained
            and not self.random_weights
        )

    @property
    def disabled_reason(self) -> str:
        """Why nothing can be run, "" if it can."""
        if self._source is None:
            return self.tr("No model is open.")
        if not self.has_tokenizer:
            return self.tr("This model has no tokenizer, so no sentence can be run.")
        if self.lacks_weights:
            return self.tr("This model has no weights. Select random weights to run it.")
        if not self.sentence.text.strip():
            return self.tr("Type a sentence first.")
        return ""

    def set_sentence(self, sentence: Sentence) -> None:
        """Set what is typed."""
        if sentence != self.sentence:
            self.sentence = sentence
            self.changed.emit()

    def set_random_weights(self, are_wanted: bool) -> None:
        """Allow random weights, or not."""
        if are_wanted != self.random_weights:
            self.random_weights = are_wanted
            self.changed.emit()

    def set_model(self, source: ModelSource, architecture: Architecture) -> None:
        """Set the open model; random weights stay allowed for its other heads."""
        is_same = self._source is not None and self._source.path == source.path
        self._source = source
        self.has_tokenizer = not lacks_tokenizer(source)
        self.is_trained = architecture.source.weights == "pretrained"
        self.random_weights = self.random_weights and is_same and not self.is_trained
        self.changed.emit()

    def take_over(self, run: ActivationRun, *, is_saved: bool = False) -> None:
        """Add a run's sentence to the history, and take over its choice of weights.

        A run from a file also replaces what is typed, which was meant for another model.
        """
        self.history.add(run.sentence)
        if is_saved:
            self.set_sentence(run.sentence)
        self.set_random_weights(run.source.weights == "random")


class SentenceHistory(QObject):
    """Sentences that were run, the oldest first, and the position of the user among them.

    ``changed`` is emitted when ``entries`` change, which the session stores.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entries: tuple[Sentence, ...] = ()
        self._position: int | None = None  # among the entries; ``None`` is what is typed
        self._typed = Sentence("")

    def set_entries(self, entries: Iterable[Sentence]) -> None:
        """Replace the sentences, the oldest first."""
        self.entries = tuple(dict.fromkeys(entries))[-MAX_SENTENCES:]
        self._position = None
        self.changed.emit()

    def add(self, sentence: Sentence) -> None:
        """Add a sentence as the newest."""
        plain = Sentence(sentence.text, sentence.pair)
        self.set_entries((*(entry for entry in self.entries if entry != plain), plain))

    def earlier(self, shown: Sentence) -> Sentence | None:
        """Return the sentence before the one that is shown, ``None`` without one."""
        if self._position is None:
            self._typed = shown
        position = len(self.entries) if self._position is None else self._position
        # What is shown is often the newest itself, as it was run.
        while position > 0:
            position -= 1
            if self.entries[position] != shown:
                self._position = position
                return self.entries[position]
        return None

    def later(self, shown: Sentence) -> Sentence | None:
        """Return the sentence after the one that is shown; after the newest, what was typed."""
        position = self._position
        while position is not None:
            position = position + 1 if position + 1 < len(self.entries) else None
            found = self._typed if position is None else self.entries[position]
            self._position = position
            if found != shown:
                return found
        return None


class SentenceEdit(QLineEdit):
    """A line edit; ``earlier`` and ``later`` are emitted for the keys up and down."""

    earlier = Signal()
    later = Signal()

    def __init__(self, name: str, hint: str, tip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setPlaceholderText(hint)
        self.setAccessibleName(hint)
        self.setToolTip(tip)
        # Longer texts are refused with a message; Qt's default would silently cut them.
        self.setMaxLength(MAX_CHARACTERS + 1)

    def show_text(self, text: str) -> None:
        """Replace the text, and scroll to its beginning."""
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        signals = {Qt.Key.Key_Up: self.earlier, Qt.Key.Key_Down: self.later}
        signal = signals.get(Qt.Key(event.key()))
        if signal is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
            return
        event.accept()
        signal.emit()
