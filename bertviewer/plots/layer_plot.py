"""A statistic per layer, as lines; a click on a layer tells its module."""

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QWidget

from bertviewer.plots.layers import LayerSeries
from bertviewer.plots.plot import Plot
from bertviewer.plots.theme import widened

MAX_TICKS = 24
LEGEND_POINTS = 8
LEGEND_ROW, LEGEND_MARGIN, LEGEND_SAMPLE = 21, 14, 48  # pixels; a sample stands before each name


class LayerPlot(Plot):
    """Lines over layer numbers.

    ``layer_clicked`` carries the path of the module clicked, ``layer_hovered`` its exact value in
    words, or nothing.
    """

    layer_clicked = Signal(str)
    layer_hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series: tuple[LayerSeries, ...] = ()
        self.titles["bottom"] = "Layer"
        self.getPlotItem().addLegend(offset=(-8, 2), labelTextSize=f"{LEGEND_POINTS}pt")
        self.scene().sigMouseClicked.connect(self._on_click)
        self.scene().sigMouseMoved.connect(self._on_move)

    def show_series(self, series: Sequence[LayerSeries], statistic: str) -> None:
        """Draw the lines, in place of those drawn before."""
        self._series = tuple(series)
        self.titles["left"] = statistic
        self.draw()

    def series(self) -> tuple[LayerSeries, ...]:
        """Return the lines that are drawn."""
        return self._series

    def layer_at(self, position: QPointF) -> str | None:
        """Return the module of the layer nearest to a position in the scene."""
        nearest = self._nearest(position)
        return nearest and nearest[0]

    def text_at(self, position: QPointF) -> str:
        """Return the exact value nearest to a position in the scene, in words."""
        nearest = self._nearest(position)
        return f"{nearest[0]}: {nearest[1]:.7g}" if nearest else ""

    def _nearest(self, position: QPointF) -> tuple[str, float] | None:
        """Return path and value of the point nearest to a position, ``None`` outside the plot."""
        if not self.getPlotItem().vb.sceneBoundingRect().contains(position):
            return None
        point = self.getPlotItem().vb.mapSceneToView(position)
        index = round(point.x())
        points = [
            (line.paths[index], value)
            for line in self._series
            if 0 <= index < len(line.values) and (value := line.values[index]) is not None
        ]
        return min(points, key=lambda at: abs(at[1] - point.y()), default=None)

    def draw(self) -> None:
        """Draw the lines, the legend and the axes."""
        super().draw()
        theme, item = self.theme, self.getPlotItem()
        item.legend.clear()
        item.legend.setLabelTextColor(theme.foreground)
        for index, line in enumerate(self._series):
            color = theme.series[index % len(theme.series)]
            values = np.array([np.nan if v is None else v for v in line.values])
            if np.isnan(values).all():
                continue  # pyqtgraph cannot find bounds for such a line, nor anybody see it
            item.plot(
                np.arange(len(values)),
                values,
                pen=pg.mkPen(color, width=2),
                symbol="o",
                symbolSize=7,
                symbolBrush=color,
                symbolPen=pg.mkPen(theme.background, width=1),
                name=line.label,
                connect="finite",
                antialias=True,
                useCache=False,  # cached symbols are bitmaps, on paper too
            )
        longest = max((len(line.values) for line in self._series), default=0)
        step = max(1, -(-longest // MAX_TICKS))
        item.getAxis("bottom").setTicks([[(n, str(n)) for n in range(0, longest, step)]])
        item.showGrid(x=False, y=True, alpha=0.15)
        item.setXRange(-0.4, max(0.4, longest - 0.6), padding=0)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep room for the legend at the new height; Qt calls it."""
        super().resizeEvent(event)
        # pyqtgraph calls this while it is still building the plot.
        # It also calls it after the plot is closed, when there is nothing left to fit.
        if getattr(self, "_series", ()) and self.getPlotItem() is not None:
            self._fit()

    def _fit(self) -> None:
        """Choose the y range so that the legend, above the lines, hides none of them."""
        values = [v for line in self._series for v in line.values if v is not None]
        low, high = widened(min(values, default=0.0), max(values, default=1.0))
        rows = self._arrange_legend()
        height = self.getPlotItem().vb.height()
        legend = min(0.5, (rows * LEGEND_ROW + LEGEND_MARGIN) / height) if height > 0 else 0.2
        low -= 0.06 * (high - low)
        high += (high - low) * legend / (1 - legend)
        self.getPlotItem().setYRange(low, high, padding=0)

    def _arrange_legend(self) -> int:
        """Set the names side by side if there is room, else below one another; return the rows."""
        item = self.getPlotItem()
        metrics = QFontMetricsF(QFont(self.font().family(), LEGEND_POINTS))
        names = sum(metrics.horizontalAdvance(line.label) + LEGEND_SAMPLE for line in self._series)
        columns = max(1, len(self._series)) if names < item.vb.width() else 1
        item.legend.setColumnCount(columns)
        return len(self._series) // columns

    def _on_click(self, event: object) -> None:
        position: QPointF = event.scenePos()  # type: ignore[attr-defined]
        if (path := self.layer_at(position)) is not None:
            self.layer_clicked.emit(path)

    def _on_move(self, position: QPointF) -> None:
        self.layer_hovered.emit(self.text_at(position))
