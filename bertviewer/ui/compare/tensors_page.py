"""The compared tensors as a table, with what states and names are shown."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QTableView,
    QToolButton,
    QWidget,
)

from bertviewer.core.comparison.comparison import STATES, Comparison, State
from bertviewer.ui.compare.tensors_model import (
    CHANGED,
    NAME,
    RELATIVE,
    ShownTensors,
    TensorsModel,
    state_name,
)
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_data
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import Gap, hbox, named, vbox
from bertviewer.ui.widgets.tables import ShareBarDelegate, connect_links, make_table

PADDING, BAR, LEAST = 4, 110, 50  # pixels: beside a text, of a bar, of any column
LEAST_NAME = 200  # pixels of the names' column; where there are fewer, the table scrolls


class TensorsPage(QWidget):
    """One row a tensor.

    ``chosen`` brings the path of the module that holds the tensor that a person goes to.
    """

    chosen = Signal(str)

    def __init__(self, comparison: Comparison, workspace: Workspace) -> None:
        super().__init__()
        self._comparison = comparison
        self._workspace = workspace
        self._shown = ShownTensors(TensorsModel(comparison, self), self)
        self._states = {state: self._make_button(state) for state in STATES}
        self._name = self._make_filter()
        layout = vbox(self._make_line(), parent=self, spacing=0)
        self._table = self._make_table()
        self._table.viewport().installEventFilter(self)
        layout.addWidget(self._table, 1)
        self._filter()

    def select(self, name: str) -> None:
        """Select a tensor's row, and have it shown if it is filtered out."""
        row = self._shown.row_of(name)
        if row is None:
            self._name.clear()
            self._states[self._shown.state_of(name)].setChecked(True)
            row = self._shown.row_of(name)
        if row is not None:
            index = self._shown.index(row, NAME)
            self._table.setCurrentIndex(index)
            self._table.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def _make_button(self, state: State) -> QToolButton:
        count = self._comparison.counts[state]
        text = f"{state_name(state)} {count:,}"
        button = tool_button(f"state {state}", text, is_checkable=True)
        if not count:
            button.hide()
        others = sum(self._comparison.counts.values()) - count
        # What did not change is what one wants to see last.
        button.setChecked(count > 0 and (state != "same" or not others))
        button.toggled.connect(self._filter)
        return button

    def _make_filter(self) -> QLineEdit:
        name = named(QLineEdit(), "tensorFilter", accessible_name=self.tr("Filter tensors"))
        name.setPlaceholderText(self.tr("Filter tensors"))
        name.setClearButtonEnabled(True)
        name.textChanged.connect(self._shown.show_names)
        return name

    def _make_line(self) -> QHBoxLayout:
        save = named(QPushButton(self.tr("Save as CSV…")), "saveComparison")
        save.setAutoDefault(False)
        save.clicked.connect(self._choose_data)
        return hbox(
            *self._states.values(), Gap(8), (self._name, 1), save, margins=(0, 6, 0, 4), spacing=4
        )

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
        connect_links(table, lambda name: self.chosen.emit(name.rpartition(".")[0]))
        return table

    def _filter(self) -> None:
        self._shown.show_states([s for s, button in self._states.items() if button.isChecked()])
