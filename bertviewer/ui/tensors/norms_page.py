"""The norm of each row or column, to be sorted."""

from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QComboBox, QHeaderView, QPushButton, QWidget

from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.scan import MatrixStatistics
from bertviewer.ui.jobs.requests import ModelWork
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import jobs
from bertviewer.ui.tensors.norms_model import NAME, NORM, NUMBER, NormsModel
from bertviewer.ui.tensors.page import ComputedPage
from bertviewer.ui.views.chart_menu import choose_data
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.tables import ShareBarDelegate, make_table

WIDTHS = {NUMBER: 96, NAME: 150}  # pixels; a title has its arrow beside it


class NormsPage(ComputedPage):
    """Euclidean norms with bars; a double click chooses a row of the tensor."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._model = NormsModel(self)
        says = self.tr("Row or column norms")
        self._axis = named(QComboBox(), "normsAxis", accessible_name=says)
        self._axis.addItem(self.tr("of each row"), True)
        self._axis.addItem(self.tr("of each column"), False)
        self._described = ElidedLabel()
        save = named(QPushButton(self.tr("Save as CSV…")), "saveNorms")
        save.clicked.connect(lambda: choose_data(self, self._model, "norms.csv", workspace))
        line = hbox(self._axis, (self._described, 1), save, margins=(0, 1, 0, 3), spacing=10)
        self._table = table = make_table(self._model, "normsTable", self.tr("Norms"))
        self._bars = ShareBarDelegate(self)  # views do not own their delegates
        table.setItemDelegateForColumn(NORM, self._bars)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in WIDTHS.items():
            table.setColumnWidth(column, width)
        header.setSortIndicator(NUMBER, Qt.SortOrder.AscendingOrder)
        table.setSortingEnabled(True)
        content = QWidget()
        vbox(line, (table, 1), parent=content, spacing=0)
        self.set_content(content)
        self._axis.currentIndexChanged.connect(self.refresh)
        table.doubleClicked.connect(self._on_double_click)

    def work(self, part: TensorPart) -> ModelWork[Any]:
        """Return one pass over the tensor."""
        return lambda model, progress: jobs.survey_job(part.matrix, model, progress)

    def draw(self, part: TensorPart, result: Any) -> None:
        """Show the norms."""
        assert isinstance(result, MatrixStatistics)
        is_rows = bool(self._axis.currentData())
        norms = result.row_norms if is_rows else result.column_norms
        self._model.show_norms(part, norms, is_rows)
        self._table.setColumnHidden(NAME, not self._model.has_names)
        self._described.setText(
            self.tr("Double-click: go to row") if is_rows else self.tr("Click a title: sort")
        )

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        super().forget()
        self._model.forget()

    def _on_double_click(self, index: QModelIndex) -> None:
        if self._axis.currentData():
            self.row_chosen.emit(self._model.number(index.row()))
