"""Chips of the run's tokens, and the choice of the measure that colours them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.labels import shortened
from bertviewer.charts.theme import GRID
from bertviewer.charts.token_measures import (
    MEASURES,
    MeasureName,
    TokenMeasure,
    attention_measure,
    cosine_measure,
    no_measure,
    norm_measure,
    probability_measure,
    segment_measure,
    state_for,
)
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers, shown_layer
from bertviewer.core.analysis.attention_maps import Received
from bertviewer.core.analysis.predictions import predicted_positions
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.run.token_chips import TokenChips
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import ARROW, MenuButton
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox

_TITLES: Mapping[MeasureName, str] = {
    "norm": QT_TRANSLATE_NOOP("MeasureChoice", "Norm ‖h‖ after the selected layer"),
    "cosine": QT_TRANSLATE_NOOP("MeasureChoice", "Cosine to the token’s initial vector"),
    "attention": QT_TRANSLATE_NOOP("MeasureChoice", "Attention received by the token"),
    "probability": QT_TRANSLATE_NOOP("MeasureChoice", "Probability of the token"),
    "segment": QT_TRANSLATE_NOOP("MeasureChoice", "Segment"),
    "none": QT_TRANSLATE_NOOP("MeasureChoice", "No colour"),
}
MAX_LENGTH = 44


class TokenLine(QWidget):
    """Chips of the current run; their colours follow the selected layer and head."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._layers: tuple[AttentionLayer, ...] = ()
        self._layer: AttentionLayer | None = None
        self._received = Request[Received](workspace.jobs, self)
        self._probabilities = Request[tuple[float | None, ...]](workspace.jobs, self)
        self._requests: dict[MeasureName, Request[Any]] = {
            "attention": self._received,
            "probability": self._probabilities,
        }
        self._chips = TokenChips(workspace)
        self._choice = MeasureChoice()
        choice = vbox((self._choice, Qt.AlignmentFlag.AlignTop), margins=(0, GRID, 0, 0))
        margins = (3 * GRID, 0, 2 * GRID, 0)
        hbox((self._chips, 1), choice, parent=self, margins=margins, spacing=2 * GRID)
        self._choice.chosen.connect(self._color)
        for request in self._requests.values():
            request.finished.connect(self._color)
            request.late.connect(self._show_busy)
        queue, selection = workspace.deferred, workspace.selection
        workspace.runs.run_changed.connect(lambda: queue.add(self._on_run))
        selection.row_changed.connect(lambda: queue.add(self._color))
        selection.head_changed.connect(lambda: queue.add(self._color))

    def _on_run(self) -> None:
        for request in self._requests.values():
            request.forget()
        run, architecture = self._workspace.runs.run, self._workspace.architecture
        self._layers, self._layer = (), None
        if run is not None and architecture is not None:
            self._layers = attention_layers(architecture, run)
            self._choice.offer(self._available(run, architecture))
        self._chips.show_run()
        self._color()

    def _available(self, run: ActivationRun, architecture: Architecture) -> frozenset[MeasureName]:
        """Return the measures that a run has."""
        missing = {
            "norm": not run.token_norms,
            "cosine": not run.hidden_states,
            "attention": not self._layers,
            "probability": not predicted_positions(run, architecture),
            "segment": len({token.segment for token in run.tokens}) < 2,
        }
        return frozenset(name for name in MEASURES if not missing.get(name))

    def _color(self) -> None:
        current, name = self._workspace.runs.current, self._choice.name
        for other, request in self._requests.items():
            if other != name:
                request.cancel()
        measure = None if current is None else self._measure(current, name)
        if measure is not None:
            error = self._requests[name].error if name in self._requests else ""
            self._chips.show_measure(measure)
            self._choice.show_title(measure.title, error)

    def _measure(self, recorded: RecordedRun, name: MeasureName) -> TokenMeasure | None:
        """Return a measure of the tokens, ``None`` if it has been requested."""
        run = recorded.run
        state = state_for(run, self._workspace.selection.place.path)
        match name:
            case "norm":
                return norm_measure(run, state)
            case "cosine":
                return cosine_measure(run, state)
            case "segment":
                return segment_measure(run)
            case "attention":
                return self._attention(recorded)
            case "probability":
                work = partial(jobs.probabilities_job, recorded)
                is_known = self._probabilities.want(recorded, work)
                return probability_measure(self._probabilities.result or ()) if is_known else None
            case _:
                return no_measure()

    def _attention(self, recorded: RecordedRun) -> TokenMeasure | None:
        architecture, selection = self._workspace.architecture, self._workspace.selection
        assert architecture is not None
        path = selection.place.path or ""
        self._layer = layer = shown_layer(architecture, self._layers, path, self._layer)
        if layer is None:
            return no_measure()
        work = partial(jobs.received_job, layer, recorded)
        if not self._received.want((recorded, layer), work):
            return None
        received = self._received.result
        if received is None:
            return no_measure()
        return attention_measure(recorded.run, received, selection.head or 0, layer.name)

    def _show_busy(self) -> None:
        self._choice.show_title(self.tr("computing…"))


class MeasureChoice(MenuButton):
    """Menu button that names the measure that the colours show."""

    def __init__(self) -> None:
        super().__init__("tokenMeasure", "")
        self.setAccessibleName(self.tr("What the token colours show"))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._actions = {
            name: named(self.add(name, self.tr(_TITLES[name])), f"measure-{name}")
            for name in MEASURES
        }
        self._actions["norm"].setChecked(True)

    @property
    def name(self) -> MeasureName:
        """The chosen measure."""
        return next(name for name, action in self._actions.items() if action.isChecked())

    def offer(self, names: frozenset[MeasureName]) -> None:
        """Enable these measures; choose none if the chosen one is not among them."""
        for name, action in self._actions.items():
            action.setEnabled(name in names)
        if self.name not in names:
            self._actions["none"].setChecked(True)

    def show_title(self, title: str, tooltip: str = "") -> None:
        """Set the title of the measure."""
        text = self.tr("colour: {0}").format(shortened(title, MAX_LENGTH))
        self.setText(f"{text} {ARROW}")
        self.setToolTip(plain_tooltip(tooltip or self.tr("colour: {0}").format(title)))
