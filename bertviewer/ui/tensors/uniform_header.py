"""A header above or beside very many sections, all of one size."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHeaderView, QWidget


class EvenHeader(QHeaderView):
    """Measures one section where Qt's own measures 200, each time that another tensor is shown."""

    def __init__(self, orientation: Qt.Orientation, parent: QWidget | None = None) -> None:
        super().__init__(orientation, parent)
        self.setSectionsClickable(True)

    def sizeHint(self) -> QSize:
        """Return room for the first section; Qt calls it."""
        return self.sectionSizeFromContents(0) if self.count() else super().sizeHint()
