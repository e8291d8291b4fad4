"""Number of tokens of the typed sentence, counted in a worker thread."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.sentence import TokenCount
from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named

if TYPE_CHECKING:
    from bertviewer.core.tokenization.tokenizer import Tokenizer

DEBOUNCE = 100  # milliseconds without a key press before tokens are counted
MAX_NAMED = 20  # unknown words in the tooltip
MAX_LENGTH = 40  # characters of one


class CountingTokenizer:
    """A separate tokenizer of the open model, whose own belongs to another thread.

    It is loaded by the first count. Only one worker thread may use it.
    """

    def __init__(self, source: ModelSource, architecture: Architecture) -> None:
        self._source = source
        self._architecture = architecture
        self._tokenizer: Tokenizer | None = None
        self._has_none = False

    def count(self, sentence: Sentence, progress: Progress) -> TokenCount | None:
        """Return the sentence's count, ``None`` if there is no tokenizer or the text is invalid.

        Errors are left to the run: while typing they would be in the way.
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


class TokenCounter(QObject):
    """Counts tokens in its own worker, which is started by the first count.

    ``counted`` carries a ``TokenCount`` of the current text, or ``None`` if it has no count.
    """

    counted = Signal(object)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._tokenizer: CountingTokenizer | None = None
        self._sentence: Sentence | None = None
        self._worker: Worker | None = None
        self._is_stopped = False
        self._timer = QTimer(self, singleShot=True, interval=DEBOUNCE)
        self._timer.timeout.connect(self._start)
        workspace.architecture_changed.connect(self._on_architecture)

    def set_sentence(self, sentence: Sentence) -> None:
        """Count the tokens of a sentence as soon as the user stops typing."""
        if not sentence.text.strip():
            self._sentence = None
            self._timer.stop()
            self.counted.emit(None)
        elif sentence != self._sentence:
            self._sentence = sentence
            self._wait()

    def stop(self, seconds: float) -> bool:
        """Stop counting; return whether the worker ended in time."""
        self._is_stopped = True
        self._timer.stop()
        return self._worker is None or self._worker.stop(seconds)

    def _wait(self) -> None:
        if self._tokenizer is not None and not self._is_stopped:
            self._timer.start()

    def _on_architecture(self) -> None:
        source, architecture = self._workspace.source, self._workspace.architecture
        assert source is not None
        assert architecture is not None
        self._tokenizer = CountingTokenizer(source, architecture)
        self.counted.emit(None)
        if self._sentence is not None:
            self._wait()

    def _start(self) -> None:
        tokenizer, sentence = self._tokenizer, self._sentence
        if tokenizer is None or sentence is None:
            return
        if self._worker is None:
            # Without a parent: its thread keeps it alive until it has ended.
            self._worker = Worker()
        self._worker.start(
            partial(tokenizer.count, sentence),
            partial(self._on_counted, tokenizer, sentence),
            partial(self._on_failed, tokenizer),
        )

    def _on_counted(
        self, tokenizer: CountingTokenizer, sentence: Sentence, count: TokenCount | None
    ) -> None:
        if tokenizer is self._tokenizer and sentence == self._sentence:
            self.counted.emit(count)

    def _on_failed(self, tokenizer: CountingTokenizer, error: BaseException) -> None:
        if tokenizer is self._tokenizer:
            # Counting ends, or a bug would be reported with every key press.
            self._tokenizer = None
            self._workspace.jobs.errored.emit(error)


class TokenCountLabel(QWidget):
    """Shows "18 of 512 tokens · 1 unknown", as a warning above the limit.

    ``truncation_wanted`` is emitted by the button that appears if there are too many tokens.
    """

    truncation_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._note = self._note_tip = ""
        self._label = named(QLabel(), "tokenCount")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        tip = self.tr(
            "Run only as many tokens as the model accepts; special tokens at the ends are kept."
        )
        self._truncate = named(QPushButton(self.tr("Truncate")), "cutButton", tooltip=tip)
        self._truncate.clicked.connect(self.truncation_wanted)
        hbox(self._label, self._truncate, parent=self)
        self.show_count(None)

    def set_ready(self, is_ready: bool) -> None:
        """Enable or disable the button."""
        self._truncate.setEnabled(is_ready)

    def set_note(self, text: str, tooltip: str) -> None:
        """Set the text that is shown without a count, such as why there never is one."""
        self._note, self._note_tip = text, tooltip
        self.show_count(None)

    def show_count(self, count: TokenCount | None) -> None:
        """Show a count, or the note without one."""
        self._truncate.setVisible(count is not None and count.excess > 0)
        if count is None:
            # The label stays as wide as it was, so that its neighbours do not move.
            self._show(self._note, self._note_tip if self._note else "", WARNING)
            return
        if count.limit is not None:
            widest = self.tr("{0} of {0} tokens").format(f"{count.limit:,}")
            self._label.setMinimumWidth(self._label.fontMetrics().horizontalAdvance(widest))
        role = WARNING if count.excess or count.is_untrained else QPalette.ColorRole.PlaceholderText
        self._show(self._text(count), self._tooltip(count), role)

    def _show(self, text: str, tooltip: str, role: QPalette.ColorRole) -> None:
        self._label.setText(text)
        self._label.setAccessibleName(text)
        self._label.setForegroundRole(role)
        self._label.setToolTip(plain_tooltip(tooltip))

    def _text(self, count: TokenCount) -> str:
        if count.limit is None:
            parts = [count_text(count.tokens, self.tr("1 token"), self.tr("{0} tokens"))]
        else:
            text = self.tr("{0} of {1} tokens")
            parts = [text.format(f"{count.tokens:,}", f"{count.limit:,}")]
        if count.excess:
            parts.append(self.tr("{0} too many").format(f"{count.excess:,}"))
        if count.is_untrained:
            parts.append(self.tr("trained on {0}").format(f"{count.trained:,}"))
        if count.unknown:
            parts.append(self.tr("{0} unknown").format(f"{len(count.unknown):,}"))
        return " · ".join(parts)

    def _tooltip(self, count: TokenCount) -> str:
        lines = [self.tr("Special tokens are included.")]
        if count.limit is not None:
            lines = [
                count_text(
                    count.limit,
                    self.tr("The model accepts at most 1 token, including special tokens."),
                    self.tr("The model accepts at most {0} tokens, including special tokens."),
                )
            ]
        if count.is_untrained:
            lines.append(self.tr("The model runs, but was trained on shorter texts."))
        if count.is_one_of_two:
            lines.append(self.tr("Encoder and decoder each read one text; the longer one counts."))
        if count.unknown:
            names = list(dict.fromkeys(map(_shortened, count.unknown)))
            shown = "  ".join(names[:MAX_NAMED]) + (" …" if len(names) > MAX_NAMED else "")
            lines.append(self.tr("Not in the vocabulary: {0}").format(shown))
        return "\n".join(lines)


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_LENGTH else f"{name[:MAX_LENGTH]}…"
