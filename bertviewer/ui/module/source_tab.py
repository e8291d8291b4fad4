"""The Python source of the selected module's class."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

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
    """A class's name and place, and its lines below; Ctrl+F finds a text in them."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        for signal in (workspace.devices_changed, workspace.confirmed):
            signal.connect(self._look_again)
        self._shown: tuple[str, str] | None = None
        self._name = heading_label("", TITLE)
        self._place = named(muted_label(""), "sourcePlace")
        self._view = SourceView()
        self._view.setAccessibleName(self.tr("Source"))
        self.setFocusProxy(self._view)
        self._find = FindBar(self._view)
        tip = self.tr("Find text in the source (Ctrl+F)")
        self._open_find = flat_button("openFind", self.tr("Find"), tip)
        self._open_find.clicked.connect(self._find.open_bar)
        vbox(self._make_head(), (self._view, 1), parent=self, spacing=0)

    def refresh(self) -> None:
        """Show the source of the selected row's class."""
        row = self._workspace.selection.row
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

    def _look_again(self) -> None:
        """Look again: the libraries that classes are read from may not have been there."""
        if self.isVisible():
            self.refresh()

    def event(self, event: QEvent) -> bool:
        """Keep Ctrl+F, which filters the tree elsewhere, while a person reads here; Qt calls it."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Find)
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the find bar, or step on from match to match; Qt calls it."""
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

    def _make_head(self) -> QWidget:
        head = blank_page()
        above = hbox((self._name, 1), self._open_find)
        vbox(above, self._place, self._find, parent=head, margins=(16, 12, 8, 8), spacing=2)
        return head

    def _describe(self, piece: SourceCode) -> str:
        return f"{self._line(piece)}  ·  {piece.package} {piece.version}".rstrip()

    def _line(self, piece: SourceCode) -> str:
        return self.tr("{0}, line {1}").format(piece.path, piece.first_line)

    def _heading(self, number: int, piece: SourceCode) -> str:
        if number == 0:
            return ""
        return self.tr("inherited: {0}, from {1}").format(piece.name, self._line(piece))

    def _missing(self, module: str, name: str) -> str:
        if module and not libraries.are_loaded():
            return self.tr("The source will be shown once torch and transformers are loaded.")
        return self.tr("The source of {0} is not available.").format(f"{module}.{name}".strip("."))
