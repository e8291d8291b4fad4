"""Pages one below the other, as they will be printed; those in sight are asked for."""

import re
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from bertviewer.charts.theme import GRID, LIGHT, RADIUS, SMALL
from bertviewer.plots.fonts import sized
from bertviewer.ui.theme.appearance import theme_of

Size = tuple[float, float]
"""Width and height of a page in points."""

MARGIN, GAP = 5 * GRID, 4 * GRID
WIDEST = 860
"""Pixels of a page at most: the rest of a wide dialog is left empty."""
PATIENCE = 40  # milliseconds from a movement to what is asked for
KEPT = 24
"""Pictures of pages that are kept when they are out of sight."""
_SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_POINTS_PER_INCH = 72


def size_of(page: bytes) -> Size:
    """Return the size of a page that is an SVG, in points."""
    found = _SIZE.search(page[:1000])
    assert found is not None  # Typst writes it
    return float(found[1]), float(found[2])


class PagesView(QAbstractScrollArea):
    """``seen`` carries the numbers of the pages in sight, and how many pixels an inch has."""

    seen = Signal(object, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reportPages")
        self.setAccessibleName(self.tr("Pages of the report"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._sizes: tuple[Size, ...] = ()
        self._images: dict[int, QImage] = {}
        self._lacking: set[int] = set()  # pages whose picture is another one's, or none
        self._message = ""
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(PATIENCE)
        self._settle.timeout.connect(self.ask)
        self.verticalScrollBar().valueChanged.connect(self._on_moved)

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._sizes)

    @property
    def current(self) -> int:
        """The number, from 0, of the page that most is seen of."""
        rects = self._rects()
        room = QRectF(self.viewport().rect())
        return max(range(len(rects)), key=lambda n: (rects[n] & room).height(), default=0)

    @property
    def is_drawn(self) -> bool:
        """Whether there are pictures of all pages in sight."""
        return bool(self._sizes) and not self._lacking.intersection(self._in_sight())

    def page_rect(self, number: int) -> QRectF:
        """Return where a page is in the viewport."""
        return self._rects()[number]

    def show_pages(self, sizes: Sequence[Size]) -> None:
        """Show other pages: what is in sight of the old ones stays until the new ones come."""
        seen = set(self._in_sight())
        self._sizes, self._message = tuple(sizes), ""
        self._lacking = set(range(len(sizes)))
        self._images = {n: image for n, image in self._images.items() if n in seen}
        self._set_range()
        self._on_moved()
        self.ask()

    def show_images(self, images: Mapping[int, QImage]) -> None:
        """Take pictures of pages."""
        self._images |= images
        # One that was asked for in another size is shown, and asked for once more.
        self._lacking -= {
            n for n, image in images.items() if abs(image.width() - self._pixels()) < 3
        }
        near = self.current
        while len(self._images) > KEPT:
            farthest = max(self._images, key=lambda n: abs(n - near))
            del self._images[farthest]
            self._lacking.add(farthest)
        self._settle.start()
        self.viewport().update()

    def show_message(self, message: str) -> None:
        """Show why there are no pages."""
        self._sizes, self._images, self._lacking, self._message = (), {}, set(), message
        self._set_range()
        self._on_moved()

    def go_to(self, number: int) -> None:
        """Bring a page to the top."""
        if not self._sizes:
            return
        number = max(0, min(number, self.count - 1))
        top = self._rects()[number].top() + self.verticalScrollBar().value()
        self.verticalScrollBar().setValue(round(top - GAP))

    def ask(self) -> None:
        """Ask for pictures of the pages in sight, and of their neighbours after them."""
        seen = self._in_sight()
        # Those in sight come at once, and their neighbours when these are there.
        around = (seen[0] - 1, seen[-1] + 1) if seen and self.is_drawn else ()
        wanted = tuple(n for n in (*seen, *around) if n in self._lacking)
        if wanted:
            widest = max(width for width, _ in self._sizes)
            self.seen.emit(wanted, round(self._pixels() / widest * _POINTS_PER_INCH, 3))

    def sizeHint(self) -> QSize:
        """Return room for most of a page; Qt calls it."""
        return QSize(600, 640)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the pages in sight; Qt calls it."""
        del event
        theme = theme_of(self)
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.viewport().rect(), QColor(theme.background))
        rects = self._rects()
        for number in self._in_sight():
            rect = rects[number]
            # Paper is white in a dark window too.
            painter.fillRect(rect, QColor(LIGHT.surface))
            if (image := self._images.get(number)) is not None:
                painter.drawImage(rect, image)
            painter.setPen(QColor(theme.line))
            painter.drawRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5))
        # What the pages stand beside.
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the page in sight when there is more or less room; Qt calls it."""
        super().resizeEvent(event)
        bar = self.verticalScrollBar()
        share = bar.value() / bar.maximum() if bar.maximum() else 0.0
        self._set_range()
        bar.setValue(round(share * bar.maximum()))
        self._lacking = set(range(self.count))
        self._on_moved()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from page to page, to the first and the last; Qt calls it."""
        steps = {Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1, Qt.Key.Key_Space: 1}
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self.count - 1}
        key = Qt.Key(event.key())
        if key in steps:
            self.go_to(self.current + steps[key])
        elif key in ends:
            self.go_to(ends[key])
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the window's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.viewport().update()

    def _width(self) -> float:
        return max(80.0, min(WIDEST, self.viewport().width() - 2 * MARGIN))

    def _rects(self) -> list[QRectF]:
        """Return where the pages are in the viewport: as wide as there is room."""
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
        """Return how many pixels of the screen the widest page has."""
        return self._width() * self.devicePixelRatioF()

    def _in_sight(self) -> list[int]:
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
        """Say which page is in sight, in the corner."""
        theme = theme_of(self)
        painter.setFont(sized(self.font(), SMALL))
        text = f"{self.current + 1} / {self.count}"
        metrics = painter.fontMetrics()
        width = metrics.horizontalAdvance(text) + 4 * GRID
        height = metrics.height() + GRID
        room = self.viewport().rect()
        # On the paper, where it does not stand across its edge.
        right = min(float(room.right()), self._rects()[self.current].right()) - 2 * GRID
        box = QRectF(right - width, room.bottom() - height - 2 * GRID, width, height)
        painter.setPen(QColor(theme.line))
        painter.setBrush(QColor(theme.surface))
        painter.drawRoundedRect(box, RADIUS, RADIUS)
        painter.setPen(QColor(theme.muted))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)
