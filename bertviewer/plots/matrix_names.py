"""The names of a matrix's rows, beside it, and of its columns, below it."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from bertviewer.charts.theme import NORMAL, SMALL, Theme
from bertviewer.plots.fonts import sized
from bertviewer.plots.matrix_layout import MatrixLayout, MatrixRoom
from bertviewer.plots.token_labels import (
    GAP,
    Names,
    draw_upright,
    label_size,
    line_height,
    name_font,
    named,
)

SIDE = 0.3
"""Names beside the cells take no more of the width than that."""

_BESIDE = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
Chosen = tuple[Sequence[int], Sequence[int]]


class MatrixNames:
    """Names that are measured once, and drawn wherever a layout has them."""

    def __init__(
        self,
        rows: Sequence[str],
        columns: Sequence[str],
        row_title: str,
        column_title: str,
        font: QFont,
    ) -> None:
        self._font = font
        normal = sized(font, NORMAL)
        self._rows, self._columns = Names.of(rows, normal), Names.of(columns, normal)
        titles = ((row_title, "↑"), (column_title, "→")) if row_title != column_title else ()
        self._titles = tuple(f"{title} {arrow}" for title, arrow in titles if title)
        small = QFontMetricsF(sized(font, SMALL))
        self._titles_width = max(map(small.horizontalAdvance, self._titles), default=0.0)

    def room(
        self, width: float, height: float, bar: float, others: Sequence["MatrixNames"] = ()
    ) -> MatrixRoom:
        """Return what the cells have to leave of a widget of that size, for others' names too."""
        every = (self, *others)
        widest = max(max(one._rows.widest, one._titles_width) for one in every)
        return MatrixRoom(
            rows=len(self._rows.texts),
            columns=len(self._columns.texts),
            width=width,
            height=height,
            row_names=min(widest, SIDE * width),
            column_names=max(one._columns.widest for one in every),
            bar=bar,
        )

    def draw(
        self,
        painter: QPainter,
        layout: MatrixLayout,
        theme: Theme,
        chosen: Chosen,
        under: tuple[int, int] | None,
    ) -> None:
        """Write the names that there is room for, first those of what is chosen or pointed at."""
        size = label_size(layout.cell)
        rows, columns = ((), ()) if under is None else ((under[0],), (under[1],))
        painter.setPen(QColor(theme.text))
        for row in named(layout.down, layout.cell, size, _once(chosen[0], rows)):
            painter.setFont(name_font(self._font, size, is_marked=row in chosen[0]))
            rect = layout.rect(row, 0)
            right = layout.cells.x() - GAP
            high = line_height()
            line = QRectF(right - layout.left, rect.center().y() - high, layout.left, 2 * high)
            painter.drawText(line, _BESIDE, self._rows.texts[row])
        for column in named(layout.across, layout.cell, size, _once(chosen[1], columns)):
            painter.setFont(name_font(self._font, size, is_marked=column in chosen[1]))
            self._draw_below(painter, layout, column, size)
        self._draw_titles(painter, layout, theme)

    def _draw_below(
        self, painter: QPainter, layout: MatrixLayout, column: int, size: float
    ) -> None:
        middle = QPointF(layout.rect(0, column).center().x(), layout.cells.bottom() + GAP)
        text = self._columns.texts[column]
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text)
        if layout.is_upright and wide + GAP > layout.cell:
            draw_upright(painter, middle, text, layout.below - GAP)
            return
        line = QRectF(middle.x() - wide, middle.y(), 2 * wide, line_height())
        painter.drawText(line, _CENTER, text)

    def _draw_titles(self, painter: QPainter, layout: MatrixLayout, theme: Theme) -> None:
        """Say in the corner what rows and columns are."""
        painter.setFont(sized(self._font, SMALL))
        painter.setPen(QColor(theme.muted))
        right, top = layout.cells.x() - GAP, layout.cells.bottom() + GAP
        for number, title in enumerate(self._titles):
            high = line_height()
            line = QRectF(right - self._titles_width, top + number * high, self._titles_width, high)
            painter.drawText(line, _BESIDE, title)


def _once(*groups: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(place for group in groups for place in group))
