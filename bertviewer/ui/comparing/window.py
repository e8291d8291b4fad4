"""Two models side by side: totals, tensors and configuration."""

import json

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QTableView,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.comparing.comparison import STATES, Comparison, State
from bertviewer.ui.charts.chart_menu import choose_data
from bertviewer.ui.comparing.tensors_model import (
    CHANGED,
    NAME,
    RELATIVE,
    ShownTensors,
    TensorsModel,
    state_name,
)
from bertviewer.ui.labels import plain_label
from bertviewer.ui.share_bar import ShareBarDelegate
from bertviewer.ui.tables import Column, Row, TableModel, make_table
from bertviewer.ui.workspace import Workspace

SIZE = 1180, 640  # pixels
PADDING, BAR, LEAST = 4, 110, 50  # pixels: beside a text, of a bar, of any column
LEAST_NAME = 200  # pixels of the names' column; where there are fewer, the table scrolls


class ComparisonWindow(QDialog):
    """What is the same, what changed and by how much, and what only one of both has.

    ``chosen`` brings the path of the module that holds the tensor that was double-clicked.
    """

    chosen = Signal(str)

    def __init__(
        self, comparison: Comparison, workspace: Workspace, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("comparisonWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.setWindowTitle(f"{comparison.left.name} ↔ {comparison.right.name}")
        self._comparison = comparison
        self._workspace = workspace
        self._shown = ShownTensors(TensorsModel(comparison, self), self)
        self._states = {state: self._make_button(state) for state in STATES}
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.addTab(self._make_tensors(), self.tr("Tensors"))
        keys = self.tr("Configuration ({0})").format(len(comparison.keys))
        tabs.addTab(self._make_keys(), keys)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(6)
        for side, source, parameters in (
            (self.tr("Left"), comparison.left, comparison.left_parameters),
            (self.tr("Right"), comparison.right, comparison.right_parameters),
        ):
            layout.addWidget(plain_label(f"{side}: {self._described(source, parameters)}"))
        layout.addSpacing(4)
        layout.addWidget(tabs, 1)
        self._filter()
        # Qt itself would give it two thirds of the screen at most.
        self.resize(QSize(*SIZE).boundedTo(self.screen().availableSize()))

    def _described(self, source: SourceInfo, parameters: int) -> str:
        text = self.tr("{0} · {1} · {2:,} parameters").format(source.name, source.task, parameters)
        if source.weights != "pretrained":
            is_pickle = source.kind == "pickle"
            why = self.tr(" · pickled weights, not read") if is_pickle else self.tr(" · no weights")
            return text + why
        if source.random_tensors:
            lacking = self.tr(" · tensors not in its checkpoint: {0:,}")
            return text + lacking.format(len(source.random_tensors))
        return text

    def _make_button(self, state: State) -> QToolButton:
        count = self._comparison.counts[state]
        button = QToolButton()
        button.setObjectName(f"state {state}")
        button.setText(f"{state_name(state)} {count:,}")
        button.setCheckable(True)
        if not count:
            button.hide()
        others = sum(self._comparison.counts.values()) - count
        # What did not change is what one wants to see last.
        button.setChecked(count > 0 and (state != "same" or not others))
        button.toggled.connect(self._filter)
        return button

    def _make_tensors(self) -> QWidget:
        name = QLineEdit()
        name.setObjectName("tensorFilter")
        name.setPlaceholderText(self.tr("Filter tensors"))
        name.setAccessibleName(self.tr("Filter tensors"))
        name.setClearButtonEnabled(True)
        name.textChanged.connect(self._shown.show_names)
        save = QPushButton(self.tr("Save as CSV…"))
        save.setObjectName("saveComparison")
        save.setAutoDefault(False)
        save.clicked.connect(self._choose_data)
        line = QHBoxLayout()
        line.setContentsMargins(0, 6, 0, 4)
        line.setSpacing(4)
        for button in self._states.values():
            line.addWidget(button)
        line.addSpacing(8)
        line.addWidget(name, 1)
        line.addWidget(save)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(line)
        self._table = self._make_table()
        self._table.viewport().installEventFilter(self)
        layout.addWidget(self._table, 1)
        return page

    def _choose_data(self) -> None:
        choose_data(self, self._shown, "comparison.csv", self._workspace)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Give the names what a new width leaves them; Qt calls it."""
        if event.type() == QEvent.Type.Resize:
            self._fit_names()
        return super().eventFilter(watched, event)

    def _fit_names(self) -> None:
        header = self._table.horizontalHeader()
        others = header.length() - header.sectionSize(NAME)
        header.resizeSection(NAME, max(LEAST_NAME, self._table.viewport().width() - others))

    def _make_table(self) -> QTableView:
        table = make_table(self._shown, "comparedTensors", self.tr("Compared tensors"))
        self._bars = ShareBarDelegate(self)  # views do not own their delegates
        table.setItemDelegateForColumn(RELATIVE, self._bars)
        header = table.horizontalHeader()
        header.setSortIndicator(NAME, Qt.SortOrder.AscendingOrder)
        table.setSortingEnabled(True)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setResizeContentsPrecision(-1)  # rows below take no more room than this later
        table.resizeColumnsToContents()
        for column in range(header.count()):
            table.setColumnWidth(column, table.columnWidth(column) + PADDING)
        table.setColumnWidth(RELATIVE, max(table.columnWidth(RELATIVE), BAR))
        if not any(tensor.change for tensor in self._comparison.tensors):
            # No values were compared: there is no figure to show.
            for column in range(RELATIVE, CHANGED + 1):
                table.setColumnHidden(column, True)
        header.setMinimumSectionSize(LEAST)
        # Of names that are cut the ends say most, and the tip has all of them.
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.doubleClicked.connect(self._on_double_click)
        return table

    def _make_keys(self) -> QWidget:
        columns = (Column(self.tr("Key")), Column(self.tr("Left")), Column(self.tr("Right")))
        model = TableModel(columns, self)
        model.set_rows(
            [Row((key.key, _value(key.left), _value(key.right))) for key in self._comparison.keys]
        )
        return make_table(model, "comparedKeys", self.tr("Compared configuration"))

    def _filter(self) -> None:
        self._shown.show_states([s for s, button in self._states.items() if button.isChecked()])

    def _on_double_click(self, index: QModelIndex) -> None:
        self.chosen.emit(self._shown.tensor(index.row()).name.rpartition(".")[0])


def _value(value: object) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
