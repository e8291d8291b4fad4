"""Strip of the model's blocks in the order of execution, with the opened one highlighted."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy
from typing_extensions import override

from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.blocks import Block, Strip
from bertviewer.charts.theme import NORMAL, RADIUS, SMALL, Theme, mixed
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import grown, monospaced, sized, weighted
from bertviewer.ui.map.hover import HoverView, as_qt
from bertviewer.ui.map.strip_layout import PlacedBlock, names_width, place_blocks
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import theme_of

_CAPTION_HEIGHT, _ROW_GAP = 24.0, 6.0
_HEIGHTS = {False: (44.0, 36.0), True: (24.0, 20.0)}
"""Heights of one row and of several rows, by whether the strip is compact."""
_TWO_LINES = 30.0
"""Blocks of at least this height have a second line with a number."""


class ModelStrip(HoverView[Block]):
    """One row of blocks, or two for encoder and decoder; a click, a drag or a key opens a block.

    ``opened`` has the block that the user wants, ``moved`` is emitted for another current block.
    """

    opened = Signal(object)
    moved = Signal()

    def __init__(self) -> None:
        super().__init__("mapStrip", translate("map", "Blocks of the whole model"))
        self.setMinimumWidth(60)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.strips: tuple[Strip, ...] = ()
        self.current: Block | None = None
        self.colors: Mapping[Block, NodeColor] = {}
        self._block_tooltip: Callable[[Block], str] = lambda block: block.name
        self._is_compact = self._is_dragging = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks."""
        return tuple(block for strip in self.strips for block in strip.blocks)

    def set_strips(self, strips: tuple[Strip, ...]) -> None:
        """Show the blocks of another model."""
        self.strips, self.current, self._hovered = strips, None, None
        self.updateGeometry()
        self.update()

    def set_compact(self, is_compact: bool) -> None:
        """Show blocks of one line without a caption."""
        self._is_compact = is_compact
        self.updateGeometry()
        self.update()

    def set_style(self, colors: Mapping[Block, NodeColor], tooltip: Callable[[Block], str]) -> None:
        """Set the colours, numbers and tooltips of blocks."""
        self.colors, self._block_tooltip = colors, tooltip
        self._describe()
        self.update()

    def set_current(self, block: Block | None) -> None:
        """Highlight a block, or none."""
        if block != self.current:
            self.current = block
            self._describe()
            self.update()
            self.moved.emit()

    def rect_of(self, block: Block | None) -> QRectF:
        """Return the rectangle of a block; for another one, that of the last row."""
        placed = self.placed_blocks()
        if not placed:
            return QRectF()
        found = next((each.rect for each in placed if each.block == block), None)
        if found is not None:
            return as_qt(found)
        first, last = placed[0].rect, placed[-1].rect
        right = max(each.rect.right for each in placed)
        return QRectF(first.x, last.y, right - first.x, last.height)

    def placed_blocks(self) -> list[PlacedBlock]:
        """Return the blocks with their rectangles."""
        return [placed for row in self._rows() for placed in row]

    @override
    def item_at(self, position: QPointF) -> Block | None:
        for placed in self.placed_blocks():
            gap = 2.0 if placed.is_card else 0.0  # no gaps between cards
            if as_qt(placed.rect).adjusted(-gap, 0, gap, 0).contains(position):
                return placed.block
        return None

    @override
    def tooltip(self, item: Block) -> str:
        return self._block_tooltip(item)

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, round(self._top(len(self.strips)) - _ROW_GAP + 1))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter, rows = theme_of(self), QPainter(self), self._rows()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        caption_font = weighted(sized(self.font(), SMALL))
        painter.setPen(QColor(theme.muted))
        painter.setFont(caption_font)
        if self.strips and not self._is_compact:
            painter.drawText(QPointF(1, grown(14)), self.tr("WHOLE MODEL"))
        if self.strips and self.current is None:
            rects = [as_qt(placed.rect) for row in rows for placed in row]
            around = reduce(QRectF.united, rects, QRectF())
            self.paint_focus(painter, around.adjusted(-2.5, -2.5, 2.5, 2.5))
        for number, (strip, row) in enumerate(zip(self.strips, rows, strict=True)):
            label = QRectF(1, self._top(number), self._left() - 8, self._block_height())
            painter.setPen(QColor(theme.muted))
            painter.setFont(caption_font)
            painter.drawText(label, Qt.AlignmentFlag.AlignVCenter, printable(strip.name))
            _paint_line(painter, row, theme)
            for placed in row:
                self._paint_block(painter, placed, theme)
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._is_dragging = True
            self._open(self.item_at(event.position()))

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self._is_dragging:
            super().mouseMoveEvent(event)
        elif (block := self.item_at(event.position())) != self.current:
            self._open(block)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self._is_dragging = False

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
            self._open_in_other_row()
        else:
            super().keyPressEvent(event)

    def _open_in_other_row(self) -> None:
        """Open the nearest block of the other row."""
        x, rows = self.rect_of(self.current).center().x(), self._rows()
        others = [row for row in rows if all(placed.block != self.current for placed in row)]
        if len(others) == 1 and len(rows) > 1:
            centers = [(abs(as_qt(each.rect).center().x() - x), each) for each in others[0]]
            self._open(min(centers, key=lambda pair: pair[0])[1].block)

    def _open(self, block: Block | None) -> None:
        if block is not None:
            self.opened.emit(block)

    def _block_height(self) -> float:
        one, two = _HEIGHTS[self._is_compact]
        return grown(one if len(self.strips) < 2 else two)

    def _top(self, row: int) -> float:
        caption = 0.0 if self._is_compact else grown(_CAPTION_HEIGHT)
        return caption + row * (self._block_height() + _ROW_GAP)

    def _left(self) -> float:
        """Return the left edge of the blocks, to the right of the names of rows."""
        metrics = QFontMetricsF(weighted(sized(self.font(), SMALL)))
        return 1.0 + names_width([strip.name for strip in self.strips], metrics.horizontalAdvance)

    def _rows(self) -> list[tuple[PlacedBlock, ...]]:
        metrics = QFontMetricsF(weighted(sized(self.font(), NORMAL)))
        opened = [block for block in (self.current, self._hovered) if block is not None]
        left, height = self._left(), self._block_height()
        return [
            place_blocks(
                strip.blocks,
                Rect(left, self._top(number), self.width() - left - 1.0, height),
                metrics.horizontalAdvance,
                opened,
            )
            for number, strip in enumerate(self.strips)
        ]

    def _describe(self) -> None:
        self.describe("" if self.current is None else self._block_tooltip(self.current))

    def _paint_block(self, painter: QPainter, placed: PlacedBlock, theme: Theme) -> None:
        """Paint a block with its name and number, as far as they fit."""
        block, rect = placed.block, as_qt(placed.rect).adjusted(0.5, 0.5, -0.5, -0.5)
        color, is_current = self.colors.get(block, NodeColor()), block is self.current
        # Layers contain all parts, so they have a neutral colour.
        hue = theme.parts["norm" if block.hue == "plain" else block.hue]
        strength = theme.tint
        if color.hue:
            hue, strength = color.hue, color.strength
        border = mixed(hue, theme.surface, 0.45)
        if is_current:
            border = theme.accent
            if not color.hue:
                hue, strength = theme.accent, theme.tint * 1.6
        elif block is self._hovered:
            border = theme.muted
        painter.setPen(QPen(QColor(border), 2.0 if is_current else 1.0))
        painter.setBrush(QColor(mixed(hue, theme.surface, strength)))
        radius = min(RADIUS, rect.width() / 3)
        painter.drawRoundedRect(rect, radius, radius)
        if is_current and self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(3, 3, -3, -3), radius - 2, radius - 2)
        if placed.is_card:
            font = weighted(sized(self.font(), SMALL))
            painter.setPen(QColor(theme.muted))
            painter.setFont(font)
            number = card_number(block, font, rect.width())
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, number)
        else:
            self._paint_texts(painter, rect, block, color, theme)

    def _paint_texts(
        self, painter: QPainter, rect: QRectF, block: Block, color: NodeColor, theme: Theme
    ) -> None:
        strong = weighted(sized(self.font(), NORMAL))
        small = monospaced(sized(self.font(), SMALL))
        metrics, name = QFontMetricsF(strong), printable(block.name)
        if metrics.horizontalAdvance(name) > rect.width() - 6 and block.is_layer:
            name = name.rpartition(" ")[2]
        name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, rect.width() - 6)
        has_two_lines = rect.height() > grown(_TWO_LINES)
        figure = fitting_figure(color.figure, small, rect.width() - 4) if has_two_lines else ""
        half = rect.height() / 2
        upper = QRectF(rect.x(), rect.y() + 3, rect.width(), half)
        painter.setPen(QColor(theme.text))
        painter.setFont(strong)
        painter.drawText(upper if figure else rect, Qt.AlignmentFlag.AlignCenter, name)
        if figure:
            painter.setPen(QColor(theme.text if color.hue else theme.muted))
            painter.setFont(small)
            lower = QRectF(rect.x(), rect.y() + half - 2, rect.width(), half)
            painter.drawText(lower, Qt.AlignmentFlag.AlignCenter, figure)


def card_number(block: Block, font: QFont, width: float) -> str:
    """Return the number of a layer, "" if it does not fit."""
    number = printable(block.name).rpartition(" ")[2]
    return number if QFontMetricsF(font).horizontalAdvance(number) < width - 2 else ""


def fitting_figure(figure: str, font: QFont, width: float) -> str:
    """Return a number with its name and unit, without name or space, or "" if it does not fit."""
    metrics = QFontMetricsF(font)
    first, _, rest = figure.partition(" ")
    short = f"{first}{rest}" if not first.isalpha() else rest
    return next((each for each in (figure, short) if metrics.horizontalAdvance(each) <= width), "")


def _paint_line(painter: QPainter, row: Sequence[PlacedBlock], theme: Theme) -> None:
    """Paint the line through the blocks of a row."""
    if row:
        first, last = row[0].rect, row[-1].rect
        middle = first.y + first.height / 2
        painter.setPen(QPen(QColor(theme.flow), 2.0))
        painter.drawLine(QPointF(first.x + 8, middle), QPointF(last.right - 8, middle))
