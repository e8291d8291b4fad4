"""Tabs whose pages are built when they are first seen."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

PageKind = TypeVar("PageKind", bound=QWidget)


class LazyTabs(QTabWidget, Generic[PageKind]):
    """Titles, and what builds the page behind each: plots take longer to build than all else."""

    def __init__(
        self, tabs: Iterable[tuple[str, Callable[[], PageKind]]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setDocumentMode(True)
        self.built: dict[int, PageKind] = {}
        """The pages that have been seen, by the number of their tab."""
        self._builders: list[Callable[[], PageKind]] = []
        self._rooms: list[QVBoxLayout] = []
        for title, build in tabs:
            self._builders.append(build)
            place = QWidget()
            room = QVBoxLayout(place)
            room.setContentsMargins(0, 0, 0, 0)
            self._rooms.append(room)
            self.addTab(place, title)

    def page(self, number: int) -> PageKind:
        """Return the page of a tab, built if this is the first that is seen of it."""
        if number not in self.built:
            page = self.built[number] = self._builders[number]()
            self._rooms[number].addWidget(page)
            # Whoever asked for it sees it at its size now, not in the next turn.
            page.show()
            self._rooms[number].activate()
        return self.built[number]
