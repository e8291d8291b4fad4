"""Predictions view: tokens, classes or an answer, or the task heads that the model could have."""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.classification import answer_chart, best_line, label_grid, scores_table
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
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run.run_view import RunView, ViewTopic
from bertviewer.ui.run.words_panel import WordsPanel
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.empty_state import CallToAction, ContentStack
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, split, vbox

Scored = tuple[ActivationRun, ClassScores]
"""A run, and the scores of its classes."""

MAX_TABLE_WIDTH = 560
"""Pixels of a table without a chart: wider, its numbers would be far from its labels."""
NO_MAXIMUM = 16_777_215  # QWIDGETSIZE_MAX

_CLASS_ENDINGS = (
    ("ForMaskedLM", "masked-lm"),
    ("ForPreTraining", "pretraining"),
    ("LMHeadModel", "pretraining"),
    ("ForCausalLM", "causal-lm"),
    ("ForSequenceClassification", "sequence-classification"),
    ("ForTokenClassification", "token-classification"),
    ("ForQuestionAnswering", "question-answering"),
    ("ForNextSentencePrediction", "next-sentence"),
)
"""Endings of the class names in a checkpoint's ``architectures``, and their tasks."""

_NEXT = QT_TRANSLATE_NOOP("PredictionsView", "next-token prediction")


class PredictionsView(RunView[object]):
    """Predicted tokens, class scores or both; or buttons that open the model with a head."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._rerun: tuple[ModelSource, ActivationRun] | None = None
        self._shown: Hashable = None  # the runs whose classes are shown
        self._random = named(plain_label(""), "randomPredictions")
        self._random.setForegroundRole(WARNING)
        self._random.setFont(weighted(self._random.font()))
        self._words = WordsPanel(workspace)
        self._classes = ClassesPanel(workspace)
        self._panels = split(self._classes, self._words, sizes=(210, 870))
        self._content = ContentStack(self._panels, "noPredictions")
        vbox(self._random, (self._content, 1), parent=self, margins=(0, 4, 0, 0), spacing=4)
        workspace.runs.run_changed.connect(self._forget)
        workspace.runs.comparison_changed.connect(self._on_comparison)
        workspace.architecture_changed.connect(self._run_again)
        workspace.heads_known.connect(self._on_heads)
        for signal in (workspace.jobs.errored, workspace.jobs.cancelled):
            signal.connect(self._cancel_rerun)

    @override
    def topic(self, title: str) -> ViewTopic:
        return ViewTopic(title, predictions=self._words.shown)

    @override
    def refresh(self) -> None:
        run, architecture = self.workspace.runs.run, self.workspace.architecture
        if run is None or architecture is None:
            return
        scores = classification(run, architecture)
        has_words = bool(predicted_positions(run, architecture))
        has_head = has_words or scores is not None
        self._words.setVisible(has_words)
        self._classes.setVisible(scores is not None)
        text = self._random_text(run, has_words, scores)
        self._random.setText(text)
        self._random.setVisible(bool(text))
        if scores is not None:
            self._show_classes((run, scores), architecture)
        if has_words:
            self._words.refresh()
        else:
            self._words.forget()
        if has_head:
            self._content.show_content()
        else:
            self._offer_heads(run, architecture)

    @override
    def clear(self) -> None:
        super().clear()
        self._forget()

    def _show_classes(self, b: Scored, architecture: Architecture) -> None:
        runs = self.workspace.runs
        shown = runs.current, runs.baseline, runs.comparison
        if shown == self._shown:
            # 512 tokens take a while to draw.
            self._classes.mark_token()
            return
        self._shown = shown
        baseline = runs.baseline
        other = None if baseline is None else classification(baseline.run, architecture)
        a = None if baseline is None or other is None else (baseline.run, other)
        self._classes.show_scores(b, a, self.partners())

    def _forget(self) -> None:
        """Keep no run alive."""
        self._shown = None
        self._words.forget()
        self._classes.forget()

    def _on_comparison(self) -> None:
        if self.workspace.runs.baseline is None:
            self._forget()

    def _random_text(self, run: ActivationRun, has_words: bool, scores: ClassScores | None) -> str:
        """Return a warning if the head's tensors are random, else "".

        Where all weights are random, there is a warning above all views.
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
        """Say that there is no head, and show a button for each that can be added."""
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
                ).format(", ".join(_head_name(name, architecture) for name in random))
        actions = []
        for name in heads:
            title = (
                self.tr("Add a random {0} head") if name in random else self.tr("Add a {0} head")
            )
            actions.append(
                CallToAction(
                    title.format(_head_name(name, architecture)),
                    partial(self._open, name),
                    tooltip=self.tr("Open the model with this head and run the sentence again"),
                    name=f"openHead-{name}",
                )
            )
        self._content.show_message(text, *actions)

    def _on_heads(self) -> None:
        if self.isVisible() and not self._content.is_content_shown:
            self.refresh()

    def _open(self, task: str) -> None:
        run, source = self.workspace.runs.run, self.workspace.source
        if run is not None and source is not None:
            self._rerun = source, run
            self.workspace.open_head(task)

    def _cancel_rerun(self) -> None:
        self._rerun = None

    def _run_again(self) -> None:
        """Run the sentence again if the model has been opened with another head."""
        rerun, self._rerun = self._rerun, None
        source = self.workspace.source
        if rerun is None or source is None or rerun[0].path != source.path:
            return
        run = rerun[1]
        is_random = run.source.weights == "random"
        self.workspace.deferred.add(lambda: self.workspace.run_sentence(run.sentence, is_random))


class ClassesPanel(QWidget):
    """The best answer, a table of scores, and a chart if they are of tokens or an answer span."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._b: Scored | None = None
        self._a: Scored | None = None
        self._partners = Alignment()
        self._best = named(plain_label(""), "classSummary")
        self._table = FigureView(workspace, "classTable", self.tr("Scores of the classes"))
        self._grid = ChartPanel(workspace, self.tr("Probability of each label"), Heatmap)
        self._grid.plot.setObjectName("labelGrid")
        self._answer = ChartPanel(workspace, self.tr("Start and end of the answer"), LinePlot)
        self._answer.plot.setObjectName("answerPlot")
        self._columns = split(self._table, self._grid, self._answer, sizes=(480, 600, 600))
        vbox(self._best, (hbox(self._columns, 0), 1), parent=self, spacing=4)
        self._table.chosen.connect(workspace.selection.go)

    def show_scores(self, b: Scored, a: Scored | None, partners: Alignment) -> None:
        """Show the scores of the current run, and of the baseline if there is one."""
        run, scores = b
        best = best_line(run, scores)
        self._best.setText(best)
        self._best.setVisible(bool(best))
        self._grid.setVisible(scores.of == "tokens")
        self._answer.setVisible(scores.of == "answer")
        has_chart = scores.of in ("tokens", "answer")
        self._columns.setMaximumWidth(NO_MAXIMUM if has_chart else MAX_TABLE_WIDTH)
        self._b, self._a, self._partners = b, a, partners
        of_a = None if a is None else a[1]
        self._table.show_table(scores_table(run, scores, of_a, partners.in_a))
        self.mark_token()
        self._workspace.deferred.add(self._show_chart)

    def _show_chart(self) -> None:
        if self._b is None:
            return
        (run, scores), a = self._b, self._a
        if scores.of == "tokens":
            grid = None if a is None else label_grid(*a)
            self._grid.show_charts(label_grid(run, scores), grid, self._partners)
        elif scores.of == "answer":
            tokens, partners = scores.tokens, self._partners.in_a
            lines = None if a is None else answer_chart(run, tokens, a[1], partners)
            self._answer.show_charts(answer_chart(run, tokens, scores), lines)

    def forget(self) -> None:
        """Keep no run alive; what is drawn stays."""
        self._b = self._a = None

    def mark_token(self) -> None:
        """Mark the selected token's row."""
        places = [place.token for place in self._table.shown.keys]
        token = self._workspace.selection.token
        self._table.mark(places.index(token) if token in places else None)


def _head_name(task: str, architecture: Architecture) -> str:
    if task == "pretraining" and predicts_next(architecture):
        return translate("PredictionsView", _NEXT)
    return find_task(task).title.lower()


def offered_heads(config: Mapping[str, Any], heads: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks that a base model may be opened for: its checkpoint's, and a vocabulary's.

    Args:
        config: the model's configuration, of which ``architectures`` is read.
        heads: the tasks that transformers has a class for.
    """
    own = [
        task
        for name in config.get("architectures") or ()
        for ending, task in _CLASS_ENDINGS
        if str(name).endswith(ending)
    ]
    # GPT-2 was pretrained with its language-modelling head.
    words = next((t for t in ("masked-lm", "pretraining", "causal-lm") if t in heads), None)
    wanted = dict.fromkeys((*own, *([words] if words else [])))
    return tuple(task for task in wanted if task in heads)
