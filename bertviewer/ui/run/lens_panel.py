"""The best tokens after each layer, and how a few tokens fare on the way through the layers."""

from PySide6.QtWidgets import QComboBox, QWidget

from bertviewer.charts.predictions import LensFigure, followed_tokens, lens_chart, lens_table
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.views.message import Message
from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, ResponsiveSplitter, hbox, stacked, vbox

Predicted = tuple[ActivationRun, Predictions]
"""A run, and what is predicted at one place of it."""

FIGURES: tuple[tuple[LensFigure, str], ...] = (
    ("probability", QT_TRANSLATE_NOOP("LensPanel", "probability")),
    ("rank", QT_TRANSLATE_NOOP("LensPanel", "rank")),
)
MOST, MOST_COMPARED = 3, 1
"""Lines of predicted tokens, beside that of the actual one."""


class LensPanel(QWidget):
    """The logit lens as a table of tokens and as lines over the layers."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._b: Predicted | None = None
        self._a: Predicted | None = None
        self._table = FigureView(workspace, "lensTable", self.tr("Top tokens after each layer"))
        self._message = Message("lensMessage")
        self._pages = stacked(self._table, self._message)
        title = plain_label(self.tr("After each layer"))
        title.setWordWrap(False)
        title.setToolTip(
            self.tr(
                "The prediction head applied to each hidden state (logit lens). A stronger "
                "shade means a more likely token."
            )
        )
        tip = self.tr("Show the layers of run {0}")
        self._runs = SegmentedControl(
            tool_button(f"lens{name}", name, tip.format(name)) for name in "BA"
        )
        self._runs.choose("lensB")
        title.setMinimumHeight(title_height())
        line = hbox(title, self._runs, STRETCH, margins=None)
        left = QWidget()
        vbox(line, (self._pages, 1), parent=left, spacing=4)
        self._figure = ChoiceBox("lensFigure", self.tr("Measure to plot"))
        for name, text in FIGURES:
            self._figure.addItem(self.tr(text), name)
        self._chart = ChartPanel(workspace, "", LinePlot, (self._figure,))
        self._chart.plot.setObjectName("lensPlot")
        self._chart.plot.setAccessibleName(self.tr("Tokens by layer"))
        layout = hbox(parent=self)
        left.setContentsMargins(0, 0, 2 * GRID, 0)
        self._chart.setContentsMargins(2 * GRID, 0, 0, 0)
        layout.addWidget(ResponsiveSplitter(left, self._chart, (500, 360)))
        self._runs.turned.connect(self._show_table)
        self._figure.currentIndexChanged.connect(self._show_chart)
        self._table.chosen.connect(self._go)

    def show_predictions(self, b: Predicted, a: Predicted | None) -> None:
        """Show what the head makes of each layer, in the last run and in run A."""
        self._b, self._a = b, a
        self._runs.setVisible(a is not None)
        self._show_table()
        # A chart takes as long as all the rest.
        self._workspace.draw_queue.later(self._show_chart)

    def forget(self) -> None:
        """Keep no run that nobody else keeps; what is drawn stays until something else is."""
        self._b = self._a = None

    def mark_module(self) -> None:
        """Mark the row of the selected module, where the lens is B's."""
        run = self._workspace.runs.run
        path = self._workspace.selection.place.path
        row = None
        if run is not None and path and not self._shows_a:
            places = self._table.shown.keys
            # A layer that is called again and again gives several states: the last one counts.
            inside = [n for n, place in enumerate(places) if _holds(place.path, path)]
            row = next(iter(inside), None)
        self._table.mark(row)

    @property
    def _shows_a(self) -> bool:
        return self._a is not None and self._runs.chosen == "lensA"

    def _show_table(self) -> None:
        shown = self._a if self._shows_a else self._b
        if shown is None:
            return
        run, predictions = shown
        name = "" if self._a is None else "A" if self._shows_a else "B"
        self._table.show_table(lens_table(run, predictions, name))
        self._message.show_text(predictions.no_layers)
        self._pages.setCurrentIndex(1 if predictions.no_layers else 0)
        self.mark_module()

    def _show_chart(self) -> None:
        if self._b is None:
            return
        run, predictions = self._b
        self._chart.setVisible(not predictions.no_layers)
        if predictions.no_layers:
            return
        most = MOST if self._a is None else MOST_COMPARED
        followed = followed_tokens(run, predictions, most)
        figure: LensFigure = self._figure.currentData()
        b = lens_chart(run, predictions, followed, figure)
        a = None if self._a is None else lens_chart(*self._a, followed, figure)
        self._chart.show_charts(b, a)

    def _go(self, place: SelectionKey) -> None:
        if place.path:
            self._workspace.selection.go(place)


def title_height() -> int:
    """Return the height of a line with a title: that of the line beside it, with a choice."""
    return QComboBox().sizeHint().height()


def _holds(giver: str | None, path: str) -> bool:
    return bool(giver) and f"{path}.".startswith(f"{giver}.")
