"""The table of tokens: what it says of each, and how it follows the selection and moves it."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QTableView
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.ui.run.token_table import (
    ID,
    INDENT,
    JOIN_ROLE,
    NUMBER,
    SEGMENT,
    TICK,
    TOKEN,
    TokenModel,
    TokenTable,
)
from bertviewer.ui.state.runs import Runs
from bertviewer.ui.state.selection import Selection
from bertviewer.ui.theme.appearance import APPEARANCES, WARNING, apply_appearance
from bertviewer.ui.widgets.table_export import COPY_ROLE
from tests.core.analysis.runs import run_of
from tests.ui.finding import find

S1 = Sentence("this is a 12212121 test sentence")
Role = Qt.ItemDataRole


class Selected(Selection):
    """A selection, and a run of which it is."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = Runs(self)

    def set_run(self, tokens: Sequence[Token] | None, token: int | None = None) -> None:
        self.set_tokens(len(tokens or ()), token)
        if tokens is None:
            self.runs.clear()
        else:
            self.runs.set_run(RecordedRun(run_of(tokens), cast(ActivationCache, None)))
        self.runs.run_changed.emit()


Make = Callable[[], tuple[Selected, TokenTable, QTableView]]


@pytest.fixture
def make(qtbot: QtBot) -> Make:
    def make() -> tuple[Selected, TokenTable, QTableView]:
        selected = Selected()
        panel = TokenTable(selected)
        selected.runs.run_changed.connect(lambda: panel.show_run(selected.runs.run))
        panel.resize(260, 300)
        qtbot.addWidget(panel)
        return selected, panel, find(panel, QTableView, "tokenTable")

    return make


@pytest.fixture(scope="session")
def demo_tokens() -> Callable[[Sentence], tuple[Token, ...]]:
    return ModelTokenizer(demo_folder()).tokenize


def column(rows: TokenModel, number: int, role: Role = Role.DisplayRole) -> list[Any]:
    return [rows.index(row, number).data(role) for row in range(rows.rowCount())]


@pytest.fixture
def rows(demo_tokens: Callable[[Sentence], tuple[Token, ...]], qapp: QApplication) -> TokenModel:
    rows = TokenModel()
    rows.set_run(run_of(demo_tokens(S1)))
    return rows


class TestRows:
    def test_they_are_a_model(self, rows: TokenModel, qtmodeltester: ModelTester) -> None:
        qtmodeltester.check(rows)

    def test_pieces_of_one_word_are_joined(self, rows: TokenModel) -> None:
        joins = column(rows, TOKEN, Role(JOIN_ROLE))
        assert joins[4:8] == [(False, True), (True, True), (True, True), (True, False)]
        assert set(joins[:4] + joins[8:]) == {(False, False)}

    def test_what_hovering_says(self, rows: TokenModel) -> None:
        tips = column(rows, ID, Role.ToolTipRole)
        assert tips[0] == "token 0: [CLS], id 101, segment 0, special token"
        assert tips[1] == "token 1: this, id 2023, segment 0"
        assert tips[5] == ("token 5: ##12, id 12521, segment 0, piece 2 of 4 of the word 12212121")

    def test_summary(self, rows: TokenModel) -> None:
        assert rows.summary() == "11 tokens, 6 words"
        rows.set_run(run_of([Token(7, "one", 0, 0)]))
        assert rows.summary() == "1 token, 1 word"
        rows.set_run(None)
        assert rows.summary() == "0 tokens"

    def test_unknown_and_special_tokens_stand_out(
        self, rows: TokenModel, demo_tokens: Callable[[Sentence], tuple[Token, ...]]
    ) -> None:
        rows.set_run(run_of(demo_tokens(Sentence("a 😀 [MASK]", "b"))))
        assert rows.summary() == "7 tokens, 3 words, 1 unknown"
        palette = QApplication.palette()
        muted = palette.color(QPalette.ColorRole.PlaceholderText)
        warning = palette.color(WARNING)
        colors = column(rows, TOKEN, Role.ForegroundRole)
        assert colors == [muted, None, warning, muted, muted, None, muted]
        italic = [bool(f and f.italic()) for f in column(rows, TOKEN, Role.FontRole)]
        assert italic == [True, False, False, True, True, False, True]
        assert column(rows, TOKEN, Role.ToolTipRole)[2] == (
            "token 2: [UNK], id 100, segment 0\n😀 is not in the vocabulary: the model reads [UNK]."
        )

    def test_tokens_that_look_like_html_are_shown_as_they_are(self, rows: TokenModel) -> None:
        rows.set_run(run_of([Token(0, "<s>", 0, is_special=True)]))
        assert "&lt;s&gt;" in column(rows, TOKEN, Role.ToolTipRole)[0]
        assert column(rows, TOKEN) == ["<s>"]

    def test_a_long_token_is_shortened(self, rows: TokenModel) -> None:
        rows.set_run(run_of([Token(5, "a" * 200_000, 0, 0)]))
        (shown,) = column(rows, TOKEN)
        assert len(shown) == 80
        assert len(column(rows, TOKEN, Role.ToolTipRole)[0]) < 400
        assert column(rows, TOKEN, Role(COPY_ROLE)) == ["a" * 200_000]

    def test_one_word_read_by_encoder_and_decoder_is_two(self, rows: TokenModel) -> None:
        rows.set_run(run_of([Token(5, "cat", 0, 0), Token(5, "cat", 1, 0)]))
        assert column(rows, TOKEN, Role(JOIN_ROLE)) == [(False, False)] * 2
        assert rows.summary() == "2 tokens, 2 words"


class TestTable:
    TOKENS = tuple(Token(100 + number, f"t{number}", 0, number) for number in range(40))

    def test_nothing_is_shown_before_a_run(self, make: Make) -> None:
        _, panel, table = make()
        assert table.model().rowCount() == 0
        assert find(panel, QLabel, "tokenSummary").text() == ""

    def test_it_says_how_many_there_are(self, make: Make) -> None:
        selected, panel, _ = make()
        selected.set_run(self.TOKENS)
        assert find(panel, QLabel, "tokenSummary").text() == "40 tokens, 40 words"
        selected.set_run(None)
        assert find(panel, QLabel, "tokenSummary").text() == ""

    def test_it_follows_the_selection(self, make: Make) -> None:
        selected, panel, table = make()
        panel.show()
        selected.set_run(self.TOKENS, 1)
        assert table.currentIndex().row() == 1
        assert table.rowAt(0) == 0  # [CLS] is not scrolled away for it
        selected.go(SelectionKey(token=33))
        assert [index.row() for index in table.selectionModel().selectedRows()] == [33]
        assert table.viewport().rect().contains(table.visualRect(table.currentIndex()).center())
        selected.set_run(self.TOKENS[:20], None)
        assert not table.selectionModel().selectedRows()

    def test_it_moves_the_selection_once(self, make: Make, qtbot: QtBot) -> None:
        selected, panel, table = make()
        panel.show()
        selected.set_run(self.TOKENS, 1)
        heard: list[int | None] = []
        selected.token_changed.connect(lambda: heard.append(selected.token))
        place = table.visualRect(table.model().index(4, ID)).center()
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
        qtbot.keyClick(table, Qt.Key.Key_Down)
        qtbot.keyClick(table, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClick(table, Qt.Key.Key_Up)
        assert heard == [4, 5, 39, 38]
        assert len(table.selectionModel().selectedRows()) == 1

    def test_a_column_of_nothing_but_zeros_is_left_out(self, make: Make) -> None:
        selected, _, table = make()
        selected.set_run(self.TOKENS)
        assert table.isColumnHidden(SEGMENT)
        selected.set_run([*self.TOKENS, Token(1, "second", 1, 40)])
        assert not table.isColumnHidden(SEGMENT)

    def test_a_token_that_the_run_lacks_selects_nothing(self, make: Make) -> None:
        selected, _, table = make()
        selected.set_run(self.TOKENS, 99)
        assert not table.currentIndex().isValid()

    def test_copies_a_row_or_all(self, make: Make, qtbot: QtBot) -> None:
        selected, panel, table = make()
        panel.show()
        panel.activateWindow()
        table.setFocus()
        qtbot.waitUntil(table.hasFocus)
        control = Qt.KeyboardModifier.ControlModifier
        selected.set_run(self.TOKENS[:3], None)
        qtbot.keyClick(table, Qt.Key.Key_C, control)
        whole = "0\tt0\t100\n1\tt1\t101\n2\tt2\t102"  # without segments, which are all the same
        assert QApplication.clipboard().text() == whole
        selected.go(SelectionKey(token=1))
        qtbot.keyClick(table, Qt.Key.Key_C, control)
        assert QApplication.clipboard().text() == "1\tt1\t101"
        qtbot.keyClick(table, Qt.Key.Key_C, control | Qt.KeyboardModifier.ShiftModifier)
        assert QApplication.clipboard().text() == f"#\tToken\tId\n{whole}"

    def test_numbers_are_never_cut_off(self, make: Make) -> None:
        selected, panel, table = make()
        panel.show()
        # The longest id comes last, out of sight when widths are found.
        selected.set_run([*self.TOKENS, Token(1_234_567, "rare", 0, 40)], 1)
        needed = table.fontMetrics().horizontalAdvance("1234567")
        assert table.columnWidth(ID) > needed
        assert table.columnWidth(NUMBER) > table.fontMetrics().horizontalAdvance("40")
        widths = sum(table.columnWidth(column) for column in range(4))
        assert widths == table.viewport().width()

    @pytest.mark.parametrize("appearance", APPEARANCES[1:])
    def test_a_bracket_joins_the_pieces(
        self, make: Make, qapp: QApplication, appearance: str
    ) -> None:
        apply_appearance(qapp, appearance)
        selected, panel, table = make()
        panel.show()
        joined = (Token(1, "a", 0, 0), Token(2, "b", 0, 1), Token(3, "##c", 0, 1))
        selected.set_run(joined, 0)
        QApplication.processEvents()
        image = table.viewport().grab().toImage()
        blue = table.palette().color(QPalette.ColorRole.Accent)

        def color(row: int) -> QColor:
            rect = table.visualRect(table.model().index(row, TOKEN))
            at = QPoint(rect.left() + INDENT - TICK, rect.center().y())
            return image.pixelColor((QPointF(at) * image.devicePixelRatio()).toPoint())

        assert color(1) == color(2) == blue
        selected.set_run(joined[:2], None)
        image = table.viewport().grab().toImage()
        assert color(1) != blue
