"""The walkthrough of the model from its inputs on, and its count by component."""

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import (
    QLabel,
    QStackedWidget,
    QTabBar,
    QTableView,
    QWidget,
)

from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import (
    count_components,
    relations_text,
    subtotal,
    usual_relations,
)
from bertviewer.core.walkthrough.walkthrough import Walkthrough, find_step
from bertviewer.ui.module.walkthrough_columns import ElasticColumns, WrappingDelegate
from bertviewer.ui.module.walkthrough_table import GroupTableModel, WalkTableModel
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox
from bertviewer.ui.widgets.tables import make_table


class WalkTab(QWidget):
    """Every step from the tokens to the head, with its input, output and parameters.

    A click on a step selects its module. The second page adds the counts up by component.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("walkTab")
        self._workspace = workspace
        self._relations: tuple[Relation, ...] = ()
        self._shown: tuple[Architecture | None, ActivationRun | None] = (None, None)
        self._walkthrough = Walkthrough((), 0)
        self._is_following = False
        self._steps = WalkTableModel(self)
        self._groups = GroupTableModel(self)
        self._table = make_table(self._steps, "walkTable", self.tr("Walkthrough of the model"))
        group_table = make_table(
            self._groups, "groupTable", self.tr("Parameter count by component")
        )
        self._columns: list[ElasticColumns] = []
        self._pages = QStackedWidget()
        for table, names in ((self._table, 1), (group_table, 0)):
            table.setItemDelegate(WrappingDelegate(table))
            table.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
            self._columns.append(ElasticColumns(table, names))
            self._pages.addWidget(table)
        self._switch = named(QTabBar(), "walkSwitch")
        self._switch.setDrawBase(False)
        self._switch.addTab(self.tr("Step by step"))
        self._switch.addTab(self.tr("By component"))
        self._switch.currentChanged.connect(self._show_page)
        self._caption: QLabel = plain_label("")
        self._caption.setContentsMargins(16, 6, 16, 6)
        bar = hbox(self._switch, STRETCH, margins=(10, 6, 10, 0))
        vbox(bar, self._caption, (self._pages, 1), parent=self, spacing=0)
        self._table.selectionModel().currentRowChanged.connect(self._select_module)

    def refresh(self) -> None:
        """Show the walkthrough of the open model, with the step of the selected module marked."""
        architecture, run = self._workspace.architecture, self._workspace.runs.run
        if architecture is None:
            return
        # Another row is no other walk: the table keeps its place.
        if self._shown[0] is not architecture or self._shown[1] is not run:
            self._fill(architecture, run)
            self._shown = (architecture, run)
        self._mark_row()

    def _fill(self, architecture: Architecture, run: ActivationRun | None) -> None:
        self._walkthrough = found = build_walkthrough(architecture, run)
        counts = count_components(found, architecture, usual_relations(architecture.symbols))
        self._relations = counts.relations
        self._steps.set_walkthrough(found, subtotal(found, architecture))
        self._table.clearSpans()
        for row in filter(self._steps.is_heading, range(self._steps.rowCount())):
            self._table.setSpan(row, 1, 1, 3)
        self._groups.set_counts(counts)
        for column in self._columns:
            column.fit()
        self._show_page()

    def _show_page(self) -> None:
        self._pages.setCurrentIndex(self._switch.currentIndex())
        architecture = self._workspace.architecture
        if architecture is not None and "model_type" not in architecture.config:
            text = self.tr("In the order of the names: how the tensors are used is not known.")
        elif self._switch.currentIndex() == 0:
            text = self.tr(
                "From input to output. Select a step to see its module; hover for an explanation."
            )
        elif self._relations:
            text = self.tr(
                "The tensors of each component, listed and then added up; here {0}."
            ).format(relations_text(self._relations))
        else:
            text = self.tr("The tensors of each component, listed and then added up.")
        self._caption.setText(text)

    def _mark_row(self) -> None:
        path, architecture = self._workspace.selection.place.path or "", self._shown[0]
        assert architecture is not None
        current = self._table.currentIndex()
        if current.isValid() and self._steps.path(current.row()) == path:
            return  # of several steps of one module, the one that was clicked stays
        step = find_step(self._walkthrough.steps, architecture, path)
        self._is_following = True
        if step is None:
            self._table.setCurrentIndex(QModelIndex())
        else:
            self._table.selectRow(self._steps.row_of(step))
        self._is_following = False

    def _select_module(self, current: QModelIndex) -> None:
        path = self._steps.path(current.row()) if current.isValid() else None
        # A row that is marked for a module in it selects no other one.
        if path is not None and not self._is_following:
            self._workspace.selection.select(path)
