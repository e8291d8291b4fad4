"""The plots of the last run, and what there is to choose about them."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from bertviewer.core.statistics import STATISTIC_NAMES
from bertviewer.plots.layer_plot import LayerPlot
from bertviewer.plots.layers import layer_series
from bertviewer.plots.theme import PlotTheme
from bertviewer.plots.token_heatmap import TokenHeatmap
from bertviewer.report.formats import tokenizer_note
from bertviewer.ui.facts import plain_label
from bertviewer.ui.workspace import Workspace


class ActivationPanel(QWidget):
    """A statistic per layer beside the tokens' norms; hidden until there is a run."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._choice = QComboBox()
        self._choice.setObjectName("statisticChoice")
        self._choice.setAccessibleName(self.tr("Statistic shown per layer"))
        self._choice.addItems(STATISTIC_NAMES)
        self._choice.setCurrentText("std")
        self._warning = plain_label("")
        self._warning.setObjectName("runWarning")
        self._exact = plain_label("")
        self._exact.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._layers = LayerPlot()
        self._layers.setObjectName("layerPlot")
        self._heatmap = TokenHeatmap()
        self._heatmap.setObjectName("tokenHeatmap")

        left = _column(
            _line(QLabel(self.tr("Per layer:")), self._choice, self._warning), self._layers
        )
        right = _column(_line(QLabel(self.tr("Token norms ‖h‖")), self._exact), self._heatmap)
        # Both plots begin at the same height.
        self._exact.setMinimumHeight(self._choice.sizeHint().height())
        plots = QSplitter(Qt.Orientation.Horizontal)
        plots.addWidget(left)
        plots.addWidget(right)
        plots.setChildrenCollapsible(False)
        plots.setSizes([500, 500])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 0)
        layout.addWidget(plots)
        self.hide()

        self._choice.currentTextChanged.connect(self._draw_layers)
        self._layers.layer_clicked.connect(workspace.select)
        self._heatmap.cell_hovered.connect(self._exact.setText)
        workspace.run_changed.connect(self._on_run)
        workspace.row_changed.connect(self._draw_layers)

    @property
    def statistic(self) -> str:
        """The statistic that is chosen."""
        return self._choice.currentText()

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw the plots in other colours."""
        self._layers.set_theme(theme)
        self._heatmap.set_theme(theme)

    def _on_run(self) -> None:
        run = self._workspace.run
        self.setVisible(run is not None)
        self._heatmap.show_run(run)
        self._draw_layers()
        if run is None:
            return
        notes = []
        if run.source.weights == "random":
            notes.append(self.tr("RANDOM weights: no figure comes from training."))
        elif run.source.random_tensors:
            notes.append(
                self.tr("{0} tensors are RANDOM: the checkpoint lacks them.").format(
                    len(run.source.random_tensors)
                )
            )
        if run.tokenizer == "stand-in":
            notes.append(self.tr("Stand-in tokenizer."))
            self._warning.setToolTip(tokenizer_note(run))
        self._warning.setText(" ".join(notes))
        self._warning.setForegroundRole(QPalette.ColorRole.Link)

    def _draw_layers(self) -> None:
        run, architecture = self._workspace.run, self._workspace.architecture
        if run is None or architecture is None:
            self._layers.show_series((), self.statistic)
            return
        row = self._workspace.row
        selected = row.node.path if row is not None else ""
        series = layer_series(architecture, run, self.statistic, selected)
        self._layers.show_series(series, self.statistic)


def _line(*widgets: QWidget) -> QHBoxLayout:
    line = QHBoxLayout()
    for widget in widgets:
        line.addWidget(widget)
    line.setStretch(len(widgets) - 1, 1)
    return line


def _column(line: QHBoxLayout, plot: QWidget) -> QWidget:
    column = QWidget()
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addLayout(line)
    layout.addWidget(plot, 1)
    return column
