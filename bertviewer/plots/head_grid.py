"""All heads of an attention layer at once, each a small heatmap."""

import numpy as np
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.levels import Levels, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, SMALL, Theme
from bertviewer.plots.color_scale import ColorScale, color_table, tinted
from bertviewer.plots.fonts import sized, weighted
from bertviewer.plots.frames import draw_frame
from bertviewer.plots.head_bar import HeadBar
from bertviewer.plots.head_cells import HeadCells
from bertviewer.plots.head_layout import BELOW_WORDS, HeadLayout, Words, lay_out_heads
from bertviewer.plots.painted import PaintedPlot
from bertviewer.plots.token_labels import name_font

CAPTION_OPACITY = 0.75
EVERY = 1_000_000  # heads
MOST_CELLS = 1_000_000
"""Cells of which pictures are made at once: that takes a few milliseconds."""

_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class HeadGrid(PaintedPlot):
    """The heads [S, S'] of a layer as heatmaps of one range of colours, query 0 at the top.

    Where a cell is smaller than a pixel, a pixel shows the largest of its cells, so that thin
    lines of attention stay visible. A click tells the head. ``captions_changed`` says that
    there is room for captions now, or none any more.
    """

    captions_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: HeadsChart | None = None
        self.levels: Levels = (0.0, 1.0)
        self.has_captions = False
        self._cells: HeadCells | None = None
        self._beside: HeadGrid | None = None
        self._most = EVERY
        self._bar = HeadBar(sized(self.font(), SMALL))
        self.setMinimumSize(120, 120)

    def sizeHint(self) -> QSize:
        """Return a size at which twelve heads can be told apart; Qt calls it."""
        return QSize(640, 400)

    def beside_cells(self) -> float:
        """Return how many pixels of the width are not the heatmaps'."""
        if self.chart is None or self.neighbour == "right":
            return 0.0
        words = _masked_word(self.chart), self._bar_title(self.chart)
        return self._bar.room(self._scale(self.chart), self.height(), *words)

    def align(self, other: "HeadGrid | None") -> None:
        """Have as many heads in a row as another grid of the same heads."""
        self._beside = other
        self.update()

    def show_chart(self, chart: HeadsChart | None) -> None:
        """Draw a chart, in place of the one drawn before."""
        self.chart = chart if chart is not None and chart.values.size else None
        self._cells = None if self.chart is None else HeadCells(self.chart, self.theme)
        if self.chart is not None:
            self.levels = _levels(self.chart)
        self._note_captions()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """See whether there is room for captions; Qt calls it."""
        super().resizeEvent(event)
        self._note_captions()

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self._cells = None if self.chart is None else HeadCells(self.chart, theme)
        self._bar = HeadBar(sized(self.font(), SMALL))
        super().set_theme(theme)

    def mark(self, selection: SelectionKey) -> None:
        """Frame the head that is shown large: the selected one or the first, of fewer the last."""
        super().mark(replace(selection, head=selection.head or 0))

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return the head at a position in the widget, its title included."""
        layout = self._layout()
        for head, rect in enumerate(layout.rects):
            if rect.adjusted(0, -layout.title_height, 0, 0).contains(position):
                return SelectionKey(head=head)
        return None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value at a position in the widget, in words; "" where there is none."""
        for head, rect in enumerate(self._layout().rects):
            if self.chart is not None and rect.contains(position):
                _, rows, columns = self.chart.values.shape
                query = int((position.y() - rect.y()) / rect.height() * rows)
                key = int((position.x() - rect.x()) / rect.width() * columns)
                return self.chart.text(head, min(query, rows - 1), min(key, columns - 1))
        return ""

    def head_rect(self, head: int) -> QRectF:
        """Return where a head's heatmap is in the widget."""
        return self._layout().rects[head]

    def draw_on(self, painter: QPainter) -> None:
        """Draw the heads as large as the widget is, from the painter's origin."""
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.surface))
        chart, cells = self.chart, self._cells
        if chart is None or cells is None:
            return
        layout = self._layout()
        cells.begin(self._most)
        for head, rect in enumerate(layout.rects):
            cells.draw(painter, head, rect, self._scale(chart, head))
            self._draw_title(painter, head, chart.captions[head], layout)
        if self.neighbour != "right":
            scale, masked = self._scale(chart), _masked_word(chart)
            self._bar.draw(painter, layout.bounds, scale, self.theme, masked)
            end = QPointF(layout.bounds.right() + self.beside_cells(), self.height())
            title = self._bar_title(chart)
            self._bar.draw_title(painter, layout.bounds, end, title, self.theme)
        if (chosen := self._chosen) is not None:
            draw_frame(painter, layout.rects[chosen], QRectF(self.rect()), self.theme)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; of large heads only some anew in a turn of the window's thread. Qt calls it."""
        if self.chart is not None:
            self._most = max(1, MOST_CELLS * len(self.chart.values) // self.chart.values.size)
        super().paintEvent(event)
        self._most = EVERY
        if self._cells is not None and not self._cells.is_complete:
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Tell what was clicked; Qt calls it."""
        place = self.place_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and place is not None:
            self.clicked.emit(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to another head with the arrows, Home and End; Qt calls it."""
        head = self._layout().head_beside(self._chosen or 0, event.key())
        if head is None:
            super().keyPressEvent(event)
        else:
            self.clicked.emit(SelectionKey(head=head))
            assert self.chart is not None
            text = " · ".join(filter(None, (self._name(head), self.chart.captions[head])))
            self.reached.emit(text, self.head_rect(head).center().toPoint())

    @property
    def _chosen(self) -> int | None:
        """The head that is framed, ``None`` before one is."""
        head = self.selection.head
        return None if head is None or self.chart is None else min(head, len(self.chart.values) - 1)

    def _note_captions(self) -> None:
        has_captions = bool(self._layout().captions)
        if has_captions != self.has_captions:
            self.has_captions = has_captions
            self.captions_changed.emit()

    def _layout(self) -> HeadLayout:
        """Return where the heatmaps are: in as many columns as make them largest."""
        if self.chart is None:
            return HeadLayout((), 0.0, "", False)
        large = weighted(sized(self.font(), NORMAL))  # as the selected one is
        name, caption = QFontMetricsF(large), QFontMetricsF(sized(self.font(), SMALL))
        captions = {caption.horizontalAdvance(text) for text in self.chart.captions}
        words = Words(
            name_width=max(map(name.horizontalAdvance, self._names)),
            name_height=name.height(),
            caption_width=max(captions, default=0.0),
            caption_height=caption.height(),
        )
        both = (self,) if self._beside is None else (self, self._beside)
        room = min(grid.width() - grid.beside_cells() for grid in both)
        return lay_out_heads(self.chart.values.shape, room, self.height(), words)

    def _name(self, head: int) -> str:
        return self.tr("head {0}").format(head)

    @property
    def _names(self) -> list[str]:
        return [] if self.chart is None else list(map(self._name, range(len(self.chart.values))))

    def _bar_title(self, chart: HeadsChart) -> str:
        """Return what the bar's values are; heads may have ranges of their own."""
        if chart.head_levels is not None:
            return self.tr("relative to each head’s maximum")
        return self.common_title if self.neighbour == "left" else chart.value_title

    def _scale(self, chart: HeadsChart, head: int | None = None) -> ColorScale:
        """Return the colours of a head, or of the bar."""
        levels = self.levels
        if head is not None and chart.head_levels is not None:
            levels = chart.head_levels[head]
        table = color_table(self.theme, chart.is_signed)
        return ColorScale(levels, table, chart.is_signed, chart.is_root)

    def _draw_title(self, painter: QPainter, head: int, caption: str, layout: HeadLayout) -> None:
        """Write a head's name above it, and its caption where there is room."""
        rect = layout.rects[head]
        space = QRectF(rect.x(), rect.y() - layout.title_height, rect.width(), layout.title_height)
        space.setBottom(space.bottom() - BELOW_WORDS)
        small = QFontMetricsF(sized(self.font(), SMALL)).height()
        name, under = QRectF(space), QRectF(space)
        if layout.captions == "below":
            name.setBottom(space.bottom() - small)
            under.setTop(name.bottom())
        painter.setFont(name_font(self.font(), NORMAL, is_marked=head == self._chosen))
        painter.setPen(QColor(self.theme.text))
        painter.drawText(name, _LEFT, self._name(head) if layout.has_names else str(head))
        if layout.captions:
            painter.setPen(tinted(self.theme.text, CAPTION_OPACITY))
            painter.setFont(sized(self.font(), SMALL))
            painter.drawText(under, _LEFT if layout.captions == "below" else _RIGHT, caption)


def _masked_word(chart: HeadsChart) -> str:
    return "" if chart.masked is None else chart.masked_word


def _levels(chart: HeadsChart) -> Levels:
    """Return the values of the colours' two ends; shares have 0 at one of them."""
    if chart.levels is not None:
        return chart.levels
    low, high = levels_of(np.asarray(chart.values), chart.is_signed)
    return min(0.0, low), high
