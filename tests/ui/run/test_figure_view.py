"""Tables of figures on the screen: what is shown, and what is copied."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QAction, QColor, QPalette
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
from bertviewer.ui.jobs.worker import Worker
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
def view(worker: Worker, qtbot: QtBot) -> FigureView:
    view = FigureView(Workspace(worker), "figures", "Figures")
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    view.show_table(TABLE)
    return view


def model_of(view: FigureView) -> QAbstractItemModel:
    return find(view, QTableView, "figures").model()


def test_rows_are_a_model(view: FigureView, qtmodeltester: ModelTester) -> None:
    rows = model_of(view)
    qtmodeltester.check(rows)
    view.show_table(LENS)
    assert rows.columnCount() == 3
    assert rows.headerData(1, Qt.Orientation.Horizontal) == "1"


def test_a_short_title_has_its_full_name_in_tooltip_and_data(view: FigureView) -> None:
    b, a, less = runs_field(
        "<s> end", lambda _: (None, None), is_compared=True, kind="bar", prefix="End "
    ).columns
    view.show_table(DataTable((TableColumn("#"), b, a, less), ()))
    rows, across, tooltip = model_of(view), Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
    assert rows.headerData(1, across) == "End B"
    assert "B, &lt;s&gt; end" in rows.headerData(1, across, tooltip)
    assert rows.headerData(0, across, tooltip) is None
    assert view.shown.table()[0] == ("#", "B, <s> end", "A, <s> end", "B − A, <s> end")
    assert [column.kind for column in (b, a, less)] == ["bar", "bar", "number"]


def test_a_tooltip_is_plain_text(view: FigureView) -> None:
    view.show_table(DataTable((TableColumn("x"),), ((text_cell("<s>", tip="<s>, id 0"),),)))
    tooltip = model_of(view).index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "&lt;s&gt;" in tooltip


@pytest.fixture
def act(view: FigureView) -> Callable[[str], str]:
    def act(name: str) -> str:
        find(find(view, QTableView, "figures"), QAction, name).trigger()
        return QApplication.clipboard().text()

    return act


def test_what_is_copied(view: FigureView, act: Callable[[str], str]) -> None:
    whole = f'Token\tP\tLogit\n<s>\t{THIRD!r}\t-2.0625\n"a\tb"\t\t10.0'
    assert act("copyAll") == whole
    assert act("copyCells") == whole.partition("\n")[2]
    view.mark(1)
    assert act("copyCells") == '"a\tb"\t\t10.0'
    rows = list(csv.reader(act("copyAllCsv").splitlines()))
    assert rows == [["Token", "P", "Logit"], ["<s>", repr(THIRD), "-2.0625"], ["a\tb", "", "10.0"]]


def test_a_file_is_called_after_the_table(
    worker: Worker, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = FigureView(Workspace(worker), "predictionTable", "Predictions")
    qtbot.addWidget(view)
    view.show_table(TABLE)
    proposed: list[str] = []

    def choose(_parent: QWidget, _title: str, proposal: str, _kinds: str) -> tuple[str, str]:
        proposed.append(proposal)
        return str(tmp_path / proposal), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    table = find(view, QTableView, "predictionTable")
    next(action for action in table.actions() if action.text() == "Save data as CSV…").trigger()
    assert proposed == ["prediction-table.csv"]
    assert (tmp_path / "prediction-table.csv").read_text().startswith("Token,P,Logit")


def test_going_to_a_row_tells_its_place_and_marking_it_does_not(
    view: FigureView, qtbot: QtBot
) -> None:
    told: list[SelectionKey] = []
    view.chosen.connect(told.append)
    view.mark(0)
    assert told == []
    table = find(view, QTableView, "figures")
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert told == [SelectionKey(token=7)]
    view.mark(None)
    assert table.selectionModel().selectedRows() == []
    assert told == [SelectionKey(token=7)]


def test_shades_are_as_deep_as_the_share_and_stay_in_a_selected_row(view: FigureView) -> None:
    view.show_table(LENS)
    table = find(view, QTableView, "figures")

    def shade(column: int) -> QColor:
        rect = table.visualRect(table.model().index(0, column))
        image = table.viewport().grab().toImage()
        return image.pixelColor(rect.right() - 4, rect.center().y())

    palette = view.palette()
    base, full = (palette.color(r) for r in (QPalette.ColorRole.Base, QPalette.ColorRole.Accent))
    for selected in (None, 0):
        view.mark(selected)
        assert shade(2) == base
        deep = shade(1)
        assert deep.red() == pytest.approx((base.red() + full.red()) / 2, abs=2)


def test_words_keep_room_beside_numbers(view: FigureView) -> None:
    table = find(view, QTableView, "figures")
    assert sum(table.columnWidth(n) for n in range(3)) == pytest.approx(
        table.viewport().width(), abs=6
    )
    view.resize(120, 200)
    assert table.columnWidth(0) >= table.fontMetrics().horizontalAdvance("a\tb")


def test_many_columns_of_words_scroll_before_their_words_are_cut_short(view: FigureView) -> None:
    table = find(view, QTableView, "figures")
    width = table.fontMetrics().horizontalAdvance
    word = next("n" * letters for letters in range(20) if width("n" * letters) > 45)
    row = text_cell("emb"), *(TableCell(word, word, 0.1) for _ in range(5))
    columns = TableColumn("Layer"), *(TableColumn(str(rank), "shade") for rank in range(5))
    view.show_table(DataTable(columns, (row,)))
    view.resize(200, 200)
    QApplication.processEvents()
    assert table.columnWidth(1) >= width(word)
    assert table.horizontalScrollBar().maximum() > 0


def test_bars_give_way_before_figures_are_out_of_sight(view: FigureView) -> None:
    table = find(view, QTableView, "figures")
    columns = (
        TableColumn("Token"),
        TableColumn("B", "bar"),
        TableColumn("A", "bar"),
        TableColumn("Logit", "number"),
    )
    row = text_cell("a word"), probability_cell(THIRD), probability_cell(THIRD), logit_cell(-2.0625)
    view.show_table(DataTable(columns, (row,)))
    margins = 4 + 12  # the delegate's, left and right of the text
    figure = table.fontMetrics().horizontalAdvance("0.3333") + margins
    wide = table.columnWidth(1)

    def narrow(width: int) -> bool:
        """Return whether all columns are in sight."""
        view.resize(width, 200)
        QApplication.processEvents()
        assert table.columnWidth(1) > figure
        return table.horizontalScrollBar().maximum() == 0

    width = view.width()
    while narrow(width):
        width -= 1
    assert narrow(width + 1)
    # By then the bars are as short as their figures are wide.
    assert table.columnWidth(1) < min(figure + 8, wide)
    narrow(width - 40)
