"""Tables: sorting, copying as text or as data, and rows that are links."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.plots.fonts import weighted
from bertviewer.ui.widgets.tables import (
    Column,
    Row,
    TableModel,
    connect_links,
    make_sortable,
    make_table,
    natural_key,
    number_in,
    sorted_order,
)
from tests.ui.finding import activate, find

ROWS = (
    Row(("layer.10", "1,234", "a|b"), path="layer.10", is_link=True),
    Row(("layer.2", "−5", "=1+1"), path="layer.2", is_link=True),
    Row(("pooler", "", 'say "x"\ny')),
    Row(("layer.1", "22,713,216", "é"), path="layer.1", is_link=True),
)


@pytest.fixture
def table(qtbot: QtBot) -> QTableView:
    model = TableModel((Column("Name"), Column("Count", is_number=True), Column("Words")))
    table = make_table(model, "aTable", "A table")
    model.setParent(table)
    make_sortable(table)
    qtbot.addWidget(table)
    model.set_rows(ROWS)
    table.resize(500, 200)
    table.show()
    return table


def test_bold_rows(table: QTableView) -> None:
    model = table.model()
    assert isinstance(model, TableModel)
    model.set_rows([Row(("a", "1", "")), Row(("b", "2", ""), is_bold=True)])
    fonts = [model.index(row, 0).data(Qt.ItemDataRole.FontRole) for row in range(2)]
    assert fonts == [None, weighted(QApplication.font())]


def column(table: QTableView, number: int) -> list[str]:
    model = table.model()
    return [str(model.index(row, number).data()) for row in range(model.rowCount())]


def click(table: QTableView, number: int, qtbot: QtBot) -> None:
    header = table.horizontalHeader()
    place = header.rect().center()
    place.setX(header.sectionViewportPosition(number) + 8)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_clicks_on_a_title_sort_up_down_and_not_at_all(table: QTableView, qtbot: QtBot) -> None:
    assert column(table, 0) == ["layer.10", "layer.2", "pooler", "layer.1"]
    click(table, 0, qtbot)
    assert column(table, 0) == ["layer.1", "layer.2", "layer.10", "pooler"]
    click(table, 0, qtbot)
    assert column(table, 0) == ["pooler", "layer.10", "layer.2", "layer.1"]
    click(table, 0, qtbot)
    assert column(table, 0) == ["layer.10", "layer.2", "pooler", "layer.1"]
    click(table, 1, qtbot)
    assert column(table, 1) == ["−5", "1,234", "22,713,216", ""]


def test_the_selection_follows_its_row(table: QTableView, qtbot: QtBot) -> None:
    QAbstractItemModelTester(table.model(), QAbstractItemModelTester.FailureReportingMode.Fatal)
    table.selectRow(3)
    click(table, 0, qtbot)
    assert table.currentIndex().siblingAtColumn(0).data() == "layer.1"
    assert table.currentIndex().row() == 0


def test_new_rows_are_sorted_as_before(table: QTableView) -> None:
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    model = table.model()
    assert isinstance(model, TableModel)
    model.set_rows([Row(("b", "2", "")), Row(("a", "3", ""))])
    assert column(table, 0) == ["a", "b"]
    assert [model.number(row) for row in range(2)] == [1, 0]


@given(st.lists(st.floats(allow_nan=False, width=32)), st.booleans())
def test_numbers_are_sorted_by_value(numbers: list[float], is_down: bool) -> None:
    texts = [f"{number:,.6f}".replace("-", "−") for number in numbers]
    order = sorted_order([*map(number_in, texts)], is_descending=is_down)
    sizes = [float(texts[place].replace("−", "-").replace(",", "")) for place in order]
    assert sizes == sorted(sizes, reverse=is_down)


@given(st.lists(st.text("a1.2B")), st.booleans())
def test_sorting_loses_nothing(texts: list[str], is_down: bool) -> None:
    order = sorted_order([*map(natural_key, texts)], is_descending=is_down)
    assert sorted(order) == list(range(len(texts)))
    empty = [place for place in order if not texts[place]]
    assert order[len(order) - len(empty) :] == empty


def copied(table: QTableView, name: str) -> str:
    find(table, QAction, name).trigger()
    return QApplication.clipboard().text()


def test_copying_all(table: QTableView) -> None:
    rows = list(csv.reader(io.StringIO(copied(table, "copyAllCsv"), newline="")))
    assert rows == [
        ["Name", "Count", "Words"],
        ["layer.10", "1234", "a|b"],
        ["layer.2", "-5", "=1+1"],
        ["pooler", "", 'say "x"\ny'],
        ["layer.1", "22713216", "é"],
    ]
    assert copied(table, "copyAllCsv").count("\r\n") == 5
    assert copied(table, "copyAllMarkdown").splitlines()[:3] == [
        "| Name | Count | Words |",
        "| --- | --- | --- |",
        r"| layer.10 | 1,234 | a\|b |",
    ]


def test_copying_the_selection(table: QTableView, qtbot: QtBot) -> None:
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    table.selectRow(1)
    assert copied(table, "copyCsv").splitlines() == ["Name,Count,Words", "layer.2,-5,=1+1"]
    activate(table, qtbot)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "layer.2\t-5\t=1+1"
    table.hideColumn(1)
    assert copied(table, "copyMarkdown").splitlines()[-1] == "| layer.2 | =1+1 |"


def test_the_path_of_a_row_is_copied_if_it_has_one(table: QTableView) -> None:
    def visible() -> set[str]:
        return {action.objectName() for action in table.actions() if action.isVisible()}

    assert table.contextMenuPolicy() == Qt.ContextMenuPolicy.ActionsContextMenu
    table.selectRow(0)
    assert visible() >= {"copyRowPath", "copyRowPython", "copyCsv", "copyAllMarkdown"}
    assert copied(table, "copyRowPath") == "layer.10"
    assert copied(table, "copyRowPython") == "model.layer[10]"
    table.selectRow(2)
    assert not visible() & {"copyRowPath", "copyRowPython"}


def test_rows_about_a_module_are_links(table: QTableView, qtbot: QtBot) -> None:
    visited: list[str] = []
    connect_links(table, visited.append)
    role = Qt.ItemDataRole.ForegroundRole
    link = QApplication.palette().link().color()
    assert table.model().index(0, 0).data(role) == link
    assert table.model().index(2, 0).data(role) is None
    for row in range(3):
        table.selectRow(row)
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert visited == ["layer.10", "layer.2"]
    go = table.actions()[0]
    assert go.objectName() == "goToRow"
    assert not go.isVisible()  # the last row has no path
    table.selectRow(0)
    assert go.isVisible()
    go.trigger()
    assert visited[-1] == "layer.10"
