"""A figure of every head in every layer: where a model looks far, or at the previous token."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal

from bertviewer.charts.attention import head_measures_chart, measure_names
from bertviewer.charts.chart import GridChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import Measure, RankedHead
from bertviewer.plots.pair_grid import PairGrid
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.run.head_survey import HeadSurvey
from bertviewer.ui.run.offers import after_error
from bertviewer.ui.run.view import View
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import vbox

TOLD = 5
"""So many of the heads with the highest figures are named."""


class AllHeads(View):
    """One figure of all heads of all layers, layers upwards, or their pictures.

    Layers are requested one by one while this is in sight, and each row is shown as soon as it is
    there. The head with the highest figure is marked and named. ``chosen`` says that a person
    took another layer.
    """

    chosen = Signal(object)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._layers: tuple[AttentionLayer, ...] = ()
        self._current: AttentionLayer | None = None
        self._survey = HeadSurvey(workspace, self)
        self._drawn: object = None
        self._names: dict[Measure, str] = {}
        self._measure = ChoiceBox("headMeasure", self.tr("Measure shown for each head"))
        tip = self.tr(
            "Show each head’s attention matrix instead of the measure.\nSquare-root colour "
            "scale, up to the largest weight of the same head."
        )
        self._pictures = tool_button("headPictures", self.tr("Thumbnails"), tip, is_checkable=True)
        self._pictures.setAutoRaise(True)
        self._best = tool_button("bestHead", "")
        self._best.setAutoRaise(True)
        self._grids: list[PairGrid] = []
        controls = (self._measure, self._pictures)
        self.panel = ChartPanel(workspace, "", self._make_grid, controls)
        self._grids[0].setObjectName("allHeads")
        vbox((self.panel, 1), (self._best, Qt.AlignmentFlag.AlignLeft), parent=self, spacing=0)
        self._measure.currentIndexChanged.connect(self._show)
        self._pictures.toggled.connect(self._show)
        self._best.clicked.connect(self._on_best)
        self._survey.changed.connect(self._show)
        self._survey.failed.connect(self._on_failed)

    @property
    def measure(self) -> Measure:
        """The figure that is shown."""
        measure: Measure | None = self._measure.currentData()
        return measure or "entropy"

    def follow(self, layers: Sequence[AttentionLayer], current: AttentionLayer) -> None:
        """Take over which attentions there are, and which one is shown large."""
        self._layers, self._current = tuple(layers), current

    def refresh(self) -> None:
        """Show what is known, and request what is not."""
        self._offer()
        self._survey.look(self._layers)
        self._show()

    def cancel(self) -> None:
        """Request nothing more; what is known stays."""
        self._survey.cancel()

    def _offer(self) -> None:
        """Offer the figures that heads have in this run."""
        run = self.workspace.runs.run
        self._names = {} if run is None else measure_names(run)
        offer(self._measure, ((name, measure) for measure, name in self._names.items()))

    def _show(self) -> None:
        done, count = self._survey.done, len(self._layers)
        # The list of figures is title enough.
        self.panel.set_title("")
        runs = self.workspace.runs
        has_pictures = self._pictures.isChecked()
        shown = runs.both, runs.comparison, self.measure, self._layers, done, has_pictures
        if shown != self._drawn:
            self._drawn = shown
            charts = [self._chart(run) for run in runs.both]
            self._show_best()
            self.panel.show_charts(charts[0], charts[1] if charts[1:] else None, Alignment())
        if done < count:
            self.panel.show_wait(self.tr("{0} of {1}").format(done, count), done, count)
        row = self._layers.index(self._current) if self._current in self._layers else None
        for grid in self._grids:
            grid.mark_row(row)

    def _show_best(self) -> None:
        """Mark and name the head with the highest figure."""
        ranked = self._survey.ranked(self.measure)
        best = next(iter(ranked), None)
        is_one_run = len(self.workspace.runs.both) == 1
        self._grids[0].mark_spot(self._cell(best) if best is not None and is_one_run else None)
        self._best.setVisible(best is not None)
        if best is None:
            return
        self._best.setText(self.tr("highest: {0}").format(_words(best)))
        told = "\n".join(map(_words, ranked[:TOLD]))
        tip = self.tr("Go to the head with the highest value.\nHighest heads:\n{0}").format(told)
        self._best.setToolTip(plain_tooltip(tip))

    def _cell(self, head: RankedHead) -> tuple[int, int]:
        return self._layers.index(head.layer), head.head

    def _make_grid(self) -> PairGrid:
        grid = PairGrid()
        grid.setAccessibleName(self.tr("All heads"))
        grid.paired.connect(self._on_cell)
        self._grids.append(grid)
        return grid

    def _chart(self, run: RecordedRun) -> GridChart:
        pieces = self._survey.pieces(run)
        pictures = {layer: piece.pictures for layer, piece in pieces.items()}
        return head_measures_chart(
            self._layers,
            self._survey.figures(run),
            self.measure,
            name=self._names.get(self.measure, ""),
            pictures=pictures if self._pictures.isChecked() else None,
        )

    def _on_best(self) -> None:
        best = next(iter(self._survey.ranked(self.measure)), None)
        if best is not None:
            self.workspace.selection.go(SelectionKey(head=best.head))
            self.chosen.emit(best.layer)

    def _on_failed(self, error: str) -> None:
        self._drawn = None
        self._best.hide()
        self.panel.set_title("")
        self.panel.show_message(error, after_error(self.workspace, error, self.refresh))

    def _on_cell(self, row: int, _column: int) -> None:
        self.chosen.emit(self._layers[row])


def _words(head: RankedHead) -> str:
    name = translate("AllHeads", "{0}, head {1}").format(head.layer.name, head.head)
    return f"{name} · {head.value:.3f}"
