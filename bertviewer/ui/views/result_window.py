"""Window of results in tabs."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QHBoxLayout, QTabWidget, QWidget

from bertviewer.ui.widgets.layouts import Gap, named, vbox


class ResultWindow(QDialog):
    """Pages in ``tabs`` below a line; closed by Escape or its shortcut, and deleted then."""

    def __init__(self, name: str, title: str, parent: QWidget | None) -> None:
        """Create an empty window; ``name`` begins the object names."""
        super().__init__(parent)
        self.setObjectName(f"{name}Window")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.setWindowTitle(title)
        self.tabs = named(QTabWidget(), f"{name}Tabs")
        self.tabs.setDocumentMode(True)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Close), self, self.close)

    def lay_out(self, head: QHBoxLayout, width: int, height: int) -> None:
        """Put a line above the tabs, and set the size, at most that of the screen."""
        vbox(head, Gap(4), (self.tabs, 1), parent=self, margins=(12, 12, 12, 12), spacing=6)
        self.tabs.tabBar().setFocus()
        # Qt's default would be at most two thirds of the screen.
        self.resize(QSize(width, height).boundedTo(self.screen().availableSize()))
