"""Has the tokens of what is typed counted by the worker, after a short rest of the keyboard."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.sentence import TokenCount
from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.tokenization.tokenizer import Tokenizer


class Counting:
    """Counts for one open model, with a tokenizer of its own: the model's is another thread's.

    The tokenizer is read when there is something to count. Only the worker's thread may count.
    """

    def __init__(self, source: ModelSource, architecture: Architecture) -> None:
        self._source = source
        self._architecture = architecture
        self._tokenizer: Tokenizer | None = None
        self._has_none = False

    def count(self, sentence: Sentence, progress: Progress) -> TokenCount | None:
        """Return the sentence's count; ``None`` where there is none, as for a bad text.

        Why that is, a run says; nobody wants to hear it while typing.
        """
        libraries.load(progress)
        from bertviewer.core.graph.length_measuring import length_limits
        from bertviewer.core.tokenization import tokenization

        progress(0, 0, "Counting tokens")
        config, whole = self._architecture.config, self._architecture.whole_config
        if self._tokenizer is None and not self._has_none:
            try:
                if tokenization.reads_text(self._architecture):
                    self._tokenizer = tokenization.find_tokenizer(self._source, config, progress)
            except UserError:
                pass  # a model without a tokenizer
            self._has_none = self._tokenizer is None
        if self._tokenizer is None:
            return None
        try:
            return tokenization.count_tokens(
                self._tokenizer, sentence, config, progress, partial(length_limits, whole)
            )
        except UserError:
            return None


REST = 100  # milliseconds without a key before anything is counted


class TokenCounter(QObject):
    """Counts in a worker of its own, which it starts with the first count.

    ``counted`` brings a ``TokenCount`` for the text as it is now; ``None`` if there is nothing to
    say of it.
    """

    counted = Signal(object)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._counting: Counting | None = None
        self._sentence: Sentence | None = None
        self._worker: Worker | None = None
        self._is_stopped = False
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST)
        self._rest.timeout.connect(self._start)
        workspace.architecture_changed.connect(self._on_architecture)

    def set_sentence(self, sentence: Sentence) -> None:
        """Count this one next, whatever is being counted."""
        if not sentence.text.strip():
            self._sentence = None
            self._rest.stop()
            self.counted.emit(None)
        elif sentence != self._sentence:
            self._sentence = sentence
            self._wait()

    def stop(self, seconds: float) -> bool:
        """Count no more; return whether the worker ended in time."""
        self._is_stopped = True
        self._rest.stop()
        return self._worker is None or self._worker.stop(seconds)

    def _wait(self) -> None:
        if self._counting is not None and not self._is_stopped:
            self._rest.start()

    def _on_architecture(self) -> None:
        source, architecture = self._workspace.source, self._workspace.architecture
        assert source is not None
        assert architecture is not None
        self._counting = Counting(source, architecture)
        self.counted.emit(None)
        if self._sentence is not None:
            self._wait()

    def _start(self) -> None:
        counting, sentence = self._counting, self._sentence
        if counting is None or sentence is None:
            return
        if self._worker is None:
            # Nobody's child: its thread keeps it alive until it has ended.
            self._worker = Worker()
        self._worker.start(
            partial(counting.count, sentence),
            partial(self._on_counted, counting, sentence),
            partial(self._on_failed, counting),
        )

    def _on_counted(self, counting: Counting, sentence: Sentence, count: TokenCount | None) -> None:
        if counting is self._counting and sentence == self._sentence:
            self.counted.emit(count)

    def _on_failed(self, counting: Counting, error: BaseException) -> None:
        if counting is self._counting:
            # An error of ours. Once is enough: it would come with every key.
            self._counting = None
            self._workspace.scheduler.errored.emit(error)
