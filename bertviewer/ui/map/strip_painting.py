"""Paints the blocks of a strip."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.map.blocks import Block
from bertviewer.charts.theme import NORMAL, RADIUS, SMALL, Theme, mixed
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import grown, monospaced, sized, weighted
from bertviewer.ui.map.hover import as_qt
from bertviewer.ui.map.strip_layout import Seat

_TWO_LINES = 30.0


class Look(Struct, frozen=True):
    """Whether a block is the opened one, whether it is pointed at, and whether keys go to it."""

    is_current: bool
    is_hovered: bool
    has_focus: bool


def paint_seat(
    painter: QPainter, seat: Seat, *, tint: NodeColor, look: Look, theme: Theme, font: QFont
) -> None:
    """Paint a block in its place, with its name and its figure as far as there is room for them."""
    block, rect = seat.block, as_qt(seat.rect).adjusted(0.5, 0.5, -0.5, -0.5)
    # Layers have no hue of their own: they are of all parts.
    hue = theme.parts["norm"] if block.hue == "plain" else theme.parts[block.hue]
    strength = theme.tint
    if tint.hue:
        hue, strength = tint.hue, tint.strength
    border = mixed(hue, theme.surface, 0.45)
    if look.is_current:
        border = theme.accent
        if not tint.hue:
            hue, strength = theme.accent, theme.tint * 1.6
    elif look.is_hovered:
        border = theme.muted
    painter.setPen(QPen(QColor(border), 2.0 if look.is_current else 1.0))
    painter.setBrush(QColor(mixed(hue, theme.surface, strength)))
    radius = min(RADIUS, rect.width() / 3)
    painter.drawRoundedRect(rect, radius, radius)
    if look.is_current and look.has_focus:
        painter.setPen(QPen(QColor(theme.accent), 1.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect.adjusted(3, 3, -3, -3), radius - 2, radius - 2)
    if not seat.is_card:
        _write(painter, rect, block, tint=tint, theme=theme, font=font)
    elif number := card_number(block, weighted(sized(font, SMALL)), rect.width()):
        painter.setPen(QColor(theme.muted))
        painter.setFont(weighted(sized(font, SMALL)))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, number)


def card_number(block: Block, font: QFont, room: float) -> str:
    """Return the number of a layer, as far as a card has room for it."""
    number = printable(block.name).rpartition(" ")[2]
    return number if QFontMetricsF(font).horizontalAdvance(number) < room - 2 else ""


def paint_thread(painter: QPainter, seats: Sequence[Seat], theme: Theme) -> None:
    """Paint the line that goes through the blocks of a strip."""
    if seats:
        first, last = seats[0].rect, seats[-1].rect
        middle = first.y + first.height / 2
        painter.setPen(QPen(QColor(theme.flow), 2.0))
        painter.drawLine(QPointF(first.x + 8, middle), QPointF(last.right - 8, middle))


def paint_lead(painter: QPainter, block: QRectF, card: QRectF, theme: Theme) -> None:
    """Paint the two lines that lead from a block down to its picture."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.shade("attention", 0.45)), 1))
    painter.drawLine(block.bottomLeft() + QPointF(4, 0), card.topLeft() + QPointF(3, 3))
    painter.drawLine(block.bottomRight() + QPointF(-4, 0), card.topRight() + QPointF(-3, 3))


def _write(
    painter: QPainter, rect: QRectF, block: Block, *, tint: NodeColor, theme: Theme, font: QFont
) -> None:
    strong, small = weighted(sized(font, NORMAL)), monospaced(sized(font, SMALL))
    metrics = QFontMetricsF(strong)
    name = printable(block.name)
    if metrics.horizontalAdvance(name) > rect.width() - 6 and block.is_layer:
        name = name.rpartition(" ")[2]
    name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, rect.width() - 6)
    has_room = rect.height() > grown(_TWO_LINES)
    figure = fitting(tint.figure, small, rect.width() - 4) if has_room else ""
    half = rect.height() / 2
    upper = QRectF(rect.x(), rect.y() + 3, rect.width(), half)
    painter.setPen(QColor(theme.text))
    painter.setFont(strong)
    painter.drawText(upper if figure else rect, Qt.AlignmentFlag.AlignCenter, name)
    if figure:
        painter.setPen(QColor(theme.text if tint.hue else theme.muted))
        painter.setFont(small)
        lower = QRectF(rect.x(), rect.y() + half - 2, rect.width(), half)
        painter.drawText(lower, Qt.AlignmentFlag.AlignCenter, figure)


def fitting(figure: str, font: QFont, room: float) -> str:
    """Return a figure; without its name, or the space before its unit, if the room is small."""
    metrics = QFontMetricsF(font)
    first, _, rest = figure.partition(" ")
    short = f"{first}{rest}" if not first.isalpha() else rest
    forms = (figure, short)
    return next((form for form in forms if metrics.horizontalAdvance(form) <= room), "")
