"""Grid of a measure of every head in every layer, or thumbnails of their attention."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from typing_extensions import override

from bertviewer.charts.attention import head_measures_chart, measure_names, most_keys
from bertviewer.charts.chart import GridChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    HeadMeasures,
    Measure,
    RankedHead,
    ranked_heads,
)
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.run import jobs
from bertviewer.ui.run.run_view import RunCache, RunView
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.views.data_view import Notice
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import vbox

MAX_NAMED = 5
"""Heads with the highest values that the tooltip names."""


class AllHeads(RunView[object]):
    """A row for each layer, from bottom to top, computed and shown one after the other.

    The head with the highest value is marked and named. ``chosen`` carries the layer that the user
    has clicked.
    """

    chosen = Signal(object)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._layers: tuple[AttentionLayer, ...] = ()
        self._current: AttentionLayer | None = None
        self._cache = RunCache[AttentionLayer, jobs.HeadsOfLayer](self, jobs.heads_job, 1)
        self._drawn: object = None
        self._names: dict[Measure, str] = {}
        self._measure = ChoiceBox("headMeasure", self.tr("Measure shown for each head"))
        tip = self.tr(
            "Show each head’s attention matrix instead of the measure.\nSquare-root colour "
            "scale, up to the largest weight of the same head."
        )
        self._thumbnails = tool_button(
            "headPictures", self.tr("Thumbnails"), tip, is_checkable=True
        )
        self._highest = tool_button("bestHead", "")
        for button in (self._thumbnails, self._highest):
            button.setAutoRaise(True)
        self._grids: list[Heatmap] = []
        self.panel = ChartPanel(workspace, "", self._make_grid, (self._measure, self._thumbnails))
        self._grids[0].setObjectName("allHeads")
        at_left = self._highest, Qt.AlignmentFlag.AlignLeft
        vbox((self.panel, 1), at_left, parent=self, spacing=0)
        self._measure.currentIndexChanged.connect(self._show)
        self._thumbnails.toggled.connect(self._show)
        self._highest.clicked.connect(self._on_highest)
        self._cache.changed.connect(self._show)
        self._cache.failed.connect(self._on_failed)

    @property
    def measure(self) -> Measure:
        """The measure that is shown."""
        measure: Measure | None = self._measure.currentData()
        return measure or "entropy"

    def show_layers(self, layers: Sequence[AttentionLayer], current: AttentionLayer) -> None:
        """Show these layers, of which the current one is shown large next to them."""
        self._layers, self._current = tuple(layers), current
        self.refresh()

    @override
    def refresh(self) -> None:
        run = self.workspace.runs.run
        self._names = {} if run is None else measure_names(run)
        offer(self._measure, ((name, measure) for measure, name in self._names.items()))
        self._cache.request(self._layers)
        self._show()

    @override
    def clear(self) -> None:
        super().clear()
        self._drawn = None

    def cancel(self) -> None:
        """Request nothing more; known values are kept."""
        self._cache.cancel()

    def _show(self) -> None:
        count = len(self._layers)
        done = count - len(self._cache.missing(self._layers))
        self.panel.set_title("")  # the list of measures is title enough
        runs, has_thumbnails = self.workspace.runs, self._thumbnails.isChecked()
        shown = runs.both, runs.comparison, self.measure, self._layers, done, has_thumbnails
        if shown != self._drawn:
            self._drawn = shown
            charts = [self._chart(run) for run in runs.both]
            self._show_highest()
            self.panel.show_charts(charts[0], charts[1] if charts[1:] else None, Alignment())
        if done < count:
            self.panel.show_busy(self.tr("{0} of {1}").format(done, count))
            self.panel.show_progress(done, count)
        row = self._layers.index(self._current) if self._current in self._layers else None
        for grid in self._grids:
            grid.mark_row(row)

    def _show_highest(self) -> None:
        """Mark and name the head with the highest value."""
        ranked = self._ranked()
        is_single_run = len(self.workspace.runs.both) == 1
        cells = [(self._layers.index(head.layer), head.head) for head in ranked[:1]]
        self._grids[0].mark_spot(cells[0] if cells and is_single_run else None)
        self._highest.setVisible(bool(ranked))
        if ranked:
            self._highest.setText(self.tr("highest: {0}").format(_head_text(ranked[0])))
            names = "\n".join(map(_head_text, ranked[:MAX_NAMED]))
            tip = self.tr("Go to the head with the highest value.\nHighest heads:\n{0}")
            self._highest.setToolTip(plain_tooltip(tip.format(names)))

    def _ranked(self) -> tuple[RankedHead, ...]:
        """Return the current run's heads, highest values first."""
        current = self.workspace.runs.current
        return () if current is None else ranked_heads(self._measures(current), self.measure)

    def _measures(self, recorded: RecordedRun) -> dict[AttentionLayer, HeadMeasures]:
        known = self._cache.of(recorded)
        return {layer: known[layer].measures for layer in self._layers if layer in known}

    def _make_grid(self) -> Heatmap:
        grid = Heatmap(selects_pairs=True)
        grid.setAccessibleName(self.tr("All heads"))
        grid.paired.connect(lambda row, _column: self.chosen.emit(self._layers[row]))
        self._grids.append(grid)
        return grid

    def _chart(self, recorded: RecordedRun) -> GridChart:
        known = self._cache.of(recorded)
        thumbnails = {layer: heads.thumbnails for layer, heads in known.items()}
        return head_measures_chart(
            self._layers,
            self._measures(recorded),
            self.measure,
            keys=most_keys(recorded.run),
            name=self._names.get(self.measure, ""),
            pictures=thumbnails if self._thumbnails.isChecked() else None,
        )

    def _on_highest(self) -> None:
        for head in self._ranked()[:1]:
            self.workspace.selection.go(SelectionKey(head=head.head))
            self.chosen.emit(head.layer)

    def _on_failed(self, notice: Notice) -> None:
        self._drawn = None
        self._highest.hide()
        self.panel.set_title("")
        self.panel.show_message(notice.text, *notice.actions)


def _head_text(head: RankedHead) -> str:
    name = translate("AllHeads", "{0}, head {1}").format(head.layer.name, head.head)
    return f"{name} · {head.value:.3f}"
