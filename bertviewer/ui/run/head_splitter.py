"""All heads and one of them large, in one pane."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

SHARES = (1050, 1000)
"""How much of the pane all heads have, and how much the large one."""


class HeadSplitter(QSplitter):
    """Two widgets side by side, or one above the other where the pane is higher than wide."""

    def __init__(self, all_heads: QWidget, large: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.addWidget(all_heads)
        self.addWidget(large)
        self.setChildrenCollapsible(False)
        self.setSizes(SHARES)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Turn if the pane's shape asks for it; Qt calls it."""
        super().resizeEvent(event)
        is_high = self.height() > self.width()
        wanted = Qt.Orientation.Vertical if is_high else Qt.Orientation.Horizontal
        if wanted != self.orientation():
            self.setOrientation(wanted)
            # What a person has dragged was meant for the other direction.
            self.setSizes(SHARES)
