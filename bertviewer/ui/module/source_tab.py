"""Source tab: the Python source of the selected module's class, and of the classes it inherits."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.theme import TITLE
from bertviewer.core.building.source_code import SourceCode, source_of
from bertviewer.core.util import libraries
from bertviewer.ui.module.source_view import SourceView
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.find_bar import FindBar
from bertviewer.ui.widgets.labels import blank_page, heading_label, muted_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox


class SourceTab(QWidget):
    """Class, file and source; Ctrl+F finds text in it."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        for signal in (workspace.devices_changed, workspace.confirmed):
            signal.connect(self._retry)
        self._shown: tuple[str, str] | None = None
        self._name = heading_label("", TITLE)
        self._location = named(muted_label(""), "sourcePlace")
        self._view = SourceView()
        self._view.setAccessibleName(self.tr("Source"))
        self.setFocusProxy(self._view)
        self._find = FindBar(self._view)
        tip = self.tr("Find text in the source (Ctrl+F)")
        open_find = flat_button("openFind", self.tr("Find"), tip)
        open_find.clicked.connect(self._find.open_bar)
        head = blank_page()
        title = hbox((self._name, 1), open_find)
        margins = 16, 12, 8, 8
        vbox(title, self._location, self._find, parent=head, margins=margins, spacing=2)
        vbox(head, (self._view, 1), parent=self, spacing=0)

    def refresh(self) -> None:
        """Show the source of the selected row's class; the same class keeps its scroll position."""
        row = self._workspace.selection.row
        if row is None:
            return
        wanted = (row.node.class_module, row.node.class_name)
        if wanted == self._shown:
            return
        pieces = source_of(*wanted)
        self._shown = wanted if pieces else None
        self._name.setText(row.node.class_name)
        location = self._missing(*wanted)
        if pieces:
            package = f"{pieces[0].package} {pieces[0].version}"
            location = f"{self._line(pieces[0])}  ·  {package}".rstrip()
        self._location.setText(location)
        inherited = self.tr("inherited: {0}, from {1}")
        self._view.show_source(
            [
                (inherited.format(piece.name, self._line(piece)) if number else "", piece)
                for number, piece in enumerate(pieces)
            ]
        )

    @override
    def event(self, event: QEvent) -> bool:
        # Claim Ctrl+F, which filters the tree elsewhere.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Find)
        ):
            event.accept()
            return True
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self._find.open_bar()
        elif event.matches(QKeySequence.StandardKey.FindNext):
            self._find.step(1)
        elif event.matches(QKeySequence.StandardKey.FindPrevious):
            self._find.step(-1)
        elif event.key() == Qt.Key.Key_Escape and self._find.isVisible():
            self._find.close_bar()
        else:
            super().keyPressEvent(event)

    def _retry(self) -> None:
        """Refresh when libraries have been imported."""
        if self.isVisible():
            self.refresh()

    def _line(self, piece: SourceCode) -> str:
        return self.tr("{0}, line {1}").format(piece.path, piece.first_line)

    def _missing(self, module: str, name: str) -> str:
        if module and not libraries.are_loaded():
            return self.tr("The source will be shown once torch and transformers are loaded.")
        return self.tr("The source of {0} is not available.").format(f"{module}.{name}".strip("."))
