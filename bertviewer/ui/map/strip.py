"""The whole model as a strip of blocks; the opened one is marked."""

from collections.abc import Callable, Mapping
from functools import reduce

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy
from typing_extensions import override

from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.blocks import Block, Strip
from bertviewer.charts.theme import NORMAL, SMALL
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import grown, sized, weighted
from bertviewer.ui.map.hover import Pointed, as_qt
from bertviewer.ui.map.strip_layout import Seat, room_for, seats_of
from bertviewer.ui.map.strip_painting import Look, paint_seat, paint_thread
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.theme_of import theme_of

_HIGH, _TWO_HIGH, _CAPTION, _APART = 44.0, 36.0, 24.0, 6.0
_LOW, _TWO_LOW = 24.0, 20.0


class ModelStrip(Pointed):
    """Blocks in the order of execution; a click, a drag or the arrow keys open one.

    ``opened`` brings the block that a person wants.
    """

    opened = Signal(object)
    moved = Signal()

    def __init__(self) -> None:
        super().__init__("mapStrip", translate("map", "Blocks of the whole model"))
        self.setMinimumWidth(60)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.strips: tuple[Strip, ...] = ()
        self.current: Block | None = None
        self.tints: Mapping[Block, NodeColor] = {}
        self._tip: Callable[[Block], str] = lambda block: block.name
        self._is_low = self._is_scrubbing = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks."""
        return tuple(block for strip in self.strips for block in strip.blocks)

    def set_strips(self, strips: tuple[Strip, ...]) -> None:
        """Show another model's blocks."""
        self.strips, self.current, self._hovered = strips, None, None
        self.updateGeometry()
        self.update()

    def set_low(self, is_low: bool) -> None:
        """Have blocks of one line, without a caption above; figures stay in their tips."""
        self._is_low = is_low
        self.updateGeometry()
        self.update()

    def set_figures(self, tints: Mapping[Block, NodeColor], tip: Callable[[Block], str]) -> None:
        """Write figures into the blocks, in the colours of what is measured."""
        self.tints, self._tip = tints, tip
        self._describe()
        self.update()

    def set_current(self, block: Block | None) -> None:
        """Mark the block that is opened, or none."""
        if block != self.current:
            self.current = block
            self._describe()
            self.update()
            self.moved.emit()

    def rect_of(self, block: Block | None) -> QRectF:
        """Return where a block is; all of the last strip if it is the whole model."""
        found = [as_qt(seat.rect) for seat in self.seats() if seat.block == block]
        if found:
            return found[0]
        seats = self.seats()
        if not seats:
            return QRectF()
        first, last = seats[0].rect, seats[-1].rect
        right = max(seat.rect.right for seat in seats)
        return QRectF(first.x, last.y, right - first.x, last.height)

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, round(self._top(len(self.strips)) - _APART + 1))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = theme_of(self), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        captions = weighted(sized(self.font(), SMALL))
        painter.setPen(QColor(theme.muted))
        painter.setFont(captions)
        if self.strips and not self._is_low:
            painter.drawText(QPointF(1, grown(14)), self.tr("WHOLE MODEL"))
        if self.strips and self.current is None:
            places = [as_qt(seat.rect) for seat in self.seats()]
            around = reduce(QRectF.united, places, QRectF())
            self.paint_focus(painter, around.adjusted(-2.5, -2.5, 2.5, 2.5))
        for number, (strip, seats) in enumerate(zip(self.strips, self._rows(), strict=True)):
            row = QRectF(1, self._top(number), self._left() - 8, self._block_height())
            painter.setPen(QColor(theme.muted))
            painter.setFont(captions)
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, printable(strip.name))
            paint_thread(painter, seats, theme)
            for seat in seats:
                block = seat.block
                look = Look(block is self.current, block is self._hovered, self.hasFocus())
                tint = self.tints.get(block, NodeColor())
                paint_seat(painter, seat, tint=tint, look=look, theme=theme, font=self.font())
        painter.end()

    def tip_at(self, place: QPointF) -> str:
        """Return what is told of the block at a place."""
        block = self._at(place)
        return "" if block is None else self._tip(block)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._is_scrubbing = True
            self._open(self._at(event.position()))

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        block = self._at(event.position())
        if self._is_scrubbing:
            if block is not None and block != self.current:
                self._open(block)
        else:
            self.hover(block)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self._is_scrubbing = False

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        blocks, key = self.blocks, event.key()
        last, place = len(blocks) - 1, blocks.index(self.current) if self.current in blocks else -1
        places: dict[int, int] = {
            Qt.Key.Key_Left: max(place - 1, 0),
            Qt.Key.Key_Right: min(place + 1, last),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
            Qt.Key.Key_Return: max(place, 0),
            Qt.Key.Key_Enter: max(place, 0),
        }
        if blocks and key in places:
            self._open(blocks[places[key]])
        elif blocks and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._go_across()
        else:
            super().keyPressEvent(event)

    def _go_across(self) -> None:
        """Go to the other strip, to what stands nearest there."""
        here, rows = self.rect_of(self.current).center().x(), self._rows()
        others = [row for row in rows if all(seat.block != self.current for seat in row)]
        if len(others) == 1 and len(rows) > 1:
            seats = others[0]
            near = min(seats, key=lambda seat: abs(seat.rect.x + seat.rect.width / 2 - here))
            self._open(near.block)

    def _open(self, block: Block | None) -> None:
        if block is not None:
            self.opened.emit(block)

    def _at(self, place: QPointF) -> Block | None:
        for seat in self.seats():
            # Between two cards there is nothing to miss.
            room = 2.0 if seat.is_card else 0.0
            if as_qt(seat.rect).adjusted(-room, 0, room, 0).contains(place):
                return seat.block
        return None

    def _block_height(self) -> float:
        one, two = (_LOW, _TWO_LOW) if self._is_low else (_HIGH, _TWO_HIGH)
        return grown(one if len(self.strips) < 2 else two)

    def _top(self, number: int) -> float:
        caption = 0.0 if self._is_low else grown(_CAPTION)
        return caption + number * (self._block_height() + _APART)

    def _left(self) -> float:
        """Return where blocks begin: to the right of the strips' names."""
        metrics = QFontMetricsF(weighted(sized(self.font(), SMALL)))
        return 1.0 + room_for([strip.name for strip in self.strips], metrics.horizontalAdvance)

    def seats(self) -> list[Seat]:
        """Return the blocks in their places."""
        return [seat for row in self._rows() for seat in row]

    def _rows(self) -> list[tuple[Seat, ...]]:
        metrics = QFontMetricsF(weighted(sized(self.font(), NORMAL)))
        wide = [each for each in (self.current, self._hovered) if isinstance(each, Block)]
        left, height = self._left(), self._block_height()
        return [
            seats_of(
                strip.blocks,
                Rect(left, self._top(number), self.width() - left - 1.0, height),
                metrics.horizontalAdvance,
                wide,
            )
            for number, strip in enumerate(self.strips)
        ]

    def _describe(self) -> None:
        block = self.current
        self.describe("" if block is None else self._tip(block))
