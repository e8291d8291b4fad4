"""Histogram view: distribution and statistics of the selected module's output."""

from functools import partial

from msgspec.structs import replace
from PySide6.QtWidgets import QCheckBox
from typing_extensions import override

from bertviewer.charts.chart import HistogramChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.statistics import common_range, histogram_chart, statistics_table
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.statistics.histograms import Histogram
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.ui.run import jobs
from bertviewer.ui.run.run_view import RunResults, RunView
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.data_view import Notice, Query
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.layouts import hbox, named, split

TABLE_WIDTH, COMPARED_TABLE_WIDTH = 240, 370  # pixels
LISTS = ("ModuleList", "ModuleDict")


class HistogramView(RunView[RunResults[Histogram | None]]):
    """The histogram of one module, computed from its output when the view is in sight."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        tip = self.tr("Use a logarithmic axis for the counts, so that small counts are visible")
        self._log = named(QCheckBox(self.tr("Log counts")), "logCounts", tooltip=tip)
        self.display = self._panel = ChartPanel(workspace, "", HistogramPlot, (self._log,))
        self._panel.plot.setObjectName("histogramPlot")
        self._statistics = FigureView(
            workspace, "statisticsTable", self.tr("Statistics of the output")
        )
        self._columns = split(self._panel, self._statistics, sizes=(800, TABLE_WIDTH))
        self._columns.setStretchFactor(0, 1)
        self._is_compared = False
        hbox(self._columns, parent=self, margins=(0, 4, 0, 0))
        self._log.toggled.connect(self.refresh)

    @override
    def query(self) -> Query[RunResults[Histogram | None]] | Notice | None:
        runs = self.workspace.runs
        self._log.setEnabled(runs.baseline is None or runs.comparison == "overlay")
        b, a = self._activations()
        if runs.current is not None and b is None:
            return Notice(self._not_called_text(), self._select_called_action())
        bounds = common_range(one.statistics for one in (b, a) if one is not None)
        key = self._path, bounds
        return self.query_runs(key, partial(jobs.histogram_job, *key))

    @override
    def draw(self, result: RunResults[Histogram | None]) -> None:
        b, a = self._activations()
        assert b is not None, "query() returns a notice"
        self._show_statistics(b, a)
        self._panel.show_charts(self._chart(result.b, b), self._chart(result.a, a))

    @override
    def show_notice(self, notice: Notice) -> None:
        b, a = self._activations()
        self._panel.set_title("")
        self._statistics.setVisible(b is not None)
        if b is not None:  # of a run from a file, or the histogram failed
            self._show_statistics(b, a)
        super().show_notice(notice)

    @property
    def _path(self) -> str:
        return self.workspace.selection.place.path or ""

    def _activations(self) -> tuple[ModuleActivation | None, ModuleActivation | None]:
        """Return what the current run and the baseline recorded of the module."""
        run, baseline = self.workspace.runs.run, self.workspace.runs.baseline
        return (
            None if run is None else run.activation(self._path),
            None if baseline is None else baseline.run.activation(self._path),
        )

    def _show_statistics(self, b: ModuleActivation, a: ModuleActivation | None) -> None:
        self._panel.set_title(self._title())
        self._statistics.show()
        self._statistics.show_table(statistics_table(b, a))
        is_compared = a is not None
        if is_compared != self._is_compared:
            self._is_compared = is_compared
            total = sum(self._columns.sizes())
            width = COMPARED_TABLE_WIDTH if is_compared else TABLE_WIDTH
            self._columns.setSizes([max(1, total - width), width])

    def _chart(
        self, found: Histogram | None, activation: ModuleActivation | None
    ) -> HistogramChart | None:
        if found is None or activation is None:
            return None
        chart = histogram_chart(found, activation.statistics, self._log.isChecked())
        # The axis title names the module for saved images and tables.
        return replace(chart, x_title=self.tr("Value of {0}").format(self._name()))

    def _name(self) -> str:
        row = self.workspace.selection.row
        return self._path or (row.node.class_name if row is not None else "")

    def _title(self) -> str:
        row = self.workspace.selection.row
        title = self.tr("Output of {0}").format(self._name())
        if row is not None and row.is_folded:
            return self.tr("{0}, the first of {1}").format(title, row.label)
        return title

    def _select_called_action(self) -> CallToAction:
        """Return the action that selects the first called module inside, or the whole model."""
        run = self.workspace.runs.run
        called = () if run is None else tuple(module.path for module in run.modules)
        inside = next((path for path in called if path.startswith(f"{self._path}.")), "")
        title = self.tr("Select {0}").format(inside) if inside else self.tr("Select the model")
        return CallToAction(title, lambda: self.workspace.selection.go(SelectionKey(inside)))

    def _not_called_text(self) -> str:
        row = self.workspace.selection.row
        if row is not None and row.node.class_name in LISTS:
            return self.tr(
                "{0} is a list, which is never called itself. Select one of its modules."
            ).format(self._path)
        return self.tr("{0} was not called in this run, or returns no tensor.").format(self._path)
