"""Base class of the views whose data the worker computes."""

from collections.abc import Hashable
from functools import cached_property
from typing import Generic, TypeVar, cast

from msgspec import Struct
from PySide6.QtWidgets import QWidget

from bertviewer.core.util import libraries
from bertviewer.ui.jobs.job_queue import ModelWork, Request
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.empty_state import CallToAction, StateDisplay

Result = TypeVar("Result")

_LOADING = QT_TRANSLATE_NOOP("DataView", "Loading torch…")
_COMPUTING = QT_TRANSLATE_NOOP("DataView", "Computing…")
_CANCEL = QT_TRANSLATE_NOOP("DataView", "Cancel")
_CANCELLED = QT_TRANSLATE_NOOP("DataView", "Cancelled.")
_COMPUTE = QT_TRANSLATE_NOOP("DataView", "Compute")
_TRY_AGAIN = QT_TRANSLATE_NOOP("DataView", "Try again")


class Query(Struct, Generic[Result], frozen=True, eq=False):
    """The data that a view needs: what identifies them, and the job that computes them."""

    key: Hashable
    work: ModelWork[Result]


class Notice(Struct, frozen=True, eq=False):
    """Why a view has nothing to show, and what the user can do about it."""

    text: str
    action: CallToAction | None = None

    @property
    def actions(self) -> tuple[CallToAction, ...]:
        """The action as the arguments of ``StateDisplay.show_message()``."""
        return () if self.action is None else (self.action,)


class DataView(QWidget, Generic[Result]):
    """View of data that the worker computes.

    ``refresh()`` calls ``query()``, and the view becomes

    - empty: there is a ``Notice`` instead of a query;
    - busy: the result is not known 300 ms after it was requested;
    - failed: the error is shown with a button to try again;
    - cancelled: by the user, with a button to compute it after all;
    - or shows the result: ``draw()``.

    A subclass implements ``query()`` and ``draw()``, and sets ``display`` to what shows messages
    and progress: a ``ContentStack`` around its widgets, or a ``ChartPanel``. A view that needs no
    worker overrides ``refresh()`` instead. Only the view in sight is refreshed (see ``Pages``),
    and one that goes out of sight requests nothing more.
    """

    needs_torch = True
    """Whether the job has to wait until torch has been imported."""

    display: StateDisplay

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self._key: Hashable = None  # of the last query
        self._is_cancelled = False

    @cached_property
    def request(self) -> Request[Result]:
        """The request for the data."""
        request = Request[Result](self.workspace.jobs, self, needs_torch=self.needs_torch)
        request.finished.connect(self.refresh)
        request.late.connect(self.on_late)
        request.progressed.connect(self._on_progress)
        return request

    def query(self) -> Query[Result] | Notice | None:
        """Return what the view needs, why there is no such thing, or ``None`` to change nothing."""
        raise NotImplementedError

    def draw(self, result: Result) -> None:
        """Show the result; called whenever the view is refreshed and the result is known."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show the current state of the workspace, or request what that takes."""
        query = self.query()
        if query is None:
            return
        if isinstance(query, Notice):
            self.request.cancel()
            self.show_notice(query)
            return
        if query.key != self._key:
            self._key, self._is_cancelled = query.key, False
        if self._is_cancelled:
            compute = CallToAction(_translated(_COMPUTE), self._retry)
            self.show_notice(Notice(_translated(_CANCELLED), compute))
        elif not self.request.want(query.key, query.work):
            return
        elif self.request.error:
            again = CallToAction(_translated(_TRY_AGAIN), self._retry)
            self.show_notice(Notice(self.request.error, again))
        else:
            self.draw(cast("Result", self.request.result))

    def show_notice(self, notice: Notice) -> None:
        """Show why the view is empty."""
        self.display.show_message(notice.text, *notice.actions)

    def on_late(self) -> None:
        """Show that the result takes a while."""
        is_loading = self.needs_torch and not libraries.are_settled()
        text = _translated(_LOADING if is_loading else _COMPUTING)
        self.display.show_busy(text, CallToAction(_translated(_CANCEL), self._cancel))

    def forget(self) -> None:
        """Keep no result and request nothing; what is drawn stays."""
        self._key = None
        self.request.forget()

    def clear(self) -> None:
        """Show nothing and keep no result: the model has changed."""
        self.forget()
        self.show_notice(Notice(""))

    def _on_progress(self, done: int, total: int) -> None:
        self.display.show_progress(done, total)

    def _cancel(self) -> None:
        self._is_cancelled = True
        self.request.cancel()
        self.refresh()

    def _retry(self) -> None:
        self._is_cancelled = False
        self.request.forget()
        self.refresh()


def _translated(text: str) -> str:
    return translate("DataView", text)
