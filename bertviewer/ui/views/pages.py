"""Pages of which one is in sight, built and refreshed only when they are needed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Literal, TypeVar

from msgspec import Struct
from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtWidgets import QTabWidget, QWidget

from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.pages import Page, PageSubject
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import vbox

State = Literal["row", "token", "head", "feature", "run", "comparison", "formulas"]
"""A part of the workspace's state that a page may have to follow."""

PageType = TypeVar("PageType", bound=QWidget)
PageType_co = TypeVar("PageType_co", bound=QWidget, covariant=True)


class PageKind(Struct, Generic[PageType_co], frozen=True):
    """A page's title, the function that imports and builds it, and the state that it shows.

    ``shows`` excludes state that its charts only mark. A new run also selects a token, without a
    change of ``"token"``; ``"row"`` is the selected module's row in the tree.
    """

    title: str
    build: Callable[[Workspace], PageType_co]
    shows: frozenset[State] = frozenset()


class Pages(QObject, Generic[PageType]):
    """Builds each page when it is first shown, and refreshes the one in sight.

    ``refresh`` is called when a page comes into sight, and when the state that it shows changes:
    at once for state in ``at_once``, else in a deferred call. ``built`` carries a new page.
    Requests of a page that goes out of sight are cancelled.
    """

    built = Signal(object)

    def __init__(
        self,
        kinds: Sequence[PageKind[PageType]],
        workspace: Workspace,
        refresh: Callable[[PageType], None],
        parent: QObject,
        at_once: frozenset[State] = frozenset(),
    ) -> None:
        super().__init__(parent)
        self.slots = tuple(QWidget() for _ in kinds)
        """The parent widget of each page, in order."""
        self._kinds = kinds
        self._workspace = workspace
        self._refresh_page = refresh
        self._at_once = at_once
        self._built: dict[int, PageType] = {}
        self._number = 0
        self._is_stale = False
        signals: dict[State, SignalInstance] = {
            "row": workspace.selection.row_changed,
            "token": workspace.selection.token_changed,
            "head": workspace.selection.head_changed,
            "feature": workspace.selection.feature_changed,
            "run": workspace.runs.run_changed,
            "comparison": workspace.runs.comparison_changed,
            "formulas": workspace.formulas_changed,
        }
        for state, signal in signals.items():
            signal.connect(partial(self._on_change, state))

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of all pages, not translated."""
        return tuple(kind.title for kind in self._kinds)

    @property
    def current(self) -> PageType:
        """The page that is shown."""
        return self.page(self._number)

    @property
    def all_built(self) -> tuple[PageType, ...]:
        """The pages that have been shown."""
        return tuple(self._built.values())

    def page(self, number: int) -> PageType:
        """Return a page, and build it first if necessary."""
        if number not in self._built:
            page = self._built[number] = self._kinds[number].build(self._workspace)
            layout = vbox(page, parent=self.slots[number])
            self.built.emit(page)
            # The page gets its size now, not in the next event-loop turn.
            page.show()
            layout.activate()
        return self._built[number]

    def show(self, number: int) -> None:
        """Refresh the page of this number, which comes into sight, and leave the previous one."""
        if number != self._number:
            self.leave()
        self._number = number
        self.refresh()

    def leave(self) -> None:
        """Cancel all requests: no page is in sight."""
        for page in self._built.values():
            for request in page.findChildren(Request):
                request.cancel()

    def refresh(self) -> None:
        """Refresh the page in sight."""
        self._is_stale = False
        self._refresh_page(self.current)

    def _on_change(self, state: State) -> None:
        if state not in self._kinds[self._number].shows:
            return
        if state in self._at_once:
            self.refresh()
        else:
            self._is_stale = True
            self._workspace.deferred.add(self._refresh_stale)

    def _refresh_stale(self) -> None:
        if self._is_stale:
            self.refresh()


class PageTabs(QTabWidget, Generic[PageType]):
    """Pages in tabs; ``context`` is the translation context of their titles."""

    def __init__(
        self,
        kinds: Sequence[PageKind[PageType]],
        workspace: Workspace,
        refresh: Callable[[PageType], None],
        *,
        context: str,
        at_once: frozenset[State] = frozenset(),
    ) -> None:
        super().__init__()
        self.setDocumentMode(True)
        self.pages = Pages(kinds, workspace, refresh, self, at_once)
        for kind, slot in zip(kinds, self.pages.slots, strict=True):
            self.addTab(slot, translate(context, kind.title))
        self.currentChanged.connect(self.pages.show)
        workspace.page_requested.connect(self.show_page)

    @property
    def shown(self) -> str:
        """The title of the page in sight, not translated."""
        return self.pages.titles[self.currentIndex()]

    def show_page(self, page: Page, subject: PageSubject | None = None) -> None:
        """Show a page, if it is one of these, and a subject on it."""
        if page in self.pages.titles:
            self.setCurrentIndex(self.pages.titles.index(page))
            shown = self.pages.current
            if subject is not None and hasattr(shown, "show_subject"):
                shown.show_subject(subject)

    def bring(self, title: str) -> None:
        """Show the page of that title, not translated, if there is one."""
        if title in self.pages.titles:
            self.setCurrentIndex(self.pages.titles.index(title))
