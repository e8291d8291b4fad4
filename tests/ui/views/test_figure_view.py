"""Tables of figures: model, copied data, the selected row, and the widths of columns."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QFileDialog, QTableView, QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import (
    DataTable,
    TableCell,
    TableColumn,
    logit_cell,
    probability_cell,
    runs_field,
    text_cell,
)
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.figure_view import FigureView
from tests.ui.finding import find

THIRD = 1 / 3
TABLE = DataTable(
    (TableColumn("Token"), TableColumn("P", "bar"), TableColumn("Logit", "number")),
    (
        (text_cell("<s>", is_bold=True), probability_cell(THIRD), logit_cell(-2.0625)),
        (text_cell("a\tb"), probability_cell(None), logit_cell(10.0)),
    ),
    (SelectionKey(token=4), SelectionKey(token=7)),
)
LENS = DataTable(
    (TableColumn("Layer"), TableColumn("1", "shade"), TableColumn("2", "shade")),
    ((text_cell("0"), TableCell("a", "a", 1.0), TableCell("b", "b", 0.0)),),
    (SelectionKey(path="layer.0"),),
)


@pytest.fixture
def view(workspace: Workspace, qtbot: QtBot) -> FigureView:
    view = FigureView(workspace, "predictionTable", "Predictions")
    qtbot.addWidget(view)
    view.resize(400, 120)
    view.show()
    view.show_table(TABLE)
    return view


def table_of(view: FigureView) -> QTableView:
    return find(view, QTableView, "predictionTable")


def model_of(view: FigureView) -> QAbstractItemModel:
    return table_of(view).model()


def test_the_model(view: FigureView, qtmodeltester: ModelTester) -> None:
    rows, across, tooltip = model_of(view), Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
    qtmodeltester.check(rows)
    view.show_table(LENS)
    assert rows.columnCount() == 3
    assert rows.headerData(1, across) == "1"
    assert rows.headerData(1, across, tooltip) is None
    # Short titles have their full names in the tooltip and in copied data.
    b, a, less = runs_field(
        "<s> end", lambda _: (None, None), is_compared=True, kind="bar", prefix="End "
    ).columns
    view.show_table(DataTable((b, a, less), ()))
    assert rows.headerData(0, across) == "End B"
    assert "B, &lt;s&gt; end" in rows.headerData(0, across, tooltip)
    assert view.shown.table()[0] == ("B, <s> end", "A, <s> end", "B − A, <s> end")
    view.show_table(DataTable((TableColumn("x"),), ((text_cell("a", tip="<s>, id 0"),),)))
    assert "&lt;s&gt;" in rows.index(0, 0).data(tooltip)


def test_copied_and_saved_data(
    view: FigureView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copied(action: str) -> str:
        find(table_of(view), QAction, action).trigger()
        return QApplication.clipboard().text()

    whole = f'Token\tP\tLogit\n<s>\t{THIRD!r}\t-2.0625\n"a\tb"\t\t10.0'
    assert copied("copyAll") == whole
    assert copied("copyCells") == whole.partition("\n")[2]
    view.mark(1)
    assert copied("copyCells") == '"a\tb"\t\t10.0'
    rows = [*csv.reader(copied("copyAllCsv").splitlines())]
    assert rows == [["Token", "P", "Logit"], ["<s>", repr(THIRD), "-2.0625"], ["a\tb", "", "10.0"]]
    proposed: list[str] = []

    def choose(_parent: QWidget, _title: str, proposal: str, _kinds: str) -> tuple[str, str]:
        proposed.append(proposal)
        return str(tmp_path / proposal), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    find(table_of(view), QAction, "saveData").trigger()
    assert proposed == ["prediction-table.csv"]
    assert (tmp_path / "prediction-table.csv").read_text().startswith("Token,P,Logit")


def test_only_the_user_chooses_a_row(view: FigureView, qtbot: QtBot) -> None:
    chosen: list[SelectionKey] = []
    view.chosen.connect(chosen.append)
    view.mark(0)
    assert chosen == []
    qtbot.keyClick(table_of(view), Qt.Key.Key_Down)
    assert chosen == [SelectionKey(token=7)]
    view.mark(None)
    assert table_of(view).selectionModel().selectedRows() == []
    assert chosen == [SelectionKey(token=7)]


def test_bars_and_shades(view: FigureView, image: Callable[[str, Any], None]) -> None:
    image("figure_bars", view)
    view.show_table(LENS)
    view.mark(0)  # a selected row keeps its shades
    image("figure_shades", view)


def is_scrolled(view: FigureView, width: int) -> bool:
    """Return whether columns are hidden at a width."""
    view.resize(width, 120)
    QApplication.processEvents()
    return table_of(view).horizontalScrollBar().maximum() > 0


def test_bars_shrink_before_columns_are_hidden(view: FigureView) -> None:
    bar = probability_cell(THIRD)
    kinds = ("text", "bar", "bar", "number")
    columns = tuple(TableColumn(kind, kind) for kind in kinds)  # type: ignore[arg-type]
    view.show_table(DataTable(columns, ((text_cell("a word"), bar, bar, logit_cell(-2.0625)),)))
    table = table_of(view)
    text = table.fontMetrics().horizontalAdvance("0.3333")
    width, wide = view.width(), table.columnWidth(1)
    while not is_scrolled(view, width):
        assert table.columnWidth(1) > text
        width -= 1
    assert not is_scrolled(view, width + 1)
    assert table.columnWidth(1) < min(text + 24, wide)
    assert table.columnWidth(0) >= table.fontMetrics().horizontalAdvance("a word")


def test_shaded_words_are_hidden_before_they_are_cut_short(view: FigureView) -> None:
    table, word = table_of(view), "nnnnnnnn"
    row = text_cell("emb"), *(TableCell(word, word, 0.1) for _ in range(5))
    columns = TableColumn("Layer"), *(TableColumn(str(rank), "shade") for rank in range(5))
    view.show_table(DataTable(columns, (row,)))
    assert is_scrolled(view, 200)
    assert table.columnWidth(1) >= table.fontMetrics().horizontalAdvance(word[:6])
