"""Two widgets that share a pane of any shape."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget


class TurningSplitter(QSplitter):
    """Two widgets side by side, or one above the other where the pane is higher than wide.

    ``shares`` is how much of the pane each has, to be dragged; in one narrower than ``least``
    lines of text are high they stand above one another too.
    """

    def __init__(
        self, first: QWidget, second: QWidget, shares: tuple[int, int], least: int = 0
    ) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._shares, self._least = shares, least
        self._is_dragged = False
        self.addWidget(first)
        self.addWidget(second)
        self.setChildrenCollapsible(False)
        self.share()
        self.splitterMoved.connect(self._on_moved)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Turn if the pane's shape asks for it; Qt calls it."""
        super().resizeEvent(event)
        self._turn()

    def changeEvent(self, event: QEvent) -> None:
        """Turn if the type asks for it; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._turn()

    def _turn(self) -> None:
        least = self._least * self.fontMetrics().height()
        is_high = self.width() < max(self.height(), least)
        wanted = Qt.Orientation.Vertical if is_high else Qt.Orientation.Horizontal
        if wanted != self.orientation():
            self.setOrientation(wanted)
            # What a person has dragged was meant for the other direction.
            self._is_dragged = False
        if not self._is_dragged:
            self.share()

    def share(self) -> None:
        """Give both their shares again, as after one of them was hidden."""
        self._is_dragged = False
        # Of their least sizes, which Qt begins with, one may be far larger.
        room = max(self.width(), self.height())
        self.setSizes([max(1, room * share // sum(self._shares)) for share in self._shares])

    def _on_moved(self) -> None:
        self._is_dragged = True
