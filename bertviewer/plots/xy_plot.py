"""Base of line plots and histograms: a left axis of numbers, a bottom axis and a legend."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.theme import NORMAL, Theme
from bertviewer.plots.axes import Axes, axis_font, widest_number
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import sized
from bertviewer.plots.legend import Entry, Legend
from bertviewer.plots.ticks import ShownLabels, Tick

MAX_ROUNDS = 3
"""Longer numbers narrow the plot, which may need another row of names, and so on."""
NOTE_HEIGHT = 30.0


class XYLayout(Struct, frozen=True):
    """The axes of a plot, and the ranges of x and y that its rectangle shows."""

    axes: Axes
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    ticks: list[Tick]
    below: ShownLabels

    @property
    def rect(self) -> QRectF:
        """The rectangle of the plot."""
        return self.axes.rect

    def position(self, x: float, y: float) -> QPointF:
        """Return the position of a point in the widget."""
        return QPointF(self.x(x), self.y(y))

    def x(self, x: float) -> float:
        """Return the horizontal position of an x."""
        low, high = self.x_range
        return self.rect.left() + (x - low) / (high - low) * self.rect.width()

    def y(self, y: float) -> float:
        """Return the vertical position of a y."""
        low, high = self.y_range
        return self.rect.bottom() - (y - low) / (high - low) * self.rect.height()

    def value(self, position: QPointF) -> tuple[float, float]:
        """Return x and y at a position in the widget."""
        x = (position.x() - self.rect.left()) / self.rect.width()
        y = (self.rect.bottom() - position.y()) / self.rect.height()
        (left, right), (low, high) = self.x_range, self.y_range
        return left + x * (right - left), low + y * (high - low)


class XYPlot(CanvasPlot):
    """A plot with axes, and a legend above what it shows; subclasses say what that is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._legend: Legend | None = None
        self._layout_cache: tuple[object, XYLayout] | None = None

    def legend_entries(self) -> Sequence[Entry]:
        """Return what the legend shows."""
        raise NotImplementedError

    def x_range(self) -> tuple[float, float]:
        """Return the visible range of x."""
        raise NotImplementedError

    def y_range(self) -> tuple[float, float]:
        """Return the range of y that contains everything; the legend is above it."""
        raise NotImplementedError

    def left_ticks(self, low: float, high: float, size: float) -> list[Tick]:
        """Return the ticks of y for an axis of ``size`` pixels."""
        raise NotImplementedError

    def bottom_labels(self, width: float) -> ShownLabels:
        """Return the labels of x for an axis of ``width`` pixels."""
        raise NotImplementedError

    def draw_content(self, painter: QPainter, layout: XYLayout) -> None:
        """Draw what is below legend and axes, clipped to the plot's rectangle."""
        raise NotImplementedError

    def note(self) -> str:
        """Return a line above the plot, "" for none."""
        return ""

    @property
    def legend(self) -> Legend:
        """The legend, arranged for the current size."""
        self.layout_of_axes()
        assert self._legend is not None
        return self._legend

    @override
    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.forget_layout()

    @override
    def name_at(self, position: QPointF) -> str:
        """Return the full names of the legend if some are cut."""
        if self.chart is None or not self.legend.is_cut:
            return ""
        box = QRectF(self.layout_of_axes().rect.topLeft(), QSizeF(*self.legend.size))
        return "\n".join(self.legend.labels) if box.contains(position) else ""

    def forget_layout(self) -> None:
        """Arrange legend and axes again: the chart or its look has changed."""
        self._legend = self._layout_cache = None
        self.update()

    def layout_of_axes(self) -> XYLayout:
        """Return positions of axes and ranges in the current size."""
        key = self.width(), self.height(), axis_font().pixelSize(), self.has_titles
        if self._layout_cache is None or self._layout_cache[0] != key:
            self._layout_cache = key, self._arranged()
        return self._layout_cache[1]

    def _arranged(self) -> XYLayout:
        self._legend = legend = Legend(self.legend_entries(), self.theme)
        label_width = 30.0
        above = NOTE_HEIGHT if self.note() else 0.0
        below = self.bottom_labels(self.width())
        chart = self.chart if self.has_titles else None
        titles = ("", "") if chart is None else (chart.x_title, chart.y_title)
        for _ in range(MAX_ROUNDS):
            axes = Axes(
                (self.width(), self.height()),
                titles,
                label_width=label_width,
                label_height=below.height,
                above=above,
            )
            width, height = axes.rect.width(), axes.rect.height()
            legend.arrange(width, height)
            low, high = self.y_range()
            share = min(0.5, legend.size[1] / height)
            high += (high - low) * share / (1 - share)
            ticks = self.left_ticks(low, high, height + 2)
            below = self.bottom_labels(width)
            wide = widest_number(ticks, axes.metrics)
            if wide == label_width and below.height == axes.label_height:
                break
            label_width = wide
        return XYLayout(axes, self.x_range(), (low, high), ticks, below)

    @override
    def draw_on(self, painter: QPainter) -> None:
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.surface))
        layout = self.layout_of_axes()
        painter.save()
        painter.setClipRect(layout.rect)
        low, high = self.y_range()
        if low < 0 < high and self.has_zero:
            self.draw_line(painter, layout, y=0.0, pen=QPen(QColor(self.theme.muted), 1))
        self.draw_content(painter, layout)
        painter.restore()
        self.legend.draw(painter, layout.rect.topLeft())
        ys = [layout.y(tick.value) for tick in layout.ticks]
        layout.axes.draw_grid(painter, layout.ticks, ys, self.theme)
        left = [(y, tick.text) for y, tick in zip(ys, layout.ticks, strict=True)]
        layout.axes.draw_left(painter, left, self.theme.muted)
        bottom = [(layout.x(x), text) for x, text in layout.below.labels]
        is_upright = layout.below.is_upright
        layout.axes.draw_bottom(painter, bottom, self.theme.muted, is_upright=is_upright)
        if note := self.note():
            painter.setFont(sized(self.font(), NORMAL))
            painter.setPen(QColor(self.theme.text))
            line = QRectF(layout.rect.x(), 8, layout.rect.width(), NOTE_HEIGHT)
            painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), note)

    @property
    def has_zero(self) -> bool:
        """Whether a line is drawn at 0 if values are on both sides of it."""
        return True

    def draw_line(
        self,
        painter: QPainter,
        layout: XYLayout,
        pen: QPen,
        *,
        x: float | None = None,
        y: float | None = None,
    ) -> None:
        """Draw a vertical or a horizontal line through the whole plot."""
        rect = layout.rect
        if y is None:
            at = layout.x(x or 0.0)
            line = QLineF(at, rect.top(), at, rect.bottom())
        else:
            line = QLineF(rect.left(), layout.y(y), rect.right(), layout.y(y))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen)
        painter.drawLine(line)
