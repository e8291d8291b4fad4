"""A statistic of any part layer by layer, beside the tokens' norms; or one feature in both."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from bertviewer.core.analysis.layer_parts import Series, layer_series, part_names
from bertviewer.core.analysis.outliers import feature_path
from bertviewer.core.analysis.token_classes import token_classes
from bertviewer.core.architecture import Architecture
from bertviewer.plots.chart import GridChart, LineChart
from bertviewer.plots.features import feature_chart, feature_grid
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.layers import SPREAD, selected_series, series_chart, token_class_chart
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.part_norms import has_norms, part_norms_chart
from bertviewer.plots.token_norms import norms_chart
from bertviewer.ui.run.chart_panel import ChartPanel
from bertviewer.ui.run.layer_controls import ALL, LayerControls
from bertviewer.ui.run.outlier_bar import OutlierBar
from bertviewer.ui.run.part_measures import PartMeasures
from bertviewer.ui.run.view import View
from bertviewer.ui.watched_run import WatchedRun
from bertviewer.ui.workspace import Workspace


class LayersView(View):
    """Lines over the layers, and a grid of tokens and layers; both show the same part."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._controls = LayerControls()
        self._outliers = OutlierBar(workspace)
        self._measures = PartMeasures(self)
        self._layers = ChartPanel(workspace, "", LinePlot)
        self._layers.plot.setObjectName("layerPlot")
        self._norms = ChartPanel(workspace, "", GridPlot)
        self._norms.plot.setObjectName("tokenHeatmap")
        plots = QSplitter(Qt.Orientation.Horizontal)
        plots.addWidget(self._layers)
        plots.addWidget(self._norms)
        plots.setChildrenCollapsible(False)
        line = QHBoxLayout()
        line.setSpacing(16)
        line.addWidget(self._controls)
        line.addWidget(self._outliers, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(line)
        layout.addWidget(plots, 1)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(workspace.clear_feature)
        self._controls.changed.connect(self._show)
        self._measures.came.connect(self._show)
        self._measures.late.connect(self._show_wait)
        self._measures.failed.connect(lambda error: self._layers.show_message(str(error)))

    @property
    def statistic(self) -> str:
        """The statistic that is chosen."""
        return self._controls.statistic

    def refresh(self) -> None:
        """Show both charts."""
        run, architecture = self.workspace.run, self.workspace.architecture
        if run is None or architecture is None:
            return
        self._controls.set_parts(part_names(architecture, run))
        self._controls.set_classes(token_classes(run))
        self._outliers.show_run(run)
        self._show()

    def leave(self) -> None:
        """Wish for nothing more."""
        self._measures.give_up()
        super().leave()
