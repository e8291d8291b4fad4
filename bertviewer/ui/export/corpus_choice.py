"""The folder of a corpus that a report tells of, and why it cannot be."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.util.text import as_sentence, printable
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox


class CorpusChoice(QWidget):
    """A field and a button to choose a folder; ``changed`` tells of another one."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        purpose = self.tr("Folder with a corpus of this model, for the corpus chapter")
        self._field = named(QLineEdit(), "reportCorpus", accessible_name=purpose, tooltip=purpose)
        self._field.setPlaceholderText(self.tr("none"))
        self._field.setMinimumWidth(20 * GRID)
        self._field.setClearButtonEnabled(True)
        self._field.textChanged.connect(self._on_text)
        choose = flat_button(
            "reportChooseCorpus", self.tr("Choose…"), self.tr("Choose a corpus folder")
        )
        choose.clicked.connect(self._choose)
        self._trouble = named(plain_label(""), "reportCorpusTrouble")
        self._trouble.setForegroundRole(WARNING)
        self._trouble.hide()
        row = hbox((self._field, 1), choose, spacing=GRID)
        vbox(row, self._trouble, parent=self, spacing=GRID)
        self.setFocusProxy(self._field)

    @property
    def folder(self) -> str:
        """What is chosen, "" for none."""
        return self._field.text().strip()

    def show_folder(self, folder: str) -> None:
        """Show a folder, without saying that it changed."""
        self._field.blockSignals(True)
        self._field.setText(folder)
        self._field.blockSignals(False)

    def show_trouble(self, trouble: str) -> None:
        """Say why it is no corpus of this model, "" if it is."""
        self._trouble.setText(printable(as_sentence(trouble)))
        self._trouble.setVisible(bool(trouble))

    def _on_text(self) -> None:
        self.show_trouble("")
        self.changed.emit()

    def _choose(self) -> None:
        title = self.tr("Choose a folder with a corpus of this model")
        folder = QFileDialog.getExistingDirectory(self, title, self.folder)
        if folder:
            self._field.setText(folder)
