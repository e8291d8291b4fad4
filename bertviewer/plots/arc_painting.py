"""Lines between tokens, their weights and the tokens' names, drawn with a painter."""

from collections.abc import Iterable, Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QApplication

from bertviewer.charts.arcs import Arc
from bertviewer.charts.levels import Mask
from bertviewer.charts.theme import SMALL, Theme
from bertviewer.core.util.numbers import with_minus
from bertviewer.plots.arc_layout import ArcLayout
from bertviewer.plots.color_scale import tinted
from bertviewer.plots.fonts import sized
from bertviewer.plots.hatch import draw_hatch
from bertviewer.plots.token_labels import (
    GAP,
    Names,
    draw_upright,
    label_size,
    line_height,
    name_font,
    named,
)

THIN, WIDEST = 1.0, 4.0  # pixels; Qt draws lines of just one pixel much faster
FAINT = 0.1
"""A part of the most from which on lines are wider."""
CROWDED = 5.0
PALEST, PALEST_AHEAD = 0.06, 0.3
BEHIND = 0.35
"""How much of their depth lines keep that others stand out from."""
AHEAD = 0.8
"""Pixels that lines which stand out are wider."""
LEAST_FIGURE = 0.005
"""No weight below is written: it would be 0.00."""

_CENTER = int(Qt.AlignmentFlag.AlignCenter)


class Pens(Struct, frozen=True):
    """What lines are drawn with: of one colour, or "" for that of their sign.

    A weight of ``most`` is drawn widest. Width and depth follow the square roots of the weights
    where these ``are_roots``. Where some lines are to stand out, those ``is_behind`` are thin and
    pale, and those ``is_ahead`` wider and darker.
    """

    color: str
    theme: Theme
    most: float
    are_roots: bool = False
    is_behind: bool = False
    is_ahead: bool = False

    def pen(self, weight: float, room: float) -> QPen:
        """Return the pen of a weight, where tokens are so many pixels apart.

        Hundreds of wide lines would be one mass, and take long: there all are as thin as can be.
        """
        part = min(1.0, abs(weight) / self.most)
        part = sqrt(part) if self.are_roots else part
        signed = self.theme.series[0] if weight >= 0 else self.theme.series[1]
        palest = PALEST_AHEAD if self.is_ahead else PALEST
        share = BEHIND if self.is_behind else 1.0
        color = tinted(self.color or signed, share * (palest + (1 - palest) * part))
        is_thin = self.is_behind or room < CROWDED or (part < FAINT and not self.is_ahead)
        least = THIN + AHEAD if self.is_ahead and room >= CROWDED else THIN
        pen = QPen(color, least if is_thin else least + (WIDEST - THIN) * part)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen


class NamedRow(Struct, frozen=True):
    """The names above or below, and which of them are marked."""

    is_above: bool
    names: Names
    marked: Sequence[int]


def draw_arcs(painter: QPainter, layout: ArcLayout, arcs: Iterable[Arc], pens: Pens) -> None:
    """Draw lines in their order, as far as one of their ends is in sight."""
    left, right = layout.left, layout.left + layout.width
    middle, room = (layout.top + layout.bottom) / 2, min(layout.pixels)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for arc in arcs:
        start, end = layout.x(arc.row, layout.rows), layout.x(arc.column, layout.columns)
        if not (left <= start <= right or left <= end <= right):
            continue
        path = QPainterPath(QPointF(start, layout.top))
        path.cubicTo(start, middle, end, middle, end, layout.bottom)
        painter.strokePath(path, pens.pen(arc.weight, room))


def draw_figures(
    painter: QPainter, layout: ArcLayout, arcs: Sequence[Arc], of_row: bool, theme: Theme
) -> None:
    """Write weights at the other ends of a token's lines, the largest first where room is short."""
    painter.setFont(sized(QApplication.font(), SMALL))
    metrics, high = QFontMetricsF(painter.font()), line_height()
    taken: list[QRectF] = []
    for arc in reversed(arcs):
        if abs(arc.weight) < LEAST_FIGURE:
            break
        index, count = (arc.column, layout.columns) if of_row else (arc.row, layout.rows)
        text = with_minus(f"{arc.weight:.2f}")
        wide = metrics.horizontalAdvance(text) + 4
        x = layout.x(index, count)
        y = layout.bottom - high if of_row else layout.top
        rect = QRectF(x - wide / 2, y, wide, high)
        is_inside = layout.left <= x <= layout.left + layout.width
        if not is_inside or any(rect.intersects(other) for other in taken):
            continue
        taken.append(rect)
        painter.fillRect(rect.adjusted(0, 1, 0, -1), tinted(theme.surface, 0.85))
        painter.setPen(QColor(theme.text))
        painter.drawText(rect, _CENTER, text)


def draw_arc_names(painter: QPainter, layout: ArcLayout, row: NamedRow, theme: Theme) -> None:
    """Write the names of a row, as many as there is room for; those that are marked strong."""
    count, pixels = len(row.names.texts), layout.pixels[0 if row.is_above else 1]
    size = label_size(pixels)
    painter.setPen(QColor(theme.text))
    edge = layout.top - GAP if row.is_above else layout.bottom + GAP
    for index in named(layout.tokens(count), pixels, size, row.marked):
        painter.setFont(name_font(QApplication.font(), size, is_marked=index in row.marked))
        x, text = layout.x(index, count), row.names.texts[index]
        if not layout.upright[0 if row.is_above else 1]:
            high, wide = line_height(), row.names.widest
            y = edge - high if row.is_above else edge
            painter.drawText(QRectF(x - wide, y, 2 * wide, high), _CENTER, text)
        else:
            at = QPointF(x, edge)
            draw_upright(painter, at, text, layout.names, is_above=row.is_above)


def draw_masked(
    painter: QPainter, layout: ArcLayout, masked: Mask, of_row: bool, theme: Theme
) -> None:
    """Hatch the other ends of a token's lines where a mask hides them: nothing was measured."""
    count, high = len(masked), line_height()
    left, right = (layout.x(edge - 0.5, count) for edge in (0, count))
    y = layout.bottom - high if of_row else layout.top
    draw_hatch(painter, QRectF(left, y, right - left, high), masked[np.newaxis], theme)


def draw_starts(
    painter: QPainter, layout: ArcLayout, starts: tuple[Sequence[int], Sequence[int]], theme: Theme
) -> None:
    """Set texts off from one another, above and below, beside their names."""
    painter.setPen(QPen(QColor(theme.muted), 1))
    ends = (
        (layout.top - GAP - layout.names, layout.top + GAP),
        (layout.bottom - GAP, layout.bottom + GAP + layout.names),
    )
    counts = layout.rows, layout.columns
    for places, count, (top, bottom) in zip(starts, counts, ends, strict=True):
        for place in places:
            x = layout.x(place - 0.5, count)
            painter.drawLine(QPointF(x, top), QPointF(x, bottom))
