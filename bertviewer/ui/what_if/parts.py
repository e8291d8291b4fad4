"""The model's parts as bars: how many parameters each has, really and with other values."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.core.what_if.scenario import Figure

_GAP, _WIDEST = 14, 760
_LEAST_BAR = 70


class Part(Struct, frozen=True):
    """A child of the root and its parameters."""

    name: str
    figure: Figure


class PartBars(QWidget):
    """A line for each part: its name, a bar for what it would have, a mark for what it has.

    All bars have one scale: the largest figure, real or not, is the whole width.
    """

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(_WIDEST)

    def set_parts(self, parts: Sequence[Part]) -> None:
        """Show other parts."""
        if len(parts) != len(self._parts):
            self.updateGeometry()
        self._parts = tuple(parts)
        # A drawing says nothing to a screen reader.
        texts = (f"{part.name}: {part.figure.value:,}" for part in self._parts)
        self.setAccessibleDescription("; ".join(texts))
        self.update()

    def sizeHint(self) -> QSize:
        """Return the room for all lines; Qt calls it."""
        return QSize(240, self._line_height() * len(self._parts))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bars; Qt calls it."""
        metrics, palette = self.fontMetrics(), self.palette()
        names = max((metrics.horizontalAdvance(p.name) for p in self._parts), default=0) + 2
        texts = [self._text(part) for part in self._parts]
        numbers = max(map(metrics.horizontalAdvance, texts), default=0)
        names = min(names, max(self.width() - numbers - 2 * _GAP - _LEAST_BAR, _LEAST_BAR))
        left, right = names + _GAP, self.width() - numbers - _GAP
        largest = max((max(p.figure.real, p.figure.value) for p in self._parts), default=1)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = self._line_height()
        for index, (part, text) in enumerate(zip(self._parts, texts, strict=True)):
            top = index * height
            painter.setPen(palette.color(QPalette.ColorRole.WindowText))
            name = metrics.elidedText(part.name, Qt.TextElideMode.ElideMiddle, names)
            middle = Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, top, names, height), int(middle), name)
            painter.drawText(
                QRectF(right + _GAP, top, numbers, height),
                int(middle | Qt.AlignmentFlag.AlignRight),
                text,
            )
            if right > left:
                box = QRectF(left, top + 5, right - left, height - 10)
                self._draw_bar(painter, box, part.figure, largest)
        painter.end()

    def _draw_bar(self, painter: QPainter, box: QRectF, figure: Figure, largest: int) -> None:
        role = QPalette.ColorRole.Accent
        color = QColor(self.palette().color(role))
        if not self.isEnabled():
            color = QColor(self.palette().color(QPalette.ColorRole.WindowText))
        painter.setPen(Qt.PenStyle.NoPen)
        for width, alpha in ((1.0, 0.10), (figure.value / largest, 0.55)):
            color.setAlphaF(alpha)
            painter.setBrush(color)
            painter.drawRoundedRect(
                QRectF(box.x(), box.y(), box.width() * width, box.height()), 2, 2
            )
        # The mark stands out of the bar, so that it is seen on it and beside it.
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        x = box.x() + box.width() * figure.real / largest
        painter.drawLine(QPointF(x, box.top() - 2), QPointF(x, box.bottom() + 2))

    def _text(self, part: Part) -> str:
        total = sum(other.figure.value for other in self._parts)
        share = f" · {part.figure.value / total:.1%}" if total else ""
        return f"{part.figure.value:,}{share}"

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 8
