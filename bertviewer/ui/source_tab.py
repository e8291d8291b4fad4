"""The Python source of the selected module's class."""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from bertviewer.core.source_code import SourceCode, source_of
from bertviewer.ui.facts import blank_page, heading_label, plain_label
from bertviewer.ui.source_view import SourceView
from bertviewer.ui.workspace import Workspace


class SourceTab(QWidget):
    """A class's name and place, and its lines below."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._shown: tuple[str, str] | None = None
        self._name = heading_label("", points=2)
        self._place = plain_label("")
        self._place.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._view = SourceView()
        self._view.setAccessibleName(self.tr("Source"))
        head = blank_page()
        lines = QVBoxLayout(head)
        lines.setContentsMargins(16, 12, 16, 8)
        lines.setSpacing(2)
        lines.addWidget(self._name)
        lines.addWidget(self._place)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(head)
        layout.addWidget(self._view, 1)

    def refresh(self) -> None:
        """Show the source of the selected row's class."""
        row = self._workspace.row
        if row is None:
            return
        wanted = (row.node.class_module, row.node.class_name)
        if wanted == self._shown:
            return  # the reader stays at the line that is being read
        found = source_of(*wanted)
        self._shown = wanted if found else None
        self._name.setText(row.node.class_name)
        self._place.setText(self._describe(found[0]) if found else self._missing(*wanted))
        self._view.show_source([(self._heading(n, piece), piece) for n, piece in enumerate(found)])

    def _describe(self, piece: SourceCode) -> str:
        return f"{self._line(piece)}  ·  {piece.package} {piece.version}".rstrip()

    def _line(self, piece: SourceCode) -> str:
        return self.tr("{0}, line {1}").format(piece.path, piece.first_line)

    def _heading(self, number: int, piece: SourceCode) -> str:
        if number == 0:
            return ""
        return self.tr("inherited: {0}, from {1}").format(piece.name, self._line(piece))

    def _missing(self, module: str, name: str) -> str:
        return self.tr("The source of {0} is not at hand.").format(f"{module}.{name}".strip("."))
