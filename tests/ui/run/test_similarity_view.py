"""Similarity view: cosines of all tokens at a layer, and of two tokens or words at all layers."""

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QSlider, QToolButton

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.similarity import cosine_matrix, token_pair_path
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.state.pages import Page
from tests.charts.runs import LAYERS, made_up
from tests.core.analysis.runs import demo_run, plain_cosine
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import ViewHarness

TEXT, OTHER = "the bank by the river was closed", "the old bank by the sea was closed"


@pytest.fixture
def view(make_view: MakeView) -> ViewHarness:
    """Return the view of made-up runs."""
    return make_view(Page.SIMILARITY)


def line(view: ViewHarness) -> Line:
    return view.chart("pairPath", LineChart).lines[0]


def grid(view: ViewHarness) -> GridChart:
    return view.chart("similarityGrid", GridChart)


def slider(view: ViewHarness) -> QSlider:
    return view.find(QSlider, "stateChoice")


def move(view: ViewHarness, state: int) -> None:
    """Move the slider to a hidden state."""
    slider(view).setValue(state)
    view.settle()


def test_the_demo_model(demo_view: MakeView) -> None:
    view = demo_view(Page.SIMILARITY)
    text, pair = "He sat on the bank of the river.", "The bank lent money."
    view.run(text, pair)
    view.select("encoder.layer.2.attention", token=5)
    states = demo_run(text, pair).hidden_states
    cosines = [[plain_cosine(one, other) for other in states[3]] for one in states[3]]
    assert grid(view).values == pytest.approx(np.array(cosines), abs=1e-5)
    view.click("sameWord")
    assert view.items("sameWords") == ["the (4 ↔ 11)", "bank (5 ↔ 12)"]
    assert view.chosen("sameWords") == "bank (5 ↔ 12)"  # of the selected token
    expected = [plain_cosine(state[5], state[12]) for state in states]
    assert line(view).values == pytest.approx(expected, abs=1e-5)
    # A click on a layer selects its module, and the grid shows that layer.
    view.find(LinePlot, "pairPath").clicked.emit(line(view).keys[6])
    view.settle()
    assert view.place == SelectionKey("encoder.layer.5", 5)
    assert slider(view).value() == 6


def test_the_grid_follows_the_selected_module_from_the_last_state_on(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    assert slider(view).value() == LAYERS
    assert np.array_equal(grid(view).values, cosine_matrix(run.hidden_states[LAYERS]))
    for path, state in (("layer.1.attention", 2), ("embeddings", 0), ("pooler", 0), ("layer.0", 1)):
        view.select(path)
        assert slider(view).value() == state, path
        assert np.array_equal(grid(view).values, cosine_matrix(run.hidden_states[state]))


def test_the_slider_selects_the_module_of_a_state(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    for state, path, name in ((2, "layer.1", "layer 1"), (0, "embeddings", "embeddings")):
        move(view, state)
        assert view.place.path == path
        assert view.text("stateName") == name
        assert np.array_equal(grid(view).values, cosine_matrix(run.hidden_states[state]))


@pytest.mark.parametrize(
    ("paths", "selected"),
    [
        ((("embeddings",), *(("layer.0",),) * LAYERS), "layer.0"),  # one layer returns all states
        ((), "layer.1"),  # nothing is known about where states come from
    ],
)
def test_states_without_their_own_module(
    view: ViewHarness, paths: tuple[tuple[str, ...], ...], selected: str
) -> None:
    run = replace(made_up(TEXT), state_paths=paths)
    view.show_run(run)
    view.select(selected)
    for state in (2, 1):
        move(view, state)
        assert view.place.path == selected
        assert slider(view).value() == state
        assert np.array_equal(grid(view).values, cosine_matrix(run.hidden_states[state]))


def test_the_colour_scale(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(replace(run, hidden_states=tuple(map(np.abs, run.hidden_states))))
    assert (grid(view).levels, grid(view).is_signed) == ((-1.0, 1.0), True)
    view.click("wholeRange")
    assert (grid(view).levels, grid(view).is_signed) == ((0.0, 1.0), False)
    view.show_run(run)  # some cosines are negative
    assert (grid(view).levels, grid(view).is_signed) == ((-1.0, 1.0), True)


def test_a_click_on_a_cell_compares_its_two_tokens(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    plot = view.find(TokenMatrix, "similarityGrid")
    for cell, tokens in (
        ((2, 5), (5, 2)),
        ((7, 5), (5, 7)),  # the selected column again
        ((1, 1), (1, 7)),  # one token is no pair: the other one stays
        ((7, 7), (7, 1)),  # the two are swapped
    ):
        plot.paired.emit(*cell)
        plot.clicked.emit(grid(view).key(*cell))
        view.settle()
        assert view.place.token == cell[1]
        assert line(view).values == token_pair_path(run, *tokens), cell
    plot.paired.emit(2, 5)
    plot.clicked.emit(grid(view).key(2, 5))
    view.settle()
    assert view.chosen("otherToken") == "bank (2)"
    assert line(view).label == "river (5) – bank (2)"


def most_similar(state: np.ndarray, token: int) -> int:
    others = (n for n in range(len(state)) if n != token)
    return max(others, key=lambda n: plain_cosine(state[token], state[n]))


def test_the_most_similar_token_is_the_first_choice(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    best = most_similar(run.hidden_states[-1], 1)
    assert view.chosen("otherToken") == f"{run.tokens[best].text} ({best})"
    view.choose("otherToken", "was (6)")
    assert line(view).values == token_pair_path(run, 1, 6)
    view.select(token=6)
    assert line(view).values == token_pair_path(run, 6, 1)


def test_two_runs(view: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    view.keep(a)
    view.show_run(b)
    view.select(token=3)
    view.choose("otherToken", "closed (8)")
    of_b, of_a = view.charts("similarityGrid", GridChart)
    assert np.array_equal(of_b.values, cosine_matrix(b.hidden_states[-1]))
    assert np.array_equal(of_a.values, cosine_matrix(a.hidden_states[-1]))
    lines = view.chart("pairPath", LineChart).lines
    label = "bank (3, A 2) – closed (8, A 7)"
    assert [each.label for each in lines] == [f"B · {label}", f"A · {label}"]
    assert lines[1].values == token_pair_path(a, 2, 7)


def test_difference_of_the_same_tokens(view: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    view.keep(a)
    view.show_run(b)
    view.choose("otherToken", "by (4)")
    view.compare("difference")
    assert view.chosen("otherToken") == "by (4)"
    mine, other = (cosine_matrix(run.hidden_states[-1]) for run in (b, a))
    values = grid(view).values
    assert values[3, 8] == pytest.approx(mine[3, 8] - other[2, 7])
    assert values[8, 3] == pytest.approx(values[3, 8])
    # "old" and "sea" are not in A.
    missing = [2, 6]
    assert np.isnan(values[missing]).all()
    assert np.isnan(values[:, missing]).all()
    assert np.isfinite(np.delete(np.delete(values, missing, 0), missing, 1)).all()
    assert not view.is_enabled("wholeRange")
    view.select(token=6)
    assert view.messages() == ["These tokens are not in A."]


def test_without_hidden_states(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(replace(run, hidden_states=()))
    assert view.messages() == ["This model has no hidden states of equal size to compare."]
    assert not slider(view).isVisible()
    view.show_run(run)
    assert view.messages() == []
    assert slider(view).isVisible()


def test_hidden_states_that_are_not_finite(view: ViewHarness) -> None:
    run = made_up(TEXT)
    first, second, *others = run.hidden_states
    view.show_run(replace(run, hidden_states=(first, second, *(each * np.nan for each in others))))
    assert view.messages()[0].startswith("No cosine is defined here")
    # The other token is chosen by the last state that is finite.
    best = most_similar(second, 1)
    assert view.chosen("otherToken") == f"{run.tokens[best].text} ({best})"
    move(view, 1)
    assert view.messages() == []
    assert np.array_equal(grid(view).values, cosine_matrix(second))


def test_one_word_in_both_sentences(view: ViewHarness) -> None:
    run = made_up(TEXT, "a river has a bank")
    view.show_run(run)
    view.click("sameWord")
    assert view.items("sameWords") == ["bank (2 ↔ 13)", "river (5 ↔ 10)"]
    view.choose("sameWords", "river (5 ↔ 10)")
    assert view.place.token == 5
    assert line(view).values == token_pair_path(run, 5, 10)
    view.select(token=13)  # a token of the second sentence
    assert line(view).values == token_pair_path(run, 2, 13)


def test_a_token_of_the_same_text_chooses_the_word(view: ViewHarness) -> None:
    run = made_up("a bank or another bank", "no bank")
    view.show_run(run)
    view.click("sameWord")
    view.select(token=5)  # which has no partner
    assert line(view).values == token_pair_path(run, 2, 8)


def test_one_word_in_both_runs(view: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    view.keep(a)
    view.show_run(b)
    view.click("sameWord")
    view.choose("sameWords", "bank (3 ↔ A 2)")
    assert line(view).values == token_pair_path(b, 3, 2, a)
    assert line(view).style == "solid"


@pytest.mark.parametrize(
    ("text", "pair", "baseline", "beginning"),
    [
        ("a bank", "", "", "Add a second sentence"),
        ("a bank", "no river", "", "The two sentences have no word in common."),
        ("no river", "", "a bank", "A and B have no word in common."),
    ],
)
def test_without_a_common_word_there_is_a_way_back_to_tokens(
    view: ViewHarness, text: str, pair: str, baseline: str, beginning: str
) -> None:
    if baseline:
        view.keep(made_up(baseline))
    view.show_run(made_up(text, pair))
    view.click("sameWord")
    assert view.messages()[0].startswith(beginning)
    view.click("chartMessageAction")
    assert view.find(QToolButton, "twoTokens").isChecked()
    if not baseline:
        assert view.messages() == []
        assert view.panel("pairPath").charts
