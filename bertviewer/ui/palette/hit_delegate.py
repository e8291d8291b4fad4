"""Draws what was found: its name with the letters that match, what it is, and its keys."""

from collections.abc import Sequence

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
from bertviewer.ui.palette.hit_list import ROW_ROLE, HitRow
from bertviewer.ui.palette.sources import BETWEEN
from bertviewer.ui.widgets.labels import highlighted_line
from bertviewer.ui.widgets.tables import Index

PADDING = 3 * GRID
MOST_NAME = 0.7
"""How much of a line a name may take from what stands at the right."""
LEAD = 24
"""Letters that are shown before those that match, where these would be out of sight."""
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
    text, places = f"…{text[cut:]}" if cut else text, _shifted(places, cut, 1 if cut else 0)
    said += (1 - cut) if cut else 0
    skipped = _skipped(text, said, places)
    if skipped and metrics.horizontalAdvance(text[: places[0]]) > width:
        begun = said + len(BETWEEN)
        text = f"{text[:begun]}…{text[begun + skipped :]}"
        places = _shifted(places, skipped, 1)
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
    strong = QTextCharFormat()
    strong.setFont(weighted(font))
    spans = (
        (0, said, _in(color)),
        (said, len(shown) - said, _in(muted)),
        *((place, 1, strong) for place in places if place < len(shown)),
    )
    return highlighted_line(shown, font, spans, width)


def _shifted(places: Sequence[int], cut: int, added: int) -> tuple[int, ...]:
    """Return places in a text of which some letters are cut before them, and others added."""
    return tuple(place - cut + added for place in places if place >= cut)


def _skipped(text: str, said: int, places: Sequence[int]) -> int:
    """Return how many letters of what is said come before those that match; 0 if few."""
    begun = said + len(BETWEEN)
    if not places or places[0] < begun + LEAD:
        return 0
    return max(0, text.rfind(" ", begun, places[0] - LEAD // 2) + 1 - begun)


def _said(row: HitRow) -> int:
    """Return where the name ends, and what is said of it begins."""
    assert row.hit is not None
    return len(row.hit.text.partition(BETWEEN)[0])


def _in(color: QColor) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(color)
    return made
