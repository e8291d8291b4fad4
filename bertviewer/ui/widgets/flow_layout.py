"""Widgets one after the other, like words, in as many lines as they need."""

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Each widget is as wide as it wishes, or as wide as a line."""

    def __init__(self, parent: QWidget, between: int, below: int) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self._between, self._below = between, below
        self._items: list[QLayoutItem] = []

    def addItem(self, item: QLayoutItem) -> None:
        """Put another one at the end; Qt calls it."""
        self._items.append(item)

    def count(self) -> int:
        """Return how many there are; Qt calls it."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return one of them; Qt calls it."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Take one of them out; Qt calls it."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        """Say that a narrow one is higher; Qt calls it."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height that all lines need; Qt calls it."""
        return self._arrange(QRect(0, 0, width, 0), is_trial=True)

    def setGeometry(self, rect: QRect) -> None:
        """Give each its place; Qt calls it."""
        super().setGeometry(rect)
        self._arrange(rect, is_trial=False)

    def sizeHint(self) -> QSize:
        """Return room for all in one line; Qt calls it."""
        sizes = [item.sizeHint() for item in self._items]
        width = sum(size.width() for size in sizes) + self._between * max(0, len(sizes) - 1)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Return room for the largest one; Qt calls it."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, *, is_trial: bool) -> int:
        """Return the height of all lines, each widget in its place unless this is a trial."""
        x, y, height = rect.x(), rect.y(), 0
        for item in self._items:
            size = item.sizeHint().boundedTo(QSize(rect.width(), item.sizeHint().height()))
            if x > rect.x() and x + size.width() > rect.right() + 1:
                x, y, height = rect.x(), y + height + self._below, 0
            if not is_trial:
                item.setGeometry(QRect(QPoint(x, y), size))
            x += size.width() + self._between
            height = max(height, size.height())
        return y + height - rect.y()
