"""Scrollable view of a report's pages; images are requested for the visible ones."""

import re
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, LIGHT, RADIUS, SMALL
from bertviewer.plots.fonts import sized
from bertviewer.ui.theme.appearance import theme_of

Size = tuple[float, float]
"""Width and height of a page in points."""

MARGIN, GAP = 5 * GRID, 4 * GRID
MAX_WIDTH = 860
"""Maximum width of a page in pixels."""
REQUEST_DELAY = 40  # milliseconds after scrolling
MAX_IMAGES = 24
"""Images that are kept, including those of pages that are not visible."""
_SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_POINTS_PER_INCH = 72


def page_size(page: bytes) -> Size:
    """Return the size of a page in SVG, in points."""
    found = _SIZE.search(page[:1000])
    assert found is not None  # of Typst's SVG
    return float(found[1]), float(found[2])


class PagesView(QAbstractScrollArea):
    """The pages; ``images_wanted`` has indices of pages and the resolution in pixels per inch."""

    images_wanted = Signal(object, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reportPages")
        self.setAccessibleName(self.tr("Pages of the report"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._sizes: tuple[Size, ...] = ()
        self._images: dict[int, QImage] = {}
        self._missing: set[int] = set()  # pages without an image, or with an old one
        self._message = ""
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(REQUEST_DELAY)
        self._settle.timeout.connect(self.request_images)
        self.verticalScrollBar().valueChanged.connect(self._on_moved)

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self._sizes)

    @property
    def current(self) -> int:
        """The index of the page with the largest visible part."""
        rects = self._rects()
        room = QRectF(self.viewport().rect())
        return max(range(len(rects)), key=lambda n: (rects[n] & room).height(), default=0)

    @property
    def is_drawn(self) -> bool:
        """Whether there are images of all visible pages."""
        return bool(self._sizes) and not self._missing.intersection(self._visible_pages())

    def show_pages(self, sizes: Sequence[Size]) -> None:
        """Show other pages; the old images stay visible until the new ones arrive."""
        seen = set(self._visible_pages())
        self._sizes, self._message = tuple(sizes), ""
        self._missing = set(range(len(sizes)))
        self._images = {n: image for n, image in self._images.items() if n in seen}
        self._set_range()
        self._on_moved()
        self.request_images()

    def show_images(self, images: Mapping[int, QImage]) -> None:
        """Show images of pages."""
        self._images |= images
        # An image of another size is shown, but requested again.
        self._missing -= {
            n for n, image in images.items() if abs(image.width() - self._pixels()) < 3
        }
        near = self.current
        while len(self._images) > MAX_IMAGES:
            farthest = max(self._images, key=lambda n: abs(n - near))
            del self._images[farthest]
            self._missing.add(farthest)
        self._settle.start()
        self.viewport().update()

    def show_message(self, message: str) -> None:
        """Show a message instead of pages."""
        self._sizes, self._images, self._missing, self._message = (), {}, set(), message
        self._set_range()
        self._on_moved()

    def go_to(self, number: int) -> None:
        """Scroll to a page."""
        if not self._sizes:
            return
        number = max(0, min(number, self.count - 1))
        top = self._rects()[number].top() + self.verticalScrollBar().value()
        self.verticalScrollBar().setValue(round(top - GAP))

    def request_images(self) -> None:
        """Request images of the visible pages, and then of their neighbours."""
        visible = self._visible_pages()
        neighbours = (visible[0] - 1, visible[-1] + 1) if visible and self.is_drawn else ()
        wanted = tuple(n for n in (*visible, *neighbours) if n in self._missing)
        if wanted:
            widest = max(width for width, _ in self._sizes)
            self.images_wanted.emit(wanted, round(self._pixels() / widest * _POINTS_PER_INCH, 3))

    @override
    def sizeHint(self) -> QSize:
        return QSize(600, 640)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        theme = theme_of(self)
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.viewport().rect(), QColor(theme.background))
        rects = self._rects()
        for number in self._visible_pages():
            rect = rects[number]
            # Paper is white in the dark theme, too.
            painter.fillRect(rect, QColor(LIGHT.surface))
            if (image := self._images.get(number)) is not None:
                painter.drawImage(rect, image)
            painter.setPen(QColor(theme.line))
            painter.drawRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5))
        painter.fillRect(QRectF(0, 0, 1, self.viewport().height()), QColor(theme.line))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._message:
            painter.setPen(QColor(theme.muted))
            room = self.viewport().rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
            flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
            painter.drawText(room, flags, self._message)
        elif self._sizes:
            self._draw_number(painter)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        bar = self.verticalScrollBar()
        share = bar.value() / bar.maximum() if bar.maximum() else 0.0
        self._set_range()
        bar.setValue(round(share * bar.maximum()))
        self._missing = set(range(self.count))
        self._on_moved()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1, Qt.Key.Key_Space: 1}
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self.count - 1}
        key = Qt.Key(event.key())
        if key in steps:
            self.go_to(self.current + steps[key])
        elif key in ends:
            self.go_to(ends[key])
        else:
            super().keyPressEvent(event)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.viewport().update()

    def _width(self) -> float:
        return max(80.0, min(MAX_WIDTH, self.viewport().width() - 2 * MARGIN))

    def _rects(self) -> list[QRectF]:
        """Return the rectangles of all pages in the viewport."""
        if not self._sizes:
            return []
        scale = self._width() / max(width for width, _ in self._sizes)
        middle = self.viewport().width() / 2
        top = MARGIN - self.verticalScrollBar().value()
        rects = []
        for width, height in self._sizes:
            left = round(middle - width * scale / 2)
            rects.append(QRectF(left, round(top), round(width * scale), round(height * scale)))
            top += round(height * scale) + GAP
        return rects

    def _pixels(self) -> float:
        """Return the width of the widest page in physical pixels."""
        return self._width() * self.devicePixelRatioF()

    def _visible_pages(self) -> list[int]:
        room = QRectF(self.viewport().rect())
        return [number for number, rect in enumerate(self._rects()) if rect.intersects(room)]

    def _set_range(self) -> None:
        bar = self.verticalScrollBar()
        rects = self._rects()
        height = rects[-1].bottom() + bar.value() + MARGIN if rects else 0
        room = self.viewport().height()
        bar.setRange(0, max(0, round(height - room)))
        bar.setPageStep(room)
        bar.setSingleStep(10 * GRID)

    def _on_moved(self) -> None:
        text = self.tr("Page {0} of {1}").format(self.current + 1, self.count)
        self.setAccessibleDescription(text if self._sizes else self._message)
        self.viewport().update()
        self._settle.start()

    def _draw_number(self, painter: QPainter) -> None:
        """Draw the number of the current page in the corner."""
        theme = theme_of(self)
        painter.setFont(sized(self.font(), SMALL))
        text = f"{self.current + 1} / {self.count}"
        metrics = painter.fontMetrics()
        width = metrics.horizontalAdvance(text) + 4 * GRID
        height = metrics.height() + GRID
        room = self.viewport().rect()
        right = min(float(room.right()), self._rects()[self.current].right()) - 2 * GRID
        box = QRectF(right - width, room.bottom() - height - 2 * GRID, width, height)
        painter.setPen(QColor(theme.line))
        painter.setBrush(QColor(theme.surface))
        painter.drawRoundedRect(box, RADIUS, RADIUS)
        painter.setPen(QColor(theme.muted))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)
