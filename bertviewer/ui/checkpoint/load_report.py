"""Load report of a checkpoint: a summary for the inspector, and a dialog of all tensor names."""

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
from typing_extensions import override

from bertviewer.charts.theme import GRID, ROW
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.util.numbers import count_text
from bertviewer.plots.fonts import weighted
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.links import show_tensor
from bertviewer.ui.widgets.facts import Fact
from bertviewer.ui.widgets.labels import plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.table_export import PATH_ROLE, add_path_actions
from bertviewer.ui.widgets.tables import connect_links

SIZE = (820, 560)


def checkpoint_facts(report: LoadReport) -> list[Fact]:
    """Return files, dtypes, and numbers of missing, renamed and unused tensors."""
    name, size = next(iter(report.files)), f"{report.nbytes / 1e6:,.1f}"
    files = translate("checkpoint", "{0}, {1} MB").format(name, size)
    if len(report.files) > 1:
        several = translate("checkpoint", "{0} files, {1} MB in total")
        files = several.format(len(report.files), size)
    stored = sum(report.stored_dtypes.values())
    dtypes = ", ".join(
        dtype if len(report.stored_dtypes) == 1 else f"{count:,} × {dtype}"
        for dtype, count in report.stored_dtypes.items()
    )
    converted = translate("checkpoint", "{0}; computed in {1}").format(dtypes, report.dtype)
    facts: list[Fact] = [
        (translate("checkpoint", "Files"), files),
        (translate("checkpoint", "Stored as"), converted),
    ]
    if report.missing:
        one = translate("checkpoint", "1 of {1} tensors (random)")
        many = translate("checkpoint", "{0} of {1} tensors (random)")
        text = count_text(len(report.missing), one, many, report.tensors)
        facts.append((translate("checkpoint", "Missing"), text))
    if report.renamed:
        one = translate("checkpoint", "1 of {1} tensors: {2} → {3}")
        many = translate("checkpoint", "{0} of {1} tensors, such as {2} → {3}")
        example = next(iter(report.renamed.items()))
        text = count_text(len(report.renamed), one, many, stored, *example)
        facts.append((translate("checkpoint", "Renamed"), text))
    if report.unexpected:
        one = translate("checkpoint", "1 of {1} tensors in the files: {2}")
        many = translate("checkpoint", "{0} of {1} tensors in the files, such as {2}")
        text = count_text(len(report.unexpected), one, many, stored, report.unexpected[0])
        facts.append((translate("checkpoint", "Not in this model"), text))
    return facts


class LoadReportDialog(QDialog):
    """Groups of tensor names, in the model and in the checkpoint.

    ``chosen`` has the name of a tensor of the model that the user wants to see.
    """

    chosen = Signal(str)

    def __init__(self, report: LoadReport, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._report = report
        self.setObjectName("keyReportDialog")
        self.setWindowTitle(self.tr("Checkpoint contents"))
        self.resize(*SIZE)
        files = ", ".join(report.files)
        several = self.tr("{0} files").format(len(report.files))
        summary = plain_label(
            self.tr("{0} · {1} MB · stored as {2}, computed in {3}").format(
                files if len(report.files) == 1 else several,
                f"{report.nbytes / 1e6:,.1f}",
                ", ".join(report.stored_dtypes),
                report.dtype,
            )
        )
        summary.setToolTip(plain_tooltip(files))
        self._tree = self._make_tree()
        self._fill()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = named(QPushButton(self.tr("&Copy as text")), "copyKeyReport")
        copy.setAutoDefault(False)
        copy.clicked.connect(self._copy)
        buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        margin, parts = 4 * GRID, (summary, (self._tree, 1), buttons)
        vbox(*parts, parent=self, margins=(margin, margin, margin, margin), spacing=2 * GRID)

    @override
    def changeEvent(self, event: QEvent) -> None:
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
        report, stored = self._report, self._report.stored
        self._tree.clear()
        missing = self.tr("Missing from the checkpoint (random)")
        self._add(missing, ((name, "") for name in report.missing), is_warning=True)
        renamed = ((name, key) for key, name in report.renamed.items())
        tied = ((name, stored.get(name, "")) for name in report.tied)
        untied = ((name, stored.get(name, "")) for name in report.untied)
        self._add(self.tr("Stored under another name"), renamed)
        unexpected = self.tr("In the checkpoint but not in this model")
        self._add(unexpected, (("", key) for key in report.unexpected))
        self._add(self.tr("Tied to another tensor"), tied)
        different = self.tr("Tied by the model’s class, but stored with different values")
        self._add(different, untied)
        buffers = self.tr("Buffers (computed by the model, not loaded)")
        self._add(buffers, (("", key) for key in report.buffers))
        self._tree.expand(self._tree.model().index(0, 0))

    def _add(
        self, title: str, rows: Iterable[tuple[str, str]], *, is_warning: bool = False
    ) -> None:
        items = [self._item(name, key) for name, key in rows]
        if not items:
            return
        group = QTreeWidgetItem([f"{title} ({len(items):,})"])
        self._tree.addTopLevelItem(group)
        group.addChildren(items)
        group.setFirstColumnSpanned(True)
        group.setSizeHint(0, QSize(0, ROW))
        group.setFont(0, weighted(self.font()))
        if is_warning:
            group.setForeground(0, self.palette().color(WARNING))

    def _item(self, name: str, key: str) -> QTreeWidgetItem:
        """Return a row; a tensor of the model is a link."""
        first = self._report.tied.get(name)
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
        QApplication.clipboard().setText("\n".join(self._report.lines(None)))


def show_load_report(report: LoadReport, workspace: Workspace, window: QWidget) -> None:
    """Open the dialog; a tensor that is chosen in it is shown in the window."""
    dialog = LoadReportDialog(report, window)
    dialog.chosen.connect(partial(show_tensor, workspace))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
