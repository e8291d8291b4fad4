"""What every plot of the program shares: it is looked at and clicked, never dragged about."""

from typing import Literal

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.chart import GridChart, HistogramChart, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.plots.plot_area import PlotArea

Side = Literal["left", "right"]
Point = tuple[int, int]
"""What keys lead to: row and column of a cell, line and x of a point, 0 and the number of a bin."""
_SOLID = Qt.PenStyle.SolidLine


class Plot(pg.GraphicsView):  # type: ignore[misc]
    """A plot with a theme and two titled axes; a subclass adds what it shows to ``draw()``.

    ``clicked`` carries the place that was clicked, ``hovered`` the exact value under the mouse in
    words, or nothing. Arrow keys, Home and End go from point to point as clicks would; ``reached``
    carries what a key has led to, in words, and where that is in the widget. ``paper_scale`` is how
    many pixels of a picture make one of the plot's, while it is drawn on one; ``None`` on a screen.
    ``neighbour`` is the side on which there is a plot of the same kind, whose title at the left or
    bar of colours at the right is for both. Where it is not ``is_titled``, what stands above it on
    the screen tells what its axes are.
    """

    shows_by_selection = False
    clicked = Signal(SelectionKey)
    hovered = Signal(str)
    reached = Signal(str, QPoint)

    def __init__(self, axes: dict[str, pg.AxisItem], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.theme = LIGHT
        self.titles = {"bottom": "", "left": ""}
        self.selection = SelectionKey()
        self.paper_scale: float | None = None
        self.neighbour: Side | None = None
        self.is_titled = True
        self.reached_point: Point | None = None
        self._drawn_scale = 0.0
        self.area = PlotArea(axes)
        self.setCentralItem(self.area)
        # The highest and the last label reach beyond their axes by half a letter; none of them
        # stands at the very edge, where the frame is of what keys go to.
        self.area.layout.setContentsMargins(4, 8, 8, 2)
        self.scene().sigMouseClicked.connect(self._on_click)
        self.scene().sigMouseMoved.connect(self._on_move)

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return what is at a position in the scene, ``None`` where there is nothing."""
        raise NotImplementedError

    def text_at(self, position: QPointF) -> str:
        """Return the exact value at a position in the scene, in words; "" where there is none."""
        raise NotImplementedError

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self.theme = theme
        self.draw()

    def mark(self, selection: SelectionKey) -> None:
        """Show where the selection is."""
        self.selection = selection
        self.draw_marks()

    def draw(self) -> None:
        """Clear the plot, and draw the background and the axes in the theme's colours."""
        item = self.area
        item.clear()
        self._drawn_scale = self._line_scale()
        self.setBackground(self.theme.surface)
        for side, title in self.titles.items():
            own = title if self.shows_titles and side != self.neighbour else ""
            item.getAxis(side).dress(own, self.theme.muted, self.pen(self.theme.muted))

    @property
    def shows_titles(self) -> bool:
        """Whether titles stand beside axes: a picture that is taken along has nothing above it."""
        return self.is_titled or self.paper_scale is not None

    def name_axes(self, chart: LineChart | GridChart | HistogramChart | None) -> None:
        """Take a chart's titles; ``draw()`` has to follow."""
        x_title, y_title = ("", "") if chart is None else (chart.x_title, chart.y_title)
        self.titles = {"bottom": x_title, "left": y_title}

    def add_line(self, position: float, pen: QPen, z: float, angle: float = 90) -> pg.InfiniteLine:
        """Draw a line right through the plot, and return it."""
        line = pg.InfiniteLine(position, angle=angle, pen=pen)
        line.setZValue(z)
        self.area.addItem(line, ignoreBounds=True)
        return line

    def pen(self, color: str | QColor, width: float = 1, style: Qt.PenStyle = _SOLID) -> QPen:
        """Return a pen of a width in pixels.

        Qt never scales such a pen with the picture, nor with a fine screen: this does.
        """
        pen: QPen = pg.mkPen(color, width=width * self._line_scale(), style=style)
        return pen

    def show_values(self, is_shown: bool) -> None:
        """Have numbers and ticks on the axes, or not: an empty plot has no range."""
        for side in ("bottom", "left"):
            self.area.getAxis(side).setTicks(None if is_shown else [[]])

    def draw_marks(self) -> None:
        """Draw the marks of the selection anew; a plot that knows no places has none."""

    def point_beside(self, key: int) -> Point | None:
        """Return what a key leads to from the point that was reached, or from the selected one."""
        return None

    def go_to(self, point: Point) -> None:
        """Do what a click on a point does."""

    def told_at(self, point: Point) -> tuple[str, QPointF]:
        """Return the exact value of a point in words, and where it is on the axes."""
        raise NotImplementedError

    def tell_reached(self) -> None:
        """Tell what a key has led to, if one has: it may be elsewhere in another chart."""
        if self.reached_point is not None:
            text, at = self.told_at(self.reached_point)
            self.reached.emit(text, self.mapFromScene(self.area.vb.mapViewToScene(at)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the point that a key leads to; Qt calls it."""
        point = self.point_beside(event.key())
        if point is None:
            event.ignore()  # another key of the window's
            return
        self.reached_point = point
        self.go_to(point)
        self.draw_marks()
        self.tell_reached()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Draw the frame; Qt calls it."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Draw no frame, and tell no more of what keys have led to; Qt calls it."""
        super().focusOutEvent(event)
        if not self.closed:
            self.viewport().update()
        if self.reached_point is not None:
            self.reached_point = None
            self.draw_marks()
            self.hovered.emit("")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw, and a frame where the keys go to; Qt calls it."""
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        draw_focus(painter, self)
        painter.end()

    def draw_on(self, painter: QPainter) -> None:
        """Draw the plot as large as it is, from the painter's origin."""
        rect = self.rect()
        self.render(painter, QRectF(rect), rect)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw lines as wide as they are to be on the window's screen; Qt calls it."""
        super().showEvent(event)
        self._follow_screen()

    def event(self, event: QEvent) -> bool:
        """Draw anew when the window comes to a finer or a coarser screen; Qt calls it."""
        is_handled: bool = super().event(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._follow_screen()
        return is_handled

    def leaveEvent(self, event: QEvent) -> None:
        """Tell that the mouse is on nothing any more; Qt calls it."""
        super().leaveEvent(event)
        self.hovered.emit("")

    def _line_scale(self) -> float:
        """Return how many of the device's pixels make one of the plot's."""
        return self.devicePixelRatioF() if self.paper_scale is None else self.paper_scale

    def _follow_screen(self) -> None:
        if self._drawn_scale not in (0.0, self._line_scale()):
            self.draw()

    def _on_click(self, event: "pg.GraphicsScene.mouseEvents.MouseClickEvent") -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            place = self.place_at(event.scenePos())
            if place is not None and place != SelectionKey():
                self.clicked.emit(place)

    def _on_move(self, position: QPointF) -> None:
        self.hovered.emit(self.text_at(position))


def draw_focus(painter: QPainter, widget: QWidget) -> None:
    """Frame a widget that keys go to, where keys have brought a person there.

    The style's own frame is filled with a tint: colours would not be those of their values.
    """
    by_keys = widget.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
    if widget.hasFocus() and by_keys:
        painter.setPen(QPen(widget.palette().color(QPalette.ColorRole.Accent), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(widget.rect().adjusted(1, 1, -1, -1))
