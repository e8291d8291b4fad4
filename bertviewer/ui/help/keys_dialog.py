"""All keys in a window of their own, to be looked through and taken along."""

from collections.abc import Iterable, Iterator, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QPushButton,
    QWidget,
)

from bertviewer.core.frozen import frozen
from bertviewer.ui.action import NUMBERED, Action, Entry, option_keys, plain_title, written_keys
from bertviewer.ui.layouts import in_column, named
from bertviewer.ui.pane_keys import PANE_KEYS
from bertviewer.ui.tables import Column, Row, TableModel, make_sortable, make_table
from bertviewer.ui.translation import translate


@frozen
class KeyRow:
    """Some keys, what they do, and in which menu or pane."""

    place: str
    does: str
    keys: str


def key_rows(entries: Sequence[Entry]) -> Iterator[KeyRow]:
    """Yield the keys of the actions, and then those of the panes."""
    for entry in entries:
        if entry.keys:
            menu = translate("actions", entry.menu).replace("&", "")
            yield KeyRow(menu, plain_title(entry), _keys(entry))
    for each in PANE_KEYS:
        pane, does = translate("keys", each.pane), translate("keys", each.does)
        yield KeyRow(pane, does, _written(each.keys))


def keys_text(rows: Iterable[KeyRow]) -> str:
    """Return rows as plain text, to be printed: the keys in one column below each place."""
    found = list(rows)
    width = max((len(row.keys) for row in found), default=0)
    lines: list[str] = []
    place = ""
    for row in found:
        if row.place != place:
            lines += ["", row.place] if lines else [row.place]
            place = row.place
        lines.append(f"  {row.keys.ljust(width)}  {row.does}")
    return "\n".join(lines)


def _keys(entry: Entry) -> str:
    if isinstance(entry, Action):
        return _written(entry.keys)
    return " … ".join(_written((option_keys(entry, place),)) for place in (0, NUMBERED - 1))


def _written(keys: Sequence[str]) -> str:
    return ", ".join(written_keys(each) or each for each in keys)


SIZE = (860, 640)


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
        # All rows are measured: they are few, and the longest keys are at the end.
        table.horizontalHeader().setResizeContentsPrecision(-1)
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
