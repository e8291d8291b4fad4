"""Heatmap of the change of each tensor, by layer and kind of tensor."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QPushButton, QWidget

from bertviewer.charts.change_grid import CHANGE_MEASURES, MarkedGrid, change_grid, measure_title
from bertviewer.core.comparison.comparison import Comparison
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.labels import ElidedLabel, muted_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox


class ChangePage(QWidget):
    """Heatmap with a choice of measure; a click on a cell selects its module in the main window.

    ``picked`` has the name of the clicked tensor; ``table_wanted`` asks to show it in the table.
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
        self._legend = named(muted_label(""), "changeSigns")
        self._picked = named(ElidedLabel(), "pickedTensor")
        self._picked.setText(self.tr("Click a cell to select its tensor and module."))
        self._show_row = named(
            QPushButton(self.tr("Show in table")),
            "showInTable",
            tooltip=self.tr("Show this tensor in the table with all its values"),
        )
        self._show_row.setAutoDefault(False)
        self._show_row.setEnabled(False)
        self._show_row.clicked.connect(self.table_wanted)
        line = hbox((self._picked, 1), self._show_row, spacing=8)
        vbox((self._panel, 1), self._legend, line, parent=self, margins=(0, 8, 0, 0), spacing=6)
        self._choice.currentIndexChanged.connect(self._show)
        self._show()

    def unlink(self) -> None:
        """Stop selecting modules, as another model is open."""
        if self._has_places:
            self._has_places = False
            self._show()

    def _make_choice(self) -> QComboBox:
        choice = named(
            QComboBox(),
            "changeMeasure",
            accessible_name=self.tr("Measure of the change"),
            tooltip=self.tr("Measure shown by the colours"),
        )
        hints = {
            "relative": self.tr("Norm of the difference divided by the norm of the left tensor"),
            "max": self.tr("Largest absolute change of any element"),
            "rms": self.tr("Root mean square of the changes"),
            "cosine": self.tr("1 − cosine similarity of the flattened tensors"),
        }
        for measure in CHANGE_MEASURES:
            choice.addItem(measure_title(measure), measure)
            role = Qt.ItemDataRole.ToolTipRole
            choice.setItemData(choice.count() - 1, hints[measure], role)
        return choice

    def _make_plot(self) -> Heatmap:
        plot = named(Heatmap(), "changePlot")
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
        self._legend.setText("      ".join(words))
        if chart.notes:
            self._panel.show_charts(chart)
        else:
            self._panel.show_message(self.tr("Neither model has any tensors."))

    def _on_cell(self, row: int, column: int) -> None:
        note = None if self._chart is None else self._chart.notes.get((row, column))
        if note is None:
            return
        self._picked.setText(" · ".join(note.text.splitlines()))
        self._show_row.setEnabled(True)
        self.picked.emit(note.name)
