"""The module tree with its filter field."""

from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtWidgets import QLineEdit, QTreeView, QVBoxLayout, QWidget

from bertviewer.core.architecture.folding import TreeRow
from bertviewer.core.system.garbage import no_search_for_garbage
from bertviewer.plots.fonts import tabular
from bertviewer.ui.module_tree import MODULE, OUTPUT_SHAPE, SHARE, ModuleTreeModel
from bertviewer.ui.share_bar import ShareBarDelegate
from bertviewer.ui.tree_columns import TreeColumns
from bertviewer.ui.workspace import Workspace

FILTER_DELAY = 150  # milliseconds


class ModuleTreePanel(QWidget):
    """Selecting a row selects it in the workspace, and the other way round."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._model = ModuleTreeModel(self)
        self._filter = QLineEdit()
        self._filter.setObjectName("treeFilter")
        self._filter.setClearButtonEnabled(True)
        self._filter.setPlaceholderText(self.tr("Filter by module or class"))
        self._filter.setAccessibleName(self.tr("Filter the module tree"))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FILTER_DELAY)
        self._timer.timeout.connect(lambda: self.apply_filter(self._filter.text().strip()))
        self._filter.textChanged.connect(self._timer.start)

        self._view = self._make_view()
        self._columns = TreeColumns(self._view, self._model)
        self._show_output_shapes(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 4, 4)
        layout.addWidget(self._filter)
        layout.addWidget(self._view)

        workspace.architecture_changed.connect(self._on_architecture)
        workspace.selection.row_changed.connect(self._on_row)
        workspace.runs.run_changed.connect(lambda: workspace.draw_queue.later(self._on_run))

    @no_search_for_garbage()
    def apply_filter(self, text: str) -> None:
        """Show the modules with this text in their paths or classes alone; all for an empty one."""
        # Rows that go do not hand the cursor on: what is selected stays, in sight or not.
        self._model.set_filter(text)
        if text:
            self._view.expandAll()
        else:
            self._expand_down_to_layers()
        self._on_row()

    def _make_view(self) -> QTreeView:
        view = QTreeView()
        view.setObjectName("moduleTree")
        view.setAccessibleName(self.tr("Modules of the model"))
        view.setModel(self._model)
        view.setFont(tabular(view.font()))
        view.setUniformRowHeights(True)
        view.setItemDelegateForColumn(SHARE, ShareBarDelegate(view))
        view.setHorizontalScrollMode(QTreeView.ScrollMode.ScrollPerPixel)
        view.setIndentation(15)
        view.selectionModel().currentChanged.connect(self._on_current)
        return view

    def _on_architecture(self) -> None:
        self._filter.clear()
        self._timer.stop()  # the new tree is whole
        self._model.set_tree(self._workspace.selection.tree)
        self._columns.fit()
        self._expand_down_to_layers()

    def _expand_down_to_layers(self) -> None:
        """Open everything but the folded layers: the whole model at one look."""

        def expand(row: TreeRow) -> None:
            if not row.is_folded:
                self._view.expand(self._model.index_of(row.key))
                for child in row.children:
                    expand(child)

        if self._workspace.selection.tree is not None:
            expand(self._workspace.selection.tree)

    def _on_run(self) -> None:
        run = self._workspace.runs.run
        self._model.set_run(run)
        self._show_output_shapes(run is not None)

    def _show_output_shapes(self, shown: bool) -> None:
        self._view.setColumnHidden(OUTPUT_SHAPE, not shown)
        self._columns.fit()

    def _on_row(self) -> None:
        if (row := self._workspace.selection.row) is None:
            return
        index = self._model.index_of(row.key)
        if index.isValid() and index.siblingAtColumn(MODULE) != self._view.currentIndex():
            self._view.setCurrentIndex(index)
            self._view.scrollTo(index)

    def _on_current(self, current: QModelIndex, _previous: QModelIndex) -> None:
        row = self._model.tree_row(current)
        if row is not None:
            self._workspace.selection.select(row.key)
