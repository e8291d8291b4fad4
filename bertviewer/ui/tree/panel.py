"""Structure panel: the module tree with its filter."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QPalette, QShortcut
from PySide6.QtWidgets import QMenu, QWidget

from bertviewer.charts.labels import tensors_text
from bertviewer.charts.theme import SMALL
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.memory import gc_paused
from bertviewer.core.util.numbers import count_text
from bertviewer.plots.fonts import sized
from bertviewer.ui.actions.action_set import add_module_actions
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.columns import CHANGE, MACS, MODULE, STATISTIC
from bertviewer.ui.tree.filter import TreeFilter
from bertviewer.ui.tree.filter_bar import TreeFilterBar
from bertviewer.ui.tree.header import TreeHeader
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.rows import TreeItem
from bertviewer.ui.tree.view import ModuleTreeView
from bertviewer.ui.widgets.labels import ElidedLabel, muted
from bertviewer.ui.widgets.layouts import hbox, named, vbox

MOST_EXPANDED = 3_000
"""All matches of a filter are expanded up to this number."""


class ModuleTreePanel(QWidget):
    """The current row follows the workspace's selection, and the other way round.

    ``opened`` has the key of a row that the user opens.
    """

    opened = Signal(str)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._model = ModuleTreeModel(self)
        self._view = ModuleTreeView(self._model)
        self._header = TreeHeader(self._view, self._model)
        self._bar = TreeFilterBar(lambda: self._model.rows.items)
        self._hits: list[int] = []  # from the top down
        self._expanded_before: tuple[str, ...] = ()  # keys, without a filter
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        bar = vbox(self._bar, margins=(8, 0, 8, 0))
        vbox(bar, (self._view, 1), parent=self, margins=(0, 4, 0, 0), spacing=4)

        self._bar.changed.connect(self.apply_filter)
        self._bar.stepped.connect(self._step)
        self._bar.left.connect(self._view.setFocus)
        self._bar.entered.connect(self._enter)
        for keys, by in (("F3", 1), ("Shift+F3", -1)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(lambda by=by: self._step(by))
        self._view.opened.connect(self.opened)
        self._view.selectionModel().currentChanged.connect(self._on_current)
        self._view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._view.customContextMenuRequested.connect(self._show_menu)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.formulas_changed.connect(self._update_figures)
        workspace.selection.row_changed.connect(self._on_row)
        workspace.comparison.changed.connect(self._update_figures)
        workspace.runs.run_changed.connect(lambda: workspace.deferred.add(self._update_figures))

    @gc_paused()
    def apply_filter(self, text: str) -> None:
        """Show the modules that match a text, and their ancestors; all for an empty text."""
        if not text and not self._model.filter.terms:
            self._model.filter = TreeFilter()  # clears the error
            self._show_result()
            return
        if not self._model.filter.terms:
            self._expanded_before = self._view.open_rows() or ()
        # The selection stays, whether its row is shown or not.
        self._model.set_filter(text)
        if not self._model.filter.terms:
            self._view.open_only(self._expanded_before)
        elif len(self._model.rows.hits) <= MOST_EXPANDED:
            self._view.expandAll()
        else:
            self._expand_to_layers()  # expanding thousands of rows is slow
        self._hits = self._model.rows.hits_in_order()
        self._on_row()
        if self._model.filter.terms:
            self._view.scrollToTop()
            if self._hits:
                self._view.scrollTo(self._model.index_at(self._hits[0]))
        self._show_result()

    def _on_architecture(self) -> None:
        self._bar.reset()
        self._hits = []
        workspace = self._workspace
        self._model.set_tree(workspace.selection.tree, workspace.architecture)
        self._model.set_figures(workspace.architecture, None, workspace.comparison.changes)
        self._bar.show_examples()
        self._header.fit()
        self._expand_to_layers()
        self._on_row()

    def _update_figures(self) -> None:
        """Show new values, and sort, filter and fit again where that depends on them."""
        workspace, changes = self._workspace, self._workspace.comparison.changes
        self._model.set_figures(workspace.architecture, workspace.runs.run, changes)
        self._header.set_comparing(bool(changes))
        order = self._model.order
        if order is not None and order[0] in (CHANGE, MACS, STATISTIC):
            self._model.set_order(*order)
        if self._model.filter.needs_figures:
            self.apply_filter(self._bar.field.text().strip())
        self._header.fit()

    def _expand_to_layers(self) -> None:
        """Expand all rows but the folded layers."""

        def expand(row: TreeRow) -> None:
            if not row.is_folded:
                self._view.expand(self._model.index_of(row.key))
                for child in row.children:
                    expand(child)

        if self._workspace.selection.tree is not None:
            expand(self._workspace.selection.tree)

    def _step(self, by: int) -> None:
        """Select the next or previous match, cyclically."""
        if self._hits:
            current = self._current_hit()
            first = 0 if by > 0 else len(self._hits) - 1
            number = first if current is None else (current + by) % len(self._hits)
            self._view.setCurrentIndex(self._model.index_at(self._hits[number]))

    def _enter(self) -> None:
        """Move the focus to the tree, and select the first match if none is."""
        self._view.setFocus()
        if self._hits and self._current_hit() is None:
            self._step(1)

    def _current_hit(self) -> int | None:
        current = self._view.currentIndex()
        number = current.internalId() if current.isValid() else -1
        return self._hits.index(number) if number in self._hits else None

    def _show_result(self) -> None:
        wanted, rows = self._model.filter, self._model.rows
        hits = len(self._hits) if wanted.terms else None
        self._bar.show_result(hits, rows.module_count, self._current_hit(), wanted.error)

    def _show_menu(self, place: QPoint) -> None:
        index = self._view.indexAt(place)
        item = self._model.item(index)
        if item is not None:
            menu = named(QMenu(self._view), "treeMenu")
            menu.aboutToHide.connect(menu.deleteLater)
            add_module_actions(menu)
            _fill_menu(menu, self._view, index, item)
            menu.addMenu(self._header.menu(menu))
            menu.popup(self._view.viewport().mapToGlobal(place))

    def _on_row(self) -> None:
        if (row := self._workspace.selection.row) is None:
            return
        index = self._model.index_of(row.key)
        if index.siblingAtColumn(MODULE) != self._view.currentIndex():
            self._view.setAutoScroll(False)  # it would scroll to the edge only
            self._view.setCurrentIndex(index)  # invalid if a filter hides it
            self._view.setAutoScroll(True)
            if not self._view.viewport().rect().contains(self._view.visualRect(index)):
                self._view.scrollTo(index, self._view.ScrollHint.PositionAtCenter)

    def _on_current(self, current: QModelIndex, _previous: QModelIndex) -> None:
        row = self._model.tree_row(current)
        if row is not None:
            self._workspace.selection.select(row.key)
        if self._hits:
            self._show_result()


def _fill_menu(menu: QMenu, view: ModuleTreeView, index: QModelIndex, item: TreeItem) -> None:
    """Add the actions of the tree itself to a row's menu."""

    def add(name: str, title: str, call: Callable[[], object], is_enabled: bool = True) -> None:
        action = named(menu.addAction(translate("tree", title), call), name)
        action.setEnabled(is_enabled)

    def copy_count() -> None:
        QGuiApplication.clipboard().setText(str(item.row.parameters))

    def expand() -> None:
        view.expandRecursively(index)

    menu.addSeparator()
    add("copyCount", QT_TRANSLATE_NOOP("tree", "Copy exact count"), copy_count)
    menu.addSeparator()
    add("expandBelow", QT_TRANSLATE_NOOP("tree", "Expand all below"), expand, bool(item.children))
    add("collapseAll", QT_TRANSLATE_NOOP("tree", "Collapse all"), view.collapse_all)


class TreeHeading(QWidget):
    """Numbers of tensors and modules, above the tree."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._counts = named(ElidedLabel(), "treeCounts")
        muted(self._counts)
        self._counts.setFont(sized(self._counts.font(), SMALL))
        hbox(self._counts, parent=self)
        workspace.architecture_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        architecture = self._workspace.architecture
        if architecture is None:
            self._counts.clear()
            return
        one, many = self.tr("1 tensor"), self.tr("{0} tensors")
        tensors = count_text(architecture.tensor_count, one, many)
        one, many = self.tr("1 module"), self.tr("{0} modules")
        modules = count_text(len(architecture.modules), one, many)
        self._counts.setText(f"{tensors} · {modules}")
        self._counts.setToolTip(f"{tensors_text(architecture.parameters)} · {modules}")
