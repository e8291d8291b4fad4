"""What a view without a chart offers: one thing to click."""

from collections.abc import Callable
from typing import Any

from bertviewer.ui.jobs.recorded_run import FROM_FILE
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.message import Offer

_AGAIN = QT_TRANSLATE_NOOP("offers", "Run here")
_TRY = QT_TRANSLATE_NOOP("offers", "Try again")
_BESIDE = QT_TRANSLATE_NOOP("offers", "Show A and B")


def after_error(workspace: Workspace, error: str, refresh: Callable[[], object]) -> Offer:
    """Return what there is to do about an error: of a run from a file a run, else once more."""
    if error != FROM_FILE:
        return Offer(translate("offers", _TRY), refresh)
    lacking = workspace.next_run.lacking
    return Offer(translate("offers", _AGAIN), workspace.run_next, lacking)


def retry(workspace: Workspace, request: Request[Any], refresh: Callable[[], object]) -> Offer:
    """Return what there is to do where a request came to nothing."""

    def again() -> None:
        request.forget()
        refresh()

    return after_error(workspace, request.error, again)


def another_view(workspace: Workspace, title: str, button: str) -> Offer:
    """Return the way to a view that has something to show."""
    return Offer(button, lambda: workspace.page_wanted.emit(title))


def beside(workspace: Workspace) -> Offer:
    """Return the way from a difference that is none to both runs."""
    return Offer(translate("offers", _BESIDE), lambda: workspace.runs.compare("overlay"))
