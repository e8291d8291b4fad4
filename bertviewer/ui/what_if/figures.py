"""Figures side by side: as they are, and what becomes of them."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from bertviewer.charts.theme import NORMAL_WEIGHT, STRONG
from bertviewer.plots.fonts import weighted

_COLUMN_WIDTHS = (116, 92, 92)


class FigureLine(Struct, frozen=True):
    """A name, the real figure, the new one, and how they compare; texts as they are shown."""

    name: str
    real: str
    value: str
    ratio: str
    is_main: bool = False


class FigureGrid(QWidget):
    """Lines of figures with numbers below one another; the new ones stand out."""

    def __init__(self, real_title: str, value_title: str) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(4, 1)
        # Tables below one another have their columns in the same places.
        for column, width in enumerate(_COLUMN_WIDTHS):
            self._grid.setColumnMinimumWidth(column, width)
        self._cells: list[tuple[QLabel, ...]] = []
        for column, title in ((1, real_title), (2, value_title)):
            self._grid.addWidget(_cell(title, is_muted=True, is_right=True), 0, column)

    def set_lines(self, lines: Sequence[FigureLine]) -> None:
        """Show other lines; the cells stay as long as their number does."""
        while len(self._cells) < len(lines):
            self._add_line()
        for index, cells in enumerate(self._cells):
            is_used = index < len(lines)
            for cell in cells:
                cell.setVisible(is_used)
            if is_used:
                self._fill(cells, lines[index])

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
        row = len(self._cells) + 1
        cells = (
            _cell(is_muted=True),
            _cell(is_right=True),
            _cell(is_right=True),
            _cell(is_muted=True),
        )
        for column, cell in enumerate(cells):
            self._grid.addWidget(cell, row, column)
        self._cells.append(cells)


def _cell(text: str = "", *, is_muted: bool = False, is_right: bool = False) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if is_muted:
        label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    if is_right:
        label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return label
