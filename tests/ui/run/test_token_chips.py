"""Tokens as chips: texts, colours by a measure, and the selection."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QColor
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import DARK, LIGHT, Theme, mixed
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.ui.run.token_chips import DEEPEST, KIND, PALE, PALEST, TokenChips
from bertviewer.ui.run.token_line import TokenLine
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import DARK_NAME, LIGHT_NAME, apply_appearance
from tests.charts.colors import contrast
from tests.charts.runs import make_run
from tests.ui.run.view_harness import RunHarness


class ChipsHarness(RunHarness):
    """The line of chips."""

    @property
    def chips(self) -> TokenChips:
        return self.find(TokenChips)

    def index(self, token: int) -> QModelIndex:
        return self.chips.model().index(token, self.chips.modelColumn())

    def tooltips(self) -> list[str]:
        rows = range(self.chips.model().rowCount())
        return [self.index(row).data(Qt.ItemDataRole.ToolTipRole) for row in rows]

    def measure(self, name: str) -> str:
        """Colour the chips by a measure, and return its description."""
        self.find(QAction, f"measure-{name}").trigger()
        self.settle()
        return self.described()

    def described(self) -> str:
        return self.find(QToolButton, "tokenMeasure").text()

    def colors(self) -> list[str]:
        """Return the colour of each chip, next to its right edge, where no letter is."""
        image = self.chips.viewport().grab().toImage()
        boxes = [self.chips.visualRect(self.index(n)) for n in range(self.chips.model().rowCount())]
        return [image.pixelColor(box.right() - 5, box.top() + 10).name() for box in boxes]

    def show_tokens(self, *tokens: Token) -> None:
        """Show a run of these tokens, whose norms are 0, 1, 2 …"""
        norms = [tuple(map(float, range(len(tokens))))]
        self.show_run(replace(make_run(("",) * len(tokens), norms), tokens=tokens))


@pytest.fixture
def line(open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot) -> ChipsHarness:
    open_model("demo")
    line = TokenLine(workspace)
    line.resize(900, 40)
    return ChipsHarness(line, workspace, qtbot)


@pytest.fixture
def run(line: ChipsHarness) -> ActivationRun:
    """Return the run that is shown."""
    return line.run("the cat sat on the mat").run


def test_texts_and_tooltips(line: ChipsHarness, run: ActivationRun) -> None:
    line.select("encoder.layer.3")
    assert [line.index(n).data() for n in range(8)] == [token.text for token in run.tokens]
    assert line.tooltips()[2] == (
        f"token 2: cat, id 4937, segment 0\n‖h‖ after layer 3: {run.token_norms[4][2]:.7g}"
    )


@pytest.mark.usefixtures("run")
def test_clicks_and_arrow_keys_select_and_the_selection_is_marked(
    line: ChipsHarness, qtbot: QtBot
) -> None:
    place = line.chips.visualRect(line.index(3)).center()
    qtbot.mouseClick(line.chips.viewport(), Qt.MouseButton.LeftButton, pos=place)
    found = [line.place.token]
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        qtbot.keyClick(line.chips, key)
        found.append(line.place.token)
    assert found == [3, 4, 5, 4]
    line.select(token=6)
    assert line.chips.currentIndex().row() == 6
    assert [index.row() for index in line.chips.selectedIndexes()] == [6]


def test_colours_go_from_the_smallest_to_the_largest_value(
    line: ChipsHarness, image: Callable[[str, Any], None], qapp: QApplication
) -> None:
    for name, theme in ((LIGHT_NAME, LIGHT), (DARK_NAME, DARK)):
        apply_appearance(qapp, name)
        line.show_tokens(*(Token(n, f"t{n}", 0, n) for n in range(5)))
        line.workspace.selection.set_tokens(5, None)
        line.chips.follow()
        shares = [PALEST + share * (DEEPEST - PALEST) for share in (0, 0.25, 0.5, 0.75, 1)]
        line.measure("norm")
        assert line.colors() == [mixed(theme.accent, theme.surface, share) for share in shares]
        assert line.measure("none").startswith("colour: none")
        assert line.colors() == [QColor(theme.field).name()] * 5
    apply_appearance(qapp, LIGHT_NAME)
    unknown = Token(1, "[UNK]", 0, 1, is_unknown=True)
    special = Token(0, "[CLS]", 0, None, is_special=True)
    line.show_tokens(special, *(Token(n, f"word{n}", 0, n) for n in range(3)), unknown)
    line.measure("norm")
    image("chips", line.chips)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_texts_are_legible_on_every_colour(theme: Theme) -> None:
    deepest = mixed(theme.accent, theme.surface, DEEPEST)
    assert contrast(theme.text, deepest) >= 4.5
    palest = mixed(theme.accent, theme.surface, PALEST + PALE * (DEEPEST - PALEST))
    assert contrast(theme.muted, palest) >= 4.5
    assert contrast(theme.muted, theme.field) >= 4.5
    for hue in theme.series[:2]:
        assert contrast(theme.text, mixed(hue, theme.surface, KIND)) >= 4.5


@pytest.mark.usefixtures("run")
def test_measures_follow_the_selected_layer_and_head(line: ChipsHarness) -> None:
    line.select("encoder.layer.3.attention.self", head=7)
    assert line.described().startswith("colour: ‖h‖ after layer 3")
    assert line.measure("cosine").startswith("colour: cosine to embedding after layer 3")
    received = "colour: attention received, layer 3, head "
    assert line.measure("attention").startswith(f"{received}7")
    shares = [float(tip.rpartition(": ")[2]) for tip in line.tooltips()]
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    line.select(head=2)
    assert line.described().startswith(f"{received}2")
    names = ("norm", "cosine", "attention", "probability", "segment", "none")
    # The demo has no head, and the sentence one segment.
    disabled = [n for n in names if not line.find(QAction, f"measure-{n}").isEnabled()]
    assert disabled == ["probability", "segment"]


def test_any_token_is_one_line_of_plain_text(line: ChipsHarness) -> None:
    texts = ("<b>bold</b>", "你好", "שלום", "😀", "a\nb", "x" * 10_000, "")
    line.show_tokens(*(Token(n, text, 0, n) for n, text in enumerate(texts)))
    boxes = [line.chips.visualRect(line.index(token)) for token in range(len(texts))]
    assert len({box.height() for box in boxes}) == 1
    assert 0 < max(box.width() for box in boxes) < 400
    assert "&lt;b&gt;" in line.tooltips()[0]


def test_many_tokens_scroll_to_the_selected_one(line: ChipsHarness) -> None:
    line.show_tokens(*(Token(n, f"word{n}", 0, n) for n in range(512)))
    bar = line.chips.horizontalScrollBar()
    assert bar.maximum() > line.chips.width()
    assert bar.value() == 0
    line.select(token=400)
    box = line.chips.visualRect(line.index(400))
    assert line.chips.viewport().rect().contains(box.center())


def test_a_second_sentence_is_set_off(line: ChipsHarness) -> None:
    line.show_tokens(Token(1, "same", 0, 0), Token(1, "same", 0, 1), Token(1, "same", 1, 2))
    first, second, third = (line.chips.visualRect(line.index(n)).width() for n in range(3))
    assert first < second < third


@pytest.mark.usefixtures("run")
def test_tokens_are_copied_as_texts_and_as_tables(line: ChipsHarness) -> None:
    line.select(token=2)

    def copied(action: QAction) -> list[str]:
        action.trigger()
        return QApplication.clipboard().text().splitlines()

    copy, copy_all, *_ = line.chips.actions()
    assert copied(copy) == ["cat"]
    assert copied(copy_all) == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]
    rows = copied(line.find(QAction, "copyAllCsv"))
    assert rows[0] == "#,Token,Id,Segment"
    assert rows[1].startswith("0,[CLS],101,")
    assert len(rows) == 9
    assert copied(line.find(QAction, "copyAllMarkdown"))[0] == "| # | Token | Id | Segment |"
