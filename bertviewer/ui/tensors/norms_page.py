"""View of a tensor: the norms of its rows or columns, in a sortable table."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtWidgets import QComboBox, QHeaderView, QPushButton, QWidget
from typing_extensions import override

from bertviewer.charts.table import Rows
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.scan import MatrixStatistics, Norms, scan
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.views.chart_menu import choose_data
from bertviewer.ui.views.data_view import Query
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.tables import Column, Row, ShareBarDelegate, TableModel, make_table

NUMBER, NAME, NORM = range(3)
MAX_CACHED = 1000  # rows: more than are visible
WIDTHS = {NUMBER: 96, NAME: 150}  # pixels, with room for the sort indicator


class NormRows(Sequence[Row]):
    """The rows of the table, built when they are displayed: a vocabulary has many."""

    def __init__(self, part: TensorPart, norms: Norms, *, is_rows: bool) -> None:
        self.part, self.norms, self.is_rows = part, norms, is_rows
        self.first = (part.matrix.row_span if is_rows else part.matrix.column_span)[0]
        self.has_names = is_rows and len(part.rows.names) > 0
        finite = norms[np.isfinite(norms)]
        self._largest = float(finite.max()) if finite.size and finite.max() else 1.0
        self._cache: dict[int, Row] = {}

    @override
    def __len__(self) -> int:
        return len(self.norms)

    @override
    def __getitem__(self, number: Any) -> Any:
        row = self._cache.get(number)
        if row is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            row = self._cache[number] = self._build(number)
        return row

    def _build(self, number: int) -> Row:
        norm = float(self.norms[number])
        index, name = self.first + number, self.name(number)
        return Row(
            (str(index), name, cell_text(norm)),
            ("", "", repr(norm)),
            share=norm / self._largest if np.isfinite(norm) else 0.0,
            values=(index, name, norm),
        )

    def name(self, number: int) -> str:
        """Return the token of a row, "" if it has none."""
        return self.part.row_name(number) if self.has_names else ""


class NormsModel(TableModel):
    """Row or column, token and norm."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(self._titles(is_rows=True), parent)
        self._sorted = NUMBER, Qt.SortOrder.AscendingOrder

    def show_norms(self, part: TensorPart, norms: Norms, *, is_rows: bool) -> None:
        """Show other norms, sorted as before."""
        self.set_rows(NormRows(part, norms, is_rows=is_rows), self._titles(is_rows=is_rows))

    @property
    def has_names(self) -> bool:
        """Whether the rows are tokens."""
        return isinstance(self._rows, NormRows) and self._rows.has_names

    def index_of(self, position: int) -> int:
        """Return the tensor's row or column at a position of the table."""
        assert isinstance(self._rows, NormRows)
        return self._rows.first + self.number(position)

    def _titles(self, *, is_rows: bool) -> tuple[Column, ...]:
        return (
            Column(self.tr("Row") if is_rows else self.tr("Column"), is_number=True),
            Column(self.tr("Token")),
            Column(self.tr("Norm"), is_number=True),
        )

    @override
    def table(self) -> Rows:
        (index, token, norm), rows = super().table()
        if self.has_names:
            return (index, token.lower(), norm.lower()), rows
        return (index, norm.lower()), [(row[NUMBER], row[NORM]) for row in rows]

    @override
    def _sort(self) -> Sequence[int]:
        rows, (column, order) = self._rows, self._sorted
        numbers: Sequence[int] = range(len(rows))
        if isinstance(rows, NormRows) and column == NORM:
            numbers = cast("Sequence[int]", np.argsort(rows.norms, kind="stable"))
        elif isinstance(rows, NormRows) and column == NAME and rows.has_names:
            numbers = sorted(numbers, key=rows.name)
        return numbers if order == Qt.SortOrder.AscendingOrder else numbers[::-1]


class NormsPage(TensorPage):
    """Euclidean norms with bars; a double click on a row of the tensor shows its values."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._model = NormsModel(self)
        title = self.tr("Row or column norms")
        self._axis = named(QComboBox(), "normsAxis", accessible_name=title)
        self._axis.addItem(self.tr("of each row"), True)
        self._axis.addItem(self.tr("of each column"), False)
        self._hint = ElidedLabel()
        save = named(QPushButton(self.tr("Save as CSV…")), "saveNorms")
        save.clicked.connect(lambda: choose_data(self, self._model, "norms.csv", workspace))
        line = hbox(self._axis, (self._hint, 1), save, margins=(0, 1, 0, 3), spacing=10)
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

    @override
    def part_query(self, part: TensorPart) -> Query[MatrixStatistics]:
        matrix = part.matrix
        return Query(matrix, lambda _, progress: scan(matrix, progress, "Measuring"))

    @override
    def draw_result(self, part: TensorPart, result: MatrixStatistics) -> None:
        is_rows = bool(self._axis.currentData())
        norms = result.row_norms if is_rows else result.column_norms
        self._model.show_norms(part, norms, is_rows=is_rows)
        self._table.setColumnHidden(NAME, not self._model.has_names)
        self._hint.setText(
            self.tr("Double-click: go to row") if is_rows else self.tr("Click a title: sort")
        )

    @override
    def clear(self) -> None:
        super().clear()
        self._model.set_rows(())

    def _on_double_click(self, index: QModelIndex) -> None:
        if self._axis.currentData():
            self.row_chosen.emit(self._model.index_of(index.row()))
