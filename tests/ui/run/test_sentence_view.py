"""The sentence as a whole: as a vector beside unrelated ones, and padded."""

import pytest
from PySide6.QtWidgets import QLabel, QSpinBox, QTabBar, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.util.errors import UserError
from bertviewer.ui.run import jobs
from bertviewer.ui.run.tokens_view import PaddingPanel, TokensView, VectorsPanel
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.figure_view import FigureView
from tests.ui.finding import bring_view, find, is_drawn

FIRST, SECOND = "The bank raised its rates.", "The lender increased interest."


def run(window: MainWindow, text: str, pair: str | None, qtbot: QtBot) -> None:
    window.set_sentence(text, pair)
    before = window.workspace.runs.run
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and window.workspace.runs.run is not before)


def turn(window: MainWindow) -> None:
    """Show the sentence as a whole."""
    bring_view(window, "Tokens")
    find(window, QTabBar, "tokensSwitch").setCurrentIndex(1)


def test_it_is_reached_from_where_tokens_are_compared(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    run(demo_window, FIRST, SECOND, qtbot)
    bring_view(demo_window, "Similarity")
    find(demo_window, QToolButton, "wholeSentences").click()
    assert find(demo_window, VectorsPanel).isVisible()
    assert find(demo_window, QTabBar, "tokensSwitch").currentIndex() == 1


def label(window: MainWindow, name: str) -> QLabel:
    return find(find(window, TokensView), QLabel, name)


def tables(window: MainWindow) -> tuple[FigureView, ...]:
    """Return the table of vectors, and that of the padding."""
    return (
        find(find(window, VectorsPanel), FigureView),
        find(find(window, PaddingPanel), FigureView),
    )


def rows(table: FigureView) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.shown.rows]


@pytest.fixture
def pair(demo_window: MainWindow, qtbot: QtBot) -> MainWindow:
    run(demo_window, FIRST, SECOND, qtbot)
    turn(demo_window)
    qtbot.waitUntil(lambda: all(table.shown.rows for table in tables(demo_window)))
    return demo_window


def test_a_pair_is_compared_by_each_vector(pair: MainWindow) -> None:
    vectors, _ = tables(pair)
    assert [row[0] for row in rows(vectors)] == ["[CLS]", "pooled", "mean of all tokens"]
    # These two mean nearly the same, which no two of the unrelated ones do.
    assert all(row[1].is_bold for row in vectors.shown.rows)
    assert rows(vectors)[2][1] == "0.667"
    assert "66 pairs of 12 plain sentences" in label(pair, "sentenceWords").text()
    assert SECOND in label(pair, "sentenceWhich").text()


def test_what_the_mask_does_is_said_and_shown_layer_by_layer(pair: MainWindow) -> None:
    _, padding = tables(pair)
    assert [row[0] for row in rows(padding)] == ["emb", "0", "1", "2", "3", "4", "5"]
    assert {row[3] for row in rows(padding)[1:]} == {"0"}
    assert all(row[4].endswith("%") for row in rows(padding)[1:])
    assert "The vectors of padding are not zero" in label(pair, "paddingWords").text()
    assert label(pair, "pairMask").isVisible()


def test_another_length_is_padded_to(pair: MainWindow, qtbot: QtBot) -> None:
    words = label(pair, "paddingWords")
    before = words.text()
    length = find(pair, QSpinBox, "paddedLength")
    run = pair.workspace.runs.run
    assert run is not None
    assert length.minimum() == len(run.tokens) + 1
    assert length.maximum() == 512
    length.setValue(50)
    qtbot.waitUntil(
        lambda: words.text() != before and f"{50 - len(run.tokens)} zeros)" in words.text()
    )


def test_one_sentence_says_how_to_have_two(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, FIRST, None, qtbot)
    turn(demo_window)
    qtbot.waitUntil(lambda: label(demo_window, "sentenceWords").text().startswith("Add a second"))
    assert not tables(demo_window)[0].isVisible()
    assert not label(demo_window, "pairMask").isVisible()


def test_run_a_is_the_other_sentence(demo_window: MainWindow, qtbot: QtBot) -> None:
    run(demo_window, SECOND, None, qtbot)
    demo_window.workspace.runs.keep()
    run(demo_window, FIRST, None, qtbot)
    turn(demo_window)
    qtbot.waitUntil(lambda: bool(tables(demo_window)[0].shown.rows))
    assert rows(tables(demo_window)[0])[2][1] == "0.667"


def test_what_fails_is_told(
    demo_window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise UserError("not enough memory")

    monkeypatch.setattr(jobs, "padding_job", fail)
    monkeypatch.setattr(jobs, "compare_sentences_job", fail)
    run(demo_window, FIRST, SECOND, qtbot)
    turn(demo_window)
    for name in ("sentenceWords", "paddingWords"):
        qtbot.waitUntil(lambda: label(demo_window, name).text() == "Not enough memory")  # noqa: B023
