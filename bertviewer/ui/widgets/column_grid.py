"""Grid of widgets with as many equal columns as the width allows."""

from collections.abc import Callable, Sequence

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget
from typing_extensions import override


class ColumnGrid(QWidget):
    """Widgets in rows, from the left to the right."""

    def __init__(
        self,
        widgets: Sequence[QWidget],
        min_width: Callable[[], int],
        *,
        max_columns: int,
        gaps: tuple[int, int],
    ) -> None:
        """Arrange the widgets.

        Args:
            widgets: in reading order.
            min_width: returns the pixels below which a column is too narrow.
            max_columns: the number of columns in a wide window.
            gaps: the pixels between columns and between rows.
        """
        super().__init__()
        self._widgets = tuple(widgets)
        self._min_width, self._max_columns = min_width, max_columns
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(gaps[0])
        self._grid.setVerticalSpacing(gaps[1])
        self._arrange(1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        gap = self._grid.horizontalSpacing()
        columns = (self.width() + gap) // (self._min_width() + gap)
        self._arrange(min(max(columns, 1), self._max_columns))

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._columns = columns
        for number, widget in enumerate(self._widgets):
            self._grid.addWidget(widget, number // columns, number % columns)
