"""All heads of an attention layer at once, each a small heatmap."""

from math import ceil

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from bertviewer.plots.cells import MOST_RECTANGLES, draw_rectangles, is_paper
from bertviewer.plots.chart import HeadsChart, Place
from bertviewer.plots.colors import SHADES, color_table, picture, reduced
from bertviewer.plots.frames import draw_frame
from bertviewer.plots.levels import Levels, levels_of
from bertviewer.plots.theme import LIGHT, PlotTheme

GAP, MARGIN = 10.0, 6.0  # pixels
BAR, BAR_ROOM = 12.0, 62.0
LARGE, SMALL = 9, 8  # points


class HeadGrid(QWidget):
    """The heads [S, S'] of a layer as heatmaps of one range of colours, query 0 at the top.

    Where a cell is smaller than a pixel, a pixel shows the largest of its cells, so that thin
    lines of attention stay visible. ``clicked`` carries the place of the head that was clicked,
    ``hovered`` the exact value under the mouse in words, or nothing.
    """

    clicked = Signal(Place)
    hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = LIGHT
        self.chart: HeadsChart | None = None
        self.selection = Place()
        self.levels: Levels = (0.0, 1.0)
        self._images: dict[tuple[int, int], list[QImage]] = {}
        self.setMouseTracking(True)
        self.setMinimumSize(160, 120)

    def sizeHint(self) -> QSize:
        """Return a size at which twelve heads can be told apart; Qt calls it."""
        return QSize(640, 400)

    def show_chart(self, chart: HeadsChart | None) -> None:
        """Draw a chart, in place of the one drawn before."""
        self.chart = chart if chart is not None and chart.values.size else None
        self._images = {}
        if self.chart is not None:
            low, high = levels_of(self.chart.values)
            self.levels = min(0.0, low), high
        self.update()

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw again in other colours."""
        self.theme = theme
        self._images = {}
        self.update()

    def mark(self, selection: Place) -> None:
        """Frame the head that is selected."""
        self.selection = selection
        self.update()

    def place_at(self, position: QPointF) -> Place | None:
        """Return the head at a position in the widget, its title included."""
        for head, rect in enumerate(self._rects()):
            if rect.adjusted(0, -self._title_height(), 0, 0).contains(position):
                return Place(head=head)
        return None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value at a position in the widget, in words; "" where there is none."""
        for head, rect in enumerate(self._rects()):
            if self.chart is not None and rect.contains(position):
                _, rows, columns = self.chart.values.shape
                query = int((position.y() - rect.y()) / rect.height() * rows)
                key = int((position.x() - rect.x()) / rect.width() * columns)
                return self.chart.text(head, min(query, rows - 1), min(key, columns - 1))
        return ""

    def head_rect(self, head: int) -> QRectF:
        """Return where a head's heatmap is in the widget."""
        return self._rects()[head]

    def draw_on(self, painter: QPainter) -> None:
        """Draw the heads as large as the widget is, from the painter's origin."""
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.background))
        chart = self.chart
        if chart is None:
            return
        rects = self._rects()
        is_vector = is_paper(painter) and chart.values.size <= MOST_RECTANGLES
        table = color_table(self.theme, False)
        images = [] if is_vector else self._pictures(painter, chart, rects[0])
        for head, rect in enumerate(rects):
            if is_vector:
                draw_rectangles(painter, rect, chart.values[head], self.levels, table)
            else:
                painter.drawImage(rect, images[head])
            self._draw_title(painter, head, chart.captions[head], rect)
        self._draw_bar(painter)
        chosen = self.selection.head
        if chosen is not None and chosen < len(rects):
            draw_frame(painter, rects[chosen], QRectF(self.rect()), self.theme)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; Qt calls it."""
        painter = QPainter(self)
        self.draw_on(painter)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Tell what was clicked; Qt calls it."""
        place = self.place_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and place is not None:
            self.clicked.emit(place)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell what is under the mouse; Qt calls it."""
        self.hovered.emit(self.text_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Tell that the mouse is on nothing any more; Qt calls it."""
        super().leaveEvent(event)
        self.hovered.emit("")

    def _font(self, points: int) -> QFont:
        font = QFont(self.font())
        font.setPointSize(points)
        return font

    def _title_height(self) -> float:
        return QFontMetricsF(self._font(LARGE)).height() + 3

    def _rects(self) -> list[QRectF]:
        """Return where the heatmaps are: in as many columns as make them largest."""
        if self.chart is None:
            return []
        heads, rows, columns = self.chart.values.shape
        width, height = self.width() - 2 * MARGIN - BAR_ROOM, self.height() - 2 * MARGIN
        title = self._title_height()

        def size(across: int) -> tuple[float, float]:
            """Return a heatmap's size: cells are squares."""
            wide = (width - GAP * (across - 1)) / across
            down = ceil(heads / across)
            tall = (height - GAP * (down - 1)) / down - title
            side = max(0.0, min(wide / columns, tall / rows))
            return max(4.0, side * columns), max(4.0, side * rows)

        across = max(range(1, heads + 1), key=lambda number: size(number)[0])
        wide, tall = size(across)
        return [
            QRectF(
                MARGIN + (head % across) * (wide + GAP),
                MARGIN + title + (head // across) * (tall + title + GAP),
                wide,
                tall,
            )
            for head in range(heads)
        ]

    def _pictures(self, painter: QPainter, chart: HeadsChart, rect: QRectF) -> list[QImage]:
        """Return the heads as images with no more pixels than ``rect`` has on the device."""
        values = chart.values
        _, rows, columns = values.shape
        if not is_paper(painter):
            pixels = painter.deviceTransform().mapRect(rect)
            rows = max(1, min(rows, ceil(pixels.height())))
            columns = max(1, min(columns, ceil(pixels.width())))
        if (rows, columns) not in self._images:
            table = color_table(self.theme, False)
            values = reduced(np.where(np.isfinite(values), values, np.nan), rows, columns)
            # Only the last size is worth keeping: the next paint asks for it again.
            self._images = {(rows, columns): [picture(head, self.levels, table) for head in values]}
        return self._images[rows, columns]

    def _draw_title(self, painter: QPainter, head: int, caption: str, rect: QRectF) -> None:
        """Write a head's number above it, and its caption beside that where there is room."""
        title = self.tr("head {0}").format(head)
        line = QRectF(rect.x(), rect.y() - self._title_height(), rect.width(), self._title_height())
        font = self._font(LARGE)
        font.setBold(head == self.selection.head)
        painter.setFont(font)
        painter.setPen(QColor(self.theme.foreground))
        used = QFontMetricsF(font).horizontalAdvance(title)
        left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        if used > rect.width():
            painter.drawText(line, left, str(head))
            return
        painter.drawText(line, left, title)
        small = self._font(SMALL)
        if used + GAP + QFontMetricsF(small).horizontalAdvance(caption) <= rect.width():
            painter.setFont(small)
            color = QColor(self.theme.foreground)
            color.setAlphaF(0.75)
            painter.setPen(color)
            right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(line, right, caption)

    def _draw_bar(self, painter: QPainter) -> None:
        """Draw the colours with the values of both ends and of the middle, at the right."""
        rects = self._rects()
        right = max(rect.right() for rect in rects)
        bar = QRectF(right + 2 * GAP, rects[0].top(), BAR, rects[-1].bottom() - rects[0].top())
        shades = np.arange(SHADES - 1.0, -1.0, -1.0)[:, None]
        table = color_table(self.theme, False)
        if is_paper(painter):
            draw_rectangles(painter, bar, shades, (0.0, SHADES - 1.0), table)
        else:
            painter.drawImage(bar, picture(shades, (0.0, SHADES - 1.0), table))
        painter.setPen(QPen(QColor(self.theme.muted), 1))
        painter.drawRect(bar)
        painter.setPen(QColor(self.theme.foreground))
        painter.setFont(self._font(SMALL))
        low, high = self.levels
        for part in (0.0, 0.5, 1.0):
            text = QRectF(bar.right() + 4, bar.bottom() - part * bar.height() - 10, BAR_ROOM, 20)
            text.moveTop(min(max(text.top(), bar.top() - 4), bar.bottom() - 16))
            painter.drawText(
                text, int(Qt.AlignmentFlag.AlignVCenter), f"{low + part * (high - low):.3g}"
            )
