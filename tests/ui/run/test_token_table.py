"""Token table: its rows, and how it follows and changes the selected token."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel, QTableView
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.ui.run.token_table import (
    ID,
    JOIN_ROLE,
    NUMBER,
    SEGMENT,
    TOKEN,
    TokenModel,
    TokenTable,
)
from bertviewer.ui.state.selection import Selection
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.table_export import COPY_ROLE
from tests.core.analysis.runs import run_of
from tests.ui.finding import find

Role = Qt.ItemDataRole
TOKENS = tuple(Token(100 + number, f"t{number}", 0, number) for number in range(40))


@pytest.fixture(scope="session")
def demo_tokenizer() -> ModelTokenizer:
    return ModelTokenizer(demo_folder())


def column(rows: TokenModel, number: int, role: Role = Role.DisplayRole) -> list[Any]:
    return [rows.index(row, number).data(role) for row in range(rows.rowCount())]


@pytest.fixture
def rows(demo_tokenizer: ModelTokenizer, qapp: QApplication) -> TokenModel:
    """Return the rows of a sentence with a word of four tokens."""
    rows = TokenModel()
    tokens = demo_tokenizer.tokenize(Sentence("this is a 12212121 test sentence"))
    rows.set_run(run_of(tokens))
    return rows


def test_the_model_is_consistent(rows: TokenModel, qtmodeltester: ModelTester) -> None:
    qtmodeltester.check(rows)


def test_tokens_of_one_word_are_joined(rows: TokenModel) -> None:
    joins = column(rows, TOKEN, Role(JOIN_ROLE))
    assert joins[4:8] == [(False, True), (True, True), (True, True), (True, False)]
    assert set(joins[:4] + joins[8:]) == {(False, False)}
    assert rows.summary() == "11 tokens, 6 words"
    tips = column(rows, ID, Role.ToolTipRole)
    assert tips[0] == "token 0: [CLS], id 101, segment 0, special token"
    assert tips[1] == "token 1: this, id 2023, segment 0"
    assert tips[5] == "token 5: ##12, id 12521, segment 0, piece 2 of 4 of the word 12212121"
    # One word, read by an encoder and by a decoder.
    rows.set_run(run_of([Token(5, "cat", 0, 0), Token(5, "cat", 1, 0)]))
    assert column(rows, TOKEN, Role(JOIN_ROLE)) == [(False, False)] * 2
    assert rows.summary() == "2 tokens, 2 words"


def test_unknown_and_special_tokens(rows: TokenModel, demo_tokenizer: ModelTokenizer) -> None:
    rows.set_run(run_of(demo_tokenizer.tokenize(Sentence("a 😀 [MASK]", "b"))))
    assert rows.summary() == "7 tokens, 3 words, 1 unknown"
    palette = QApplication.palette()
    muted, warning = palette.color(QPalette.ColorRole.PlaceholderText), palette.color(WARNING)
    colors = column(rows, TOKEN, Role.ForegroundRole)
    assert colors == [muted, None, warning, muted, muted, None, muted]
    italic = [bool(f and f.italic()) for f in column(rows, TOKEN, Role.FontRole)]
    assert italic == [True, False, False, True, True, False, True]
    assert column(rows, TOKEN, Role.ToolTipRole)[2] == (
        "token 2: [UNK], id 100, segment 0\n😀 is not in the vocabulary: the model reads [UNK]."
    )
    assert column(rows, SEGMENT) == ["0", "0", "0", "0", "0", "1", "1"]


@pytest.mark.parametrize(
    ("text", "shown", "tip"),
    [("<s>", "<s>", "&lt;s&gt;"), ("a" * 200_000, "a" * 79 + "…", "aaa")],
)
def test_tokens_are_plain_text_of_a_limited_length(
    rows: TokenModel, text: str, shown: str, tip: str
) -> None:
    rows.set_run(run_of([Token(5, text, 0, 0)]))
    assert column(rows, TOKEN) == [shown]
    (found,) = column(rows, TOKEN, Role.ToolTipRole)
    assert tip in found
    assert len(found) < 400
    assert column(rows, TOKEN, Role(COPY_ROLE)) == [text]


@pytest.fixture
def selection(qapp: QApplication) -> Selection:
    return Selection()


@pytest.fixture
def panel(selection: Selection, qtbot: QtBot) -> TokenTable:
    panel = TokenTable(selection)
    qtbot.addWidget(panel)
    panel.resize(260, 300)
    panel.show()
    return panel


@pytest.fixture
def table(panel: TokenTable) -> QTableView:
    return find(panel, QTableView, "tokenTable")


def test_the_table_follows_the_selected_token(
    selection: Selection, panel: TokenTable, table: QTableView
) -> None:
    summary = find(panel, QLabel, "tokenSummary")
    assert (table.model().rowCount(), summary.text()) == (0, "")
    selection.set_tokens(40, 1)
    panel.show_run(run_of(TOKENS))
    assert summary.text() == "40 tokens, 40 words"
    assert table.currentIndex().row() == 1
    assert table.rowAt(0) == 0  # [CLS] stays visible
    selection.go(SelectionKey(token=33))
    assert [index.row() for index in table.selectionModel().selectedRows()] == [33]
    assert table.viewport().rect().contains(table.visualRect(table.currentIndex()).center())
    for token in (None, 99):
        selection.set_tokens(20, token)
        panel.show_run(run_of(TOKENS[:20]))
        assert not table.currentIndex().isValid()
    panel.show_run(None)
    assert summary.text() == ""


def test_a_click_or_key_selects_a_token_once(
    selection: Selection, panel: TokenTable, table: QTableView, qtbot: QtBot
) -> None:
    selection.set_tokens(40, 1)
    panel.show_run(run_of(TOKENS))
    selected: list[int | None] = []
    selection.token_changed.connect(lambda: selected.append(selection.token))
    place = table.visualRect(table.model().index(4, ID)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert selected == [4, 5, 39, 38]


def test_copying_a_row_or_all(
    selection: Selection, panel: TokenTable, table: QTableView, qtbot: QtBot
) -> None:
    control = Qt.KeyboardModifier.ControlModifier
    whole = "0\tt0\t100\n1\tt1\t101\n2\tt2\t102"  # without the hidden column of segments
    selection.set_tokens(3, None)
    panel.show_run(run_of(TOKENS[:3]))
    qtbot.keyClick(table, Qt.Key.Key_C, control)
    assert QApplication.clipboard().text() == whole
    selection.go(SelectionKey(token=1))
    qtbot.keyClick(table, Qt.Key.Key_C, control)
    assert QApplication.clipboard().text() == "1\tt1\t101"
    qtbot.keyClick(table, Qt.Key.Key_C, control | Qt.KeyboardModifier.ShiftModifier)
    assert QApplication.clipboard().text() == f"#\tToken\tId\n{whole}"


def test_columns_fit_the_longest_number_and_segments_are_hidden_if_all_are_equal(
    panel: TokenTable, table: QTableView
) -> None:
    panel.show_run(run_of([*TOKENS, Token(1_234_567, "rare", 0, 40)]))
    width = table.fontMetrics().horizontalAdvance
    assert table.columnWidth(ID) > width("1234567")
    assert table.columnWidth(NUMBER) > width("40")
    assert sum(table.columnWidth(each) for each in range(4)) == table.viewport().width()
    assert table.isColumnHidden(SEGMENT)
    panel.show_run(run_of([*TOKENS, Token(1, "second", 1, 40)]))
    assert not table.isColumnHidden(SEGMENT)


def test_a_bracket_joins_the_tokens_of_a_word(panel: TokenTable, image: Any) -> None:
    words = (Token(1, "a", 0, 0), Token(2, "b", 0, 1), Token(3, "##c", 0, 1), Token(4, "##d", 0, 1))
    panel.show_run(run_of(words))
    panel.resize(240, 150)
    image("token_table", panel)
