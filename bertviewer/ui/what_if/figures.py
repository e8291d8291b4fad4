"""Current and changed values side by side: a grid of texts, and bars of the model's parts."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.charts.theme import NORMAL_WEIGHT, STRONG
from bertviewer.core.what_if.scenario import Figure
from bertviewer.plots.fonts import weighted

_COLUMN_WIDTHS = (116, 92, 92)
_GAP, _MAX_WIDTH, _MIN_BAR = 14, 760, 70
_MIDDLE, _RIGHT = Qt.AlignmentFlag.AlignVCenter, Qt.AlignmentFlag.AlignRight


class FigureLine(Struct, frozen=True):
    """A name, the current and the new value, and their ratio, as texts."""

    name: str
    real: str
    value: str
    ratio: str
    is_main: bool = False


class FigureGrid(QWidget):
    """Lines of values; main ones are in strong type."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(4, 1)
        # The columns of several grids are aligned.
        for column, width in enumerate(_COLUMN_WIDTHS):
            self._grid.setColumnMinimumWidth(column, width)
        self._cells: list[tuple[QLabel, ...]] = []
        for column, title in ((1, self.tr("In the model")), (2, self.tr("What if"))):
            self._grid.addWidget(_cell(title, is_muted=True, is_right=True), 0, column)

    def set_lines(self, lines: Sequence[FigureLine]) -> None:
        """Show other lines; labels are reused."""
        while len(self._cells) < len(lines):
            self._add_line()
        for number, cells in enumerate(self._cells):
            is_used = number < len(lines)
            for cell in cells:
                cell.setVisible(is_used)
            if is_used:
                self._fill(cells, lines[number])

    def texts(self) -> list[tuple[str, ...]]:
        """Return the lines that are shown."""
        return [
            tuple(cell.text() for cell in cells) for cells in self._cells if not cells[0].isHidden()
        ]

    def _fill(self, cells: tuple[QLabel, ...], line: FigureLine) -> None:
        for cell, text in zip(cells, (line.name, line.real, line.value, line.ratio), strict=True):
            cell.setText(text)
        font = weighted(cells[2].font(), STRONG if line.is_main else NORMAL_WEIGHT)
        if font != cells[2].font():
            cells[2].setFont(font)

    def _add_line(self) -> None:
        muted, right = _cell(is_muted=True), _cell(is_right=True)
        cells = (muted, right, _cell(is_right=True), _cell(is_muted=True))
        for column, cell in enumerate(cells):
            self._grid.addWidget(cell, len(self._cells) + 1, column)
        self._cells.append(cells)


def _cell(text: str = "", *, is_muted: bool = False, is_right: bool = False) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if is_muted:
        label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    if is_right:
        label.setAlignment(_RIGHT | _MIDDLE)
    return label


class PartFigure(Struct, frozen=True):
    """A child of the root and its parameters."""

    name: str
    figure: Figure


class PartBars(QWidget):
    """A line for each part: its name, a bar for the new value, a mark at the current one.

    All bars have the same scale: the largest value, current or new, takes the whole width.
    """

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[PartFigure, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(_MAX_WIDTH)

    def set_parts(self, parts: Sequence[PartFigure]) -> None:
        """Show other parts."""
        if len(parts) != len(self._parts):
            self.updateGeometry()
        self._parts = tuple(parts)
        texts = (f"{part.name}: {part.figure.value:,}" for part in self._parts)
        self.setAccessibleDescription("; ".join(texts))
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(240, self._line_height() * len(self._parts))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        metrics, height = self.fontMetrics(), self._line_height()
        total = sum(part.figure.value for part in self._parts)
        largest = max((max(p.figure.real, p.figure.value) for p in self._parts), default=1)
        shares = [f" · {p.figure.value / total:.1%}" if total else "" for p in self._parts]
        numbers = [f"{p.figure.value:,}{s}" for p, s in zip(self._parts, shares, strict=True)]
        number_width = max(map(metrics.horizontalAdvance, numbers), default=0)
        name_width = max((metrics.horizontalAdvance(p.name) for p in self._parts), default=0) + 2
        available = self.width() - number_width - 2 * _GAP - _MIN_BAR
        name_width = min(name_width, max(available, _MIN_BAR))
        left, right = name_width + _GAP, self.width() - number_width - _GAP
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for row, (part, number) in enumerate(zip(self._parts, numbers, strict=True)):
            top = row * height
            painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
            name = metrics.elidedText(part.name, Qt.TextElideMode.ElideMiddle, name_width)
            painter.drawText(QRectF(0, top, name_width, height), int(_MIDDLE), name)
            box = QRectF(right + _GAP, top, number_width, height)
            painter.drawText(box, int(_MIDDLE | _RIGHT), number)
            if right > left:
                bar = QRectF(left, top + 5, right - left, height - 10)
                self._draw_bar(painter, bar, part.figure, largest)
        painter.end()

    def _draw_bar(self, painter: QPainter, box: QRectF, figure: Figure, largest: int) -> None:
        role = QPalette.ColorRole.Accent if self.isEnabled() else QPalette.ColorRole.WindowText
        color = QColor(self.palette().color(role))
        painter.setPen(Qt.PenStyle.NoPen)
        for share, alpha in ((1.0, 0.10), (figure.value / largest, 0.55)):
            color.setAlphaF(alpha)
            painter.setBrush(color)
            bar = QRectF(box.x(), box.y(), box.width() * share, box.height())
            painter.drawRoundedRect(bar, 2, 2)
        # The mark is higher than the bar, so that it is visible on it.
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        x = box.x() + box.width() * figure.real / largest
        painter.drawLine(QPointF(x, box.top() - 2), QPointF(x, box.bottom() + 2))

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 8
