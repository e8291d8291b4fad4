"""Cosines of all tokens at a layer, and of two places at all layers."""

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSlider, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart, Line
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.similarity import cosine_matrix, token_pair_path
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.similarity_view import SimilarityView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.charts.runs import LAYERS, made_up
from tests.core.analysis.runs import demo_run, plain_cosine
from tests.ui.finding import bring_view, find, is_drawn
from tests.ui.run.view_harness import ViewHarness

TEXT, OTHER = "the bank by the river was closed", "the old bank by the sea was closed"


def line(harness: ViewHarness) -> Line:
    chart = find(harness.view, LinePlot, "pairPath").chart
    assert chart is not None
    return chart.lines[0]


def choice(harness: ViewHarness, name: str) -> QComboBox:
    return find(harness.view, QComboBox, name)


def choose(harness: ViewHarness, name: str, index: int) -> None:
    """Choose an entry as a person does."""
    choice(harness, name).setCurrentIndex(index)
    choice(harness, name).activated.emit(index)
    harness.draw()


def messages(harness: ViewHarness) -> list[str]:
    labels = harness.view.findChildren(QLabel, "chartMessage")
    return [label.text() for label in labels if label.isVisible()]


@pytest.fixture
def harness(worker: Worker, qtbot: QtBot) -> ViewHarness:
    return ViewHarness(SimilarityView(Workspace(worker)), qtbot)


def grid(harness: ViewHarness) -> GridChart:
    chart = find(harness.view, TokenMatrix, "similarityGrid").chart
    assert chart is not None
    return chart


def slider(harness: ViewHarness) -> QSlider:
    return find(harness.view, QSlider, "stateChoice")


def test_the_demo_models_figures(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    window = demo_window
    text, pair = "He sat on the bank of the river.", "The bank lent money."
    window.set_sentence(text, pair)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    bring_view(window, "Similarity")
    window.workspace.selection.go(SelectionKey("encoder.layer.2.attention", token=5))
    qtbot.waitUntil(lambda: is_drawn(window))
    states = demo_run(text, pair).hidden_states
    chart = find(window, TokenMatrix, "similarityGrid").chart
    assert chart is not None
    plain = np.array([[plain_cosine(one, other) for other in states[3]] for one in states[3]])
    assert chart.values == pytest.approx(plain, abs=1e-5)
    find(window, QToolButton, "sameWord").click()
    qtbot.waitUntil(lambda: is_drawn(window))
    words = find(window, QComboBox, "sameWords")
    assert [words.itemText(n) for n in range(words.count())] == [
        "the (4 ↔ 11)",
        "bank (5 ↔ 12)",
    ]
    assert words.currentText() == "bank (5 ↔ 12)"  # it is the selected token's
    path = find(window, LinePlot, "pairPath").chart
    assert path is not None
    plain_path = [plain_cosine(state[5], state[12]) for state in states]
    assert path.lines[0].values == pytest.approx(plain_path, abs=1e-5)
    # A click on a layer selects its module, and the grid shows what that gave.
    find(window, LinePlot, "pairPath").clicked.emit(path.lines[0].keys[6])
    qtbot.waitUntil(lambda: is_drawn(window))
    assert window.workspace.selection.place == SelectionKey("encoder.layer.5", 5)
    assert find(window, QSlider, "stateChoice").value() == 6


def test_the_last_state_comes_first_and_the_selected_module_leads(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    assert slider(harness).value() == LAYERS
    assert np.array_equal(grid(harness).values, cosine_matrix(run.hidden_states[LAYERS]))
    for path, state in (("layer.1.attention", 2), ("embeddings", 0), ("pooler", 0), ("layer.0", 1)):
        harness.workspace.selection.go(SelectionKey(path))
        harness.draw()
        assert slider(harness).value() == state, path
        assert np.array_equal(grid(harness).values, cosine_matrix(run.hidden_states[state]))


def test_the_slider_selects_the_module(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    slider(harness).setValue(2)
    harness.draw()
    assert harness.workspace.selection.place.path == "layer.1"
    assert np.array_equal(grid(harness).values, cosine_matrix(run.hidden_states[2]))
    assert find(harness.view, QLabel, "stateName").text() == "layer 1"
    slider(harness).setValue(0)
    harness.draw()
    assert harness.workspace.selection.place.path == "embeddings"
    assert find(harness.view, QLabel, "stateName").text() == "embeddings"


def test_a_layer_that_gives_all_states_lets_the_slider_choose(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    run = replace(run, state_paths=(("embeddings",), *(("layer.0",),) * LAYERS))
    harness.run(run)
    for state in (2, 1):
        slider(harness).setValue(state)
        harness.draw()
        assert harness.workspace.selection.place.path == "layer.0"
        assert slider(harness).value() == state
        assert np.array_equal(grid(harness).values, cosine_matrix(run.hidden_states[state]))


def test_a_state_of_which_no_module_is_known_can_be_chosen(harness: ViewHarness) -> None:
    run = replace(made_up(TEXT), state_paths=())
    harness.run(run)
    harness.workspace.selection.go(SelectionKey("layer.1"))
    slider(harness).setValue(1)
    harness.draw()
    assert harness.workspace.selection.place.path == "layer.1"
    assert np.array_equal(grid(harness).values, cosine_matrix(run.hidden_states[1]))


def test_colours_as_they_are_chosen(harness: ViewHarness) -> None:
    harness.run(made_up(TEXT))
    assert grid(harness).levels == (-1.0, 1.0)
    find(harness.view, QCheckBox, "wholeRange").click()
    harness.draw()
    assert grid(harness).levels == (float(grid(harness).values.min()), 1.0)


def test_a_click_on_a_cell_shows_its_two_tokens(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    plot = find(harness.view, TokenMatrix, "similarityGrid")

    def click(row: int, column: int) -> None:
        plot.paired.emit(row, column)
        plot.clicked.emit(grid(harness).key(row, column))
        harness.draw()

    click(2, 5)
    assert harness.workspace.selection.token == 5
    assert choice(harness, "otherToken").currentText() == "bank (2)"
    assert line(harness).label == "river (5) – bank (2)"
    assert line(harness).values == token_pair_path(run, 5, 2)
    click(7, 5)  # the selected column again
    assert line(harness).values == token_pair_path(run, 5, 7)
    click(1, 1)  # one token is no pair
    assert line(harness).values == token_pair_path(run, 1, 7)
    click(7, 7)
    assert line(harness).values == token_pair_path(run, 7, 1)


def test_the_most_similar_token_is_the_first_choice(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    last = run.hidden_states[-1]
    best = max((n for n in range(9) if n != 1), key=lambda n: plain_cosine(last[1], last[n]))
    assert choice(harness, "otherToken").currentIndex() == best
    choose(harness, "otherToken", 6)
    assert line(harness).values == token_pair_path(run, 1, 6)
    # To select the other one swaps the two.
    harness.workspace.selection.go(SelectionKey(token=6))
    harness.draw()
    assert line(harness).values == token_pair_path(run, 6, 1)


def test_run_a_beside_it(harness: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    harness.keep(a)
    harness.run(b)
    harness.workspace.selection.go(SelectionKey(token=3))
    choose(harness, "otherToken", 8)
    plot = find(harness.view, TokenMatrix, "similarityGrid")
    (panel,) = [p for p in harness.view.findChildren(ChartPanel) if p.plot is plot]
    of_b, of_a = panel.charts
    assert isinstance(of_b, GridChart)
    assert isinstance(of_a, GridChart)
    assert np.array_equal(of_b.values, cosine_matrix(b.hidden_states[-1]))
    assert np.array_equal(of_a.values, cosine_matrix(a.hidden_states[-1]))
    chart = find(harness.view, LinePlot, "pairPath").chart
    assert chart is not None
    label = "bank (3, A 2) – closed (8, A 7)"
    assert [one.label for one in chart.lines] == [f"B · {label}", f"A · {label}"]
    assert chart.lines[1].values == token_pair_path(a, 2, 7)


def test_the_difference_is_of_the_same_tokens(harness: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    harness.keep(a)
    harness.workspace.runs.compare("difference")
    harness.run(b)
    mine, other = (cosine_matrix(run.hidden_states[-1]) for run in (b, a))
    values = grid(harness).values
    assert values[3, 8] == pytest.approx(mine[3, 8] - other[2, 7])
    assert values[8, 3] == pytest.approx(values[3, 8])
    # "old" and "sea" are not in A.
    assert np.isnan(values[[2, 6]]).all()
    assert np.isnan(values[:, [2, 6]]).all()
    assert np.isfinite(np.delete(np.delete(values, [2, 6], 0), [2, 6], 1)).all()
    assert not find(harness.view, QCheckBox, "wholeRange").isEnabled()
    harness.workspace.selection.go(SelectionKey(token=6))
    harness.draw()
    assert messages(harness) == ["These tokens are not in A."]


def test_how_runs_are_compared_does_not_change_the_other_token(harness: ViewHarness) -> None:
    harness.keep(made_up(TEXT))
    harness.run(made_up(OTHER, seed=1))
    choose(harness, "otherToken", 5)
    harness.workspace.runs.compare("difference")
    harness.draw()
    assert choice(harness, "otherToken").currentIndex() == 5


def test_without_states_it_says_so(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(replace(run, hidden_states=()))
    assert messages(harness) == ["This model has no hidden states of equal size to compare."]
    assert not slider(harness).isVisible()
    harness.run(run)
    assert messages(harness) == []
    assert slider(harness).isVisible()


def test_states_that_are_not_finite(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    first, second, *others = run.hidden_states
    broken = replace(run, hidden_states=(first, second, *(one * np.nan for one in others)))
    harness.run(broken)
    (told,) = messages(harness)
    assert "No cosine is defined here" in told
    # The other token is chosen where there is something to choose by.
    best = max((n for n in range(9) if n != 1), key=lambda n: plain_cosine(second[1], second[n]))
    assert choice(harness, "otherToken").currentIndex() == best
    slider(harness).setValue(1)
    harness.draw()
    assert messages(harness) == []
    assert np.array_equal(grid(harness).values, cosine_matrix(second))


def press(harness: ViewHarness, name: str) -> None:
    find(harness.view, QToolButton, name).click()
    harness.draw()


def test_one_word_in_both_sentences(harness: ViewHarness) -> None:
    run = made_up(TEXT, "a river has a bank")
    harness.run(run)
    press(harness, "sameWord")
    words = choice(harness, "sameWords")
    assert [words.itemText(n) for n in range(words.count())] == ["bank (2 ↔ 13)", "river (5 ↔ 10)"]
    choose(harness, "sameWords", 1)
    assert harness.workspace.selection.token == 5
    assert line(harness).values == token_pair_path(run, 5, 10)
    # A token of the second sentence is as good.
    harness.workspace.selection.go(SelectionKey(token=13))
    harness.draw()
    assert line(harness).values == token_pair_path(run, 2, 13)


def test_another_token_of_the_same_text_means_the_same_word(harness: ViewHarness) -> None:
    run = made_up("a bank or another bank", "no bank")
    harness.run(run)
    press(harness, "sameWord")
    harness.workspace.selection.go(SelectionKey(token=5))  # has no partner of its own
    harness.draw()
    assert line(harness).values == token_pair_path(run, 2, 8)


def test_one_word_in_both_runs(harness: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    harness.keep(a)
    harness.run(b)
    press(harness, "sameWord")
    words = choice(harness, "sameWords")
    texts = [words.itemText(n) for n in range(words.count())]
    assert "bank (3 ↔ A 2)" in texts
    choose(harness, "sameWords", texts.index("bank (3 ↔ A 2)"))
    assert line(harness).values == token_pair_path(b, 3, 2, a)
    assert line(harness).style == "solid"


@pytest.mark.parametrize(
    ("text", "pair", "beginning"),
    [
        ("a bank", "", "Add a second sentence"),
        ("a bank", "no river", "The two sentences have no word in common."),
    ],
)
def test_no_word_in_both_sentences(
    harness: ViewHarness, text: str, pair: str, beginning: str
) -> None:
    harness.run(made_up(text, pair))
    press(harness, "sameWord")
    (message,) = messages(harness)
    assert message.startswith(beginning)
    assert choice(harness, "sameWords").isHidden()
    press(harness, "twoTokens")
    assert messages(harness) == []


def test_no_word_in_both_runs(harness: ViewHarness) -> None:
    harness.keep(made_up("a bank"))
    harness.run(made_up("no river"))
    press(harness, "sameWord")
    assert messages(harness) == ["A and B have no word in common."]


def test_a_pair_that_nothing_separates(harness: ViewHarness) -> None:
    run = made_up("a bank", "a bank")
    # As of GPT-2: one segment, and the tokenizer knows which text a token is of.
    tokens = (replace(t, segment=0, sentence=t.segment) for t in run.tokens if t.text != "[SEP]")
    run = replace(run, tokens=tuple(tokens))
    run = replace(run, hidden_states=tuple(state[:5] for state in run.hidden_states))
    harness.run(run)
    press(harness, "sameWord")
    words = choice(harness, "sameWords")
    assert [words.itemText(n) for n in range(words.count())] == ["a (1 ↔ 3)", "bank (2 ↔ 4)"]
