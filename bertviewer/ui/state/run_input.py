"""What the next run would be of, and what is still missing for it."""

from PySide6.QtCore import QObject, Signal

from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.files import lacks_tokenizer
from bertviewer.ui.state.sentence_history import SentenceHistory


class RunInput(QObject):
    """The sentence as it is typed, whether random weights will do, and the sentences before.

    ``changed`` says that something of it is another.
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
        """Whether random weights would have to be chosen to run anything."""
        return (
            self._source is not None
            and self.has_tokenizer
            and not self.is_trained
            and not self.random_weights
        )

    @property
    def lacking(self) -> str:
        """Why nothing can be run, "" if it can be."""
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
        """Take what is typed by now."""
        if sentence != self.sentence:
            self.sentence = sentence
            self.changed.emit()

    def set_random_weights(self, are_wanted: bool) -> None:
        """Run on random weights from now on, or not."""
        if are_wanted != self.random_weights:
            self.random_weights = are_wanted
            self.changed.emit()

    def set_model(self, source: ModelSource, architecture: Architecture) -> None:
        """Take over a model; the choice of random weights lasts for its other heads."""
        is_same = self._source is not None and self._source.path == source.path
        self._source = source
        self.has_tokenizer = not lacks_tokenizer(source)
        self.is_trained = architecture.source.weights == "pretrained"
        self.random_weights = self.random_weights and is_same and not self.is_trained
        self.changed.emit()

    def take_over(self, run: ActivationRun, *, is_saved: bool = False) -> None:
        """Remember a run's sentence, and choose the weights that it was run on.

        One that was saved brings its sentence along: what is typed was meant for another model.
        """
        self.history.add(run.sentence)
        if is_saved:
            self.set_sentence(run.sentence)
        self.set_random_weights(run.source.weights == "random")
