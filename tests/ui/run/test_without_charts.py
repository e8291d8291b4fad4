"""Views that compute, that cannot, or that have nothing: each says so and offers what to do."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis import attention_maps
from bertviewer.core.replay import outputs
from bertviewer.core.replay.recorded_run import FROM_FILE, RecordedRun
from bertviewer.core.util.errors import UserError
from bertviewer.ui.run import jobs
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.progress_bar import ProgressBar
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import bring_view, find, last_run
from tests.ui.run.layers_window import choose

Settle = Callable[[], None]


def ask_layers(window: MainWindow) -> None:
    bring_view(window, "Layers")
    choose(window, "tokenClassChoice", "content")


def ask_attention(window: MainWindow) -> None:
    bring_view(window, "Attention")


def ask_survey(window: MainWindow) -> None:
    bring_view(window, "Attention")
    find(window, QToolButton, "allLayers").click()


def ask_histogram(window: MainWindow) -> None:
    bring_view(window, "Histogram")


class Kind(Struct, frozen=True):
    """What is asked for, the plot that is to show it, and the job that computes it."""

    ask: Callable[[MainWindow], None]
    plot: str
    job: tuple[Any, str]


KINDS = [
    pytest.param(Kind(ask_layers, "layerPlot", (outputs, "call_statistics")), id="layers"),
    pytest.param(Kind(ask_attention, "headGrid", (jobs, "attention_job")), id="attention"),
    pytest.param(Kind(ask_survey, "allHeads", (attention_maps, "head_measures")), id="survey"),
    pytest.param(Kind(ask_histogram, "histogramPlot", (jobs, "histogram_job")), id="histogram"),
]


def panel(window: MainWindow, plot: str) -> ChartPanel:
    (found,) = (p for p in window.findChildren(ChartPanel) if p.plot.objectName() == plot)
    return found


def message(shown: QWidget) -> tuple[str, QPushButton]:
    button = find(shown, QPushButton, "chartMessageAction")
    return find(shown, QLabel, "chartMessage").text(), button


@pytest.fixture
def may_go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("kind", KINDS)
def test_it_shows_that_it_computes(
    ran: MainWindow,
    settle: Settle,
    *,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    may_go_on: threading.Event,
    kind: Kind,
) -> None:
    known = getattr(*kind.job)

    def wait(*arguments: Any) -> Any:
        assert may_go_on.wait(OPEN_TIMEOUT / 1000)
        return known(*arguments)

    monkeypatch.setattr(*kind.job, wait)
    kind.ask(ran)

    def bar() -> ProgressBar:
        return find(panel(ran, kind.plot), ProgressBar, "chartProgress")

    qtbot.waitUntil(lambda: bool(ran.findChildren(ProgressBar)) and bar().isVisible())
    assert bar().accessibleName()
    may_go_on.set()
    settle()
    assert not bar().isVisible()
    assert panel(ran, kind.plot).charts


@pytest.mark.parametrize("kind", KINDS)
def test_what_failed_is_tried_again(
    ran: MainWindow,
    settle: Settle,
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
) -> None:
    known = getattr(*kind.job)

    def refuse(*_: Any) -> None:
        raise UserError("<b>there was no memory")

    monkeypatch.setattr(*kind.job, refuse)
    kind.ask(ran)
    settle()
    shown = panel(ran, kind.plot)
    text, button = message(shown)
    assert text == "<b>there was no memory"
    assert button.isVisible()
    assert button.text() == "Try again"
    assert not shown.charts
    monkeypatch.setattr(*kind.job, known)
    button.click()
    settle()
    assert shown.charts
    assert not button.isVisible()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_from_a_file_is_run_here(
    ran: MainWindow, settle: Settle, qtbot: QtBot, kind: Kind
) -> None:
    runs = ran.workspace.runs
    assert runs.run is not None
    saved = RecordedRun(runs.run, None)
    runs.set_run(saved)
    runs.run_changed.emit()
    kind.ask(ran)
    settle()
    # Of a layer's heads there is nothing to be asked of all of them either.
    shown = panel(ran, "headGrid" if kind.plot == "allHeads" else kind.plot)
    text, button = message(shown)
    assert text == FROM_FILE
    assert button.text() == "Run here"
    assert button.isEnabled()
    button.click()
    qtbot.waitUntil(lambda: runs.current is not saved, timeout=OPEN_TIMEOUT)
    settle()
    assert shown.charts


def test_a_list_of_modules_leads_to_one_that_was_called(ran: MainWindow, settle: Settle) -> None:
    bring_view(ran, "Histogram")
    ran.workspace.selection.select("encoder.layer")
    settle()
    shown = panel(ran, "histogramPlot")
    text, button = message(shown)
    assert "is a list" in text
    button.click()
    settle()
    assert shown.charts
    assert (ran.workspace.selection.place.path or "").startswith("encoder.layer.0")


def test_no_word_in_common_leads_back_to_tokens(ran: MainWindow, settle: Settle) -> None:
    bring_view(ran, "Similarity")
    settle()
    find(ran, QToolButton, "sameWord").click()
    settle()
    shown = panel(ran, "pairPath")
    text, button = message(shown)
    assert "second sentence" in text
    button.click()
    assert find(ran, QToolButton, "twoTokens").isChecked()
    assert shown.charts


def test_what_a_has_not_leads_to_both(compared: MainWindow, settle: Settle) -> None:
    workspace = compared.workspace
    bring_view(compared, "Token")
    workspace.runs.compare("difference")
    old = next(n for n, token in enumerate(last_run(compared).tokens) if token.text == "old")
    workspace.selection.go(SelectionKey(token=old))
    settle()
    shown = panel(compared, "normPath")
    text, button = message(shown)
    assert text == "This token is not in A."
    button.click()
    settle()
    assert workspace.runs.comparison == "overlay"
    assert shown.charts
