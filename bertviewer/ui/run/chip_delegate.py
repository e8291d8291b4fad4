"""Draws a token as a chip: a rounded field whose colour tells a figure."""

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from bertviewer.charts.naming import shortened
from bertviewer.charts.theme import GRID, LIGHT, NORMAL_WEIGHT, RADIUS, ROW, STRONG, Theme, mixed
from bertviewer.charts.token_measures import TokenMeasure, no_measure
from bertviewer.core.text.text_direction import isolated
from bertviewer.plots.fonts import weighted
from bertviewer.ui.token_rows import JOIN_ROLE

LONGEST = 24  # letters of a chip; its tip has the whole
PADDING = 9
GAP, JOIN_GAP, PAIR_GAP = 6, 2, 17  # pixels before a word, a piece of one, a second sentence
PALEST, DEEPEST = 0.06, 0.42
"""How much of its hue a chip has, at the least figure and at the largest."""
KIND = 0.22
RING = 2

_Index = QModelIndex | QPersistentModelIndex
_Role = Qt.ItemDataRole


class ChipDelegate(QStyledItemDelegate):
    """``starts`` are the tokens at which a further text begins, which a line sets off."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = LIGHT
        self.measure: TokenMeasure = no_measure()
        self.starts: frozenset[int] = frozenset()

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the room of a chip and of the gap before it; Qt calls it."""
        # Wide enough for the strong type of a selected one: nothing moves when it is selected.
        metrics = QFontMetrics(_font(option.font, index, is_chosen=True))
        width = metrics.horizontalAdvance(_text(index)) + 2 * PADDING
        return QSize(max(width, ROW) + self._gap(index), ROW + GRID)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw one chip; Qt calls it."""
        theme, gap = self.theme, self._gap(index)
        is_chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        # The view gives a chip all the height that it has itself.
        left, top = option.rect.left() + gap, option.rect.top() + GRID / 2
        box = QRectF(left, top, option.rect.width() - gap, ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if index.row() in self.starts:
            x = option.rect.left() + (gap + GAP) / 2 - RING
            painter.setPen(QPen(QColor(theme.faint), 1))
            painter.drawLine(round(x), round(box.top()), round(x), round(box.bottom()))
        painter.setBrush(QColor(self._fill(index.row())))
        is_over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.setPen(QPen(QColor(theme.border("attention")), 1) if is_over else Qt.PenStyle.NoPen)
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if is_chosen:
            self._draw_ring(painter, box, option)
        painter.setFont(_font(option.font, index, is_chosen))
        painter.setPen(self._text_color(index))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), _text(index))
        painter.restore()

    def _draw_ring(self, painter: QPainter, box: QRectF, option: QStyleOptionViewItem) -> None:
        """Draw what marks the selected chip; where the keys go to it, the ring is the text's."""
        has_focus = option.widget is not None and option.widget.hasFocus()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self.theme.text if has_focus else self.theme.accent), RING))
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), RADIUS, RADIUS)

    def _fill(self, token: int) -> str:
        theme, share = self.theme, self.measure.share(token)
        if share is None:
            return theme.field
        if self.measure.are_kinds:
            hue = theme.series[int(self.measure.values[token] or 0) % len(theme.series)]
            return mixed(hue, theme.surface, KIND)
        return mixed(theme.accent, theme.surface, PALEST + share * (DEEPEST - PALEST))

    def _text_color(self, index: _Index) -> QColor:
        own = index.data(_Role.ForegroundRole)
        return own if isinstance(own, QColor) else QColor(self.theme.text)

    def _gap(self, index: _Index) -> int:
        if index.row() in self.starts:
            return PAIR_GAP
        is_piece, _ = index.data(JOIN_ROLE)
        return (JOIN_GAP if is_piece else GAP) if index.row() else 0


def _text(index: _Index) -> str:
    return isolated(shortened(str(index.data(_Role.DisplayRole)), LONGEST))


def _font(font: QFont, index: _Index, is_chosen: bool) -> QFont:
    made = weighted(font, STRONG if is_chosen else NORMAL_WEIGHT)
    own = index.data(_Role.FontRole)
    made.setItalic(isinstance(own, QFont) and own.italic())
    return made
