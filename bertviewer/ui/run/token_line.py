"""The tokens of the last run as chips, beside the choice of what colours them."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

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
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.run.measure_choice import MeasureChoice
from bertviewer.ui.run.token_chips import TokenChips
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import hbox, vbox


class TokenLine(QWidget):
    """Chips that follow the run, and colours that follow the selected layer and head."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._layers: tuple[AttentionLayer, ...] = ()
        self._layer: AttentionLayer | None = None
        self._received = Request[Received](workspace.requests, self)
        self._probabilities = Request[tuple[float | None, ...]](workspace.requests, self)
        self._chips = TokenChips(workspace)
        self._choice = MeasureChoice()
        layout = hbox(
            (self._chips, 1), parent=self, margins=(3 * GRID, 0, 2 * GRID, 0), spacing=2 * GRID
        )
        choice = vbox((self._choice, Qt.AlignmentFlag.AlignTop), margins=(0, GRID, 0, 0))
        layout.addLayout(choice)
        self._choice.chosen.connect(self._color)
        for request in (self._received, self._probabilities):
            request.finished.connect(self._color)
            request.late.connect(self._show_wait)
        queue, selection = workspace.draw_queue, workspace.selection
        workspace.runs.run_changed.connect(lambda: queue.later(self._on_run))
        selection.row_changed.connect(lambda: queue.later(self._color))
        selection.head_changed.connect(lambda: queue.later(self._color))

    def _on_run(self) -> None:
        for request in (self._received, self._probabilities):
            request.forget()
        run, architecture = self._workspace.runs.run, self._workspace.architecture
        self._layers, self._layer = (), None
        if run is not None and architecture is not None:
            self._layers = attention_layers(architecture, run)
            self._choice.offer(self._measures())
        self._chips.show_run()
        self._color()

    def _measures(self) -> frozenset[MeasureName]:
        """Return what there can be figures of."""
        run, architecture = self._workspace.runs.run, self._workspace.architecture
        assert run is not None
        assert architecture is not None
        lacking = {
            "norm": not run.token_norms,
            "cosine": not run.hidden_states,
            "attention": not self._layers,
            "probability": not predicted_positions(run, architecture),
            "segment": len({token.segment for token in run.tokens}) < 2,
        }
        return frozenset(name for name in MEASURES if not lacking.get(name))

    def _color(self) -> None:
        watched = self._workspace.runs.watched
        measure = None if watched is None else self._measure(watched)
        if measure is not None:
            self._chips.show_measure(measure)
            self._choice.show_title(measure.title, self._error())

    def _measure(self, watched: RecordedRun) -> TokenMeasure | None:
        """Return the figures that are chosen, ``None`` while they are on their way."""
        run, name = watched.run, self._choice.name
        state = state_for(run, self._workspace.selection.place.path)
        if name != "attention":
            self._received.cancel()
        if name != "probability":
            self._probabilities.cancel()
        if name == "norm":
            return norm_measure(run, state)
        if name == "cosine":
            return cosine_measure(run, state)
        if name == "segment":
            return segment_measure(run)
        if name == "attention":
            return self._attention(watched)
        if name == "probability":
            if not self._probabilities.want(watched, partial(jobs.probabilities_job, watched)):
                return None
            return probability_measure(self._probabilities.result or ())
        return no_measure()

    def _attention(self, watched: RecordedRun) -> TokenMeasure | None:
        architecture, selection = self._workspace.architecture, self._workspace.selection
        assert architecture is not None
        path = selection.place.path or ""
        self._layer = layer = shown_layer(architecture, self._layers, path, self._layer)
        if layer is None:
            return no_measure()
        work = partial(jobs.received_job, layer, watched)
        if not self._received.want((watched, layer), work):
            return None
        received = self._received.result
        if received is None:
            return no_measure()
        return attention_measure(watched.run, received, selection.head or 0, layer.name)

    def _error(self) -> str:
        """Return why the chosen figures cannot be had, "" if they can."""
        name = self._choice.name
        if name == "attention":
            return self._received.error
        return self._probabilities.error if name == "probability" else ""

    def _show_wait(self) -> None:
        self._choice.show_title(self.tr("computing…"))
