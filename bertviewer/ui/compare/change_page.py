"""How far each tensor moved, as a heatmap: layer × kind of tensor."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QPushButton, QWidget

from bertviewer.charts.change_grid import CHANGE_MEASURES, MarkedGrid, change_grid, measure_title
from bertviewer.core.comparison.comparison import Comparison
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox

TIP = Qt.ItemDataRole.ToolTipRole


class ChangePage(QWidget):
    """A click selects the module in the window, and ``picked`` brings the tensor's name.

    ``table_wanted`` tells that a person wants to see it in the table.
    """

    picked = Signal(str)
    table_wanted = Signal()

    def __init__(self, comparison: Comparison, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("changePage")
        self._comparison = comparison
        self._has_places = True
        self._choice = self._make_choice()
        self._panel = ChartPanel(
            workspace,
            self.tr("Change of each tensor"),
            self._make_plot,
            (self._choice,),
            has_axis_titles=False,
        )
        self._chart: MarkedGrid | None = None
        self._signs = named(plain_label(""), "changeSigns")
        self._signs.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._signs.setWordWrap(True)
        self._told = named(ElidedLabel(), "pickedTensor")
        self._told.setText(self.tr("Click a cell to select its tensor and module."))
        self._show_row = QPushButton(self.tr("Show in table"))
        self._show_row.setObjectName("showInTable")
        self._show_row.setAutoDefault(False)
        self._show_row.setEnabled(False)
        self._show_row.setToolTip(self.tr("Show this tensor in the table with all its values"))
        self._show_row.clicked.connect(self.table_wanted)
        line = hbox((self._told, 1), self._show_row, spacing=8)
        vbox((self._panel, 1), self._signs, line, parent=self, margins=(0, 8, 0, 0), spacing=6)
        self._choice.currentIndexChanged.connect(self._show)
        self._show()

    @property
    def chart(self) -> MarkedGrid | None:
        """What is shown."""
        return self._chart

    def unlink(self) -> None:
        """Select no more modules: the model that is open now is another one."""
        if self._has_places:
            self._has_places = False
            self._show()

    def _make_choice(self) -> QComboBox:
        choice = QComboBox()
        choice.setObjectName("changeMeasure")
        choice.setAccessibleName(self.tr("Measure of the change"))
        choice.setToolTip(self.tr("Measure shown by the colours"))
        hints = {
            "relative": self.tr("Norm of the difference divided by the norm of the left tensor"),
            "max": self.tr("Largest absolute change of any element"),
            "rms": self.tr("Root mean square of the changes"),
            "cosine": self.tr("1 − cosine similarity of the flattened tensors"),
        }
        for measure in CHANGE_MEASURES:
            choice.addItem(measure_title(measure), measure)
            choice.setItemData(choice.count() - 1, hints[measure], TIP)
        return choice

    def _make_plot(self) -> GridPlot:
        plot = named(GridPlot(), "changePlot")
        plot.cell_clicked.connect(self._on_cell)
        return plot

    def _show(self) -> None:
        measure = CHANGE_MEASURES[self._choice.currentIndex()]
        chart = change_grid(self._comparison, measure, has_keys=self._has_places)
        self._chart = chart
        words = [f"{sign}  {word}" for sign, word in chart.signs]
        if chart.has_values:
            scale = self.tr("logarithmic colour scale")
            if chart.end is not None:
                scale = self.tr("{0}, capped at {1}").format(scale, number_text(chart.end, 2))
            words.insert(0, scale)
        words.append(self.tr("blank = tensor not present"))
        self._signs.setText("      ".join(words))
        if chart.notes:
            self._panel.show_charts(chart)
        else:
            self._panel.show_message(self.tr("Neither model has any tensors."))

    def _on_cell(self, row: int, column: int) -> None:
        note = None if self._chart is None else self._chart.notes.get((row, column))
        if note is None:
            return
        self._told.setText(" · ".join(note.text.splitlines()))
        self._show_row.setEnabled(True)
        self.picked.emit(note.name)
