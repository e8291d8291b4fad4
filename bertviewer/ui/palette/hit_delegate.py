"""Draws what was found: its name with the letters that match, what it is, and its keys."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPalette,
    QTextCharFormat,
    QTextLayout,
)
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from bertviewer.charts.theme import GRID, RADIUS, ROW, SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.marked_line import marked_line
from bertviewer.ui.palette.hit_list import ROW_ROLE, HitRow
from bertviewer.ui.palette.sources import BETWEEN
from bertviewer.ui.tables import Index

PADDING = 3 * GRID
MOST_NAME = 0.7
"""How much of a line a name may take from what stands at the right."""
TICK = "✓"
DISABLED = QPalette.ColorGroup.Disabled


class HitDelegate(QStyledItemDelegate):
    """Names come from strangers: they are laid out as plain text, in their own direction."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the height of a line; Qt calls it."""
        return QSize(0, max(ROW + GRID // 2, option.fontMetrics.height() + 2 * GRID))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one line; Qt calls it."""
        row: HitRow = index.data(ROW_ROLE)
        room = option.rect.adjusted(GRID, 0, -GRID, 0)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(option.palette.color(QPalette.ColorRole.Highlight))
            painter.drawRoundedRect(QRectF(room), RADIUS, RADIUS)
        room = room.adjusted(PADDING - GRID, 0, GRID - PADDING, 0)
        if row.hit is None:
            painter.setFont(weighted(sized(option.font, SMALL)))
            painter.setPen(option.palette.color(QPalette.ColorRole.PlaceholderText))
            below = room.adjusted(0, GRID, 0, 0)
            painter.drawText(below, int(Qt.AlignmentFlag.AlignVCenter), row.heading)
        else:
            self._draw_hit(painter, option, row, room)
        painter.restore()

    def _draw_hit(
        self, painter: QPainter, option: QStyleOptionViewItem, row: HitRow, room: QRect
    ) -> None:
        assert row.hit is not None
        assert row.item is not None
        palette = option.palette
        muted = palette.color(QPalette.ColorRole.PlaceholderText)
        at_right = row.item.why_not or row.item.keys or (TICK if row.item.is_chosen else "")
        if at_right:
            font = sized(option.font, SMALL)
            painter.setFont(font)
            painter.setPen(muted)
            metrics = QFontMetricsF(font)
            name = QFontMetricsF(weighted(option.font)).horizontalAdvance(
                row.hit.text[: _said(row)]
            )
            left = room.width() - min(name, room.width() * MOST_NAME) - PADDING
            text = metrics.elidedText(at_right, Qt.TextElideMode.ElideRight, left)
            right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(room, right, text)
            room = room.adjusted(0, 0, -int(metrics.horizontalAdvance(text)) - PADDING, 0)
        group = DISABLED if row.item.why_not else QPalette.ColorGroup.Normal
        color = palette.color(group, QPalette.ColorRole.Text)
        layout = _laid_out(row, option.font, color, muted, room.width())
        painter.setClipRect(room)
        line = layout.lineAt(0)
        top = room.top() + (room.height() - line.height()) / 2
        layout.draw(painter, QPointF(room.left(), top))


def _laid_out(row: HitRow, font: QFont, color: QColor, muted: QColor, width: int) -> QTextLayout:
    """Return the text in one line of that width.

    What is said of it gives way before its name, of which the end is seen.
    """
    assert row.hit is not None
    text, places, said = row.hit.text, row.hit.match.places, _said(row)
    metrics = QFontMetricsF(weighted(font))
    cut = 0
    while cut < said and metrics.horizontalAdvance(text[cut:said]) > width:
        cut += max(1, (said - cut) // 8)
    shown = f"…{text[cut:]}" if cut else text
    shown = metrics.elidedText(shown, Qt.TextElideMode.ElideRight, width)
    shift = 1 - cut if cut else 0
    strong = QTextCharFormat()
    strong.setFont(weighted(font))
    hits = [place + shift for place in places if cut <= place and place + shift < len(shown)]
    spans = (
        (0, said + shift, _in(color)),
        (said + shift, len(shown) - said - shift, _in(muted)),
        *((place, 1, strong) for place in hits),
    )
    return marked_line(shown, font, spans, width)


def _said(row: HitRow) -> int:
    """Return where the name ends, and what is said of it begins."""
    assert row.hit is not None
    return len(row.hit.text.partition(BETWEEN)[0])


def _in(color: QColor) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(color)
    return made
