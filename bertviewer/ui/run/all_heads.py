"""A figure of every head in every layer: where a model looks far, and where at one token only."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from bertviewer.charts.attentions import HeadFigures, Measure, figures_chart
from bertviewer.charts.chart import GridChart
from bertviewer.charts.comparison import Partners
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.plots.grid_plot import PairGrid
from bertviewer.ui.charts.chart_panel import ChartPanel
from bertviewer.ui.run import jobs
from bertviewer.ui.run.view import View
from bertviewer.ui.run_request import RunRequest
from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.watched_run import WatchedRun
from bertviewer.ui.workspace import Workspace

Figures = dict[AttentionLayer, HeadFigures]

MEASURES: tuple[tuple[Measure, str], ...] = (
    ("entropy", QT_TRANSLATE_NOOP("AllHeads", "entropy")),
    ("distance", QT_TRANSLATE_NOOP("AllHeads", "distance")),
)


class AllHeads(View):
    """Entropy or distance of all heads of all layers, layers upwards.

    Layer by layer is requested while this is in sight, so that others get their turn between them,
    and each row is shown as soon as it is there. ``chosen`` says that a person clicked
    another layer.
    """

    chosen = Signal(object)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._layers: tuple[AttentionLayer, ...] = ()
        self._current: AttentionLayer | None = None
        self._known: dict[WatchedRun, Figures] = {}
        self._request = RunRequest[HeadFigures](workspace, self)
        self._wanted: AttentionLayer | None = None
        self._drawn: object = None
        self._measure = QComboBox()
        self._measure.setObjectName("headMeasure")
        self._measure.setAccessibleName(self.tr("Figure that is shown of each head"))
        for measure, title in MEASURES:
            self._measure.addItem(self.tr(title), measure)
        self._grids: list[PairGrid] = []
        self._panel = ChartPanel(workspace, "", self._make_grid, (self._measure,))
        self._grids[0].setObjectName("allHeads")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._panel)
        self._measure.currentIndexChanged.connect(self._show)
        self._request.finished.connect(self._on_finished)
        workspace.runs.run_changed.connect(self._forget)
        workspace.runs.comparison_changed.connect(self._forget)
        # There may be runs already.
        self._forget()

    @property
    def measure(self) -> Measure:
        """The figure that is shown."""
        measure: Measure = self._measure.currentData()
        return measure

    def follow(self, layers: Sequence[AttentionLayer], current: AttentionLayer) -> None:
        """Take over which attentions there are, and which one is shown large."""
        self._layers, self._current = tuple(layers), current

    def refresh(self) -> None:
        """Show what is known, and request what is not."""
        self._show()
        self._want_next()

    def cancel(self) -> None:
        """Request nothing more; what is known stays."""
        self._request.cancel()

    def _forget(self) -> None:
        """Keep no more of runs that are gone."""
        self._known = {run: self._known.get(run, {}) for run in self.workspace.runs.both}
        self._drawn = None

    def _missing(self) -> list[AttentionLayer]:
        runs = self._known.values()
        return [layer for layer in self._layers if any(layer not in known for known in runs)]

    def _want_next(self) -> None:
        layer = next(iter(self._missing()), None)
        if layer is not None:
            self._wanted = layer
            self._request.want_of_runs(layer, partial(jobs.head_figures_job, layer))

    def _on_finished(self) -> None:
        result, error = self._request.result, self._request.error
        if result is not None and self._wanted is not None:
            for run, figures in result.found.items():
                # It may be gone by now.
                if run in self._known:
                    self._known[run][self._wanted] = figures
        # What is known is kept here; what is not is tried once more with the next refresh.
        self._request.forget()
        if error:
            self._drawn = None
            self._panel.show_message(error)
            return
        self._show()
        self._want_next()

    def _show(self) -> None:
        done = len(self._layers) - len(self._missing())
        is_done = done == len(self._layers)
        title = self.tr("All heads") if is_done else self.tr("computing… {0} of {1}")
        self._panel.set_title(title.format(done, len(self._layers)))
        shown = (
            self.workspace.runs.both,
            self.workspace.runs.comparison,
            self.measure,
            self._layers,
            done,
        )
        if shown != self._drawn:
            self._drawn = shown
            charts = [self._chart(run) for run in self.workspace.runs.both]
            self._panel.show_charts(charts[0], charts[1] if charts[1:] else None, Partners())
        for grid in self._grids:
            grid.mark_row(
                self._layers.index(self._current) if self._current in self._layers else None
            )

    def _make_grid(self) -> PairGrid:
        grid = PairGrid()
        grid.paired.connect(self._on_cell)
        self._grids.append(grid)
        return grid

    def _chart(self, run: WatchedRun) -> GridChart:
        return figures_chart(self._layers, self._known.get(run, {}), self.measure, translate)

    def _on_cell(self, row: int, _column: int) -> None:
        self.chosen.emit(self._layers[row])
