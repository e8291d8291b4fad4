"""The run that is kept as A, and how the next ones are compared with it."""

from PySide6.QtWidgets import QWidget

from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.model_comparison import short_name
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import SegmentedControl, flat_button, tool_button
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import hbox, named

CHOICES = (
    ("overlay", QT_TRANSLATE_NOOP("CompareBar", "A and B")),
    ("difference", QT_TRANSLATE_NOOP("CompareBar", "B − A")),
)
LEAST = 24
"""Pixels of run A's name that are left however short the room is."""


class CompareBar(QWidget):
    """The sentence of run A and how to compare with it; hidden while there is none."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._name = named(ElidedLabel(), "keptRun")
        self._name.setMinimumWidth(LEAST)
        drop = flat_button("dropRun", "✕", self.tr("Stop comparing"))
        drop.clicked.connect(workspace.runs.drop)
        self._how = SegmentedControl(
            (tool_button(name, self.tr(title)) for name, title in CHOICES), 2
        )
        self._how.turned.connect(workspace.runs.compare)
        self._models = flat_button(
            "showComparison", self.tr("Models"), self.tr("Compare both models")
        )
        self._models.clicked.connect(workspace.comparison.window_wanted)
        hbox((self._name, 1), self._models, self._how, drop, parent=self, spacing=2)
        workspace.comparison.changed.connect(self._update)
        workspace.runs.comparison_changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        run_a = self._workspace.runs.watched_a
        self.setVisible(run_a is not None)
        self._models.setVisible(bool(self._workspace.comparison.other))
        if run_a is not None:
            sentence = run_a.run.sentence
            text = " / ".join(text for text in (sentence.text, sentence.pair) if text)
            model = "" if run_a.model is None else f"{short_name(run_a.run.source.name)} · "
            self._name.setText(f"A: {model}{text}")
        self._how.choose(self._workspace.runs.comparison)
