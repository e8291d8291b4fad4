"""Attention as lines between two rows of tokens."""

from collections.abc import Iterable, Sequence
from math import floor, sqrt

import numpy as np
from msgspec import Struct
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.arcs import Arc, Arcs, arcs_from, arcs_of, arcs_text, arcs_to, masked_at
from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Levels, Mask, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, SMALL, Theme
from bertviewer.core.util.numbers import with_minus
from bertviewer.plots.canvas_plot import CanvasPlot, Point
from bertviewer.plots.cells import draw_hatch
from bertviewer.plots.color_scale import tinted
from bertviewer.plots.fonts import sized
from bertviewer.plots.span import STEP, Span
from bertviewer.plots.token_names import (
    GAP,
    SIZES,
    Names,
    draw_upright,
    name_font,
    name_size,
    next_row,
    shown_names,
    type_line,
)

MARGIN = 6.0
NAMES_PART = 0.26
"""The names of a row take no more than this fraction of the height."""
MIN_TOKENS = 4
"""Tokens that are visible when zoomed in completely."""
MIN_LINE, MAX_LINE = 1.0, 4.0  # pixels; Qt draws lines of one pixel much faster
THIN_PART = 0.1
"""Lines are wider from this fraction of the largest weight."""
CROWDED = 5.0
"""All lines are thin where tokens have fewer pixels."""
MIN_OPACITY, MIN_OPACITY_AHEAD = 0.06, 0.3
BEHIND_OPACITY = 0.35
"""Lines from which others stand out keep this fraction of their opacity."""
AHEAD_WIDTH = 0.8
"""Lines that stand out are wider by this many pixels."""
MIN_FIGURE = 0.005
"""Smaller weights would be written as 0.00."""
NO_ARCS = Arcs((), None, 0.0)
WHOLE = Span.all_of(1.0)

_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)


class Token(Struct, frozen=True):
    """A token of the upper row, the grid's rows, or of the lower row, the grid's columns."""

    is_row: bool
    index: int


class ArcLayout(Struct, frozen=True):
    """Positions of names and lines.

    Attributes:
        left, width: the horizontal range of both rows in pixels.
        top, bottom: where lines begin and end.
        names: the height of the names of a row.
        rows, columns: the number of tokens above and below.
        span: the visible part of both, from 0 to 1.
        upright: whether names are upright above and below.
    """

    left: float
    width: float
    top: float
    bottom: float
    names: float
    rows: int
    columns: int
    span: Span
    upright: tuple[bool, bool]

    @property
    def pixels(self) -> tuple[float, float]:
        """Pixels of a token above and below."""
        whole = self.width / self.span.length
        return whole / self.rows, whole / self.columns

    def x(self, index: float, count: int) -> float:
        """Return the x of the middle of one of ``count`` tokens."""
        return self.left + self.span.part((index + 0.5) / count) * self.width

    def token_at(self, position: QPointF) -> Token | None:
        """Return the token at a position, in the row that is nearer."""
        part = (position.x() - self.left) / self.width
        if not 0 <= part < 1:
            return None
        is_above = position.y() < (self.top + self.bottom) / 2
        count = self.rows if is_above else self.columns
        place = self.span.start + part * self.span.length
        return Token(is_above, min(count - 1, floor(place * count)))

    def tokens(self, count: int) -> Span:
        """Return the visible part of a row of ``count`` tokens in tokens."""
        return Span(self.span.start * count, self.span.length * count, count)


class ArcPenStyle(Struct, frozen=True):
    """How weights become pens.

    ``color`` is that of all lines, "" one for each sign; a weight of ``most`` is widest; width and
    opacity may follow the square root. Lines that are ``is_behind`` others are thin and pale,
    those that are ``is_ahead`` wider and darker.
    """

    color: str
    theme: Theme
    most: float
    is_root: bool = False
    is_behind: bool = False
    is_ahead: bool = False

    def pen(self, weight: float, room: float) -> QPen:
        """Return the pen of a weight, where tokens have ``room`` pixels each."""
        part = min(1.0, abs(weight) / self.most)
        part = sqrt(part) if self.is_root else part
        signed = self.theme.series[0] if weight >= 0 else self.theme.series[1]
        palest = MIN_OPACITY_AHEAD if self.is_ahead else MIN_OPACITY
        share = BEHIND_OPACITY if self.is_behind else 1.0
        color = tinted(self.color or signed, share * (palest + (1 - palest) * part))
        # Hundreds of wide lines would be one area, and slow.
        is_thin = self.is_behind or room < CROWDED or (part < THIN_PART and not self.is_ahead)
        least = MIN_LINE + AHEAD_WIDTH if self.is_ahead and room >= CROWDED else MIN_LINE
        pen = QPen(color, least if is_thin else least + (MAX_LINE - MIN_LINE) * part)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen


class ArcPlot(CanvasPlot):
    """A grid of tokens as lines from its rows, above, to its columns, below.

    Width and opacity are the weight. Lines of the selected row have the selection's colour. A token
    under the mouse shows only its own lines, with their weights. A click selects a token.
    """

    shows_by_selection = True
    can_zoom = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: GridChart | None = None
        self.levels: Levels = (0.0, 1.0)
        self.arcs = NO_ARCS
        self.hovered_token: Token | None = None
        self._span = WHOLE
        self._names = Names((), 0.0), Names((), 0.0)
        self.setMinimumSize(120, 100)

    @override
    def sizeHint(self) -> QSize:
        return QSize(480, 300)

    def show_chart(self, chart: GridChart | None) -> None:
        """Draw a chart instead of the current one; the visible part stays if tokens do."""
        shown = chart if chart is not None and chart.values.size else None
        if shown is None or self.chart is None or shown.rows != self.chart.rows:
            self.fit()
            self.focused_point = None
        self.chart, self.hovered_token = shown, None
        self.arcs = NO_ARCS if shown is None else arcs_of(shown)
        if shown is not None:
            self.levels = shown.levels or levels_of(shown.values, shown.is_signed)
            font = sized(self.font(), NORMAL)
            self._names = Names.of(shown.rows, font), Names.of(shown.columns, font)
        self.update()

    @override
    def look_like(self, other: CanvasPlot) -> None:
        if isinstance(other, ArcPlot):
            self._span = other._span
            self.update()

    def layout_of_arcs(self) -> ArcLayout | None:
        """Return where names and lines are, ``None`` without a chart; wide names are upright."""
        if self.chart is None:
            return None
        small, tokens = QFontMetricsF(sized(self.font(), SMALL)), self.chart.values.shape
        titles = map(small.horizontalAdvance, (self.chart.x_title, self.chart.y_title))
        left, widest = max(titles) + GAP, [names.widest for names in self._names]
        width = max(1.0, self.width() - left - 2 * MARGIN)
        pixels = [width / self._span.length / count for count in tokens]
        above, below = (
            wide * name_size(each) / SIZES[0] + GAP > each
            for wide, each in zip(widest, pixels, strict=True)
        )
        is_upright = above or below
        names = min(max(widest), NAMES_PART * self.height()) if is_upright else type_line()
        top = MARGIN + names + GAP
        return ArcLayout(
            left=left + MARGIN,
            width=width,
            top=top,
            bottom=max(top + 1, self.height() - top - type_line()),
            names=names,
            rows=tokens[0],
            columns=tokens[1],
            span=self._span,
            upright=(above, below),
        )

    @override
    def key_at(self, position: QPointF) -> SelectionKey | None:
        token, chart = self._token_at(position), self.chart
        if token is None or chart is None:
            return None
        places = chart.row_keys if token.is_row else chart.column_keys or chart.row_keys
        return places[token.index] if token.index < len(places) else None

    @override
    def text_at(self, position: QPointF) -> str:
        token = self._token_at(position)
        if token != self.hovered_token:
            self.hovered_token = token
            self.update()
        if self.chart is None or token is None:
            return ""
        return arcs_text(self.chart, token.index, token.is_row)

    @override
    def name_at(self, position: QPointF) -> str:
        layout, token, chart = self.layout_of_arcs(), self._token_at(position), self.chart
        if layout is not None and chart is not None and position.y() >= self._note_top:
            return self._note(chart)
        if layout is None or token is None or chart is None:
            return ""
        if layout.top < position.y() < layout.bottom:
            return ""
        return (chart.named_rows if token.is_row else chart.named_columns)[token.index]

    @override
    def zoom_at(self, position: QPointF, notches: float) -> None:
        layout = self.layout_of_arcs()
        if layout is None:
            return
        part = min(1.0, max(0.0, (position.x() - layout.left) / layout.width))
        least = min(1.0, MIN_TOKENS / max(layout.rows, layout.columns))
        length = min(1.0, max(least, self._span.length * STEP**-notches))
        start = self._span.start + part * (self._span.length - length)
        self._span = Span(0.0, length, 1.0).starting(start)
        self.update()

    @override
    def move_by(self, offset: QPointF) -> None:
        if (layout := self.layout_of_arcs()) is not None:
            self._span = self._span.moved(-offset.x() / layout.width)
            self.update()

    @override
    def fit(self) -> None:
        self._span = WHOLE
        self.update()

    @override
    def next_point(self, key: int) -> Point | None:
        row = next_row(self.chart, self.selection, key, Qt.Key.Key_Left, Qt.Key.Key_Right)
        return None if row is None else (row, 0)

    @override
    def go_to(self, point: Point) -> None:
        assert self.chart is not None
        count = len(self.chart.rows)
        span = Span(self._span.start * count, self._span.length * count, count)
        self._span = self._span.starting(span.showing(point[0]).start / count)
        self.clicked.emit(self.chart.row_keys[point[0]])

    @override
    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        layout = self.layout_of_arcs()
        assert self.chart is not None
        assert layout is not None
        at = QPointF(layout.x(point[0], layout.rows), layout.top)
        return arcs_text(self.chart, point[0], True), at

    @override
    def draw_on(self, painter: QPainter) -> None:
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.surface))
        chart, layout = self.chart, self.layout_of_arcs()
        if chart is None or layout is None:
            return
        most = max(map(abs, self.levels)) or 1.0
        rows, columns = chart.chosen(self.selection)
        quiet = ArcPenStyle(self.theme.muted, self.theme, most, chart.is_root, is_behind=bool(rows))
        strong = ArcPenStyle("", self.theme, most, chart.is_root, is_ahead=bool(rows))
        shown = self._shown_token(chart)
        arcs: Sequence[Arc] = ()
        if shown is not None:
            arcs = (arcs_from if shown.is_row else arcs_to)(chart, shown.index)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(QRectF(layout.left, 0, layout.width, self.height()))
        if self.hovered_token is None:
            draw_arcs(painter, layout, [a for a in self.arcs.lines if a.row not in rows], quiet)
        draw_arcs(painter, layout, arcs, strong)
        if shown is not None:
            masked = masked_at(chart, shown.index, shown.is_row)
            if masked is not None:
                self._draw_masked(painter, layout, masked, is_below=shown.is_row)
        starts = chart.row_starts, chart.column_starts
        self._draw_dividers(painter, layout, starts)
        painter.restore()
        self._draw_names(painter, layout, rows, is_above=True)
        self._draw_names(painter, layout, columns, is_above=False)
        if shown is not None:
            self._draw_figures(painter, layout, arcs, is_below=shown.is_row)
        self._draw_titles(painter, chart, layout)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.hovered_token = None
        self.update()
        super().leaveEvent(event)

    def _shown_token(self, chart: GridChart) -> Token | None:
        """Return the token whose lines stand out: that under the mouse, or the selected one."""
        rows, _ = chart.chosen(self.selection)
        return self.hovered_token or (Token(True, rows[0]) if rows else None)

    def _token_at(self, position: QPointF) -> Token | None:
        layout = self.layout_of_arcs()
        return None if layout is None else layout.token_at(position)

    def _draw_figures(
        self, painter: QPainter, layout: ArcLayout, arcs: Sequence[Arc], *, is_below: bool
    ) -> None:
        """Write weights at the other ends of a token's lines; large ones have priority."""
        painter.setFont(sized(self.font(), SMALL))
        metrics, high = QFontMetricsF(painter.font()), type_line()
        taken: list[QRectF] = []
        for arc in reversed(arcs):
            if abs(arc.weight) < MIN_FIGURE:
                break
            index, count = (arc.column, layout.columns) if is_below else (arc.row, layout.rows)
            text = with_minus(f"{arc.weight:.2f}")
            wide, x = metrics.horizontalAdvance(text) + 4, layout.x(index, count)
            y = layout.bottom - high if is_below else layout.top
            rect = QRectF(x - wide / 2, y, wide, high)
            is_inside = layout.left <= x <= layout.left + layout.width
            if is_inside and not any(rect.intersects(other) for other in taken):
                taken.append(rect)
                painter.fillRect(rect.adjusted(0, 1, 0, -1), tinted(self.theme.surface, 0.85))
                painter.setPen(QColor(self.theme.text))
                painter.drawText(rect, _CENTER, text)

    def _draw_names(
        self, painter: QPainter, layout: ArcLayout, chosen: Sequence[int], *, is_above: bool
    ) -> None:
        """Write the names of a row for which there is room; marked ones are strong."""
        names, pixels = self._names[not is_above], layout.pixels[not is_above]
        hovered, marked = self.hovered_token, tuple(chosen)
        if hovered is not None and hovered.is_row == is_above:
            marked += (hovered.index,)
        count, size = len(names.texts), name_size(pixels)
        painter.setPen(QColor(self.theme.text))
        edge = layout.top - GAP if is_above else layout.bottom + GAP
        for index in shown_names(layout.tokens(count), pixels, size, marked):
            painter.setFont(name_font(self.font(), size, is_marked=index in marked))
            x, text = layout.x(index, count), names.texts[index]
            if layout.upright[not is_above]:
                draw_upright(painter, QPointF(x, edge), text, layout.names, is_above=is_above)
            else:
                y = edge - type_line() if is_above else edge
                line = QRectF(x - names.widest, y, 2 * names.widest, type_line())
                painter.drawText(line, _CENTER, text)

    def _draw_masked(
        self, painter: QPainter, layout: ArcLayout, masked: Mask, *, is_below: bool
    ) -> None:
        """Hatch the other ends of a token's lines where a mask hides them."""
        count, high = len(masked), type_line()
        left, right = (layout.x(edge - 0.5, count) for edge in (0, count))
        y = layout.bottom - high if is_below else layout.top
        draw_hatch(painter, QRectF(left, y, right - left, high), masked[np.newaxis], self.theme)

    def _draw_dividers(
        self, painter: QPainter, layout: ArcLayout, starts: tuple[Sequence[int], Sequence[int]]
    ) -> None:
        """Draw lines between texts, next to their names."""
        painter.setPen(QPen(QColor(self.theme.muted), 1))
        ends = (
            (layout.top - GAP - layout.names, layout.top + GAP),
            (layout.bottom - GAP, layout.bottom + GAP + layout.names),
        )
        counts = layout.rows, layout.columns
        for places, count, (top, bottom) in zip(starts, counts, ends, strict=True):
            for place in places:
                x = layout.x(place - 0.5, count)
                painter.drawLine(QPointF(x, top), QPointF(x, bottom))

    def _draw_titles(self, painter: QPainter, chart: GridChart, layout: ArcLayout) -> None:
        """Write what the rows are, and which weights are shown."""
        painter.setFont(sized(self.font(), SMALL))
        painter.setPen(QColor(self.theme.muted))
        high = type_line()
        for title, bottom in (
            (chart.y_title, layout.top - GAP),
            (chart.x_title, layout.bottom + GAP + high),
        ):
            painter.drawText(QRectF(MARGIN, bottom - high, layout.left, high), _LEFT, title)
        metrics, line = QFontMetricsF(painter.font()), QRectF(self.rect())
        line.adjust(MARGIN, self._note_top, -MARGIN, 0)
        note = metrics.elidedText(self._note(chart), Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, _LEFT, note)

    @property
    def _note_top(self) -> float:
        return self.height() - type_line()

    def _note(self, chart: GridChart) -> str:
        """Return which weights are shown."""
        least, each = f"{self.arcs.least:.2g}", self.arcs.each
        note = self.tr("Only weights ≥ {0} are shown.").format(least)
        if each is not None:
            note = self.tr(
                "Only the {1} largest weights of each token (≥ {0}) are shown; point at a token "
                "to see all of its weights."
            ).format(least, each)
        if chart.is_root:
            note = self.tr("{0} Square-root scale.").format(note)
        shown = self._shown_token(chart)
        if shown is not None and masked_at(chart, shown.index, shown.is_row) is not None:
            note = self.tr("{0} Hatched: {1}.").format(note, chart.masked_word)
        return note


def draw_arcs(
    painter: QPainter, layout: ArcLayout, arcs: Iterable[Arc], style: ArcPenStyle
) -> None:
    """Draw lines in their order, as far as one of their ends is visible."""
    left, right = layout.left, layout.left + layout.width
    middle, room = (layout.top + layout.bottom) / 2, min(layout.pixels)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for arc in arcs:
        start, end = layout.x(arc.row, layout.rows), layout.x(arc.column, layout.columns)
        if left <= start <= right or left <= end <= right:
            path = QPainterPath(QPointF(start, layout.top))
            path.cubicTo(start, middle, end, middle, end, layout.bottom)
            painter.strokePath(path, style.pen(arc.weight, room))
