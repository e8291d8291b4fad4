"""Heatmaps of all heads of an attention module."""

from functools import partial, reduce
from math import ceil, prod
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.levels import Levels, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, SMALL, Theme
from bertviewer.plots.canvas_plot import CanvasPlot, Point, key_target
from bertviewer.plots.cells import UNLIMITED, CellGrid, CellImages, draw_frame
from bertviewer.plots.color_bar import ColorBar
from bertviewer.plots.color_scale import ColorScale, color_table, tinted
from bertviewer.plots.fonts import sized, type_scale, weighted
from bertviewer.plots.token_names import PITCH, SIZES, draw_upright, name_font

CAPTION_OPACITY, DIVIDER_OPACITY = 0.75, 0.6
MAX_CELLS = 1_000_000
"""Cells whose images are made in one paint event: that takes a few milliseconds."""
GAP, MARGIN = 10.0, 6.0  # pixels
TITLE_GAP = 3.0  # for the frame of the selected head
MIN_SIZE = 4.0
MAX_LABEL, LABEL_GAP = 56.0, 3.0
"""Pixels of the longest label of a token, and between labels and heatmaps."""
MIN_KEPT = 0.55
"""Captions have a line only if it leaves the heatmaps this fraction of their area."""

_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class Words(Struct, frozen=True):
    """The size of the widest name and caption in pixels."""

    name_width: float
    name_height: float
    caption_width: float
    caption_height: float


class HeadLayout(Struct, frozen=True):
    """The rectangles of the heatmaps, and the height of the title above each.

    ``captions`` is where captions are in relation to names, "" for nowhere. Without ``has_names``
    heads are only numbered. ``label_size`` is the font size of the labels of tokens, left of the
    first heatmap of each row and below the last row, 0 without labels.
    """

    rects: tuple[QRectF, ...] = ()
    title_height: float = 0.0
    captions: Literal["beside", "below", ""] = ""
    has_names: bool = False
    label_size: float = 0.0

    @property
    def bounds(self) -> QRectF:
        """The rectangle around all heatmaps."""
        return reduce(QRectF.united, self.rects, QRectF())


class HeadGrid(CanvasPlot):
    """The heads [S, S'] of a module as heatmaps of one colour range, query 0 on top.

    A click selects a head. ``captions_changed`` reports that captions appear or disappear.
    """

    captions_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: HeadsChart | None = None
        self.levels: Levels = (0.0, 1.0)
        self.has_captions = False
        self._images = CellImages(self.theme)
        self._aligned_plot: HeadGrid | None = None
        self._bar: tuple[object, ColorBar] | None = None
        self.setMinimumSize(120, 120)

    @override
    def sizeHint(self) -> QSize:
        return QSize(640, 400)

    @override
    def reserved_width(self) -> float:
        bar = self.color_bar
        return 0.0 if bar is None else bar.width(self.height())

    @override
    def align(self, other: CanvasPlot | None) -> None:
        self._aligned_plot = other if isinstance(other, HeadGrid) else None
        self.update()

    def show_chart(self, chart: HeadsChart | None) -> None:
        """Draw a chart instead of the current one."""
        self.chart = chart if chart is not None and chart.values.size else None
        self.focused_point = None
        self._images = CellImages(self.theme)
        if self.chart is not None:
            self.levels = _levels(self.chart)
        self._update_captions()
        self.update()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_captions()

    @override
    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._images = CellImages(theme)

    @override
    def mark(self, selection: SelectionKey) -> None:
        """Frame the selected head or the first; the last where there are fewer."""
        super().mark(replace(selection, head=selection.head or 0))

    @property
    def color_bar(self) -> ColorBar | None:
        """The colour bar, if the plot has one."""
        chart = self.chart
        if chart is None or self.neighbour == "right":
            return None
        masked = "" if chart.masked is None else chart.masked_word
        title = self.shared_title if self.neighbour == "left" else chart.value_title
        if chart.head_levels is not None:
            title = self.tr("relative to each head’s maximum")
        key = chart, self.theme, title, self.font().pixelSize(), self.is_on_paper
        if self._bar is None or self._bar[0] != key:
            scale, is_compact = self._scale(chart), self.is_on_paper
            bar = ColorBar(scale, self.theme, title, masked, is_compact=is_compact)
            self._bar = key, bar
        return self._bar[1]

    @override
    def key_at(self, position: QPointF) -> SelectionKey | None:
        layout = self._layout()
        for head, rect in enumerate(layout.rects):
            if rect.adjusted(0, -layout.title_height, 0, 0).contains(position):
                return SelectionKey(head=head)
        return None

    @override
    def text_at(self, position: QPointF) -> str:
        for head, rect in enumerate(self._layout().rects):
            if self.chart is not None and rect.contains(position):
                _, rows, columns = self.chart.values.shape
                query = int((position.y() - rect.y()) / rect.height() * rows)
                key = int((position.x() - rect.x()) / rect.width() * columns)
                return self.chart.text(head, min(query, rows - 1), min(key, columns - 1))
        return ""

    def head_rect(self, head: int) -> QRectF:
        """Return the rectangle of a head's heatmap."""
        return self._layout().rects[head]

    @override
    def next_point(self, key: int) -> Point | None:
        rects = self._layout().rects
        across = sum(rect.y() == rects[0].y() for rect in rects)
        head = key_target(key, self._chosen or 0, len(rects), across=across)
        return None if head is None else (0, head)

    @override
    def go_to(self, point: Point) -> None:
        self.clicked.emit(SelectionKey(head=point[1]))

    @override
    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        assert self.chart is not None
        head = point[1]
        text = " · ".join(filter(None, (self._name(head), self.chart.captions[head])))
        return text, self.head_rect(head).center()

    @override
    def draw_on(self, painter: QPainter) -> None:
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.surface))
        chart = self.chart
        if chart is None:
            return
        layout, images = self._layout(), self._images
        images.is_complete = True
        shape = chart.values.shape[1], chart.values.shape[2]
        for head, rect in enumerate(layout.rects):
            masked = None if chart.masked is None else chart.masked[head]
            values = partial(chart.measured, head)
            grid = CellGrid(shape, values, self._scale(chart, head), masked, head)
            images.draw(painter, rect, grid)
            self._draw_dividers(painter, chart, rect)
            self._draw_title(painter, head, chart.captions[head], layout)
        if layout.label_size:
            self._draw_labels(painter, chart, layout)
        if (bar := self.color_bar) is not None:
            bar.draw(painter, layout.bounds, self.height())
        if (chosen := self._chosen) is not None:
            draw_frame(painter, layout.rects[chosen], QRectF(self.rect()), self.theme)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        """Make images of large heads in several paint events, which keeps the window responsive."""
        if self.chart is not None:
            size = self.chart.values.size
            self._images.limit = max(1, MAX_CELLS * len(self.chart.values) // size)
        super().paintEvent(event)
        self._images.limit = UNLIMITED
        if not self._images.is_complete:
            self.update()

    @property
    def _chosen(self) -> int | None:
        """The framed head, ``None`` before there is one."""
        head = self.selection.head
        return None if head is None or self.chart is None else min(head, len(self.chart.values) - 1)

    def _update_captions(self) -> None:
        has_captions = bool(self._layout().captions)
        if has_captions != self.has_captions:
            self.has_captions = has_captions
            self.captions_changed.emit()

    def _layout(self) -> HeadLayout:
        if self.chart is None:
            return HeadLayout()
        large = weighted(sized(self.font(), NORMAL))  # as the selected name is
        name, caption = QFontMetricsF(large), QFontMetricsF(sized(self.font(), SMALL))
        names = map(self._name, range(len(self.chart.values)))
        captions = {caption.horizontalAdvance(text) for text in self.chart.captions}
        words = Words(
            name_width=max(map(name.horizontalAdvance, names)),
            name_height=name.height(),
            caption_width=max(captions, default=0.0),
            caption_height=caption.height(),
        )
        both = (self,) if self._aligned_plot is None else (self, self._aligned_plot)
        room = min(grid.width() - grid.reserved_width() for grid in both)
        shape, height = self.chart.values.shape, self.height()
        plain = lay_out_heads(shape, room, height, words)
        if not self.chart.key_labels:
            return plain
        for size in SIZES[1:]:
            least = size * PITCH * type_scale()
            if least > plain.rects[0].width() / shape[2]:
                continue
            left, below = self._label_room(size)
            found = lay_out_heads(shape, room - left, height - below, words)
            if least <= found.rects[0].width() / shape[2] and found.captions == plain.captions:
                rects = tuple(rect.translated(left, 0) for rect in found.rects)
                return replace(found, rects=rects, label_size=size)
        return plain

    def _label_room(self, size: float) -> tuple[float, float]:
        """Return the pixels for labels of tokens at the left and below."""
        assert self.chart is not None
        metrics = QFontMetricsF(sized(self.font(), size))
        widths = (
            max(map(metrics.horizontalAdvance, labels), default=0.0)
            for labels in (self.chart.query_labels, self.chart.key_labels)
        )
        left, below = (min(width, MAX_LABEL) + LABEL_GAP for width in widths)
        return left, below

    def _name(self, head: int) -> str:
        return self.tr("head {0}").format(head)

    def _scale(self, chart: HeadsChart, head: int | None = None) -> ColorScale:
        """Return the colours of a head, or of the bar."""
        levels = self.levels
        if head is not None and chart.head_levels is not None:
            levels = chart.head_levels[head]
        table = color_table(self.theme, chart.is_signed)
        return ColorScale(levels, table, chart.is_signed, chart.is_root)

    def _draw_title(self, painter: QPainter, head: int, caption: str, layout: HeadLayout) -> None:
        """Write a head's name, and its caption where there is room."""
        rect = layout.rects[head]
        space = QRectF(rect.x(), rect.y() - layout.title_height, rect.width(), layout.title_height)
        space.setBottom(space.bottom() - TITLE_GAP)
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

    def _draw_labels(self, painter: QPainter, chart: HeadsChart, layout: HeadLayout) -> None:
        """Write the queries left of each row of heads, and the keys below the last row."""
        painter.setFont(sized(self.font(), layout.label_size))
        painter.setPen(QColor(self.theme.muted))
        metrics, elide = QFontMetricsF(painter.font()), Qt.TextElideMode.ElideMiddle
        for rect in layout.rects:
            cell = rect.height() / len(chart.query_labels)
            if rect.x() == layout.rects[0].x():
                for row, text in enumerate(chart.query_labels):
                    line = QRectF(0, rect.y() + row * cell, rect.x() - LABEL_GAP, cell)
                    painter.drawText(line, _RIGHT, metrics.elidedText(text, elide, MAX_LABEL))
            if rect.y() == layout.rects[-1].y():
                for column, text in enumerate(chart.key_labels):
                    at = QPointF(rect.x() + (column + 0.5) * cell, rect.bottom() + LABEL_GAP)
                    draw_upright(painter, at, text, MAX_LABEL)

    def _draw_dividers(self, painter: QPainter, chart: HeadsChart, rect: QRectF) -> None:
        """Draw lines between texts."""
        _, rows, columns = chart.values.shape
        painter.setPen(QPen(tinted(self.theme.muted, DIVIDER_OPACITY), 1))
        for key in chart.key_starts:
            x = rect.x() + rect.width() * key / columns
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        for query in chart.query_starts:
            y = rect.y() + rect.height() * query / rows
            painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y))


def _levels(chart: HeadsChart) -> Levels:
    """Return the values at both ends of the colours; a range of shares includes 0."""
    if chart.levels is not None:
        return chart.levels
    low, high = levels_of(np.asarray(chart.values), chart.is_signed)
    return min(0.0, low), high


def lay_out_heads(
    shape: tuple[int, int, int], width: float, height: float, words: Words
) -> HeadLayout:
    """Return the layout of heads [A, S_q, S_k] with the largest heatmaps; cells are squares.

    Captions that do not fit next to the names get a separate line if heatmaps stay large.
    """
    title = words.name_height + TITLE_GAP
    rects = _rects(shape, width, height, title)
    wide = rects[0].width()
    has_names = words.name_width <= wide
    if not words.caption_width:
        return HeadLayout(rects, title, "", has_names)
    if words.name_width + GAP + words.caption_width <= wide:
        return HeadLayout(rects, title, "beside", True)
    higher = title + words.caption_height
    lower = _rects(shape, width, height, higher)
    is_large = _area(lower[0]) >= MIN_KEPT * _area(rects[0])
    if is_large and lower[0].width() >= words.caption_width:
        return HeadLayout(lower, higher, "below", words.name_width <= lower[0].width())
    return HeadLayout(rects, title, "", has_names)


def _rects(
    shape: tuple[int, int, int], width: float, height: float, title: float
) -> tuple[QRectF, ...]:
    heads, rows, columns = shape

    def size(across: int) -> tuple[float, float]:
        wide = (width - 2 * MARGIN - GAP * (across - 1)) / across
        down = ceil(heads / across)
        tall = (height - 2 * MARGIN - GAP * (down - 1)) / down - title
        cell = max(0.0, min(wide / columns, tall / rows))
        return max(MIN_SIZE, cell * columns), max(MIN_SIZE, cell * rows)

    across = max(range(1, heads + 1), key=lambda number: prod(size(number)))
    wide, tall = size(across)
    return tuple(
        QRectF(
            MARGIN + (head % across) * (wide + GAP),
            MARGIN + title + (head // across) * (tall + title + GAP),
            wide,
            tall,
        )
        for head in range(heads)
    )


def _area(rect: QRectF) -> float:
    return rect.width() * rect.height()
