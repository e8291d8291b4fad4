"""The sentence to run, and the way to run and to stop it."""

from dataclasses import replace

from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.activations.text import MAX_CHARACTERS
from bertviewer.core.tokenizer.files import lacks_tokenizer
from bertviewer.ui.typing.counter import TokenCounter
from bertviewer.ui.typing.token_count_view import TokenCountView
from bertviewer.ui.workspace import Workspace


class SentenceBar(QWidget):
    """Sentence, optional second sentence, their tokens, Run, Cancel, and how far the work is."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._lacks_tokenizer = False
        self._sentence = _edit("sentenceEdit", self.tr("Type a sentence to run through the model"))
        self._pair = _edit("pairEdit", self.tr("Second sentence (optional)"))
        self._count = TokenCountView()
        self._counter = TokenCounter(workspace, self)
        self._random = QCheckBox(self.tr("Random weights"))
        self._random.setObjectName("randomWeightsCheck")
        self._random.setToolTip(
            self.tr("This model has no weights. Run it on random ones, drawn from a fixed seed.")
        )
        self._run = QPushButton(self.tr("Run"))
        self._run.setObjectName("runButton")
        self._run.setDefault(True)
        self._cancel = QPushButton(self.tr("Cancel"))
        self._cancel.setObjectName("cancelButton")
        self._progress = QProgressBar()
        self._progress.setObjectName("runProgress")
        self._progress.setTextVisible(False)
        self._progress.setFixedHeight(4)
        # It keeps its place while it is hidden, so that nothing jumps.
        policy = self._progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._progress.setSizePolicy(policy)

        fields = QHBoxLayout()
        fields.addWidget(self._sentence, 3)
        fields.addWidget(self._pair, 2)
        fields.addWidget(self._count)
        fields.addWidget(self._random)
        fields.addWidget(self._run)
        fields.addWidget(self._cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(4)
        layout.addLayout(fields)
        layout.addWidget(self._progress)

        for edit in (self._sentence, self._pair):
            edit.returnPressed.connect(self._run.click)
            edit.textChanged.connect(self._on_text)
        self._counter.counted.connect(self._count.show_count)
        self._count.cut_wished.connect(self._run_cut)
        self._random.toggled.connect(self._update)
        self._run.clicked.connect(self.run)
        self._cancel.clicked.connect(workspace.scheduler.cancel)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.scheduler.activity_changed.connect(self._update)
        workspace.scheduler.progressed.connect(self._on_progress)
        self._update()

    def set_sentence(self, text: str, pair: str | None) -> None:
        """Fill the fields in."""
        self._sentence.setText(text)
        self._pair.setText(pair or "")

    def run(self) -> None:
        """Run what stands in the fields."""
        self._workspace.run_sentence(self._typed(), self._random.isChecked())

    def stop(self, seconds: float) -> bool:
        """Count what is typed no more; return whether that ended in time."""
        return self._counter.stop(seconds)

    def _typed(self) -> Sentence:
        pair = self._pair.text()
        # Spaces are not seen in a field that may be empty.
        return Sentence(self._sentence.text(), pair if pair.strip() else None)

    def _on_text(self) -> None:
        self._counter.set_sentence(self._typed())

    def _run_cut(self) -> None:
        self._workspace.run_sentence(replace(self._typed(), cut=True), self._random.isChecked())

    def _on_architecture(self) -> None:
        self._random.setChecked(False)
        source = self._workspace.source
        self._lacks_tokenizer = source is not None and lacks_tokenizer(source)
        note = self.tr("This model has no tokenizer") if self._lacks_tokenizer else ""
        self._count.set_note(note, self._why_not())
        self._update()

    def _update(self) -> None:
        activity = self._workspace.scheduler.activity
        self._random.setVisible(self._workspace.architecture is not None and not self._is_trained)
        self._cancel.setEnabled(bool(activity))
        # A download has a bar of its own.
        self._progress.setVisible(activity not in ("", "download"))
        # Of unknown length until the first report.
        self._progress.setRange(0, 0)
        lacking = self._why_not()
        is_ready = not lacking and not activity
        self._run.setEnabled(is_ready)
        self._count.set_ready(is_ready)
        self._run.setToolTip(lacking or self.tr("Run the sentence (Enter)"))

    @property
    def _is_trained(self) -> bool:
        architecture = self._workspace.architecture
        return architecture is not None and architecture.source.weights == "pretrained"

    def _why_not(self) -> str:
        """Return why no sentence can be run, "" if one can."""
        if self._workspace.architecture is None:
            return self.tr("No model is open yet.")
        if self._lacks_tokenizer:
            return self.tr("This model has no tokenizer, so no sentence can be run.")
        if not self._is_trained and not self._random.isChecked():
            return self.tr("This model has no weights. Choose random weights to run it.")
        return ""

    def _on_progress(self, done: int, total: int, _label: str) -> None:
        if self._workspace.scheduler.activity:
            self._progress.setRange(0, total)
            self._progress.setValue(done)


def _edit(name: str, hint: str) -> QLineEdit:
    edit = QLineEdit()
    edit.setObjectName(name)
    edit.setPlaceholderText(hint)
    # Longer texts are refused with a word about it; the default would cut them off in silence.
    edit.setMaxLength(MAX_CHARACTERS + 1)
    edit.setAccessibleName(hint)
    return edit
