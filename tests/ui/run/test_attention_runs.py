"""The attention of two runs, in the window: side by side, and what B has more than A."""

from typing import Any

import numpy as np
import pytest
from PySide6.QtWidgets import QToolButton, QWidget

from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run import jobs
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find
from tests.ui.run.attention_window import (
    A,
    B,
    Settle,
    charts,
    choose,
    eager,
    head,
    heads,
    plain_entropies,
    run,
    show_layer_2,
    titles,
    view_of,
)


@pytest.fixture
def shown(demo_window: MainWindow, settle: Settle) -> MainWindow:
    show_layer_2(demo_window, settle)
    return demo_window


def test_runs_side_by_side(shown: MainWindow, settle: Settle) -> None:
    shown.workspace.runs.keep()
    run(shown, settle, A)
    b, a = charts(shown, "headGrid")
    assert b.values == pytest.approx(eager(A)[2], abs=1e-5)
    assert a.values == pytest.approx(eager(B)[2], abs=1e-5)
    assert b.levels == a.levels == (0.0, max(a.values.max(), b.values.max()))
    b, a = charts(shown, "headPlot")
    assert b.values == pytest.approx(eager(A)[2][0], abs=1e-5)
    assert a.levels == b.levels
    entropies = [plain_entropies(eager(text)[2])[0] for text in (A, B)]
    assert any("H {:.3f} (A {:.3f}) nats".format(*entropies) in t for t in titles(shown))


def test_plots_have_names_for_those_who_do_not_see_them(shown: MainWindow, settle: Settle) -> None:
    def names(kind: type[QWidget]) -> list[str]:
        plots = [plot for plot in view_of(shown).findChildren(kind) if plot.isVisible()]
        return sorted(plot.accessibleName() for plot in plots)

    assert names(HeadGrid) == ["Heads: entropy H, distance d"]
    assert [name.partition(":")[0] for name in names(TokenMatrix)] == ["Head 0"]
    shown.workspace.runs.keep()
    run(shown, settle, A)
    assert names(HeadGrid) == ["Heads, A", "Heads, B"]
    assert [name[-3:] for name in names(TokenMatrix)] == [", A", ", B"]


def test_of_two_runs_only_the_new_one_is_computed(
    shown: MainWindow, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    compute = jobs.attention_job

    def seen(layer: Any, model: Any, watched: Any, progress: Any) -> Any:
        computed.append(watched.run.sentence.text)
        return compute(layer, model, watched, progress)

    monkeypatch.setattr(jobs, "attention_job", seen)
    shown.workspace.runs.keep()
    settle()
    assert computed == []
    run(shown, settle, A)
    assert computed == [A]
    run(shown, settle, "the bank")
    assert computed == [A, "the bank"]
    b, a = charts(shown, "headGrid")
    assert a.values == pytest.approx(eager(B)[2], abs=1e-5)
    assert b.values == pytest.approx(eager("the bank")[2], abs=1e-5)
    choose(shown, settle, "layer 3")
    assert sorted(computed[2:]) == sorted(["the bank", B])
    b, a = charts(shown, "headGrid")
    assert a.values == pytest.approx(eager(B)[3], abs=1e-5)
    shown.workspace.runs.drop()
    settle()
    assert len(computed) == 4
    assert heads(shown).values == pytest.approx(eager("the bank")[3], abs=1e-5)


def test_the_title_tells_what_stands_above_the_heads(shown: MainWindow, settle: Settle) -> None:
    assert "Heads: entropy H, distance d" in titles(shown)
    shown.workspace.runs.keep()
    run(shown, settle, A)
    assert "Heads" in titles(shown)
    shown.workspace.runs.compare("difference")
    settle()
    assert "Heads, B − A, each with its own colour range" in titles(shown)


def test_their_difference_is_of_the_same_tokens(shown: MainWindow, settle: Settle) -> None:
    shown.workspace.runs.keep()
    run(shown, settle, "the bank by the sea was closed")
    shown.workspace.runs.compare("difference")
    settle()
    expected = eager("the bank by the sea was closed")[2] - eager(B)[2]
    expected[:, 5] = expected[:, :, 5] = np.nan  # the sea is no river
    assert heads(shown).values == pytest.approx(expected, abs=2e-5, nan_ok=True)
    assert head(shown).values == pytest.approx(expected[0], abs=2e-5, nan_ok=True)
    assert heads(shown).is_signed


def test_all_layers_of_two_runs(shown: MainWindow, settle: Settle) -> None:
    shown.workspace.runs.keep()
    run(shown, settle, A)
    find(shown, QToolButton, "allLayers").click()
    settle()
    b, a = charts(shown, "allHeads")
    mine, other = ([plain_entropies(weights) for weights in eager(text)] for text in (A, B))
    assert b.values == pytest.approx(np.array(mine), abs=1e-4)
    assert a.values == pytest.approx(np.array(other), abs=1e-4)
    shown.workspace.runs.compare("difference")
    settle()
    (chart,) = charts(shown, "allHeads")
    assert chart.values == pytest.approx(np.subtract(mine, other), abs=1e-4)
