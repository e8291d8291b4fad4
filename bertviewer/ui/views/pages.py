"""Pages of which one is in sight: what each is, and when it is written anew."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from msgspec import Struct
from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    pass

State = Literal["row", "token", "head", "feature", "run", "comparison", "formulas"]
"""A part of what the window shows, that a page may have to follow."""

PageType = TypeVar("PageType", bound=QWidget)
PageType_co = TypeVar("PageType_co", bound=QWidget, covariant=True)


class PageKind(Struct, Generic[PageType_co], frozen=True):
    """A page's title, what imports and builds it, and what it is written anew for.

    It need not name what its charts only mark. A new run also selects a token of its own, of which
    ``"token"`` says nothing; ``"row"`` is the selected module's row of the tree.
    """

    title: str
    build: Callable[[Workspace], PageType_co]
    shows: frozenset[State] = frozenset()


class Pages(QObject, Generic[PageType]):
    """Builds each page when it is first seen, and refreshes the one in sight.

    ``refresh`` writes a page anew. It is called when the page comes into sight, and when what it
    shows has changed: ``at_once`` for these, and for others in a turn of its own. ``built`` brings
    a new page. A page that goes out of sight requests nothing more.
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
        self.slots = tuple(_slot() for _ in kinds)
        """Where each page will be: a widget for each, in order."""
        self._kinds = kinds
        self._workspace = workspace
        self._refresh_page = refresh
        self._at_once = at_once
        self._built: dict[int, PageType] = {}
        self._number = 0
        self._is_stale = False
        for state, signal in _changes(workspace).items():
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
        """The pages that have been seen."""
        return tuple(self._built.values())

    def page(self, number: int) -> PageType:
        """Return a page, built if this is the first that is seen of it."""
        if number not in self._built:
            page = self._built[number] = self._kinds[number].build(self._workspace)
            room = self.slots[number].layout()
            assert room is not None
            room.addWidget(page)
            self.built.emit(page)
            # Whoever asked for it sees it at its size now, not in the next turn.
            page.show()
            room.activate()
        return self._built[number]

    def show(self, number: int) -> None:
        """Write the page of this number, which comes into sight, and leave the one before."""
        if number != self._number:
            self.leave()
        self._number = number
        self.refresh()

    def leave(self) -> None:
        """Request nothing more: no page is in sight."""
        for page in self._built.values():
            for request in page.findChildren(Request):
                request.cancel()

    def refresh(self) -> None:
        """Write the page that is shown anew."""
        self._is_stale = False
        self._refresh_page(self.current)

    def _on_change(self, state: State) -> None:
        if state not in self._kinds[self._number].shows:
            return
        if state in self._at_once:
            self.refresh()
        else:
            self._is_stale = True
            self._workspace.draw_queue.later(self._refresh_stale)

    def _refresh_stale(self) -> None:
        if self._is_stale:
            self.refresh()


class PageTabs(QTabWidget, Generic[PageType]):
    """Pages behind tabs; ``context`` is that of their titles' translations."""

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
        for kind, place in zip(kinds, self.pages.slots, strict=True):
            self.addTab(place, translate(context, kind.title))
        self.currentChanged.connect(self.pages.show)
        self._titles = [kind.title for kind in kinds]
        workspace.page_wanted.connect(self._on_wanted)

    def _on_wanted(self, title: str) -> None:
        if title in self._titles:
            self.setCurrentIndex(self._titles.index(title))

    @property
    def shown(self) -> str:
        """The title of the page in sight, not translated."""
        return self.pages.titles[self.currentIndex()]

    def bring(self, title: str) -> None:
        """Bring the page of that title, not translated, into sight, if there is one."""
        if title in self.pages.titles:
            self.setCurrentIndex(self.pages.titles.index(title))


def _slot() -> QWidget:
    place = QWidget()
    QVBoxLayout(place).setContentsMargins(0, 0, 0, 0)
    return place


def _changes(workspace: Workspace) -> dict[State, SignalInstance]:
    """Return what says that a part of the state is new."""
    return {
        "row": workspace.selection.row_changed,
        "token": workspace.selection.token_changed,
        "head": workspace.selection.head_changed,
        "feature": workspace.selection.feature_changed,
        "run": workspace.runs.run_changed,
        "comparison": workspace.runs.comparison_changed,
        "formulas": workspace.formulas_changed,
    }
