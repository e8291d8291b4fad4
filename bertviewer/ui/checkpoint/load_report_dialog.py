"""The key report: every tensor of a checkpoint or a model that is not simply there."""

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from bertviewer.charts.theme import GRID, ROW
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.plots.fonts import weighted
from bertviewer.report.key_report import key_lines
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.links import show_tensor
from bertviewer.ui.widgets.labels import plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.table_export import PATH_ROLE, add_path_actions
from bertviewer.ui.widgets.tables import connect_links

SIZE = (820, 560)


class KeyReportDialog(QDialog):
    """Lists of names, one group below the other: the model's name, and the checkpoint's.

    ``chosen`` carries the name of a tensor of the model that a person goes to.
    """

    chosen = Signal(str)

    def __init__(self, keys: LoadReport, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keys = keys
        self.setObjectName("keyReportDialog")
        self.setWindowTitle(self.tr("Checkpoint contents"))
        self.resize(*SIZE)
        files = ", ".join(keys.files)
        note = self.tr("{0} · {1} MB · stored as {2}, computed in {3}").format(
            files if len(keys.files) == 1 else self.tr("{0} files").format(len(keys.files)),
            f"{keys.nbytes / 1e6:,.1f}",
            ", ".join(keys.stored_dtypes),
            keys.dtype,
        )
        label = plain_label(note)
        label.setToolTip(plain_tooltip(files))
        self._tree = self._make_tree()
        self._fill()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = named(QPushButton(self.tr("&Copy as text")), "copyKeyReport")
        copy.setAutoDefault(False)
        copy.clicked.connect(self._copy)
        buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        vbox(
            label,
            (self._tree, 1),
            buttons,
            parent=self,
            margins=(4 * GRID, 4 * GRID, 4 * GRID, 4 * GRID),
            spacing=2 * GRID,
        )

    def changeEvent(self, event: QEvent) -> None:
        """Write the names in another theme's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_tree"):
            self._fill()

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setObjectName("keyReport")
        tree.setAccessibleName(self.tr("Tensors of the checkpoint and of the model"))
        tree.setHeaderLabels([self.tr("In the model"), self.tr("In the checkpoint")])
        tree.setUniformRowHeights(True)
        tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        tree.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        tree.setToolTip(self.tr("Double-click or press Enter to go to the tensor"))
        connect_links(tree, self._go)
        add_path_actions(tree)
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        return tree

    def _fill(self) -> None:
        keys = self._keys
        self._tree.clear()
        self._add(
            self.tr("Missing from the checkpoint (random)"),
            ((name, "") for name in keys.missing),
            warns=True,
        )
        self._add(
            self.tr("Stored under another name"),
            ((name, key) for key, name in keys.renamed.items()),
        )
        self._add(
            self.tr("In the checkpoint but not in this model"),
            (("", key) for key in keys.unexpected),
        )
        self._add(
            self.tr("Tied to another tensor"),
            ((name, keys.stored.get(name, "")) for name in keys.tied),
        )
        self._add(
            self.tr("Tied by the model’s class, but stored with different values"),
            ((name, keys.stored.get(name, "")) for name in keys.untied),
        )
        self._add(
            self.tr("Buffers (computed by the model, not loaded)"),
            (("", key) for key in keys.buffers),
        )
        self._tree.expand(self._tree.model().index(0, 0))

    def _add(self, title: str, rows: Iterable[tuple[str, str]], warns: bool = False) -> None:
        items = [self._item(name, key) for name, key in rows]
        if not items:
            return
        group = QTreeWidgetItem([f"{title} ({len(items):,})"])
        self._tree.addTopLevelItem(group)
        group.addChildren(items)
        group.setFirstColumnSpanned(True)
        group.setSizeHint(0, QSize(0, ROW))
        group.setFont(0, weighted(self.font()))
        if warns:
            group.setForeground(0, self.palette().color(WARNING))

    def _item(self, name: str, key: str) -> QTreeWidgetItem:
        """Return a line; the name of a tensor of the model is a link."""
        first = self._keys.tied.get(name)
        shown = name if first is None else self.tr("{0} is {1}").format(name, first)
        item = QTreeWidgetItem([shown, key])
        if name:
            for column in range(2):
                item.setData(column, PATH_ROLE, first or name)
            item.setForeground(0, self.palette().color(QPalette.ColorRole.Link))
        return item

    def _go(self, name: str) -> None:
        self.accept()
        self.chosen.emit(name)

    def _copy(self) -> None:
        QApplication.clipboard().setText("\n".join(key_lines(self._keys, None)))


def show_key_report(keys: LoadReport, workspace: Workspace, window: QWidget, *_: object) -> None:
    """Open the dialog over a window; what is chosen in it is looked into there."""
    dialog = KeyReportDialog(keys, window)
    dialog.chosen.connect(partial(show_tensor, workspace))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
