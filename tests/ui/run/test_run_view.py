"""What every view of a run does: while it computes, after an error, and for a run from a file."""

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from PySide6.QtWidgets import QComboBox, QPushButton, QToolButton

from bertviewer.core.analysis import attention_maps
from bertviewer.core.replay import outputs
from bertviewer.core.replay.recorded_run import FROM_FILE, RecordedRun
from bertviewer.core.util.errors import UserError
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.state.pages import Page
from bertviewer.ui.widgets.progress_bar import ProgressBar
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import PanelHarness, RunHarness, ViewHarness

TEXT = "the cat sat on the mat"


def no_request(_view: RunHarness) -> None:
    """Do nothing: the view computes by itself."""


class ViewCase(Struct, frozen=True):
    """A view whose data a job computes.

    Attributes:
        page: where it is.
        plot: the object name of its plot.
        job: the module and the name of the function that computes.
        ask: what the user does after the run to have it computed, if anything.
    """

    page: Page
    plot: str
    job: tuple[Any, str]
    ask: Callable[[RunHarness], None] = no_request


def choose_content(view: RunHarness) -> None:
    view.find(QComboBox, "tokenClassChoice").setCurrentText("content")


def show_all_layers(view: RunHarness) -> None:
    view.find(QToolButton, "allLayers").click()


CASES = {
    "layers": ViewCase(Page.LAYERS, "layerPlot", (outputs, "call_statistics"), choose_content),
    "attention": ViewCase(Page.ATTENTION, "headGrid", (jobs, "attention_job")),
    "all heads": ViewCase(
        Page.ATTENTION, "allHeads", (attention_maps, "head_measures"), show_all_layers
    ),
    "histogram": ViewCase(Page.HISTOGRAM, "histogramPlot", (jobs, "histogram_job")),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> ViewCase:
    return CASES[request.param]


@pytest.fixture
def view(demo_view: MakeView, case: ViewCase) -> ViewHarness:
    """Return the view of the demo model without a run."""
    view = demo_view(case.page)
    view.resize(1360, 500)
    return view


def action(view: ViewHarness, plot: str) -> QPushButton:
    """Return the button below the message in place of a chart."""
    (button,) = view.panel(plot).findChildren(QPushButton, "chartMessageAction")
    return button


def test_progress_is_shown_while_it_computes(
    view: ViewHarness, case: ViewCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars: list[ProgressBar] = []
    compute = getattr(*case.job)

    def check_and_compute(*arguments: Any) -> Any:
        for request in view.view.findChildren(Request):
            if request.is_waiting:
                request.late.emit()
        bars[:] = view.panel(case.plot).findChildren(ProgressBar, "chartProgress")
        assert [bar.isVisible() for bar in bars] == [True]
        return compute(*arguments)

    monkeypatch.setattr(*case.job, check_and_compute)
    view.run(TEXT)
    case.ask(view)
    view.settle()
    (bar,) = bars
    assert bar.accessibleName()
    assert not bar.isVisible()
    assert view.panel(case.plot).charts


def test_what_failed_can_be_tried_again(
    view: ViewHarness, case: ViewCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise UserError("<b>there was no memory")

    with monkeypatch.context() as patch:
        patch.setattr(*case.job, fail)
        view.run(TEXT)
        case.ask(view)
        view.settle()
    assert "<b>there was no memory" in view.messages()
    assert not view.panel(case.plot).charts
    button = action(view, case.plot)
    assert button.isVisible()
    assert button.text() == "Try again"
    button.click()
    view.settle()
    assert view.panel(case.plot).charts
    assert not button.isVisible()


def test_a_run_from_a_file_can_be_run_here(view: ViewHarness, case: ViewCase) -> None:
    run = view.run(TEXT).run
    saved = RecordedRun(run, None)
    view.show_run(saved)
    case.ask(view)
    view.settle()
    # Without the attention of one layer, that of all is not offered either.
    plot = "headGrid" if case.plot == "allHeads" else case.plot
    assert FROM_FILE in view.messages()
    button = action(view, plot)
    assert button.text() == "Run here"
    assert button.isEnabled()
    button.click()
    view.settle()
    assert view.workspace.runs.current is not saved
    assert view.panel(plot).charts


@pytest.mark.parametrize(
    ("page", "task", "ask"),
    [
        (Page.LAYERS, "base", choose_content),
        (Page.ATTENTION, "base", show_all_layers),
        (Page.HISTOGRAM, "base", no_request),
        (Page.PREDICTIONS, "pretraining", no_request),
    ],
)
def test_a_hidden_view_keeps_nothing_of_a_replaced_run(
    panel: PanelHarness,
    open_model: Callable[..., object],
    tiny_bert_folder: Path,
    *,
    page: Page,
    task: str,
    ask: Callable[[RunHarness], None],
) -> None:
    open_model(tiny_bert_folder, task)
    panel.bring(page)
    run = panel.run("the cat [MASK] on the mat", "this is a test")
    ask(panel)
    panel.settle()
    replaced = weakref.ref(run.run.hidden_states[0])
    del run
    assert replaced() is not None
    panel.bring(Page.TOKENS)
    panel.run("a cat")
    gc.collect()
    assert replaced() is None


def test_a_view_is_built_when_it_is_shown_and_its_work_is_cancelled_when_it_is_hidden(
    panel: PanelHarness,
) -> None:
    panel.run(TEXT)
    built = panel.views.pages.all_built
    assert len(built) == 1  # the layers
    panel.workspace.show_page(Page.ATTENTION)
    assert len(panel.views.pages.all_built) == 2
    panel.bring(Page.LAYERS)
    assert not panel.workspace.jobs.has_requests
    assert panel.panel("headGrid").charts == ()
    panel.bring(Page.ATTENTION)
    assert panel.panel("headGrid").charts
    assert panel.views.pages.all_built[0] is built[0]


def test_a_model_without_a_run_hides_the_panel(
    panel: PanelHarness, open_model: Callable[..., object], tiny_bert_folder: Path
) -> None:
    panel.run(TEXT)
    panel.bring(Page.ATTENTION)
    panel.keep()
    assert panel.widget.isVisible()
    open_model(tiny_bert_folder)
    assert panel.widget.isHidden()
    assert panel.panel("headGrid").charts == ()
    assert panel.workspace.runs.baseline is None
