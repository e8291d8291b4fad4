"""The plots of the last run, and what there is to choose about them."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.core.run.statistics import STATISTIC_NAMES
from bertviewer.plots.layer_plot import LayerPlot
from bertviewer.plots.layers import layer_series
from bertviewer.plots.theme import PlotTheme
from bertviewer.plots.token_heatmap import TokenHeatmap
from bertviewer.ui.facts import plain_label
from bertviewer.ui.tables import Column, Row, TableModel, make_table
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
        self._warning.setForegroundRole(QPalette.ColorRole.Link)
        self._layer_value, self._token_value = _value_label(), _value_label()
        self._tokens = TableModel(
            (
                Column(self.tr("#"), is_number=True),
                Column(self.tr("Token")),
                Column(self.tr("Id"), is_number=True),
                Column(self.tr("Segment")),
            ),
            self,
        )
        self._layers = LayerPlot()
        self._layers.setObjectName("layerPlot")
        self._heatmap = TokenHeatmap()
        self._heatmap.setObjectName("tokenHeatmap")

        layer_line = _line(QLabel(self.tr("Per layer:")), self._choice, self._layer_value)
        token_line = _line(QLabel(self.tr("Token norms ‖h‖")), self._token_value)
        # All three begin at the same height.
        token_line.addStrut(self._choice.sizeHint().height())
        self._count = QLabel()
        count_line = _line(self._count)
        count_line.addStrut(self._choice.sizeHint().height())
        table = make_table(self._tokens, "tokenTable", self.tr("Tokens of the sentence"))
        plots = QSplitter(Qt.Orientation.Horizontal)
        plots.addWidget(_column(layer_line, self._layers))
        plots.addWidget(_column(token_line, self._heatmap))
        plots.addWidget(_column(count_line, table))
        plots.setChildrenCollapsible(False)
        plots.setSizes([500, 580, 260])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 2, 8, 0)
        layout.addWidget(self._warning)
        layout.addWidget(plots, 1)
        self.hide()

        self._choice.currentTextChanged.connect(self._draw_layers)
        self._layers.layer_clicked.connect(workspace.select)
        self._layers.layer_hovered.connect(self._layer_value.setText)
        self._heatmap.cell_hovered.connect(self._token_value.setText)
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
        self._tokens.set_rows(
            [
                Row((str(place), token.text, str(token.id), str(token.segment)))
                for place, token in enumerate(run.tokens)
            ]
        )
        self._count.setText(self.tr("{0} tokens").format(len(run.tokens)))
        notes = self._notes(run)
        self._warning.setText(" ".join(notes))
        self._warning.setVisible(bool(notes))

    def _notes(self, run: ActivationRun) -> list[str]:
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
            notes.append(
                self.tr("The tokens are a stand-in's: this configuration has no vocabulary.")
            )
        return notes

    def _draw_layers(self) -> None:
        run, architecture = self._workspace.run, self._workspace.architecture
        if run is None or architecture is None:
            self._layers.show_series((), self.statistic)
            return
        row = self._workspace.row
        selected = row.node.path if row is not None else ""
        series = layer_series(architecture, run, self.statistic, selected)
        self._layers.show_series(series, self.statistic)


def _value_label() -> QLabel:
    """A label whose text comes and goes without moving anything around it."""
    label = plain_label("")
    label.setWordWrap(False)
    label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    label.setMinimumWidth(1)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


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
