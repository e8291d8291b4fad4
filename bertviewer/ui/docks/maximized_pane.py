"""All the room of a window for one pane, until the others are wanted again."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QMainWindow, QWidget

from bertviewer.ui.docks.dock import Dock, PaneName
from bertviewer.ui.docks.focus_keeper import LentKeys, focused


class AllRoom:
    """Hides all but one of the docks and the middle, and brings them back as large as they were.

    ``told`` hears which has all the room: a pane's name, "middle", or "" for none.
    """

    def __init__(
        self,
        window: QMainWindow,
        docks: Mapping[PaneName, Dock],
        keys: LentKeys,
        told: Callable[[str], None],
    ) -> None:
        self._window, self._docks, self._keys, self._told = window, docks, keys, told
        self._hidden: list[QWidget] = []
        self._sizes: dict[Dock, QSize] = {}

    def give(self, name: PaneName | None) -> None:
        """Give a pane all the room, ``None`` the middle."""
        self._sizes = {dock: dock.size() for dock in self._docks.values()}
        keeps, had = self._place(name), focused(self._window)
        others = [dock for dock in self._docks.values() if not dock.isFloating()]
        for widget in (self._place(None), *others):
            if widget is not keeps and widget.isVisible():
                self._hidden.append(widget)
                widget.hide()
        self._keys.follow(had, keeps)
        self._tell("middle" if name is None else name)

    def hides(self, name: PaneName | None) -> bool:
        """Tell whether a pane, ``None`` for the middle, is out of sight for another one."""
        return self._place(name) in self._hidden

    def share(self) -> bool:
        """Bring back what had to go; return whether anything had."""
        hidden, self._hidden = self._hidden, []
        had = focused(self._window)
        for widget in hidden:
            widget.show()
        self._keys.follow(had, self._window)
        if not hidden:
            return False
        docks, sizes = list(self._sizes), self._sizes.values()
        widths, heights = [size.width() for size in sizes], [size.height() for size in sizes]
        self._window.resizeDocks(docks, widths, Qt.Orientation.Horizontal)
        self._window.resizeDocks(docks, heights, Qt.Orientation.Vertical)
        self._tell("")
        return True

    def _place(self, name: PaneName | None) -> QWidget:
        place = self._window.centralWidget() if name is None else self._docks[name]
        assert place is not None  # the window has it before it has panes
        return place

    def _tell(self, name: str) -> None:
        for pane, dock in self._docks.items():
            dock.title.show_maximised(pane == name)
        self._told(name)
