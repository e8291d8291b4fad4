"""What every plot of the program shares: it is looked at and clicked, never dragged about."""

from typing import Literal

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.chart import GridChart, HistogramChart, LineChart
from bertviewer.charts.place import Place
from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.plots.plot_area import PlotArea

Side = Literal["left", "right"]
_SOLID = Qt.PenStyle.SolidLine


class Plot(pg.GraphicsView):  # type: ignore[misc]
    """A plot with a theme and two titled axes; a subclass adds what it shows to ``draw()``.

    ``clicked`` carries the place that was clicked, ``hovered`` the exact value under the mouse in
    words, or nothing. ``reached`` carries what a key has led to, in words, and where that is in the
    widget. ``paper_scale`` is how many pixels of a picture make one of the plot's, while
    it is drawn on one; ``None`` on a screen. ``neighbour`` is the side on which there is a plot of
    the same kind, whose title at the left or bar of colours at the right is for both. Where it is
    not ``is_titled``, what stands above it on the screen tells what its axes are.
    """

    clicked = Signal(Place)
    hovered = Signal(str)
    reached = Signal(str, QPoint)

    def __init__(self, axes: dict[str, pg.AxisItem], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.theme = LIGHT
        self.titles = {"bottom": "", "left": ""}
        self.selection = Place()
        self.paper_scale: float | None = None
        self.neighbour: Side | None = None
        self.is_titled = True
        self._drawn_scale = 0.0
        self.area = PlotArea(axes)
        self.setCentralItem(self.area)
        # The highest and the last label reach beyond their axes by half a letter.
        self.area.layout.setContentsMargins(1, 8, 8, 1)
        self.scene().sigMouseClicked.connect(self._on_click)
        self.scene().sigMouseMoved.connect(self._on_move)

    def place_at(self, position: QPointF) -> Place | None:
        """Return what is at a position in the scene, ``None`` where there is nothing."""
        raise NotImplementedError

    def text_at(self, position: QPointF) -> str:
        """Return the exact value at a position in the scene, in words; "" where there is none."""
        raise NotImplementedError

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self.theme = theme
        self.draw()

    def mark(self, selection: Place) -> None:
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
            if place is not None and place != Place():
                self.clicked.emit(place)

    def _on_move(self, position: QPointF) -> None:
        self.hovered.emit(self.text_at(position))
