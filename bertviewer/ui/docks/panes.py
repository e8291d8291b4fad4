"""The panes around the middle: Qt's docks, closed, moved, torn off, and put back."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QWidget

from bertviewer.plots.fonts import type_scale
from bertviewer.ui.docks.dock import Dock, Pane, PaneName
from bertviewer.ui.docks.focus_keeper import LentKeys, focused
from bertviewer.ui.docks.maximized_pane import AllRoom

LEAST_WIDTHS: dict[PaneName, int] = {"structure": 760, "module": 1100}
"""In a window narrower than that, with type as it is usually, a pane at the side is a drawer."""

WIDE = 1900
"""From this width on a run stands beside the middle."""

SIDE, NARROW_SIDE, RUN_BESIDE = 330, 240, 0.40
"""How wide a pane at a side is; in a narrow window with both of them, so that the middle has room;
and the run's part of a wide window."""
RUN_BELOW, LEAST_RUN = 0.42, 340
"""The run's part of the height, and so many pixels in a low window: its plots are to be seen."""

_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
_AREAS: dict[PaneName, Qt.DockWidgetArea] = {"structure": _LEFT, "module": _RIGHT, "run": _BOTTOM}


class Panes(QObject):
    """Arranges docks around a window's central widget.

    ``maximised`` says which pane has all the room, "" for none; ``shown_changed`` that a pane was
    shown or hidden. When a window becomes narrow or wide, panes at the sides are hidden or shown
    and the run is placed below or next to the middle, except for what the user has chosen.

    Attributes:
        moved: panes that the user has put somewhere.
        wished: whether a pane is shown, where the user wants it otherwise than the window's width.
    """

    maximised = Signal(str)
    shown_changed = Signal()

    def __init__(self, window: QMainWindow, panes: Iterable[Pane]) -> None:
        super().__init__(window)
        self._window = window
        self._docks: dict[PaneName, Dock] = {}
        self.moved: set[PaneName] = set()
        self.wished: dict[PaneName, bool] = {}
        self._is_arranging = self._is_run_open = self._is_shown = self._are_sides_due = False
        self._run_height = 0  # that it had when it was open last
        self._keys = LentKeys()
        self._room = AllRoom(window, self._docks, self._keys, self.maximised.emit)
        window.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks
        )
        window.setCorner(Qt.Corner.BottomLeftCorner, _LEFT)
        window.setCorner(Qt.Corner.BottomRightCorner, _BOTTOM)
        for pane in panes:
            self._add(pane)
        self._width = window.width() / type_scale()  # in pixels of usual type
        self._arrange()
        window.installEventFilter(self)

    @property
    def are_shown(self) -> bool:
        """Whether panes can be shown: a model is open."""
        return self._is_shown

    def dock(self, name: PaneName) -> Dock:
        """Return the dock of a pane."""
        return self._docks[name]

    def toggle(self, name: PaneName) -> None:
        """Close a pane that is in sight, or open it again."""
        self._room.share()
        had, is_wanted = focused(self._window), self._docks[name].isHidden()
        self._wish(name, is_wanted)
        self._docks[name].setVisible(is_wanted)
        if name in LEAST_WIDTHS and not self._has_room("module"):
            self._set_sides()
        self._keys.follow(had, self._middle)

    def tear_off(self, name: PaneName) -> None:
        """Make a pane a window of its own, or put it back; the keys stay where they are."""
        self._room.share()
        dock, had = self._docks[name], focused(self._window)
        dock.setFloating(not dock.isFloating())
        dock.show()
        self._wish(name, True)
        if dock.isFloating():
            self.moved.add(name)
        else:
            self.moved.discard(name)
        if had is not None and dock.isAncestorOf(had):
            # Where the desktop gives a new window no keys, they are not left to chance.
            self._keys.lend(self._middle)
            dock.activateWindow()
            had.setFocus(Qt.FocusReason.OtherFocusReason)

    def maximise(self, name: PaneName | None) -> None:
        """Give a pane all the room, ``None`` the middle; a second time all are there again."""
        if not self._room.share():
            self._room.give(name)

    def bring(self, name: PaneName | None) -> None:
        """Show a pane, ``None`` for the middle, if it is closed or another has all the room."""
        if self._room.hides(name):
            self._room.share()
        if name is not None and self._is_shown and self._docks[name].isHidden():
            self.toggle(name)

    def bring_parent(self, widget: QWidget) -> None:
        """Show the pane that a widget is in."""
        for name, dock in self._docks.items():
            if dock.isAncestorOf(widget):
                self.bring(name)

    def set_shown(self, shown: bool) -> None:
        """Show the panes that are open, or none: there is nothing in them without a model."""
        self._room.share()
        self._is_shown, self._is_arranging = shown, True
        for name, dock in self._docks.items():
            dock.setVisible(shown and self._is_wanted(name))
        if self._are_sides_due:
            self._set_sides()
        self._is_arranging = False
        if shown and not self._is_run_open:
            # The session before may have ended with one.
            self._leave_run_a_line()

    def restore(
        self, restore_layout: Callable[[], object], moved: Iterable[str], wished: Mapping[str, bool]
    ) -> None:
        """Restore an earlier session's layout, as far as it suits this window.

        Which panes are shown follows from the window's width and what the user wished, not from
        the layout: in a narrow window a pane is hidden because it has no room.
        """
        self._is_arranging = True  # what Qt moves now is not moved by the user
        restore_layout()
        self.moved = {name for name in self._docks if name in moved}
        self.wished = {name: wished[name] for name in self._docks if name in wished}
        hidden = {name for name, dock in self._docks.items() if dock.isHidden()}
        if "run" not in self.moved:
            self._place_run()
        for name, dock in self._docks.items():
            dock.setVisible(self._is_shown and self._is_wanted(name))
            if name in hidden and name in LEAST_WIDTHS:
                self._window.resizeDocks([dock], [SIDE], Qt.Orientation.Horizontal)
        self._is_arranging = self._are_sides_due = False

    def reset(self) -> None:
        """Put every pane where it stands at first."""
        self._room.share()
        self.moved.clear()
        self.wished.clear()
        for dock in self._docks.values():
            dock.setFloating(False)
        self._arrange()

    def set_run_open(self, is_open: bool) -> None:
        """Give a run that has come its part of the room, and leave it a line when it is gone.

        One that has a quarter of the room already keeps that.
        """
        run = self._docks["run"]
        self._is_run_open = is_open
        if is_open and self.wished.get("run") is False:
            self.toggle("run")
        if not is_open:
            self._run_height = run.height()
        if self._is_wide:
            self._arrange()
        if is_open and run.height() < self._window.height() // 4:
            self._set_run_height(self._run_height or self._run_part)
        elif not is_open:
            self._leave_run_a_line()

    @property
    def _run_part(self) -> int:
        """How high a run is that has come for the first time."""
        return max(round(self._window.height() * RUN_BELOW), LEAST_RUN)

    def _leave_run_a_line(self) -> None:
        # Later: until then the layouts know its old least height.
        run = self._docks["run"]
        QTimer.singleShot(0, self, lambda: self._set_run_height(run.minimumSizeHint().height()))

    def _set_run_height(self, height: int) -> None:
        run = self._docks["run"]
        if not run.isFloating() and self._window.dockWidgetArea(run) == _BOTTOM:
            self._window.resizeDocks([run], [height], Qt.Orientation.Vertical)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrange the panes anew for a narrow or a wide window, or larger type; Qt calls it."""
        if watched is self._window and event.type() == QEvent.Type.Resize:
            self._follow_room()
        elif watched is self._window and event.type() == QEvent.Type.FontChange:
            QTimer.singleShot(0, self, self._follow_room)  # Qt is still giving it to all
        elif event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.shown_changed.emit()
        return super().eventFilter(watched, event)

    def _follow_room(self) -> None:
        before, self._width = self._width, self._window.width() / type_scale()
        limits = (*LEAST_WIDTHS.values(), WIDE)
        if any((before < limit) != (self._width < limit) for limit in limits):
            self._arrange()

    def _has_room(self, name: PaneName) -> bool:
        return self._width >= LEAST_WIDTHS.get(name, 0)

    def _wish(self, name: PaneName, shown: bool) -> None:
        """Remember what the user wants of a pane, unless the window's width says the same."""
        self.wished.pop(name, None)
        if shown != self._is_wanted(name):
            self.wished[name] = shown

    def _is_wanted(self, name: PaneName) -> bool:
        has_room = self._has_room(name) or self._docks[name].isFloating()
        return self.wished.get(name, has_room)

    @property
    def _is_wide(self) -> bool:
        return self._width >= WIDE

    @property
    def _is_run_beside(self) -> bool:
        """Whether there is a run, and room for it beside the middle."""
        return self._is_wide and self._is_run_open

    @property
    def _middle(self) -> QWidget:
        middle = self._window.centralWidget()
        assert middle is not None  # the window has it before it has panes
        return middle

    def _add(self, pane: Pane) -> None:
        dock = Dock(pane, self._window)
        dock.title.tear_off.clicked.connect(partial(self.tear_off, pane.name))
        dock.title.maximise.clicked.connect(partial(self.maximise, pane.name))
        dock.title.close_button.clicked.connect(partial(self.toggle, pane.name))
        dock.installEventFilter(self)
        dock.dockLocationChanged.connect(partial(self._on_moved, pane.name))
        self._docks[pane.name] = dock
        self._window.addDockWidget(_AREAS[pane.name], dock)

    def _arrange(self) -> None:
        """Put what a person has not moved into its place for the window's width."""
        self._is_arranging = True
        run = self._docks["run"]
        if "run" not in self.moved:
            self._place_run()
        for name, dock in self._docks.items():
            dock.setVisible(self._is_shown and self._is_wanted(name))
        self._set_sides()
        if self._is_run_beside:
            width = round(self._window.width() * RUN_BESIDE)
            self._window.resizeDocks([run], [width], Qt.Orientation.Horizontal)
        self._is_arranging = False

    def _set_sides(self) -> None:
        """Make the panes at the sides as wide as is usual for the window, once they are shown."""
        self._are_sides_due = not self._is_shown
        if not self._is_shown:
            return
        docks = [self._docks[name] for name in LEAST_WIDTHS]
        are_both = not any(dock.isHidden() or dock.isFloating() for dock in docks)
        width = NARROW_SIDE if are_both and not self._has_room("module") else SIDE
        for dock in docks:
            self._window.resizeDocks([dock], [width], Qt.Orientation.Horizontal)

    def _place_run(self) -> None:
        module, run = self._docks["module"], self._docks["run"]
        if self._is_run_beside:
            self._window.addDockWidget(_RIGHT, run)
            if "module" not in self.moved:
                self._window.splitDockWidget(run, module, Qt.Orientation.Horizontal)
        elif self._window.dockWidgetArea(run) != _BOTTOM:
            self._window.addDockWidget(_BOTTOM, run)

    def _on_moved(self, name: PaneName, _area: Qt.DockWidgetArea) -> None:
        if not self._is_arranging and self._window.isVisible():
            self.moved.add(name)
