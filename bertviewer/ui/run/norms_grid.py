"""A grid of tokens and layers: the norms of a part of the layers, or one feature of the states."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.labels import norm_after
from bertviewer.charts.token_charts import feature_grid, has_norms, norms_chart, part_norms_chart
from bertviewer.core.analysis.layers import Series, layer_series
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.run.part_measures import PartMeasures
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.message import Offer


class NormsGrid(ChartPanel):
    """Draws only what is new: 512 tokens take a while to draw."""

    def __init__(
        self, workspace: Workspace, measures: PartMeasures, controls: Sequence[QWidget] = ()
    ) -> None:
        super().__init__(workspace, "", GridPlot, controls, has_axis_titles=False)
        self.plot.setObjectName("tokenHeatmap")
        self._measures = measures
        self._drawn: object = None  # what is shown

    def series(self, watched: RecordedRun, part: str | None) -> tuple[Series, ...]:
        """Return the layers' part whose norms are shown of a run; () is the hidden states.

        These stay while a person walks about the tree, where ``part`` is ``None``.
        """
        architecture = self._workspace.architecture
        if architecture is not None and (part or not watched.run.token_norms):
            return layer_series(architecture, watched.run, part or "")
        return ()

    def show_norms(
        self, watched: RecordedRun, part: str | None, partners: Alignment, offer: Offer
    ) -> None:
        """Show the norms of a part, which are measured by now; without one, the hidden states'.

        ``offer`` is what can be done where it has none.
        """

        def chart(run: RecordedRun) -> GridChart:
            series = self.series(run, part)
            if not series:
                return norms_chart(run.run)
            return part_norms_chart(run.run, series, self._measures.of(run))

        series = self.series(watched, part)
        name = series[0].part if series else ""
        self.set_title(
            self.tr("Token norms of {0} by layer").format(name)
            if name
            else self.tr("Token norms ‖h‖ by layer"),
            "" if series else self._norm_tip(watched),
        )
        if series and not has_norms(watched.run, series):
            self.forget()
            self.show_message(self.tr("This part has no per-token vectors."), offer)
        else:
            self._draw(series, chart, partners)

    def show_feature(self, feature: int, partners: Alignment) -> None:
        """Show one feature of the hidden states."""
        self.set_title(
            self.tr("Feature {0} by layer").format(feature),
            self._norm_tip(self._workspace.runs.watched),
        )
        self._draw(feature, lambda run: feature_grid(run.run, feature), partners)

    def _norm_tip(self, watched: RecordedRun | None) -> str:
        """Return what the last row is, where it is not what the last layer gives."""
        norm = "" if watched is None else norm_after(watched.run)
        if not norm:
            return ""
        return self.tr(
            "Rows are the hidden states. The last one is taken after {0}; the lines show "
            "the last layer’s output, before it."
        ).format(norm)

    def forget(self) -> None:
        """Draw anew next time: runs are large."""
        self._drawn = None

    def _draw(
        self, what: object, make: Callable[[RecordedRun], GridChart], partners: Alignment
    ) -> None:
        workspace, before = self._workspace, self._drawn
        b, a = workspace.runs.watched, workspace.runs.watched_a
        self._drawn = b, a, workspace.runs.comparison, what
        if b is not None and self._drawn != before:
            self.show_charts(make(b), None if a is None else make(a), partners)
