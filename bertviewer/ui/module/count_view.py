"""A sum as aligned lines: in symbols, with numbers, and the values of its terms."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
)
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.core.schema.count_steps import CountTerm
from bertviewer.plots.fonts import weighted

GAP = 18.0  # pixels between two terms, with the sign
ROW_GAP = 10.0
MIN_WIDTH = 200
MAX_CACHED = 8
"""Cached arrangements, by width."""

_BREAK = "\u200b"
"""Zero-width space."""
_MAY_END = re.compile(r"(?<=[·/_])(?=\S)")

_LEFT = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
_CENTER = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)


class _Column(Struct, frozen=True):
    """A term: its sign, its lines, and their width."""

    sign: str
    lines: tuple[str, ...]
    width: float

    @property
    def indent(self) -> float:
        """The width of the sign, 0 for the first term."""
        return GAP if self.sign else 0.0


class _Text(Struct, frozen=True):
    """A text and its rectangle."""

    words: str
    box: QRectF
    flags: int
    is_muted: bool = False


class CountView(QWidget):
    """Draws terms in columns, as many in a row as fit, and the result below.

    Nothing is elided: a term that is wider than the view is wrapped. Painted by hand, because a
    layout of labels does not align the lines of neighbouring terms.
    """

    def __init__(self, terms: Sequence[CountTerm], result: str) -> None:
        super().__init__()
        # The value of a single term is the result.
        count = 3 if len(terms) > 1 else 2
        texts = (term.texts for term in terms)
        self._terms = [(sign, tuple(lines[:count])) for sign, *lines in texts]
        self._result = result
        self._arranged: dict[int, tuple[_Text, ...]] = {}  # by width
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = QAction(self.tr("Copy"), self)
        copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(self.text()))
        self.addAction(copy)
        self.setAccessibleName(self.tr("Formula with numbers"))
        self.setAccessibleDescription(self.text())

    def text(self) -> str:
        """Return the lines as plain text."""
        lines = []
        for number in range(len(self._terms[0][1])):
            words = (f"{sign} {term[number]}".strip() for sign, term in self._terms)
            lines.append(" ".join(words))
        return "\n= ".join((*lines, self._result))

    @override
    def sizeHint(self) -> QSize:
        return QSize(MIN_WIDTH * 2, self.heightForWidth(MIN_WIDTH * 2))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(MIN_WIDTH, 1)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return int(max(text.box.bottom() for text in self._texts(width))) + 2

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self._arranged.clear()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        texts = self._texts(self.width())
        for text in texts:
            role = QPalette.ColorRole.PlaceholderText if text.is_muted else QPalette.ColorRole.Text
            if text is texts[-1]:
                painter.setFont(self._bold())
            painter.setPen(self.palette().color(role))
            painter.drawText(text.box, text.flags, text.words)

    def _texts(self, width: int) -> tuple[_Text, ...]:
        """Return the arrangement for a width, from a cache: Qt asks for few widths many times."""
        if width not in self._arranged:
            if len(self._arranged) == MAX_CACHED:
                self._arranged.clear()
            self._arranged[width] = tuple(self._laid_out(float(width)))
        return self._arranged[width]

    def _laid_out(self, width: float) -> Iterator[_Text]:
        metrics = QFontMetricsF(self.font())
        top = 0.0
        for row in self._rows(width, metrics):
            heights = _line_heights(row, metrics)
            yield from _row_texts(row, top, heights)
            top += sum(heights) + ROW_GAP
        result = f"= {self._result}"
        room = QRectF(0, 0, width, 1e6)
        height = QFontMetricsF(self._bold()).boundingRect(room, _LEFT, result).height()
        yield _Text(result, QRectF(0, top - ROW_GAP / 2, width, height), _LEFT)

    def _rows(self, width: float, metrics: QFontMetricsF) -> Iterator[list[_Column]]:
        """Yield the columns of each row."""
        row: list[_Column] = []
        used = 0.0
        for sign, plain in self._terms:
            lines = tuple(map(_breakable, plain))
            natural = max(metrics.horizontalAdvance(line) for line in lines) + 2
            column = _Column(sign, lines, min(natural, width - GAP))
            needed = column.indent + column.width
            if row and used + needed > width:
                yield row
                row, used = [], 0.0
            row.append(column)
            used += needed
        yield row

    def _bold(self) -> QFont:
        return weighted(self.font())


def _breakable(text: str) -> str:
    """Return a text that can also be wrapped after an operator or within a long name."""
    return _MAY_END.sub(_BREAK, text)


def _row_texts(row: Sequence[_Column], top: float, heights: Sequence[float]) -> Iterator[_Text]:
    left = 0.0
    for column in row:
        y = top
        for number, (words, height) in enumerate(zip(column.lines, heights, strict=True)):
            if column.sign:
                yield _Text(column.sign, QRectF(left, y, GAP, height), _CENTER, is_muted=True)
            box = QRectF(left + column.indent, y, column.width, height)
            yield _Text(words, box, _LEFT, is_muted=number == 1)
            y += height
        left += column.indent + column.width


def _line_heights(row: Sequence[_Column], metrics: QFontMetricsF) -> list[float]:
    """Return the height of each line, the maximum of all terms."""
    return [
        max(
            metrics.boundingRect(
                QRectF(0, 0, column.width, 1e6), _LEFT, column.lines[number]
            ).height()
            for column in row
        )
        for number in range(len(row[0].lines))
    ]
