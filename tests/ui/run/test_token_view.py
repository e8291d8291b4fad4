"""Token view: norm and cosines of the selected token and of pinned ones by layer."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtGui import QTextLayout
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton

from bertviewer.charts.chart import LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.similarity import token_path
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run.token_view import MAX_PINS
from bertviewer.ui.state.pages import Page
from tests.charts.runs import made_up
from tests.core.analysis.runs import demo_run, plain_cosine
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import ViewHarness

TEXT, OTHER = "the bank by the river was closed", "the old bank by the sea was closed"
FIELDS = {"normPath": "norms", "startPath": "to_start", "beforePath": "to_before"}


@pytest.fixture
def view(make_view: MakeView) -> ViewHarness:
    """Return the view of made-up runs."""
    return make_view(Page.TOKEN)


def charts(view: ViewHarness) -> list[LineChart]:
    return [view.chart(name, LineChart) for name in FIELDS]


def labels(view: ViewHarness) -> list[str]:
    return [line.label for line in charts(view)[0].lines]


def assert_lines(view: ViewHarness, run: ActivationRun, *tokens: int) -> None:
    """Check the lines of these tokens in all charts."""
    for chart, field in zip(charts(view), FIELDS.values(), strict=True):
        expected = [getattr(token_path(run, token), field) for token in tokens]
        assert [line.values for line in chart.lines] == expected


def pin(view: ViewHarness, *tokens: int) -> None:
    for token in tokens:
        view.select(token=token)
        view.click("pinToken")


def test_the_demo_model(demo_view: MakeView) -> None:
    view, text = demo_view(Page.TOKEN), "the cat sat on the mat"
    view.run(text)
    view.select("encoder.layer.3", token=2)
    vectors = [state[2] for state in demo_run(text).hidden_states]
    norm, start, before = (chart.lines[0] for chart in charts(view))
    assert norm.values == pytest.approx([float(np.linalg.norm(v)) for v in vectors], rel=1e-5)
    assert start.values == pytest.approx([plain_cosine(vectors[0], v) for v in vectors], abs=1e-5)
    steps = [plain_cosine(*two) for two in pairwise(vectors)]
    assert before.values[1:] == pytest.approx(steps, abs=1e-5)
    assert view.text("tokenTitle") == "cat (token 2, word 1)"
    # A click on a layer selects its module.
    view.find(LinePlot, "startPath").clicked.emit(start.keys[5])
    view.settle()
    assert view.place == SelectionKey("encoder.layer.4", 2)


def test_the_selected_token(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    for token, title in (
        (1, "the (token 1, word 0)"),
        (5, "river (token 5, word 4)"),
        (0, "[CLS] (token 0)"),
    ):
        view.select(token=token)
        assert view.text("tokenTitle") == title
        assert_lines(view, run, token)


def test_a_piece_names_its_word(view: ViewHarness) -> None:
    run = made_up("un ##seen")
    tokens = (run.tokens[0], *(replace(t, word=0) for t in run.tokens[1:3]), run.tokens[3])
    view.show_run(replace(run, tokens=tokens))
    view.select(token=2)
    assert view.text("tokenTitle") == "##seen (token 2, in word 0: unseen)"


def test_pinned_tokens_stay_next_to_the_selected_one(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    pin(view, 2, 5)
    view.select(token=4)
    assert labels(view) == ["bank (2)", "river (5)", "the (4)"]
    assert_lines(view, run, 2, 5, 4)
    # A pinned token that is selected has one line, and keeps its colour.
    view.select(token=5)
    assert labels(view) == ["bank (2)", "river (5)"]
    assert view.find(QToolButton, "pinToken").isChecked()
    pin(view, 2)  # a second time unpins
    assert labels(view) == ["river (5)", "bank (2)"]
    view.click("unpinTokens")
    assert labels(view) == ["bank (2)"]
    assert view.find(QToolButton, "unpinTokens").isHidden()


def test_the_number_of_pins_is_limited(view: ViewHarness) -> None:
    view.show_run(made_up(TEXT))
    pin(view, *range(MAX_PINS))
    view.select(token=MAX_PINS)
    button = view.find(QToolButton, "pinToken")
    assert not button.isEnabled()
    assert len(labels(view)) == MAX_PINS + 1
    view.select(token=0)
    assert button.isEnabled()  # to unpin it


def test_pins_follow_their_tokens_into_another_run(view: ViewHarness) -> None:
    view.show_run(made_up(TEXT))
    pin(view, 2, 5)
    view.show_run(made_up(OTHER))
    view.select(token=1)
    assert labels(view) == ["bank (3)", "the (1)"]
    view.workspace.architecture_changed.emit(view.workspace.architecture)
    view.view.refresh()
    view.settle()
    assert labels(view) == ["the (1)"]


def test_two_runs(view: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    view.keep(a)
    view.show_run(b)
    view.select(token=3)
    norms = charts(view)[0]
    assert [(line.label, line.style) for line in norms.lines] == [
        ("B · bank (3, A 2)", "solid"),
        ("A · bank (3, A 2)", "dashed"),
    ]
    assert norms.lines[0].values == token_path(b, 3).norms
    assert norms.lines[1].values == token_path(a, 2).norms
    view.compare("difference")
    start = charts(view)[1]
    mine, other = token_path(b, 3).to_start, token_path(a, 2).to_start
    expected = [x - y for x, y in zip(mine, other, strict=True) if x is not None and y is not None]
    assert start.lines[0].values == pytest.approx(expected)
    assert start.y_title == "Cosine to embedding, B − A"


def test_a_token_that_the_baseline_lacks(view: ViewHarness) -> None:
    view.keep(made_up(TEXT))
    view.show_run(made_up(OTHER, seed=1))
    view.select(token=6)
    assert view.text("tokenTitle") == "sea (token 6, word 5): not in A"
    assert labels(view) == ["sea (6)"]
    view.compare("difference")
    assert view.messages() == ["This token is not in A."] * 3
    # Each message has a button that shows both runs.
    view.panel("normPath").findChildren(QPushButton, "chartMessageAction")[0].click()
    view.settle()
    assert view.workspace.runs.comparison == "overlay"
    assert view.messages() == []


def test_the_nearest_tokens_at_the_selected_module(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(run)
    view.select("layer.1.attention", token=2)
    state = run.hidden_states[2]
    best = max((n for n in range(9) if n != 2), key=lambda n: plain_cosine(state[2], state[n]))
    text, cosine = view.text("nearestTokens"), plain_cosine(state[2], state[best])
    assert text.startswith(f"Nearest at layer 1:  {run.tokens[best].text} ({best}) {cosine:.3f}  ·")
    assert text.count("(") == 5


def test_right_to_left_tokens_are_isolated_in_texts_but_not_in_data(view: ViewHarness) -> None:
    view.show_run(made_up("bank ##م"))
    view.select(token=1)
    assert "\u2066##م\u2069 (2) " in view.text("nearestTokens")
    view.select(token=2)
    assert labels(view) == ["\u2066##م\u2069 (2)"]
    header, _ = charts(view)[0].table()
    assert header == ("Layer", "##م (2), Norm")


def test_without_comparable_hidden_states(view: ViewHarness) -> None:
    run = made_up(TEXT)
    view.show_run(replace(run, hidden_states=()))
    assert view.messages() == ["The hidden states of this model differ in size."] * 2
    assert view.panel("normPath").charts
    view.show_run(replace(run, hidden_states=(), token_norms=()))
    assert view.messages() == ["This model has no hidden states."] * 3
    assert view.text("tokenTitle") == ""
    view.show_run(run)
    assert view.messages() == []


@pytest.mark.parametrize("piece", ["##م", "##ום", "▁م"])
def test_a_right_to_left_piece_is_drawn_after_its_mark_and_before_its_position(
    qapp: QApplication, piece: str
) -> None:
    line = f"first  ·  {isolated(piece)} (3)"
    layout = QTextLayout(line)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()

    def left(part: str) -> float:
        # The position of the glyph; a cursor between two directions has two.
        [glyphs] = layout.glyphRuns(line.index(part), 1)
        return min(place.x() for place in glyphs.positions())

    mark, letter = piece[0], piece[-1]
    assert left("·") < left(mark) < left(letter) < left("(") < left("3") < left(")")
