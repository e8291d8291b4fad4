"""A statistic per layer, as lines; a click on a layer tells its module."""

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Signal
from PySide6.QtWidgets import QWidget

from bertviewer.plots.layers import LayerSeries
from bertviewer.plots.plot import Plot
from bertviewer.plots.theme import widened

MAX_TICKS = 24
ONE_ROW = 2  # so many names fit side by side in the legend


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
        self.getPlotItem().addLegend(offset=(-8, 2), labelTextSize="8pt")
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
        rows = 1 if len(self._series) <= ONE_ROW else len(self._series)
        item.legend.setColumnCount(len(self._series) // rows or 1)
        for index, line in enumerate(self._series):
            color = theme.series[index % len(theme.series)]
            values = np.array([np.nan if v is None else v for v in line.values])
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
        low, high = self._range()
        # Room above the lines, so that the legend hides none of them.
        item.setYRange(
            low - 0.06 * (high - low), high + (0.08 + 0.13 * rows) * (high - low), padding=0
        )

    def _range(self) -> tuple[float, float]:
        values = [v for line in self._series for v in line.values if v is not None]
        return widened(min(values, default=0.0), max(values, default=1.0))

    def _on_click(self, event: object) -> None:
        position: QPointF = event.scenePos()  # type: ignore[attr-defined]
        if (path := self.layer_at(position)) is not None:
            self.layer_clicked.emit(path)

    def _on_move(self, position: QPointF) -> None:
        self.layer_hovered.emit(self.text_at(position))
