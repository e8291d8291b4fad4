"""A statistic of any part layer by layer, beside the tokens' norms; or one feature in both."""

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut

from bertviewer.charts.chart import LineChart
from bertviewer.charts.layers import (
    BAND,
    SPREAD,
    not_finite,
    selected_series,
    series_chart,
    token_class_chart,
)
from bertviewer.charts.theme import GRID
from bertviewer.charts.token_charts import feature_chart
from bertviewer.core.analysis.layers import Series, layer_series, part_names
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.schema.architecture import Architecture
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.run.equal_note import EqualNote
from bertviewer.ui.run.layer_controls import ALL, LayerControls
from bertviewer.ui.run.norms_grid import NormsGrid
from bertviewer.ui.run.notes import not_finite_note
from bertviewer.ui.run.offers import after_error, another_view
from bertviewer.ui.run.outlier_bar import OutlierBar
from bertviewer.ui.run.part_measures import PartMeasures
from bertviewer.ui.run.view import View
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.message import Offer
from bertviewer.ui.widgets.layouts import ResponsiveSplitter, vbox

Made = TypeVar("Made")


class LayersView(View):
    """Lines over the layers, and a grid of tokens and layers; both show the same part."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._controls = LayerControls()
        self._outliers = OutlierBar(workspace)
        self._measures = PartMeasures(self)
        self._waiting: list[ChartPanel] = []  # for what is being measured
        self._layers = ChartPanel(workspace, "", LinePlot, (self._controls,), has_axis_titles=False)
        self._layers.plot.setObjectName("layerPlot")
        self._norms = NormsGrid(workspace, self._measures, (self._outliers,))
        self._why = EqualNote()
        self._arrange()
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(workspace.selection.clear_feature)
        self._controls.changed.connect(self._show)
        workspace.statistic_wanted.connect(self._controls.choose_statistic)
        self._outliers.changed.connect(self._on_outliers)
        self._measures.changed.connect(self._show)
        self._measures.late.connect(self._show_wait)
        self._measures.errored.connect(self._show_failure)
        workspace.runs.run_changed.connect(self._norms.forget)

    def _arrange(self) -> None:
        plots = ResponsiveSplitter(self._layers, self._norms, (1, 1))
        self._layers.setContentsMargins(0, 0, 2 * GRID, 0)
        self._norms.setContentsMargins(2 * GRID, 0, 0, 0)
        vbox(self._why, (plots, 1), parent=self, margins=(0, GRID, 0, 0), spacing=2)

    @property
    def statistic(self) -> str:
        """The statistic that is chosen."""
        return self._controls.statistic

    def refresh(self) -> None:
        """Show both charts."""
        run, architecture = self.workspace.runs.run, self.workspace.architecture
        if run is None or architecture is None:
            return
        self._controls.set_parts(part_names(architecture, run))
        self._controls.set_classes(token_classes(run))
        self._outliers.refresh()
        self._why.show_run(run, architecture)
        self._show()

    def _on_outliers(self) -> None:
        if self.workspace.selection.feature is not None:
            self._show()

    def _show(self) -> None:
        watched = self.workspace.runs.watched
        if watched is None:
            return
        feature = self._feature(watched)
        self._controls.set_feature_shown(feature is not None)
        self._waiting = []
        if feature is None:
            self._show_part(watched)
        else:
            self._measures.cancel()
            self._show_feature(feature)
        # In a turn of its own: both at once would be felt.
        self.workspace.draw_queue.later(self._show_grid)

    def _show_grid(self) -> None:
        watched = self.workspace.runs.watched
        if watched is None or self._norms in self._waiting:
            return
        feature = self._feature(watched)
        if feature is None:
            self._norms.show_norms(
                watched, self._controls.part, self.partners(), self._output_offer()
            )
        else:
            self._norms.show_feature(feature, self.partners())

    def _feature(self, watched: RecordedRun) -> int | None:
        """Return the selected feature, ``None`` if a run has no such one."""
        feature, states = self.workspace.selection.feature, watched.run.hidden_states
        is_there = feature is not None and bool(states) and feature < states[0].shape[1]
        return feature if is_there else None

    def _show_part(self, watched: RecordedRun) -> None:
        lines = self._line_series(watched)
        grid = self._norms.series(watched, self._controls.part)
        of_tokens = lines if self._controls.token_class != ALL else ()
        # A run has the norms of each module's last call.
        of_calls = tuple(one for one in grid if one.is_shared)
        wanted = [path for one in (*of_tokens, *of_calls) for path in one.paths]
        # Before they are asked for: why they cannot be had may be known at once.
        for panel, is_waiting in ((self._layers, of_tokens), (self._norms, of_calls)):
            if is_waiting:
                self._waiting.append(panel)
        if self._measures.want(wanted):
            self._waiting = []
        if self._layers not in self._waiting:
            self._show_lines(lines)

    def _show_lines(self, series: tuple[Series, ...]) -> None:
        title = self._lines_title(series)
        layers = [not_finite(run.run, self._line_series(run)) for run in self.workspace.runs.both]
        if note := not_finite_note(*layers):
            tip = self.tr("{0}. Statistics cover finite values only.").format(note)
            self._layers.set_title(f"{title} · {note}", tip)
        else:
            self._layers.set_title(title)
        charts = self._both(self._line_chart)
        if not series:
            offer = another_view(self.workspace, "Histogram", self.tr("Show the histogram"))
            text = self.tr("This model has no sequence of layers.")
            self._layers.show_message(text, offer)
        elif not charts[0].lines:
            self._layers.show_message(
                self.tr("This part has no per-token vectors."), self._output_offer()
            )
        else:
            self._layers.show_charts(*charts)

    def _lines_title(self, series: tuple[Series, ...]) -> str:
        parts = tuple(dict.fromkeys(one.part for one in series))
        if "" not in parts:
            text = self.tr("{0} of {1} in each layer")
            return text.format(self.statistic, ", ".join(parts))
        title = self.tr("{0} of each layer’s output").format(self.statistic)
        others = ", ".join(part for part in parts if part)
        return self.tr("{0} and of {1}").format(title, others) if others else title

    def _line_chart(self, watched: RecordedRun) -> LineChart:
        run, statistic = watched.run, self.statistic
        series = self._line_series(watched)
        if self._controls.token_class == ALL:
            return series_chart(run, series, statistic)
        classes = self._controls.chosen(token_classes(run))
        return token_class_chart(run, series, statistic, classes, self._measures.of(watched))

    def _show_feature(self, feature: int) -> None:
        self._layers.set_title(self.tr("Feature {0} of the hidden states").format(feature))

        def lines(watched: RecordedRun) -> LineChart:
            classes = self._controls.chosen(token_classes(watched.run))
            # Run A's limits would be drawn over B's, and without their band.
            levels = self._outliers.levels if watched is self.workspace.runs.watched else ()
            return feature_chart(watched.run, feature, classes, levels)

        self._layers.show_charts(*self._both(lines))

    def _line_series(self, watched: RecordedRun) -> tuple[Series, ...]:
        """Return what there are lines of: the chosen part, or the layers and the selected one."""
        architecture, part = self._architecture, self._controls.part
        if part is not None:
            return layer_series(architecture, watched.run, part)
        output = layer_series(architecture, watched.run)
        selected = selected_series(architecture, watched.run, self._selected)
        is_simple = self._controls.token_class == ALL and self.statistic not in (SPREAD, BAND)
        return (*output, *selected) if is_simple or not selected else selected

    @property
    def _architecture(self) -> Architecture:
        architecture = self.workspace.architecture
        assert architecture is not None, "there is a run, and no model"
        return architecture

    @property
    def _selected(self) -> str:
        row = self.workspace.selection.row
        return "" if row is None else row.node.path

    def _both(self, make: Callable[[RecordedRun], Made]) -> tuple[Made, Made | None]:
        """Return what is made of the last run, and of run A if there is one."""
        made = [make(run) for run in self.workspace.runs.both]
        assert made, "a view without a run"
        return made[0], made[1] if len(made) > 1 else None

    def _show_wait(self) -> None:
        for panel in self._waiting:
            panel.show_wait()

    def _show_failure(self, error: str) -> None:
        self._norms.forget()
        for panel in self._waiting:
            panel.set_title("")  # it may say that this is being computed
            panel.show_message(error, after_error(self.workspace, error, self.refresh))

    def _output_offer(self) -> Offer:
        """Return the way to the part that each layer has."""
        return Offer(self.tr("Show the layer outputs"), self._controls.choose_output)
