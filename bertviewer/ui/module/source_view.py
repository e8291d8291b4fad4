"""Read-only view of source code with line numbers and syntax highlighting."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget
from typing_extensions import override

from bertviewer.charts.theme import DARK, NORMAL
from bertviewer.core.building.source_code import SourceCode
from bertviewer.plots.fonts import monospaced, sized
from bertviewer.ui.module.source_highlighting import (
    DARK_COLORS,
    LIGHT_COLORS,
    SourceHighlighter,
    Span,
    spans_of,
)
from bertviewer.ui.theme.appearance import theme_of

_MARGIN = 8  # pixels on either side of a line number


class SourceView(QPlainTextEdit):
    """Shows several pieces of source, each below a heading in the form of a comment."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sourceView")
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(sized(monospaced(self.font()), NORMAL))
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self._numbers: list[int | None] = []
        self._spans: dict[int, list[Span]] = {}
        self._highlighter = SourceHighlighter(self.document())
        self._gutter = _Gutter(self)
        self.updateRequest.connect(self._on_update)

    def show_source(self, pieces: Sequence[tuple[str, SourceCode]]) -> None:
        """Show pieces with headings; an empty heading is omitted."""
        lines: list[str] = []
        self._numbers, self._spans = [], {}
        for heading, piece in pieces:
            if heading:
                above = ["", f"# {heading}", ""]
                self._spans[len(lines) + 1] = [Span(0, len(above[1]), "comment")]
                lines += above
                self._numbers += [None] * len(above)
            offset = len(lines)
            for line, spans in spans_of(piece.text).items():
                self._spans[offset + line] = spans
            new = piece.text.splitlines()
            lines += new
            self._numbers += range(piece.first_line, piece.first_line + len(new))
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self.setPlainText("\n".join(lines))
        self._recolor()

    def line_number(self, block: int) -> int | None:
        """Return the line number in the file of a block, ``None`` for a heading."""
        return self._numbers[block] if block < len(self._numbers) else None

    def gutter_width(self) -> int:
        """Return the width of the line numbers in pixels."""
        digits = max((len(str(number)) for number in self._numbers if number), default=1)
        return self.fontMetrics().horizontalAdvance("9") * digits + 2 * _MARGIN

    def paint_gutter(self, event: QPaintEvent) -> None:
        """Draw the numbers of visible lines."""
        painter = QPainter(self._gutter)
        painter.fillRect(event.rect(), self.palette().color(QPalette.ColorRole.AlternateBase))
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        width = self._gutter.width() - _MARGIN
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            number = self.line_number(block.blockNumber())
            if number is not None:
                line = QRect(0, round(top), width, round(height))
                painter.drawText(line, Qt.AlignmentFlag.AlignRight, str(number))
            top += height
            block = block.next()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        area = self.contentsRect()
        self._gutter.setGeometry(area.left(), area.top(), self.gutter_width(), area.height())

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._recolor()

    def _recolor(self) -> None:
        colors = DARK_COLORS if theme_of(self) is DARK else LIGHT_COLORS
        self._highlighter.show_spans(self._spans, colors)
        self._gutter.update()

    def _on_update(self, area: QRect, moved: int) -> None:
        if moved:
            self._gutter.scroll(0, moved)
        else:
            self._gutter.update(0, area.y(), self._gutter.width(), area.height())


class _Gutter(QWidget):
    """The line numbers at the left."""

    def __init__(self, view: SourceView) -> None:
        super().__init__(view)
        self._view = view

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._view.gutter_width(), 0)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_gutter(event)
