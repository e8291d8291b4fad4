"""What the model's head predicts: words, classes, answers; or which head it lacks."""

from collections.abc import Hashable, Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from bertviewer.charts.comparison import Alignment
from bertviewer.core.analysis.predictions import (
    ClassScores,
    classification,
    predicted_positions,
    predicts_next,
)
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.core.util.numbers import count_text
from bertviewer.plots.fonts import weighted
from bertviewer.ui.run.classes_panel import ClassesPanel, Said
from bertviewer.ui.run.view import View
from bertviewer.ui.run.words_panel import WordsPanel
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, named, split, vbox

_OWN_HEADS = (
    ("ForMaskedLM", "masked-lm"),
    ("ForPreTraining", "pretraining"),
    ("LMHeadModel", "pretraining"),
    ("ForCausalLM", "causal-lm"),
    ("ForSequenceClassification", "sequence-classification"),
    ("ForTokenClassification", "token-classification"),
    ("ForQuestionAnswering", "question-answering"),
    ("ForNextSentencePrediction", "next-sentence"),
)
"""What the names of the classes that a checkpoint was saved from end in."""

_NEXT = QT_TRANSLATE_NOOP("PredictionsView", "next-token prediction")


class PredictionsView(View):
    """Shows what there is: words beside the verdict on a pair of sentences, or classes alone."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._rerun: tuple[ModelSource, ActivationRun] | None = None
        self._partners: tuple[Hashable, Alignment] | None = None
        self._shown: Hashable = None  # of which runs the classes are shown
        self._random = named(plain_label(""), "randomPredictions")
        self._random.setForegroundRole(WARNING)
        self._random.setFont(weighted(self._random.font()))
        self._words = WordsPanel(self)
        self._classes = ClassesPanel(workspace)
        self._panels = split(self._classes, self._words, sizes=(210, 870))
        self._none = QWidget()
        self._message = named(plain_label(""), "noPredictions")
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._heads = QHBoxLayout()
        self._offered: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        vbox(STRETCH, self._message, self._heads, 2, parent=self._none, margins=None)
        vbox(
            self._random,
            (self._panels, 1),
            (self._none, 1),
            parent=self,
            margins=(0, 4, 0, 0),
            spacing=4,
        )
        workspace.runs.run_changed.connect(self._forget)
        workspace.runs.comparison_changed.connect(self._on_comparison)
        workspace.architecture_changed.connect(self._run_again)
        workspace.heads_known.connect(self._on_heads)
        for signal in (workspace.scheduler.errored, workspace.scheduler.cancelled):
            signal.connect(self._give_up_rerun)

    def refresh(self) -> None:
        """Show what the head says of the last run, and of run A."""
        run, architecture = self.workspace.runs.run, self.workspace.architecture
        if run is None or architecture is None:
            return
        scores = classification(run, architecture)
        has_words = bool(predicted_positions(run, architecture))
        self._panels.setVisible(has_words or scores is not None)
        self._none.setVisible(not has_words and scores is None)
        self._words.setVisible(has_words)
        self._classes.setVisible(scores is not None)
        text = self._randomness(run, has_words, scores)
        self._random.setText(text)
        self._random.setVisible(bool(text))
        if scores is not None:
            self._show_classes((run, scores), architecture)
        if has_words:
            self._words.refresh(architecture)
        else:
            self._words.forget()
        if scores is None and not has_words:
            self._offer_heads(run, architecture)

    def clear(self) -> None:
        """Show nothing, and keep nothing of the runs before."""
        super().clear()
        self._forget()
        self._words.clear()

    def _show_classes(self, b: Said, architecture: Architecture) -> None:
        run_a, watched = self.workspace.runs.watched_a, self.workspace.runs.watched
        shown = watched, run_a, self.workspace.runs.comparison
        if shown == self._shown:
            # 512 tokens take a while to draw.
            self._classes.mark_token()
            return
        self._shown = shown
        other = None if run_a is None else classification(run_a.run, architecture)
        a = None if run_a is None or other is None else (run_a.run, other)
        self._classes.show_scores(b, a, self.partners())

    def partners(self, rows: bool = False, columns: bool = True) -> Alignment:
        """Return which tokens are the same; long texts take a while, and are compared once."""
        key = self.workspace.runs.watched_a, self.workspace.runs.watched, rows, columns
        if self._partners is None or self._partners[0] != key:
            self._partners = key, super().partners(rows, columns)
        return self._partners[1]

    def _forget(self) -> None:
        """Keep nothing of runs that are gone."""
        self._partners = self._shown = None
        self._words.forget()
        self._classes.forget()

    def _on_comparison(self) -> None:
        if self.workspace.runs.watched_a is None:
            self._forget()

    def _randomness(self, run: ActivationRun, has_words: bool, scores: ClassScores | None) -> str:
        """Return a warning of a head that no training stands behind, "" if there is none.

        Where all weights are random, that is said above all views.
        """
        if scores is None and not has_words:
            return ""
        names = set(() if scores is None else scores.random_tensors)
        if has_words:
            names.update(run.source.random_outside("pooler", "seq_relationship", "sop_classifier"))
        if not names:
            return ""
        return count_text(
            len(names),
            self.tr("Random head (1 tensor): predictions are meaningless."),
            self.tr("Random head ({0} tensors): predictions are meaningless."),
        )

    def _offer_heads(self, run: ActivationRun, architecture: Architecture) -> None:
        """Say that there is no head, and offer those that the model can be opened with."""
        workspace = self.workspace
        heads = offered_heads(architecture.config, workspace.heads)
        text = self.tr("This model has no prediction head.")
        random = tuple(name for name in heads if workspace.has_random_head(name))
        if run.source.task != "base":
            text = self.tr("This head has no output that can be shown here.")
        elif heads and run.source.weights == "pretrained" and workspace.random_heads is None:
            text = self.tr("Looking for task heads in the checkpoint…")
            heads = ()
        elif heads:
            text = self.tr("{0} Choose one under File > Task head.").format(text)
            if random:
                text += "\n" + self.tr(
                    "The checkpoint has no head for {0}, so a head added here is random "
                    "and its predictions are meaningless."
                ).format(", ".join(_head(name, architecture) for name in random))
        self._message.setText(text)
        if (heads, random) == self._offered:
            return
        self._offered = heads, random
        while (item := self._heads.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self._heads.addStretch(1)
        for name in heads:
            says = self.tr("Add a {0} head")
            if name in random:
                says = self.tr("Add a random {0} head")
            button = QPushButton(says.format(_head(name, architecture)))
            button.setObjectName(f"openHead-{name}")
            button.setToolTip(self.tr("Open the model with this head and run the sentence again"))
            button.clicked.connect(lambda _=False, name=name: self._open(name))
            self._heads.addWidget(button)
        self._heads.addStretch(1)

    def _on_heads(self) -> None:
        if self.isVisible() and not self._none.isHidden():
            self.refresh()

    def _open(self, task: str) -> None:
        run, source = self.workspace.runs.run, self.workspace.source
        if run is not None and source is not None:
            self._rerun = source, run
            self.workspace.open_head(task)

    def _give_up_rerun(self) -> None:
        self._rerun = None

    def _run_again(self) -> None:
        """Run the sentence again once the same model is there with its head."""
        rerun, self._rerun = self._rerun, None
        source = self.workspace.source
        if rerun is None or source is None or rerun[0].path != source.path:
            return
        run = rerun[1]
        is_random = run.source.weights == "random"
        self.workspace.draw_queue.later(
            lambda: self.workspace.run_sentence(run.sentence, is_random)
        )


def _head(task: str, architecture: Architecture) -> str:
    """Return what a head does, in words."""
    if task == "pretraining" and predicts_next(architecture):
        return translate("PredictionsView", _NEXT)
    return find_task(task).title.lower()


def offered_heads(config: Mapping[str, Any], heads: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks worth opening a base model for: its checkpoint's own, and words."""
    own = [
        task
        for name in config.get("architectures") or ()
        for end, task in _OWN_HEADS
        if str(name).endswith(end)
    ]
    # GPT-2's head over the vocabulary is the one that it was pretrained with.
    words = next((t for t in ("masked-lm", "pretraining", "causal-lm") if t in heads), None)
    wanted = dict.fromkeys((*own, *([words] if words else [])))
    return tuple(task for task in wanted if task in heads)
