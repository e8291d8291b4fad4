"""Tokens as chips: what they say, how they are coloured, and how they follow the selection."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QColor
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme, mixed
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import Token
from bertviewer.ui.run.token_chips import DEEPEST, KIND, PALE, PALEST, TokenChips
from bertviewer.ui.shell.main_window import MainWindow
from tests.charts.colors import contrast
from tests.ui.finding import find, last_run

Settle = Callable[[], None]


def chips(window: MainWindow) -> TokenChips:
    return find(window, TokenChips, "tokenChips")


def index(view: TokenChips, token: int) -> QModelIndex:
    return view.model().index(token, view.modelColumn())


def choose(window: MainWindow, measure: str, settle: Settle) -> str:
    """Colour the chips by another figure, and return what is said about it."""
    find(window, QAction, f"measure-{measure}").trigger()
    settle()
    return find(window, QToolButton, "tokenMeasure").text()


def colors(view: TokenChips) -> list[str]:
    """Return the colour of each chip in sight, at its left edge, where no letter is."""
    image = view.viewport().grab().toImage()
    found = []
    for token in range(view.model().rowCount()):
        rect = view.visualRect(index(view, token))
        place = rect.right() - 5, rect.top() + 10
        found.append(image.pixelColor(*place).name())
    return found


def show_tokens(window: MainWindow, settle: Settle, *tokens: Token) -> TokenChips:
    """Have the window show a run of these tokens, whose norms are 0, 1, 2 …"""
    watched = window.workspace.runs.current
    assert watched is not None
    states = len(watched.run.token_norms)
    run = replace(
        watched.run,
        tokens=tokens,
        token_norms=(tuple(map(float, range(len(tokens)))),) * states,
        hidden_states=(),
    )
    window.workspace.selection.set_tokens(len(tokens), 0)
    window.workspace.runs.set_run(RecordedRun(run, watched.capture))
    window.workspace.runs.run_changed.emit()
    settle()
    return chips(window)


def test_they_are_the_tokens_of_the_run(ran: MainWindow) -> None:
    view = chips(ran)
    texts = [index(view, token).data() for token in range(view.model().rowCount())]
    assert texts == [token.text for token in last_run(ran).tokens]


def test_hovering_tells_token_id_segment_and_the_exact_figure(
    ran: MainWindow, settle: Settle
) -> None:
    ran.workspace.selection.select("encoder.layer.3")
    settle()
    norm = last_run(ran).token_norms[4][2]
    assert norm is not None
    assert index(chips(ran), 2).data(Qt.ItemDataRole.ToolTipRole) == (
        f"token 2: cat, id 4937, segment 0\n‖h‖ after layer 3: {norm:.7g}"
    )


def test_a_click_and_the_arrow_keys_select(ran: MainWindow, qtbot: QtBot) -> None:
    view, selection = chips(ran), ran.workspace.selection
    place = view.visualRect(index(view, 3)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    found = [selection.token]
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        qtbot.keyClick(view, key)
        found.append(selection.token)
    assert found == [3, 4, 5, 4]
    selection.go(SelectionKey(token=6))
    assert view.currentIndex().row() == 6
    assert [one.row() for one in view.selectedIndexes()] == [6]


@pytest.mark.parametrize("appearance", ["light", "dark"])
def test_colours_go_from_the_least_figure_to_the_largest(
    ran: MainWindow, settle: Settle, appearance: str
) -> None:
    ran.set_appearance(appearance)
    theme = LIGHT if appearance == "light" else DARK
    view = show_tokens(ran, settle, *(Token(n, f"t{n}", 0, n) for n in range(5)))
    ran.workspace.selection.set_tokens(5, None)
    view.follow()
    wanted = [
        mixed(theme.accent, theme.surface, PALEST + share * (DEEPEST - PALEST))
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    assert colors(view) == wanted
    assert choose(ran, "none", settle).startswith("colour: none")
    assert colors(view) == [QColor(theme.field).name()] * 5


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_are_read_on_every_colour(theme: Theme) -> None:
    deepest = mixed(theme.accent, theme.surface, DEEPEST)
    assert contrast(theme.text, deepest) >= 4.5
    palest = mixed(theme.accent, theme.surface, PALEST + PALE * (DEEPEST - PALEST))
    assert contrast(theme.muted, palest) >= 4.5
    assert contrast(theme.muted, theme.field) >= 4.5
    for hue in theme.series[:2]:
        assert contrast(theme.text, mixed(hue, theme.surface, KIND)) >= 4.5


def test_each_figure_says_what_it_is(ran: MainWindow, settle: Settle) -> None:
    ran.workspace.selection.select("encoder.layer.3.attention.self")
    ran.workspace.selection.go(SelectionKey(head=7))
    settle()
    said = find(ran, QToolButton, "tokenMeasure").text()
    assert said.startswith("colour: ‖h‖ after layer 3")
    assert choose(ran, "cosine", settle).startswith("colour: cosine to embedding after layer 3")
    said = choose(ran, "attention", settle)
    assert said.startswith("colour: attention received, layer 3, head 7")
    tips = [
        index(chips(ran), token).data(Qt.ItemDataRole.ToolTipRole)
        for token in range(len(last_run(ran).tokens))
    ]
    shares = [float(tip.rpartition(": ")[2]) for tip in tips]
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    ran.workspace.selection.go(SelectionKey(head=2))
    settle()
    said = find(ran, QToolButton, "tokenMeasure").text()
    assert said.startswith("colour: attention received, layer 3, head 2")


def test_what_there_is_no_figure_of_cannot_be_chosen(ran: MainWindow) -> None:
    """The demo has no head, and the sentence one segment."""
    able = {
        name: find(ran, QAction, f"measure-{name}").isEnabled()
        for name in ("norm", "cosine", "attention", "probability", "segment", "none")
    }
    lacking = [name for name, is_able in able.items() if not is_able]
    assert lacking == ["probability", "segment"]


def test_tokens_of_any_kind_are_one_line_of_plain_text(ran: MainWindow, settle: Settle) -> None:
    odd = ("<b>bold</b>", "你好", "שלום", "😀", "a\nb", "x" * 10_000, "")
    view = show_tokens(ran, settle, *(Token(n, text, 0, n) for n, text in enumerate(odd)))
    heights = {view.visualRect(index(view, token)).height() for token in range(len(odd))}
    widths = [view.visualRect(index(view, token)).width() for token in range(len(odd))]
    assert len(heights) == 1
    assert 0 < max(widths) < 400
    assert "&lt;b&gt;" in index(view, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert view.horizontalScrollBar().maximum() >= 0


def test_many_tokens_scroll_sideways_to_the_selected_one(ran: MainWindow, settle: Settle) -> None:
    view = show_tokens(ran, settle, *(Token(n, f"word{n}", 0, n) for n in range(512)))
    assert view.horizontalScrollBar().maximum() > view.width()
    assert view.horizontalScrollBar().value() == 0
    ran.workspace.selection.go(SelectionKey(token=400))
    assert view.viewport().rect().contains(view.visualRect(index(view, 400)).center())


def test_a_second_sentence_is_set_off(ran: MainWindow, settle: Settle) -> None:
    texts = [Token(1, "same", 0, 0), Token(1, "same", 0, 1), Token(1, "same", 1, 2)]
    view = show_tokens(ran, settle, *texts)
    first, second, third = (view.visualRect(index(view, token)).width() for token in range(3))
    assert first < second < third


def test_they_can_be_copied(ran: MainWindow) -> None:
    view = chips(ran)
    ran.workspace.selection.go(SelectionKey(token=2))
    copy, copy_all, *_ = view.actions()
    copy.trigger()
    assert QApplication.clipboard().text() == "cat"
    copy_all.trigger()
    assert QApplication.clipboard().text() == "[CLS]\nthe\ncat\nsat\non\nthe\nmat\n[SEP]"


def test_all_that_is_known_of_them_can_be_taken_along(ran: MainWindow) -> None:
    find(chips(ran), QAction, "copyAllCsv").trigger()
    lines = QApplication.clipboard().text().splitlines()
    assert lines[0] == "#,Token,Id,Segment"
    assert lines[1].startswith("0,[CLS],101,")
    assert len(lines) == len(last_run(ran).tokens) + 1
    find(chips(ran), QAction, "copyAllMarkdown").trigger()
    assert QApplication.clipboard().text().startswith("| # | Token | Id | Segment |")
