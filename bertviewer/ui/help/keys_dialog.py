"""All keys in a window of their own, to be looked through and taken along."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QPushButton,
    QWidget,
)

from bertviewer.ui.action import Entry
from bertviewer.ui.help.keys import KeyRow, key_rows, keys_text
from bertviewer.ui.layouts import in_column, named
from bertviewer.ui.tables import Column, Row, TableModel, make_sortable, make_table

SIZE = (620, 640)


class KeysDialog(QDialog):
    """A field, and the keys that have all of its words in their line."""

    def __init__(self, entries: Sequence[Entry], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("keysDialog")
        self.setWindowTitle(self.tr("Keys"))
        self.resize(*SIZE)
        self._all = tuple(key_rows(entries))
        self._shown: tuple[KeyRow, ...] = ()
        self._filter = named(QLineEdit(), "keysFilter", says=self.tr("Filter the keys"))
        self._filter.setPlaceholderText(self.tr("Filter by words or keys"))
        self._filter.setClearButtonEnabled(True)
        self._filter.textChanged.connect(self._show)
        columns = (
            Column(self.tr("Where")),
            Column(self.tr("Keys")),
            Column(self.tr("What they do")),
        )
        self._model = TableModel(columns, self)
        table = make_table(self._model, "keysTable", self.tr("Keys"))
        make_sortable(table)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = QPushButton(self.tr("&Copy as text"))
        copy.setObjectName("copyKeys")
        copy.setToolTip(self.tr("All that is shown, to be printed"))
        copy.setAutoDefault(False)
        copy.clicked.connect(self._copy)
        buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        in_column(self._filter, (table, 1), buttons, on=self, margins=None)
        self._show()
        self._filter.setFocus(Qt.FocusReason.PopupFocusReason)

    def _show(self) -> None:
        words = self._filter.text().casefold().split()
        lines = ((row, f"{row.place} {row.keys} {row.does}".casefold()) for row in self._all)
        self._shown = tuple(row for row, line in lines if all(word in line for word in words))
        self._model.set_rows([Row((row.place, row.keys, row.does)) for row in self._shown])

    def _copy(self) -> None:
        QApplication.clipboard().setText(keys_text(self._shown))


def show_keys(entries: Sequence[Entry], window: QWidget) -> None:
    """Open the dialog over a window, which stays in use."""
    dialog = KeysDialog(entries, window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.show()
