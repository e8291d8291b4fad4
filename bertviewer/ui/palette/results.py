"""List of the palette's results: its model, with a heading above each kind, and its delegate."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QAbstractListModel, QObject, QPointF, QRect, QRectF, QSize, Qt
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
from typing_extensions import override

from bertviewer.charts.theme import GRID, RADIUS, ROW, SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.palette.search import Group
from bertviewer.ui.palette.search_index import Hit
from bertviewer.ui.palette.sources import SEPARATOR, Item, name_of
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.labels import highlighted_line
from bertviewer.ui.widgets.tables import Index

ROW_ROLE = Qt.ItemDataRole.UserRole

PADDING = 3 * GRID
MAX_NAME = 0.7
"""The part of a line that a name may take from the text at the right."""
CONTEXT = 24
"""Characters of a description that are kept before the first match, where it is cut."""
TICK = "✓"


class HitRow(Struct, frozen=True):
    """A line of the list: a heading, or a result."""

    heading: str = ""
    hit: Hit | None = None
    item: Item | None = None

    @property
    def text(self) -> str:
        """Its text in one line."""
        return self.heading if self.hit is None else self.hit.text.replace(SEPARATOR, ", ")


class HitList(QAbstractListModel):
    """Results under headings, which cannot be selected."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[HitRow] = []

    def show_groups(self, groups: Sequence[Group]) -> None:
        """Replace the results."""
        self.beginResetModel()
        self._rows = []
        for group in groups:
            self._rows.append(HitRow(translate("palette", group.source.title)))
            for hit in group.hits:
                self._rows.append(HitRow("", hit, group.source.item(hit.number)))
        self.endResetModel()

    def row(self, number: int) -> HitRow | None:
        """Return a line, ``None`` if there is none of that number."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def next(self, number: int, by: int) -> int:
        """Return the next line in a direction that can be selected, or ``number`` without one.

        After the last line comes the first one.
        """
        count = len(self._rows)
        for step in range(1, count + 1):
            found = (number + step * by) % count
            if self._rows[found].hit is not None:
                return found
        return number

    @override
    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row(index.row())
        if row is None or row.hit is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row(index.row())
        if row is None:
            return None
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            texts = (
                (row.text, row.item.disabled_reason or row.item.keys) if row.item else (row.text,)
            )
            return ", ".join(filter(None, texts))
        return None


class HitDelegate(QStyledItemDelegate):
    """Draws results as plain text, since names come from checkpoints, with the matches in bold."""

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, max(ROW + GRID // 2, option.fontMetrics.height() + 2 * GRID))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: HitRow = index.data(ROW_ROLE)
        room = option.rect.adjusted(GRID, 0, -GRID, 0)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(option.palette.color(QPalette.ColorRole.Highlight))
            painter.drawRoundedRect(QRectF(room), RADIUS, RADIUS)
        room = room.adjusted(PADDING - GRID, 0, GRID - PADDING, 0)
        if row.hit is None or row.item is None:
            painter.setFont(weighted(sized(option.font, SMALL)))
            painter.setPen(option.palette.color(QPalette.ColorRole.PlaceholderText))
            below = room.adjusted(0, GRID, 0, 0)
            painter.drawText(below, int(Qt.AlignmentFlag.AlignVCenter), row.heading)
        else:
            _draw_hit(painter, option, row.hit, row.item, room)
        painter.restore()


def _draw_hit(
    painter: QPainter, option: QStyleOptionViewItem, hit: Hit, item: Item, room: QRect
) -> None:
    palette = option.palette
    muted = palette.color(QPalette.ColorRole.PlaceholderText)
    at_right = item.disabled_reason or item.keys or (TICK if item.is_chosen else "")
    if at_right:
        font = sized(option.font, SMALL)
        painter.setFont(font)
        painter.setPen(muted)
        metrics = QFontMetricsF(font)
        name = QFontMetricsF(weighted(option.font)).horizontalAdvance(name_of(hit.text))
        left = room.width() - min(name, room.width() * MAX_NAME) - PADDING
        text = metrics.elidedText(at_right, Qt.TextElideMode.ElideRight, left)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(room, right, text)
        room = room.adjusted(0, 0, -int(metrics.horizontalAdvance(text)) - PADDING, 0)
    group = QPalette.ColorGroup.Disabled if item.disabled_reason else QPalette.ColorGroup.Normal
    color = palette.color(group, QPalette.ColorRole.Text)
    layout = _lay_out(hit, option.font, color, muted, room.width())
    painter.setClipRect(room)
    top = room.top() + (room.height() - layout.lineAt(0).height()) / 2
    layout.draw(painter, QPointF(room.left(), top))


def _lay_out(hit: Hit, font: QFont, color: QColor, muted: QColor, width: int) -> QTextLayout:
    """Return the text of a result in one line of a width.

    A name that is too long is cut at its beginning, a description before its first match and at
    its end.
    """
    text, places = hit.text, hit.match.places
    end = len(name_of(text))  # of the name
    metrics = QFontMetricsF(weighted(font))
    cut = 0
    while cut < end and metrics.horizontalAdvance(text[cut:end]) > width:
        cut += max(1, (end - cut) // 8)
    if cut:
        text, places, end = f"…{text[cut:]}", _shifted(places, cut), end - cut + 1
    start = end + len(SEPARATOR)  # of the description
    skipped = 0
    if places and places[0] >= start + CONTEXT:
        skipped = max(0, text.rfind(" ", start, places[0] - CONTEXT // 2) + 1 - start)
    if skipped and metrics.horizontalAdvance(text[: places[0]]) > width:
        text = f"{text[:start]}…{text[start + skipped :]}"
        places = _shifted(places, skipped)
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
    bold = QTextCharFormat()
    bold.setFont(weighted(font))
    spans = (
        (0, end, _colored(color)),
        (end, len(shown) - end, _colored(muted)),
        *((place, 1, bold) for place in places if place < len(shown)),
    )
    return highlighted_line(shown, font, spans, width)


def _shifted(places: Sequence[int], cut: int) -> tuple[int, ...]:
    """Return places in a text in which an ellipsis replaces so many characters before them."""
    return tuple(place - cut + 1 for place in places if place >= cut)


def _colored(color: QColor) -> QTextCharFormat:
    style = QTextCharFormat()
    style.setForeground(color)
    return style
