"""The sentence to run, and the way to run and to stop it, in one line."""

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.run.baseline_button import KeepButton
from bertviewer.ui.run.run_button import RunButton
from bertviewer.ui.run.token_count_view import TokenCountView
from bertviewer.ui.run.token_counter import TokenCounter
from bertviewer.ui.state.sentence_history import SentenceEdit
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.progress_bar import THIN, thin_bar

EXAMPLE = Sentence("The bank by the river was closed, so she walked to the other bank.")
HEIGHT, OPEN = 56, 46
"""Pixels, alone and above the results of a run."""
LEAST = 320
NARROWEST = 560
"""In fewer pixels keeping a run as A is left to the menu of Run."""
NARROW = 880
"""In fewer pixels the button that keeps a run as A is short."""


class SentenceBar(QWidget):
    """Sentence, optional second sentence, their tokens, Run or Cancel, and how far the work is."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        hint = self.tr("Press Up or Down for earlier sentences (Ctrl+L to edit)")
        self._sentence = SentenceEdit(
            "sentenceEdit", self.tr("Type a sentence to run through the model"), hint
        )
        self._pair = SentenceEdit("pairEdit", self.tr("Second sentence (optional)"), hint)
        self._add = flat_button(
            "addPair", self.tr("+ Sentence pair"), self.tr("Add a second sentence (run as a pair)")
        )
        self._example = flat_button(
            "exampleSentence",
            self.tr("Try an example"),
            self.tr("Run a sentence with a word that has two meanings"),
        )
        self._drop = flat_button("dropPair", "×", self.tr("Remove the second sentence"))
        self._count = TokenCountView()
        self._counter = TokenCounter(workspace, self)
        self._random = QCheckBox(self.tr("Random weights"))
        self._random.setObjectName("randomWeightsCheck")
        self._random.setToolTip(self.tr("No trained weights. Run with random weights (seed 0)."))
        self._lacking = named(ElidedLabel(), "runLacking")
        self._lacking.setForegroundRole(WARNING)
        self._use_random = named(QPushButton(self.tr("Run with random weights")), "runOnRandom")
        self._use_random.setToolTip(
            self.tr("Initialised with seed 0; all results are marked as random")
        )
        self._keep = KeepButton(workspace)
        self.run_button = RunButton(workspace)
        self._cancel = QPushButton(self.tr("Cancel"))
        self._cancel.setObjectName("cancelButton")
        self._cancel.setToolTip(self.tr("Cancel the running task (Ctrl+.)"))
        self._place = QStackedWidget()
        self._progress = _progress_bar()
        self._arrange()

        history = workspace.next_run.history
        for edit in (self._sentence, self._pair):
            edit.returnPressed.connect(self._on_return)
            edit.textChanged.connect(self._on_text)
            edit.earlier.connect(lambda: self._go_to(history.earlier(self._typed())))
            edit.later.connect(lambda: self._go_to(history.later(self._typed())))
        self._counter.counted.connect(self._count.show_count)
        self._count.cut_wished.connect(self.run_cut)
        self._example.clicked.connect(self._run_example)
        self._add.clicked.connect(self._show_pair)
        self._drop.clicked.connect(self._hide_pair)
        self._random.toggled.connect(workspace.next_run.set_random_weights)
        self._use_random.clicked.connect(self._run_on_random)
        self._cancel.clicked.connect(workspace.scheduler.cancel)
        workspace.next_run.changed.connect(self._on_next_run)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.scheduler.activity_changed.connect(self._on_activity)
        workspace.scheduler.progressed.connect(self._on_progress)
        self._set_pair_shown(False)
        self._show_lacking("")
        self._on_activity()

    def set_sentence(self, text: str, pair: str | None) -> None:
        """Fill the fields in."""
        self._sentence.show_text(text)
        self._pair.show_text(pair or "")
        self._set_pair_shown(bool(pair))

    def run(self) -> None:
        """Run what is in the fields, or say next to them what is missing."""
        self._show_lacking(self._workspace.next_run.lacking)
        self._workspace.run_next()

    def run_cut(self) -> None:
        """Run as much of the sentence as the model takes."""
        next_run = self._workspace.next_run
        sentence = replace(next_run.sentence, cut=True)
        self._workspace.run_sentence(sentence, next_run.random_weights)

    def stop(self, seconds: float) -> bool:
        """Count what is typed no more; return whether that ended in time."""
        return self._counter.stop(seconds)

    def minimumSizeHint(self) -> QSize:
        """Return no more width than field and button need: the rest gives way. Qt calls it."""
        return QSize(LEAST, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten the buttons where the bar is narrow; Qt calls it."""
        super().resizeEvent(event)
        self._keep.set_narrow(self.width() < NARROW)
        self._keep.setVisible(self.width() >= NARROWEST)

    def _arrange(self) -> None:
        fields = hbox(
            (self._sentence, 3),
            (self._pair, 2),
            self._drop,
            self._count,
            self._example,
            self._add,
            self._random,
            (self._lacking, 2),
            self._use_random,
            self._keep,
            margins=(3 * GRID, THIN, 3 * GRID, 0),
            spacing=2 * GRID,
        )
        self._place.addWidget(self.run_button)
        self._place.addWidget(self._cancel)
        self._place.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        fields.addWidget(self._place)
        for edit in (self._sentence, self._pair):
            edit.setMinimumWidth(80)
        vbox((fields, 1), self._progress, parent=self, spacing=0)
        self.setMinimumHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def _typed(self) -> Sentence:
        pair = self._pair.text()
        # Spaces are not seen in a field that may be empty.
        return Sentence(self._sentence.text(), pair if pair.strip() else None)

    def _on_text(self) -> None:
        if self._pair.text():
            self._set_pair_shown(True)
        typed = self._typed()
        self._counter.set_sentence(typed)
        self._workspace.next_run.set_sentence(typed)

    def _on_return(self) -> None:
        # While something runs there is Cancel in place of Run, and Enter does nothing.
        if not self._workspace.scheduler.activity:
            self.run()

    def _run_on_random(self) -> None:
        self._workspace.next_run.set_random_weights(True)
        self.run()

    def _show_lacking(self, why: str) -> None:
        """Say why nothing can be run, with a button that mends it; nothing for an empty text."""
        has_offer = bool(why) and self._workspace.next_run.lacks_weights
        # The button says the rest of it.
        self._lacking.setText(self.tr("This model has no weights.") if has_offer else why)
        self._lacking.setToolTip(why)
        self._lacking.setVisible(bool(why))
        self._use_random.setVisible(has_offer)
        self._count.setVisible(not why)
        self._add.setVisible(not why and self._pair.isHidden())
        self._update()

    def _run_example(self) -> None:
        self.set_sentence(EXAMPLE.text, EXAMPLE.pair)
        self.run()

    def _on_next_run(self) -> None:
        next_run = self._workspace.next_run
        if next_run.sentence != self._typed():
            self.set_sentence(next_run.sentence.text, next_run.sentence.pair)
        self._random.setChecked(next_run.random_weights)
        self._show_lacking("")

    def _on_architecture(self) -> None:
        next_run = self._workspace.next_run
        note = "" if next_run.has_tokenizer else self.tr("This model has no tokenizer")
        self._count.set_note(note, next_run.lacking)
        self._update()

    def _go_to(self, sentence: Sentence | None) -> None:
        if sentence is not None:
            self.set_sentence(sentence.text, sentence.pair)

    def _show_pair(self) -> None:
        self._set_pair_shown(True)
        self._pair.setFocus(Qt.FocusReason.OtherFocusReason)

    def _hide_pair(self) -> None:
        self._pair.clear()
        self._sentence.setFocus(Qt.FocusReason.OtherFocusReason)
        self._set_pair_shown(False)

    def _set_pair_shown(self, is_shown: bool) -> None:
        self._pair.setVisible(is_shown)
        self._drop.setVisible(is_shown)
        self._add.setVisible(not is_shown)

    def _update(self) -> None:
        activity, next_run = self._workspace.scheduler.activity, self._workspace.next_run
        has_model = self._workspace.architecture is not None
        self._random.setVisible(
            has_model and not next_run.is_trained and self._use_random.isHidden()
        )
        can_run = has_model and next_run.has_tokenizer and next_run.is_trained and not activity
        is_empty = not next_run.sentence.text and self._lacking.isHidden()
        self._example.setVisible(can_run and is_empty)
        lacking = next_run.lacking
        self.run_button.set_ready(lacking, bool(activity))
        self._count.set_ready(not lacking and not activity)

    def _on_activity(self) -> None:
        activity = self._workspace.scheduler.activity
        if activity:
            self._cancel.setEnabled(True)
            self._put_in_place(self._cancel, self._cancel)
            self._update()
        else:
            self._update()
            self._put_in_place(self.run_button, self.run_button.run)
            self._cancel.setEnabled(False)
        # A download has a bar of its own.
        self._progress.setVisible(activity not in ("", "download"))
        # Of unknown length until the first report.
        self._progress.setRange(0, 0)

    def _put_in_place(self, shown: QWidget, button: QWidget) -> None:
        """Show Run or Cancel in place of the other; its button has the focus if that had it."""
        focus = QApplication.focusWidget()
        had_focus = focus is not None and self._place.isAncestorOf(focus)
        self._place.setCurrentWidget(shown)
        if had_focus:
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_progress(self, done: int, total: int, _label: str) -> None:
        if self._workspace.scheduler.activity:
            self._progress.setRange(0, total)
            self._progress.setValue(done)


def _progress_bar() -> QProgressBar:
    purpose = QCoreApplication.translate("SentenceBar", "Progress")
    bar = thin_bar("runProgress", purpose)
    # It keeps its place while it is hidden, so that nothing jumps.
    policy = bar.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    bar.setSizePolicy(policy)
    return bar
