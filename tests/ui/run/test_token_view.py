"""The selected token's path, and those that are pinned beside it."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtGui import QTextLayout
from PySide6.QtWidgets import QApplication, QLabel, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.similarity import token_path
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.token_view import MAX_PINS, TokenView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.charts.runs import made_up
from tests.core.analysis.runs import demo_run, plain_cosine
from tests.ui.finding import bring_view, find, is_drawn
from tests.ui.run.view_harness import ViewHarness

NAMES = ("normPath", "startPath", "beforePath")
TEXT = "the bank by the river was closed"


@pytest.fixture
def harness(worker: Worker, qtbot: QtBot) -> ViewHarness:
    return ViewHarness(TokenView(Workspace(worker)), qtbot)


def charts(view: QWidget) -> list[LineChart]:
    found = [find(view, LinePlot, name).chart for name in NAMES]
    assert all(chart is not None for chart in found)
    return [chart for chart in found if chart is not None]


def labels(harness: ViewHarness) -> list[str]:
    return [line.label for line in charts(harness.view)[0].lines]


def title(harness: ViewHarness) -> str:
    return find(harness.view, QLabel, "tokenTitle").text()


def pin(harness: ViewHarness, *tokens: int) -> None:
    for token in tokens:
        harness.workspace.selection.go(SelectionKey(token=token))
        harness.draw()
        find(harness.view, QToolButton, "pinToken").click()
        harness.draw()


def pins(harness: ViewHarness) -> tuple[int, ...]:
    assert isinstance(harness.view, TokenView)
    return harness.view.pins


def compare(harness: ViewHarness, a: ActivationRun, b: ActivationRun, how: str) -> None:
    harness.keep(a)
    harness.workspace.runs.comparison = "difference" if how == "difference" else "overlay"
    harness.run(b)


def test_the_demo_models_figures(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    window, text = demo_window, "the cat sat on the mat"
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    bring_view(window, "Token")
    window.workspace.selection.go(SelectionKey("encoder.layer.3", token=2))
    qtbot.waitUntil(lambda: is_drawn(window))
    vectors = [state[2] for state in demo_run(text).hidden_states]
    norm, start, before = charts(window)
    plain = [float(np.linalg.norm(v)) for v in vectors]
    assert norm.lines[0].values == pytest.approx(plain, rel=1e-5)
    plain = [plain_cosine(vectors[0], v) for v in vectors]
    assert start.lines[0].values == pytest.approx(plain, abs=1e-5)
    plain = [plain_cosine(*two) for two in pairwise(vectors)]
    assert before.lines[0].values[1:] == pytest.approx(plain, abs=1e-5)
    assert find(window, QLabel, "tokenTitle").text() == "cat (token 2, word 1)"
    # A click on a layer selects its module, and the tree follows.
    find(window, LinePlot, "startPath").clicked.emit(start.lines[0].keys[5])
    assert window.workspace.selection.place == SelectionKey("encoder.layer.4", 2)


def test_it_follows_the_selected_token(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    assert title(harness) == "the (token 1, word 0)"
    harness.workspace.selection.go(SelectionKey(token=5))
    harness.draw()
    assert title(harness) == "river (token 5, word 4)"
    path = token_path(run, 5)
    found = [chart.lines[0].values for chart in charts(harness.view)]
    assert found == [path.norms, path.to_start, path.to_before]
    harness.workspace.selection.go(SelectionKey(token=0))
    harness.draw()
    assert title(harness) == "[CLS] (token 0)"


def test_a_piece_names_its_word(harness: ViewHarness) -> None:
    run = made_up("un ##seen")
    tokens = (run.tokens[0], *(replace(t, word=0) for t in run.tokens[1:3]), run.tokens[3])
    harness.run(replace(run, tokens=tokens))
    harness.workspace.selection.go(SelectionKey(token=2))
    harness.draw()
    assert title(harness) == "##seen (token 2, in word 0: unseen)"


def test_pinned_tokens_stay_beside_the_selected_one(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    pin(harness, 2, 5)
    harness.workspace.selection.go(SelectionKey(token=4))
    harness.draw()
    assert labels(harness) == ["bank (2)", "river (5)", "the (4)"]
    for chart, name in zip(charts(harness.view), ("norms", "to_start", "to_before"), strict=True):
        for line, token in zip(chart.lines, (2, 5, 4), strict=True):
            assert line.values == getattr(token_path(run, token), name)
    # A pinned one that is selected is there once, and keeps its colour.
    harness.workspace.selection.go(SelectionKey(token=5))
    harness.draw()
    assert labels(harness) == ["bank (2)", "river (5)"]
    assert find(harness.view, QToolButton, "pinToken").isChecked()
    pin(harness, 2)  # once more is no longer
    assert labels(harness) == ["river (5)", "bank (2)"]
    find(harness.view, QToolButton, "unpinTokens").click()
    harness.draw()
    assert labels(harness) == ["bank (2)"]
    assert find(harness.view, QToolButton, "unpinTokens").isHidden()


def test_no_more_pins_than_there_are_colours(harness: ViewHarness) -> None:
    harness.run(made_up(TEXT))
    pin(harness, *range(MAX_PINS))
    harness.workspace.selection.go(SelectionKey(token=MAX_PINS))
    harness.draw()
    button = find(harness.view, QToolButton, "pinToken")
    assert not button.isEnabled()
    assert len(labels(harness)) == MAX_PINS + 1
    harness.workspace.selection.go(SelectionKey(token=0))
    harness.draw()
    assert button.isEnabled()  # to be unpinned


def test_pins_follow_their_tokens_into_another_run(harness: ViewHarness) -> None:
    harness.run(made_up(TEXT))
    pin(harness, 2, 5)
    harness.run(made_up("the old bank by the sea was closed"))
    assert pins(harness) == (3,)
    harness.workspace.architecture_changed.emit(harness.workspace.architecture)
    assert pins(harness) == ()
    harness.draw()


def test_run_a_is_drawn_over_it(harness: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up("the old bank by the sea was closed", seed=1)
    compare(harness, a, b, "overlay")
    harness.workspace.selection.go(SelectionKey(token=3))
    harness.draw()
    norms = charts(harness.view)[0]
    assert [(line.label, line.style) for line in norms.lines] == [
        ("B · bank (3, A 2)", "solid"),
        ("A · bank (3, A 2)", "dashed"),
    ]
    assert norms.lines[0].values == token_path(b, 3).norms
    assert norms.lines[1].values == token_path(a, 2).norms


def test_the_difference_from_run_a(harness: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up("the old bank by the sea was closed", seed=1)
    compare(harness, a, b, "difference")
    harness.workspace.selection.go(SelectionKey(token=3))
    harness.draw()
    start = charts(harness.view)[1]
    mine, other = (token_path(r, t).to_start for r, t in ((b, 3), (a, 2)))
    plain = [x - y for x, y in zip(mine, other, strict=True) if x is not None and y is not None]
    assert start.lines[0].values == pytest.approx(plain)
    assert start.y_title == "Cosine to embedding, B − A"


def test_a_token_that_run_a_lacks(harness: ViewHarness) -> None:
    a, b = made_up(TEXT), made_up("the bank by the sea was closed", seed=1)
    compare(harness, a, b, "overlay")
    harness.workspace.selection.go(SelectionKey(token=5))
    harness.draw()
    assert title(harness) == "sea (token 5, word 4): not in A"
    assert labels(harness) == ["sea (5)"]
    harness.workspace.runs.compare("difference")
    harness.draw()
    assert messages(harness) == ["This token is not in A."] * 3


def test_the_nearest_tokens_where_the_selected_module_is(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(run)
    harness.workspace.selection.go(SelectionKey("layer.1.attention", token=2))
    harness.draw()
    state = run.hidden_states[2]
    best = max((n for n in range(9) if n != 2), key=lambda n: plain_cosine(state[2], state[n]))
    text = find(harness.view, QLabel, "nearestTokens").text()
    cosine = plain_cosine(state[2], state[best])
    assert text.startswith(f"Nearest at layer 1:  {run.tokens[best].text} ({best}) {cosine:.3f}  ·")
    assert text.count("(") == 5


def test_the_nearest_tokens_from_right_to_left_keep_to_their_places(harness: ViewHarness) -> None:
    harness.run(made_up("bank ##م"))
    harness.workspace.selection.go(SelectionKey(token=1))
    harness.draw()
    text = find(harness.view, QLabel, "nearestTokens").text()
    assert "\u2066##م\u2069 (2) " in text
    harness.workspace.selection.go(SelectionKey(token=2))
    harness.draw()
    assert labels(harness) == ["\u2066##م\u2069 (2)"]
    header, _ = charts(harness.view)[0].table()
    assert header == ("Layer", "##م (2), Norm")


def messages(harness: ViewHarness) -> list[str]:
    labels = [find(panel, QLabel, "chartMessage") for panel in panels(harness)]
    return [label.text() for label in labels if label.isVisible()]


def panels(harness: ViewHarness) -> list[ChartPanel]:
    found = {panel.plot.objectName(): panel for panel in harness.view.findChildren(ChartPanel)}
    return [found[name] for name in NAMES]


def test_states_of_several_sizes_have_norms_only(harness: ViewHarness) -> None:
    run = made_up(TEXT)
    harness.run(replace(run, hidden_states=()))
    assert messages(harness) == ["The hidden states of this model differ in size."] * 2
    assert find(harness.view, LinePlot, "normPath").chart is not None
    harness.run(run)
    assert messages(harness) == []


def test_without_states_it_says_so(harness: ViewHarness) -> None:
    harness.run(replace(made_up(TEXT), hidden_states=(), token_norms=()))
    assert messages(harness) == ["This model has no hidden states."] * 3
    assert title(harness) == ""


@pytest.mark.parametrize("piece", ["##م", "##ום", "▁م"])
def test_the_mark_of_a_piece_is_drawn_before_it_and_its_place_after_it(
    qapp: QApplication, piece: str
) -> None:
    """From left to right, as in a cell of the tokens: the mark, the letters, the number."""
    line = f"first  ·  {isolated(piece)} (3)"
    layout = QTextLayout(line)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()

    def left(part: str) -> float:
        # Where it is drawn; a cursor between two directions has two places.
        [glyphs] = layout.glyphRuns(line.index(part), 1)
        return min(place.x() for place in glyphs.positions())

    mark, letter = piece[0], piece[-1]
    assert left("·") < left(mark) < left(letter) < left("(") < left("3") < left(")")
