"""How the output of the selected module is spread, beside its statistics."""

from functools import partial

from msgspec.structs import replace
from PySide6.QtWidgets import QCheckBox

from bertviewer.charts.chart import HistogramChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.statistics import common_range, histogram_chart, statistics_table
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.statistics.histograms import Histogram
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.ui.run import jobs
from bertviewer.ui.run.offers import retry
from bertviewer.ui.run.view import View
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.views.message import Offer
from bertviewer.ui.views.run_request import RunRequest
from bertviewer.ui.widgets.layouts import hbox, named, split

SINGLE, DOUBLE = 240, 370  # pixels of the table, without run A and with it
LISTS = ("ModuleList", "ModuleDict")


class HistogramView(View):
    """The histogram of one module, made of its output when the view is in sight."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._request = RunRequest[Histogram | None](workspace, self)
        tip = self.tr("Use a logarithmic axis for the counts, so that small counts are visible")
        self._log = named(QCheckBox(self.tr("Log counts")), "logCounts", tooltip=tip)
        self._panel = ChartPanel(workspace, "", HistogramPlot, (self._log,))
        self._panel.plot.setObjectName("histogramPlot")
        self._statistics = FigureView(
            workspace, "statisticsTable", self.tr("Statistics of the output")
        )
        self._columns = split(self._panel, self._statistics, sizes=(800, SINGLE))
        self._columns.setStretchFactor(0, 1)
        self._is_compared = False
        hbox(self._columns, parent=self, margins=(0, 4, 0, 0))
        self._log.toggled.connect(self.refresh)
        self._request.finished.connect(self.refresh)
        self._request.late.connect(self._panel.show_wait)
        workspace.runs.run_changed.connect(self._request.forget)
        workspace.runs.comparison_changed.connect(self._on_comparison)

    def refresh(self) -> None:
        """Show the selected module's histogram and statistics."""
        workspace = self.workspace
        watched, run_a = workspace.runs.watched, workspace.runs.watched_a
        if watched is None:
            return
        path = workspace.selection.place.path or ""
        b = watched.run.activation(path)
        a = None if run_a is None else run_a.run.activation(path)
        self._log.setEnabled(run_a is None or workspace.runs.comparison == "overlay")
        if b is None:
            self._request.cancel()
            self._statistics.hide()
            self._panel.set_title("")
            self._panel.show_message(self._why_not(path), self._called_offer(path))
            return
        bounds = common_range(one.statistics for one in (b, a) if one is not None)
        work = partial(jobs.histogram_job, path, bounds)
        if not self._request.want_of_runs(path, work):
            return
        self._panel.set_title(self._title(path))
        self._statistics.setVisible(True)
        self._statistics.show_table(statistics_table(b, a))
        self._give_room(a is not None)
        if self._request.error:
            self._panel.show_message(
                self._request.error, retry(workspace, self._request, self.refresh)
            )
        else:
            self._panel.show_charts(
                self._chart(self._request.b, b), self._chart(self._request.a, a)
            )

    def _on_comparison(self) -> None:
        if self.workspace.runs.watched_a is None:
            self._request.forget()

    def _give_room(self, is_compared: bool) -> None:
        """Widen the table for run A, and narrow it again without."""
        if is_compared != self._is_compared:
            self._is_compared = is_compared
            whole = sum(self._columns.sizes())
            width = DOUBLE if is_compared else SINGLE
            self._columns.setSizes([max(1, whole - width), width])

    def _chart(
        self, found: Histogram | None, activation: ModuleActivation | None
    ) -> HistogramChart | None:
        if found is None or activation is None:
            return None
        is_log = self._log.isChecked()
        chart = histogram_chart(found, activation.statistics, is_log)
        # A picture or a table of it has to tell.
        return replace(chart, x_title=self.tr("Value of {0}").format(self._name(activation.path)))

    def _name(self, path: str) -> str:
        row = self.workspace.selection.row
        return path or (row.node.class_name if row is not None else "")

    def _title(self, path: str) -> str:
        row = self.workspace.selection.row
        title = self.tr("Output of {0}").format(self._name(path))
        if row is not None and row.is_folded:
            return self.tr("{0}, the first of {1}").format(title, row.label)
        return title

    def _called_offer(self, path: str) -> Offer:
        """Return the way to a module that was called: the first one inside, or the whole model."""
        run = self.workspace.runs.run
        called = () if run is None else tuple(one.path for one in run.modules)
        inside = next((one for one in called if one.startswith(f"{path}.")), "")
        title = self.tr("Select {0}").format(inside) if inside else self.tr("Select the model")
        return Offer(title, lambda: self.workspace.selection.go(SelectionKey(inside)))

    def _why_not(self, path: str) -> str:
        row = self.workspace.selection.row
        if row is not None and row.node.class_name in LISTS:
            return self.tr(
                "{0} is a list, which is never called itself. Select one of its modules."
            ).format(path)
        return self.tr("{0} was not called in this run, or returns no tensor.").format(path)
