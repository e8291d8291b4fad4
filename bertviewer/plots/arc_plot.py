"""What every token gives every other one, as lines between two rows of their names."""

from msgspec import Struct
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.arcs import Arc, Arcs, arcs_from, arcs_of, arcs_text, arcs_to, masked_at
from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, SMALL
from bertviewer.plots.arc_layout import MARGIN, ArcLayout, lay_out_arcs
from bertviewer.plots.arc_painting import (
    NamedRow,
    Pens,
    draw_arc_names,
    draw_arcs,
    draw_figures,
    draw_masked,
    draw_starts,
)
from bertviewer.plots.fonts import sized
from bertviewer.plots.token_labels import GAP, Names, line_height
from bertviewer.plots.token_plot import TokenPlot
from bertviewer.plots.zoom import STEP, Span

NOTHING = Arcs((), None, 0.0)
ALL = Span.all_of(1.0)
NEAREST = 4
"""So many tokens are seen from nearest."""

_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class Token(Struct, frozen=True):
    """One of a row of tokens: of the rows of the grid, above, or of its columns, below."""

    is_row: bool
    index: int


class ArcPlot(TokenPlot):
    """A grid of tokens as lines: rows above, columns below; width and depth are the weight.

    The lines of the selected row have the colour of what is selected. A token that is pointed at
    shows its own lines alone, with their weights. A click tells a token.
    """

    shows_by_selection = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.arcs = NOTHING
        self.pointed: Token | None = None
        self._span = ALL
        self._names = Names((), 0.0), Names((), 0.0)

    def sizeHint(self) -> QSize:
        """Return a size at which lines can be told apart; Qt calls it."""
        return QSize(480, 300)

    def take(self, chart: GridChart | None) -> None:
        """Get ready to draw a chart."""
        self.pointed = None
        self.arcs = NOTHING if chart is None else arcs_of(chart)
        if chart is not None:
            font = sized(self.font(), NORMAL)
            self._names = Names.of(chart.rows, font), Names.of(chart.columns, font)

    def look_like(self, other: TokenPlot) -> None:
        """See the same part of both rows of tokens as another plot."""
        if isinstance(other, ArcPlot):
            self._span = other._span
            self.update()

    def layout_of_arcs(self) -> ArcLayout | None:
        """Return where names and lines are, ``None`` without a chart."""
        if self.chart is None:
            return None
        small = QFontMetricsF(sized(self.font(), SMALL))
        titles = map(small.horizontalAdvance, (self.chart.x_title, self.chart.y_title))
        above, below = self._names
        return lay_out_arcs(
            (self.width(), self.height()),
            self.chart.values.shape,
            (above.widest, below.widest),
            max(titles) + GAP,
            self._span,
        )

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return the token at a position."""
        token, chart = self._token_at(position), self.chart
        if token is None or chart is None:
            return None
        places = chart.row_keys if token.is_row else chart.column_keys or chart.row_keys
        return places[token.index] if token.index < len(places) else None

    def text_at(self, position: QPointF) -> str:
        """Return the strongest lines of the token at a position, with their exact weights."""
        token = self._token_at(position)
        if token != self.pointed:
            self.pointed = token
            self.update()
        if self.chart is None or token is None:
            return ""
        return arcs_text(self.chart, token.index, token.is_row)

    def name_at(self, position: QPointF) -> str:
        """Return the whole of the name at a position."""
        layout, token, chart = self.layout_of_arcs(), self._token_at(position), self.chart
        if layout is not None and chart is not None and position.y() >= self._words_top:
            return self._words(chart)
        if layout is None or token is None or chart is None:
            return ""
        if layout.top < position.y() < layout.bottom:
            return ""
        return (chart.named_rows if token.is_row else chart.named_columns)[token.index]

    def zoom_at(self, position: QPointF, notches: float) -> None:
        """Go nearer by notches, or farther; the token at a position stays there."""
        layout = self.layout_of_arcs()
        if layout is None:
            return
        part = min(1.0, max(0.0, (position.x() - layout.left) / layout.width))
        least = min(1.0, NEAREST / max(layout.rows, layout.columns))
        length = min(1.0, max(least, self._span.length * STEP**-notches))
        start = self._span.start + part * (self._span.length - length)
        self._span = Span(0.0, length, 1.0).starting(start)
        self.update()

    def move_by(self, offset: QPointF) -> None:
        """Move what is seen by pixels."""
        if (layout := self.layout_of_arcs()) is not None:
            self._span = self._span.moved(-offset.x() / layout.width)
            self.update()

    def fit(self) -> None:
        """Show all of it."""
        self._span = ALL
        self.update()

    def step(self, key: int) -> bool:
        """Select the token before or after, the first or the last."""
        chart, found = self.chart, self.row_beside(key, Qt.Key.Key_Left, Qt.Key.Key_Right)
        if chart is None or found is None:
            return False
        count = len(chart.rows)
        shown = Span(self._span.start * count, self._span.length * count, count).showing(found)
        self._span = self._span.starting(shown.start / count)
        at = QPointF(self.width() / 2, 0.0)
        if (layout := self.layout_of_arcs()) is not None:
            at = QPointF(layout.x(found, count), layout.top)
        self.go_to_row(found, arcs_text(chart, found, True), at)
        return True

    def draw_on(self, painter: QPainter) -> None:
        """Draw the lines as large as the widget is, from the painter's origin."""
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.surface))
        chart, layout = self.chart, self.layout_of_arcs()
        if chart is None or layout is None:
            return
        most = max(map(abs, self.levels)) or 1.0
        has_own = bool(chart.chosen(self.selection)[0])
        quiet = Pens(self.theme.muted, self.theme, most, chart.is_root, is_behind=has_own)
        strong = Pens("", self.theme, most, chart.is_root, is_ahead=has_own)
        rows, columns = chart.chosen(self.selection)
        shown = self._shown(chart)
        own = () if shown is None else self._arcs_at(chart, shown)
        masked = None if shown is None else masked_at(chart, shown.index, shown.is_row)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(QRectF(layout.left, 0, layout.width, self.height()))
        if self.pointed is None:
            draw_arcs(painter, layout, [a for a in self.arcs.lines if a.row not in rows], quiet)
        draw_arcs(painter, layout, own, strong)
        if shown is not None and masked is not None:
            draw_masked(painter, layout, masked, shown.is_row, self.theme)
        draw_starts(painter, layout, (chart.row_starts, chart.column_starts), self.theme)
        painter.restore()
        both = (True, self._names[0], rows), (False, self._names[1], columns)
        for is_above, names, chosen in both:
            is_pointed = self.pointed is not None and self.pointed.is_row == is_above
            marked = (*chosen, self.pointed.index) if self.pointed and is_pointed else chosen
            draw_arc_names(painter, layout, NamedRow(is_above, names, marked), self.theme)
        if shown is not None:
            draw_figures(painter, layout, own, shown.is_row, self.theme)
        self._draw_words(painter, chart, layout)

    def _shown(self, chart: GridChart) -> Token | None:
        """Return the token whose lines stand out: that pointed at, or the selected one."""
        rows, _ = chart.chosen(self.selection)
        return self.pointed or (Token(True, rows[0]) if rows else None)

    def _arcs_at(self, chart: GridChart, token: Token) -> tuple[Arc, ...]:
        return (arcs_from if token.is_row else arcs_to)(chart, token.index)

    def _token_at(self, position: QPointF) -> Token | None:
        layout = self.layout_of_arcs()
        found = None if layout is None else layout.token_at(position)
        return None if found is None else Token(*found)

    def _draw_words(self, painter: QPainter, chart: GridChart, layout: ArcLayout) -> None:
        """Say what the rows are, and which weights are drawn."""
        painter.setFont(sized(self.font(), SMALL))
        painter.setPen(QColor(self.theme.muted))
        high = line_height()
        for title, bottom in (
            (chart.y_title, layout.top - GAP),
            (chart.x_title, layout.bottom + GAP + high),
        ):
            painter.drawText(QRectF(MARGIN, bottom - high, layout.left, high), _LEFT, title)
        metrics, line = QFontMetricsF(painter.font()), QRectF(self.rect())
        line.adjust(MARGIN, self._words_top, -MARGIN, 0)
        said = self._words(chart)
        said = metrics.elidedText(said, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, _LEFT, said)

    @property
    def _words_top(self) -> float:
        return self.height() - line_height()

    def _words(self, chart: GridChart) -> str:
        """Return which weights are drawn."""
        least, each = f"{self.arcs.least:.2g}", self.arcs.each
        said = self.tr("Only weights ≥ {0} are shown.").format(least)
        if each is not None:
            said = self.tr(
                "Only the {1} largest weights of each token (≥ {0}) are shown; point at a token "
                "to see all of its weights."
            ).format(least, each)
        if chart.is_root:
            said = self.tr("{0} Square-root scale.").format(said)
        shown = self._shown(chart)
        if shown is not None and masked_at(chart, shown.index, shown.is_row) is not None:
            said = self.tr("{0} Hatched: {1}.").format(said, chart.masked_word)
        return said

    def leaveEvent(self, event: QEvent) -> None:
        """Show all lines again; Qt calls it."""
        self.pointed = None
        self.update()
        super().leaveEvent(event)
