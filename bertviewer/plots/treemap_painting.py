"""Painting of treemaps."""

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.treemap import Cell
from bertviewer.charts.theme import SMALL, Theme, mixed
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import sized, weighted

_LEAST_HIGH, _LEAST_WIDE, _PADDING = 14.0, 18.0, 5.0
_TWO_LINES = 32.0
_LEAST_LETTERS = 8
"""Names of which fewer letters would be left are omitted."""
_PALER = 0.5
"""A cell with inner cells has this fraction of its hue, so that these stand out."""


def paint_cells(
    painter: QPainter, whole: Cell, tint: Callable[[str], NodeColor], theme: Theme, font: QFont
) -> None:
    """Paint all cells, with the names that fit; those of narrow cells are rotated."""
    strong, small = weighted(sized(font, SMALL)), sized(font, SMALL)
    for cell in whole.all_cells():
        found, rect = tint(cell.area.path), cell.rect
        strength = found.strength * (_PALER if cell.cells else 1.0)
        fill = mixed(found.hue, theme.surface, strength) if found.hue else theme.surface
        border = mixed(found.hue or theme.faint, theme.surface, min(0.25 + strength, 0.6))
        painter.setPen(QPen(QColor(border), 0.8))
        painter.setBrush(QColor(fill))
        painter.drawRoundedRect(_as_qt(rect), 3.0, 3.0)
        room = cell.title if cell.cells else cell.rect
        if room is None or room.height < _LEAST_HIGH or room.width < _LEAST_WIDE:
            continue
        name = printable(cell.area.name)
        box = _as_qt(room).adjusted(0 if cell.cells else _PADDING, 0, -_PADDING, 0)
        painter.save()
        wide = QFontMetricsF(strong).horizontalAdvance(name)
        if not cell.cells and room.height > room.width and wide > box.width():
            painter.translate(room.x, room.bottom)
            painter.rotate(-90)
            box = QRectF(_PADDING, 0, room.height - 2 * _PADDING, room.width)
        _write(
            painter,
            box,
            name=name,
            figure=found.figure,
            fonts=(strong, small),
            color=theme.text,
            is_leaf=not cell.cells,
        )
        painter.restore()


def _write(
    painter: QPainter,
    box: QRectF,
    *,
    name: str,
    figure: str,
    fonts: tuple[QFont, QFont],
    color: str,
    is_leaf: bool,
) -> None:
    strong, small = fonts
    metrics = QFontMetricsF(strong)
    width = metrics.horizontalAdvance(name)
    beside = QFontMetricsF(small).horizontalAdvance(figure) + 8 if figure else 0.0
    text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, box.width())
    if len(text) < min(len(name), _LEAST_LETTERS):
        return
    middle = Qt.AlignmentFlag.AlignVCenter
    is_below = is_leaf and box.height() >= _TWO_LINES and beside - 8 <= box.width()
    row = QRectF(box.x(), box.y(), box.width(), _TWO_LINES / 2 if is_leaf else box.height())
    if is_leaf:
        row.translate(0, min(3.0, max((box.height() - _TWO_LINES / 2) / 2, 0.0)))
    painter.setPen(QColor(color))
    painter.setFont(strong)
    painter.drawText(row, middle, text)
    if not figure or not (is_below or width + beside <= box.width()):
        return
    painter.setFont(small)
    if is_below:
        painter.drawText(row.translated(0, 14), middle, figure)
    else:
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignRight, figure)


def _as_qt(rect: Rect) -> QRectF:
    return QRectF(rect.x, rect.y, rect.width, rect.height)
