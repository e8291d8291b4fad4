"""Line that describes the shown run, warns if it is stale, and controls the baseline."""

import re

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, NORMAL
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.util.text import isolated
from bertviewer.plots.fonts import sized
from bertviewer.ui.run.notes import run_notes
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.runs import short_name, weights_text
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.staleness import why_stale
from bertviewer.ui.widgets.buttons import SegmentedControl, flat_button, tool_button
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named

MAX_TIP_LENGTH = 1000
MIN_WIDTH, MIN_NOTE_WIDTH, MIN_BASELINE_WIDTH = 120, 220, 24
"""Pixels of the sentence, of a warning and of the baseline's sentence that are always visible."""

SENTENCE_STRETCH = 100
"""Stretch factor of the sentence, against 1 of the stretch behind it."""

COMPARISONS = (
    ("overlay", QT_TRANSLATE_NOOP("BaselineBar", "A and B")),
    ("difference", QT_TRANSLATE_NOOP("BaselineBar", "B − A")),
)


class ShownRunLine(QFrame):
    """Sentence, model and weights; warnings; the baseline; and a button to run again.

    ``stale_changed`` is emitted when the run becomes stale or up to date.
    """

    stale_changed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.stale = ""
        """What has changed since the run, "" if nothing has."""
        self.setObjectName("shownLine")
        self._stale = named(ElidedLabel(), "staleResults")
        self._shown = named(ElidedLabel(), "shownSentence")
        self._shown.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._notes = named(ElidedLabel(), "runWarning")
        self._notes.setForegroundRole(WARNING)
        for label in (self._stale, self._shown, self._notes):
            label.setFont(sized(label.font(), NORMAL))
        self._baseline = BaselineBar(workspace)
        self._again = flat_button("runAgainButton", self.tr("Run again"), "")
        self._again.setAccessibleName(self.tr("Run again"))
        self._row = hbox(
            self._stale,
            self._notes,
            self._shown,
            STRETCH,
            self._baseline,
            self._again,
            parent=self,
            margins=(3 * GRID, 0, 3 * GRID, 0),
            spacing=2 * GRID,
        )
        self._again.clicked.connect(workspace.run_next)
        for signal in (
            workspace.run_input.changed,
            workspace.device_chosen,
            workspace.devices_changed,
            workspace.jobs.activity_changed,
            workspace.runs.run_changed,
            workspace.runs.comparison_changed,
        ):
            signal.connect(self._update)
        self._update()

    @property
    def min_width(self) -> int:
        """Pixels for everything that the sentence bar and the tokens do not show anyway."""
        has_baseline = self._workspace.runs.baseline is not None
        needed = 0 if has_baseline else MIN_WIDTH
        if self.stale:
            buttons = self._again.sizeHint().width()
            needed = MIN_WIDTH + self._stale.sizeHint().width() + buttons + 4 * GRID
        if self._notes.text():
            needed += min(MIN_NOTE_WIDTH, self._notes.sizeHint().width())
        if has_baseline:
            needed += self._baseline.minimumSizeHint().width() + 7 * GRID
        return needed

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.stale:
            painter = QPainter(self)
            # To the right of the stripe that marks all results.
            field = self.rect().adjusted(GRID, 0, 0, 0)
            painter.fillRect(field, self.palette().color(QPalette.ColorRole.AlternateBase))
            painter.end()

    def _update(self) -> None:
        workspace = self._workspace
        run, architecture = workspace.runs.run, workspace.architecture
        if run is None or architecture is None:
            return
        stale = why_stale(run, workspace.run_input, workspace.device)
        before, self.stale = self.stale, stale
        self._stale.setText(f"{stale}:" if stale else "")
        self._stale.setVisible(bool(stale))
        self._stale.setMinimumWidth(self._stale.sizeHint().width() if stale else 0)
        self._shown.setText(_description(run))
        tip = f"{_text(run.sentence)[:MAX_TIP_LENGTH]}\n{run.source.name[:MAX_TIP_LENGTH]}"
        self._shown.setToolTip(plain_tooltip(tip))
        name = " ".join(filter(None, (self._stale.text(), self._shown.text())))
        self._shown.setAccessibleName(name)
        notes = " ".join(run_notes(run, architecture))
        self._notes.setText(notes)
        self._notes.setToolTip(plain_tooltip(notes))
        self._notes.setMinimumWidth(self._min_note_width(notes))
        self._notes.setVisible(bool(notes))
        # The sentence gets what the notes leave; with a baseline it shares that with its bar.
        is_alone = workspace.runs.baseline is None
        horizontal = QSizePolicy.Policy.Ignored if is_alone else QSizePolicy.Policy.Preferred
        self._shown.setSizePolicy(horizontal, QSizePolicy.Policy.Preferred)
        self._shown.setMinimumWidth(MIN_WIDTH if is_alone else 0)
        self._row.setStretchFactor(self._shown, SENTENCE_STRETCH if is_alone else 0)
        disabled_reason = workspace.run_input.disabled_reason
        self._again.setVisible(bool(stale))
        self._again.setEnabled(not disabled_reason and not workspace.jobs.activity)
        self._again.setToolTip(
            disabled_reason
            or self.tr("Run the current sentence with the current settings (Ctrl+R)")
        )
        self.update()
        if bool(stale) != bool(before):
            self.stale_changed.emit()

    def _min_note_width(self, notes: str) -> int:
        """Return the width of the first words of the notes, which name the problem."""
        first, *rest = re.split(":| –", notes, maxsplit=1)
        width = self._notes.fontMetrics().horizontalAdvance(f"{first}…" if rest else notes)
        return min(MIN_NOTE_WIDTH, width + 1)


class BaselineBar(QWidget):
    """The baseline's sentence and how the current run is compared with it; hidden without one."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._name = named(ElidedLabel(), "keptRun")
        self._name.setMinimumWidth(MIN_BASELINE_WIDTH)
        remove = flat_button("dropRun", "✕", self.tr("Stop comparing"))
        remove.clicked.connect(workspace.runs.drop)
        self._comparison = SegmentedControl(
            (tool_button(name, self.tr(title)) for name, title in COMPARISONS), 2
        )
        self._comparison.turned.connect(workspace.runs.compare)
        self._models = flat_button(
            "showComparison", self.tr("Models"), self.tr("Compare both models")
        )
        self._models.clicked.connect(workspace.comparison.window_requested)
        hbox((self._name, 1), self._models, self._comparison, remove, parent=self, spacing=2)
        workspace.comparison.changed.connect(self._update)
        workspace.runs.comparison_changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        baseline = self._workspace.runs.baseline
        self.setVisible(baseline is not None)
        self._models.setVisible(bool(self._workspace.comparison.other))
        if baseline is not None:
            source = baseline.run.source
            model = "" if baseline.model is None else f"{short_name(source.name)} · "
            self._name.setText(f"A: {model}{_text(baseline.run.sentence)}")
        self._comparison.choose(self._workspace.runs.comparison)


def _description(run: ActivationRun) -> str:
    source = run.source
    parts = [f"“{isolated(' '.join(_text(run.sentence).split()))}”", short_name(source.name)]
    if source.task != "base":
        parts.append(source.task)
    parts.append(weights_text(source))
    if run.device != "cpu":
        parts.append(run.device)
    return " · ".join(parts)


def _text(sentence: Sentence) -> str:
    return " / ".join(filter(None, (sentence.text, sentence.pair)))
