"""Sentence bar: one or two sentences, their token count, and buttons to run or cancel."""

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.run.run_button import RunButton
from bertviewer.ui.run.token_count import TokenCounter, TokenCountLabel
from bertviewer.ui.state.run_input import SentenceEdit
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.progress_bar import THIN, thin_bar

EXAMPLE = Sentence("The bank by the river was closed, so she walked to the other bank.")
HEIGHT, OPEN = 56, 46
"""Pixels, alone and above the results of a run."""
MIN_WIDTH, MIN_FIELD_WIDTH = 320, 80
BASELINE_WIDTH, FULL_WIDTH = 560, 880
"""Pixels from which the baseline's button is shown, and shown with its full text."""


class SentenceBar(QWidget):
    """One line with the fields and buttons, above a progress bar."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        hint = self.tr("Press Up or Down for earlier sentences (Ctrl+L to edit)")
        self._sentence = SentenceEdit(
            "sentenceEdit", self.tr("Type a sentence to run through the model"), hint
        )
        self._pair = SentenceEdit("pairEdit", self.tr("Second sentence (optional)"), hint)
        self._add_pair = flat_button(
            "addPair", self.tr("+ Sentence pair"), self.tr("Add a second sentence (run as a pair)")
        )
        self._example = flat_button(
            "exampleSentence",
            self.tr("Try an example"),
            self.tr("Run a sentence with a word that has two meanings"),
        )
        self._remove_pair = flat_button("dropPair", "×", self.tr("Remove the second sentence"))
        self._count = TokenCountLabel()
        self._counter = TokenCounter(workspace, self)
        tip = self.tr("No trained weights. Run with random weights (seed 0).")
        self._random = named(
            QCheckBox(self.tr("Random weights")), "randomWeightsCheck", tooltip=tip
        )
        self._disabled_reason = named(ElidedLabel(), "runLacking")
        self._disabled_reason.setForegroundRole(WARNING)
        tip = self.tr("Initialised with seed 0; all results are marked as random")
        self._use_random = named(
            QPushButton(self.tr("Run with random weights")), "runOnRandom", tooltip=tip
        )
        self._baseline = SetBaselineButton(workspace)
        self.run_button = RunButton(workspace)
        tip = self.tr("Cancel the running task (Ctrl+.)")
        self._cancel = named(QPushButton(self.tr("Cancel")), "cancelButton", tooltip=tip)
        self._run_or_cancel = QStackedWidget()
        self._progress = thin_bar("runProgress", self.tr("Progress"))
        self._arrange()

        history = workspace.run_input.history
        for edit in (self._sentence, self._pair):
            edit.returnPressed.connect(self._on_return)
            edit.textChanged.connect(self._on_text)
            edit.earlier.connect(lambda: self._recall(history.earlier(self._typed())))
            edit.later.connect(lambda: self._recall(history.later(self._typed())))
        self._counter.counted.connect(self._count.show_count)
        self._count.truncation_wanted.connect(self.run_truncated)
        self._example.clicked.connect(self._run_example)
        self._add_pair.clicked.connect(self._show_pair)
        self._remove_pair.clicked.connect(self._hide_pair)
        self._random.toggled.connect(workspace.run_input.set_random_weights)
        self._use_random.clicked.connect(self._run_on_random_weights)
        self._cancel.clicked.connect(workspace.jobs.cancel)
        workspace.run_input.changed.connect(self._on_run_input)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.jobs.activity_changed.connect(self._on_activity)
        workspace.jobs.progressed.connect(self._on_progress)
        self._set_pair_shown(False)
        self._show_disabled_reason("")
        self._on_activity()

    def set_sentence(self, text: str, pair: str | None) -> None:
        """Fill in the fields."""
        self._sentence.show_text(text)
        self._pair.show_text(pair or "")
        self._set_pair_shown(bool(pair))

    def run(self) -> None:
        """Run the typed sentence, or show why that is not possible."""
        self._show_disabled_reason(self._workspace.run_input.disabled_reason)
        self._workspace.run_next()

    def run_truncated(self) -> None:
        """Run as many tokens of the sentence as the model accepts."""
        run_input = self._workspace.run_input
        sentence = replace(run_input.sentence, cut=True)
        self._workspace.run_sentence(sentence, run_input.random_weights)

    def stop(self, seconds: float) -> bool:
        """Stop counting tokens; return whether that ended in time."""
        return self._counter.stop(seconds)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(MIN_WIDTH, super().minimumSizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._baseline.set_short(self.width() < FULL_WIDTH)
        self._baseline.setVisible(self.width() >= BASELINE_WIDTH)

    def _arrange(self) -> None:
        for edit in (self._sentence, self._pair):
            edit.setMinimumWidth(MIN_FIELD_WIDTH)
        self._run_or_cancel.addWidget(self.run_button)
        self._run_or_cancel.addWidget(self._cancel)
        self._run_or_cancel.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        # The progress bar keeps its room while it is hidden, so that nothing moves.
        policy = self._progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._progress.setSizePolicy(policy)
        fields = hbox(
            (self._sentence, 3),
            (self._pair, 2),
            self._remove_pair,
            self._count,
            self._example,
            self._add_pair,
            self._random,
            (self._disabled_reason, 2),
            self._use_random,
            self._baseline,
            self._run_or_cancel,
            margins=(3 * GRID, THIN, 3 * GRID, 0),
            spacing=2 * GRID,
        )
        vbox((fields, 1), self._progress, parent=self, spacing=0)
        self.setMinimumHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def _typed(self) -> Sentence:
        pair = self._pair.text()
        # A field of spaces looks empty.
        return Sentence(self._sentence.text(), pair if pair.strip() else None)

    def _on_text(self) -> None:
        if self._pair.text():
            self._set_pair_shown(True)
        typed = self._typed()
        self._counter.set_sentence(typed)
        self._workspace.run_input.set_sentence(typed)

    def _on_return(self) -> None:
        # While something is running there is Cancel instead of Run.
        if not self._workspace.jobs.activity:
            self.run()

    def _run_on_random_weights(self) -> None:
        self._workspace.run_input.set_random_weights(True)
        self.run()

    def _show_disabled_reason(self, why: str) -> None:
        """Show why nothing can be run, with a button if random weights would help."""
        can_use_random = bool(why) and self._workspace.run_input.lacks_weights
        # The button says the rest.
        text = self.tr("This model has no weights.") if can_use_random else why
        self._disabled_reason.setText(text)
        self._disabled_reason.setToolTip(why)
        self._disabled_reason.setVisible(bool(why))
        self._use_random.setVisible(can_use_random)
        self._count.setVisible(not why)
        self._add_pair.setVisible(not why and self._pair.isHidden())
        self._update()

    def _run_example(self) -> None:
        self.set_sentence(EXAMPLE.text, EXAMPLE.pair)
        self.run()

    def _on_run_input(self) -> None:
        run_input = self._workspace.run_input
        if run_input.sentence != self._typed():
            self.set_sentence(run_input.sentence.text, run_input.sentence.pair)
        self._random.setChecked(run_input.random_weights)
        self._show_disabled_reason("")

    def _on_architecture(self) -> None:
        run_input = self._workspace.run_input
        note = "" if run_input.has_tokenizer else self.tr("This model has no tokenizer")
        self._count.set_note(note, run_input.disabled_reason)
        self._update()

    def _recall(self, sentence: Sentence | None) -> None:
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
        self._remove_pair.setVisible(is_shown)
        self._add_pair.setVisible(not is_shown)

    def _update(self) -> None:
        activity, run_input = self._workspace.jobs.activity, self._workspace.run_input
        has_model = self._workspace.architecture is not None
        self._random.setVisible(
            has_model and not run_input.is_trained and self._use_random.isHidden()
        )
        can_run = has_model and run_input.has_tokenizer and run_input.is_trained and not activity
        is_empty = not run_input.sentence.text and self._disabled_reason.isHidden()
        self._example.setVisible(can_run and is_empty)
        disabled_reason = run_input.disabled_reason
        self.run_button.set_ready(disabled_reason, bool(activity))
        self._count.set_ready(not disabled_reason and not activity)

    def _on_activity(self) -> None:
        activity = self._workspace.jobs.activity
        if activity:
            self._cancel.setEnabled(True)
            self._show_button(self._cancel, self._cancel)
            self._update()
        else:
            self._update()
            self._show_button(self.run_button, self.run_button.run)
            self._cancel.setEnabled(False)
        # A download has its own progress bar.
        self._progress.setVisible(activity not in ("", "download"))
        self._progress.setRange(0, 0)

    def _show_button(self, shown: QWidget, button: QWidget) -> None:
        """Show Run or Cancel instead of the other, and let it take over the focus."""
        focus = QApplication.focusWidget()
        had_focus = focus is not None and self._run_or_cancel.isAncestorOf(focus)
        self._run_or_cancel.setCurrentWidget(shown)
        if had_focus:
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_progress(self, done: int, total: int, _label: str) -> None:
        if self._workspace.jobs.activity:
            self._progress.setRange(0, total)
            self._progress.setValue(done)


class SetBaselineButton(QPushButton):
    """Sets the current run as baseline; disabled while it is."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("keepRun")
        self.set_short(False)
        self.setAccessibleName(self.tr("Set as baseline"))
        self.setToolTip(self.tr("Set this run as baseline (A) and compare later runs (B) with it"))
        self.clicked.connect(workspace.runs.keep)
        workspace.runs.run_changed.connect(self._update)
        workspace.runs.comparison_changed.connect(self._update)
        self._update()

    def set_short(self, is_short: bool) -> None:
        """Show only the letter if the bar is narrow."""
        self.setText(self.tr("A") if is_short else self.tr("Set as baseline"))

    def _update(self) -> None:
        runs = self._workspace.runs
        self.setEnabled(runs.current is not None and runs.current is not runs.baseline)
