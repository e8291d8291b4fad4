"""Shares the width of the module tree out among its columns."""

from collections.abc import Mapping
from math import ceil

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QTreeView

from bertviewer.ui.module_tree import (
    CLASS,
    COLUMNS,
    MODULE,
    OUTPUT_SHAPE,
    SHAPE,
    SHARE,
    ModuleTreeModel,
)

# All in pixels. Beside a share its bar has some room.
PADDING, BAR_PADDING = 12, 20
MODULE_WISH, MODULE_LEAST = 200, 120
LEAST = {CLASS: 72, SHAPE: 64, OUTPUT_SHAPE: 68}
"""What a column may shrink to; numbers never do, since half a number is a wrong one."""
MOST = {CLASS: 170, SHAPE: 120, OUTPUT_SHAPE: 120}
"""What a column gets at the most by itself; a person may widen it."""


class TreeColumns(QObject):
    """Keeps all columns in sight: each as wide as its texts, narrower where there is no room.

    The modules' names get what is left. Where a person moves the edge between two columns, both
    stay as they are put; then the others give way.
    """

    def __init__(self, view: QTreeView, model: ModuleTreeModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._header = view.header()
        self._chosen: dict[int, int] = {}
        self._is_fitting = False
        self._header.setStretchLastSection(False)
        self._header.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._header.setMinimumSectionSize(min(LEAST.values()))
        self._header.sectionResized.connect(self._on_moved)
        view.viewport().installEventFilter(self)

    def fit(self) -> None:
        """Fit all columns to what is shown now, and to the room that there is."""
        shown = [c for c in range(MODULE + 1, COLUMNS) if not self._header.isSectionHidden(c)]
        widths = self._within_room({column: self._wish(column) for column in shown})
        widths[MODULE] = max(MODULE_LEAST, self._room - sum(widths.values()))
        self._is_fitting = True
        for column, width in widths.items():
            self._header.resizeSection(column, width)
        self._is_fitting = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the view's width, and keep the selection in sight; Qt calls it."""
        if event.type() == QEvent.Type.Resize:
            self.fit()
            self._view.scrollTo(self._view.currentIndex())
        return super().eventFilter(watched, event)

    @property
    def _room(self) -> int:
        return self._view.viewport().width()

    def _within_room(self, wishes: Mapping[int, int]) -> dict[int, int]:
        """Take from each column in proportion to what it can spare."""
        spare = {
            column: 0 if column in self._chosen else max(0, wish - LEAST.get(column, wish))
            for column, wish in wishes.items()
        }
        over = MODULE_WISH + sum(wishes.values()) - self._room
        part = min(1.0, max(0, over) / max(1, sum(spare.values())))
        # Upwards, so that rounding never gives a pixel too few.
        return {column: wish - ceil(spare[column] * part) for column, wish in wishes.items()}

    def _wish(self, column: int) -> int:
        if column in self._chosen:
            return self._chosen[column]
        title = self._model.headerData(column, Qt.Orientation.Horizontal)
        texts = {title, *self._model.texts(column)}
        padding = BAR_PADDING if column == SHARE else PADDING
        width = max(map(self._view.fontMetrics().horizontalAdvance, texts)) + padding
        # The header makes no column narrower than its least.
        return max(min(width, MOST.get(column, width)), self._header.minimumSectionSize())

    def _on_moved(self, column: int, before: int, now: int) -> None:
        """Give what a column loses to the one after it, and take from that what it gains."""
        if self._is_fitting or not before or not now:
            return  # hidden or shown, not moved
        after = next((c for c in range(column + 1, COLUMNS) if self._is_shown(c)), None)
        if after is not None:
            least = LEAST.get(after, self._header.minimumSectionSize())
            self._chosen[after] = max(least, self._header.sectionSize(after) - (now - before))
        if column != MODULE:
            self._chosen[column] = now
        self.fit()

    def _is_shown(self, column: int) -> bool:
        return not self._header.isSectionHidden(column)
