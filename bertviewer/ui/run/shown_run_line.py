"""Says at all times what the views are of, and when that is no longer what is typed or chosen."""

import re

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame, QSizePolicy

from bertviewer.charts.theme import GRID, NORMAL
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated
from bertviewer.plots.fonts import sized
from bertviewer.ui.run.compare_bar import CompareBar
from bertviewer.ui.run.notes import run_notes
from bertviewer.ui.state.model_comparison import short_name
from bertviewer.ui.state.weights_text import weights_words
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.staleness import why_stale
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named

LONGEST_TIP = 1000
LEAST, LEAST_NOTE = 120, 220
"""Pixels of the sentence, and of a note, that are left however short the room is."""

ALL_ROOM = 100
"""Beside the 1 of the empty room behind it."""


class ShownLine(QFrame):
    """The sentence, the model and its weights; what one has to know of them; run A; Run again.

    ``stale_changed`` says that results are no longer those of what is typed, or are again.
    """

    stale_changed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("shownLine")
        self._stale = named(ElidedLabel(), "staleResults")
        self._shown = named(ElidedLabel(), "shownSentence")
        self._shown.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._notes = named(ElidedLabel(), "runWarning")
        self._notes.setForegroundRole(WARNING)
        for label in (self._stale, self._shown, self._notes):
            label.setFont(sized(label.font(), NORMAL))
        self._compare = CompareBar(workspace)
        self._again = flat_button("runAgainButton", self.tr("Run again"), "")
        self._again.setAccessibleName(self.tr("Run again"))
        self._line = hbox(
            self._stale,
            self._notes,
            self._shown,
            STRETCH,
            self._compare,
            self._again,
            parent=self,
            margins=(3 * GRID, 0, 3 * GRID, 0),
            spacing=2 * GRID,
        )
        self._again.clicked.connect(workspace.run_next)
        workspace.next_run.changed.connect(self._update)
        workspace.device_chosen.connect(self._update)
        workspace.devices_changed.connect(self._update)
        workspace.scheduler.activity_changed.connect(self._update)
        workspace.runs.run_changed.connect(self._update)
        workspace.runs.comparison_changed.connect(self._update)
        self._update()

    @property
    def least(self) -> int:
        """How many pixels it needs: for all that the field and the tokens do not say too."""
        needed = 0 if self._workspace.runs.watched_a is not None else LEAST
        if self.is_stale:
            buttons = self._again.sizeHint().width()
            needed = LEAST + self._stale.sizeHint().width() + buttons + 4 * GRID
        if self._notes.text():
            needed += min(LEAST_NOTE, self._notes.sizeHint().width())
        if self._workspace.runs.watched_a is not None:
            needed += self._compare.minimumSizeHint().width() + 7 * GRID
        return needed

    @property
    def stale(self) -> str:
        """What has changed since the run, "" if nothing has."""
        return self._stale.text()

    @property
    def is_stale(self) -> bool:
        """Whether something has changed since the run."""
        return bool(self.stale)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Set stale results off by a field; Qt calls it."""
        super().paintEvent(event)
        if self.is_stale:
            painter = QPainter(self)
            # Beside what marks all results.
            field = self.rect().adjusted(GRID, 0, 0, 0)
            painter.fillRect(field, self.palette().color(QPalette.ColorRole.AlternateBase))
            painter.end()

    def _update(self) -> None:
        workspace = self._workspace
        run, architecture = workspace.runs.run, workspace.architecture
        if run is None or architecture is None:
            return
        stale, before = why_stale(run, workspace.next_run, workspace.device), self.stale
        self._stale.setText(stale)
        self._stale.setVisible(bool(stale))
        self._stale.setMinimumWidth(self._stale.sizeHint().width() if stale else 0)
        self._shown.setText(self._described(run))
        tip = f"{_sentence(run)[:LONGEST_TIP]}\n{run.source.name[:LONGEST_TIP]}"
        self._shown.setToolTip(plain_tooltip(tip))
        self._shown.setAccessibleName(" ".join(filter(None, (stale, self._shown.text()))))
        notes = " ".join(run_notes(run, architecture))
        self._notes.setText(notes)
        self._notes.setToolTip(plain_tooltip(notes))
        self._notes.setMinimumWidth(self._least_of(notes))
        self._notes.setVisible(bool(notes))
        # What notes leave, its beginning in any case. Beside run A's it has its share.
        is_alone = workspace.runs.watched_a is None
        across = QSizePolicy.Policy.Ignored if is_alone else QSizePolicy.Policy.Preferred
        self._shown.setSizePolicy(across, QSizePolicy.Policy.Preferred)
        self._shown.setMinimumWidth(LEAST if is_alone else 0)
        self._line.setStretchFactor(self._shown, ALL_ROOM if is_alone else 0)
        lacking = workspace.next_run.lacking
        self._again.setVisible(bool(stale))
        self._again.setEnabled(not lacking and not workspace.scheduler.activity)
        self._again.setToolTip(
            lacking or self.tr("Run the current sentence with the current settings (Ctrl+R)")
        )
        self.update()
        if bool(stale) != bool(before):
            self.stale_changed.emit()

    def _least_of(self, notes: str) -> int:
        """Return how many pixels the first words of the notes take, which say what matters."""
        first, *rest = re.split(":| –", notes, maxsplit=1)
        least = self._notes.fontMetrics().horizontalAdvance(f"{first}…" if rest else notes)
        return min(LEAST_NOTE, least + 1)

    def _described(self, run: ActivationRun) -> str:
        source = run.source
        parts = [f"“{isolated(' '.join(_sentence(run).split()))}”", short_name(source.name)]
        if source.task != "base":
            parts.append(source.task)
        parts.append(weights_words(source))
        if run.device != "cpu":
            parts.append(run.device)
        return " · ".join(parts)


def _sentence(run: ActivationRun) -> str:
    return " / ".join(filter(None, (run.sentence.text, run.sentence.pair)))
