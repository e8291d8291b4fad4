"""The panes around the middle: Qt's docks, closed, moved, torn off, and put back."""

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QWidget

from bertviewer.plots.fonts import type_scale
from bertviewer.ui.frame.all_room import AllRoom
from bertviewer.ui.frame.dock import Dock, Pane, PaneName
from bertviewer.ui.frame.keys_lent import LentKeys, focused

LEAST_WIDTHS: dict[PaneName, int] = {"structure": 760, "module": 1100}
"""In a window narrower than that, with type as it is usually, a pane at the side is a drawer."""

WIDE = 1900
"""From this width on a run stands beside the middle."""

SIDE, RUN_BESIDE = 330, 0.40
RUN_BELOW, LEAST_RUN = 0.42, 370
"""The run's part of the height, and so many pixels in a low window: its plots are to be seen."""

_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
_AREAS: dict[PaneName, Qt.DockWidgetArea] = {"structure": _LEFT, "module": _RIGHT, "run": _BOTTOM}


class Panes(QObject):
    """Arranges docks around a window's central widget.

    ``maximised`` says which pane has all the room, "" for none. A window that gets narrow or wide
    is arranged anew in what a person has not arranged: the panes at the sides come and go, the run
    stands below or beside.
    """

    maximised = Signal(str)

    def __init__(self, window: QMainWindow, panes: Iterable[Pane]) -> None:
        super().__init__(window)
        self._window = window
        self._docks: dict[PaneName, Dock] = {}
        self._chosen: set[PaneName] = set()  # moved, closed or opened by a person
        self._closed: set[PaneName] = set()  # by a person, before all went out of sight
        self._is_arranging = self._is_run_open = self._is_shown = False
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

    def dock(self, name: PaneName) -> Dock:
        """Return the dock of a pane."""
        return self._docks[name]

    def toggle(self, name: PaneName) -> None:
        """Close a pane that is in sight, or open it again."""
        self._room.share()
        dock, had = self._docks[name], focused(self._window)
        self._chosen.add(name)
        dock.setVisible(not dock.isVisible())
        self._keys.follow(had, self._middle)

    def tear_off(self, name: PaneName) -> None:
        """Make a pane a window of its own, or put it back; the keys stay where they are."""
        self._room.share()
        dock, had = self._docks[name], focused(self._window)
        self._chosen.add(name)
        dock.setFloating(not dock.isFloating())
        dock.show()
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
        """Have a pane in sight, ``None`` for the middle, if others have all the room."""
        if self._room.hides(name):
            self._room.share()

    def set_shown(self, shown: bool) -> None:
        """Show the panes that are open, or none: there is nothing in them without a model."""
        self._room.share()
        if self._is_shown and not shown:
            self._closed = {name for name in self._chosen if self._docks[name].isHidden()}
        self._is_shown, self._is_arranging = shown, True
        for name, dock in self._docks.items():
            is_open = name not in self._closed and (name in self._chosen or self._has_room(name))
            dock.setVisible(shown and is_open)
        self._is_arranging = False
        if shown and not self._is_run_open:
            # The session before may have ended with one.
            self._leave_run_a_line()

    def fit(self) -> None:
        """Make the best of a layout of an earlier session, for this window and without a run."""
        for name in LEAST_WIDTHS:
            if not self._has_room(name):
                self._docks[name].hide()
            elif self._docks[name].isHidden():
                self._chosen.add(name)
        if self._is_wide:
            self._place_run()

    def reset(self) -> None:
        """Put every pane where it stands at first."""
        self._room.share()
        self._chosen.clear()
        for dock in self._docks.values():
            dock.setFloating(False)
        self._arrange()

    def set_run_open(self, is_open: bool) -> None:
        """Give a run that has come its part of the room, and leave it a line when it is gone.

        One that has a quarter of the room already keeps that.
        """
        run = self._docks["run"]
        self._is_run_open = is_open
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
        return super().eventFilter(watched, event)

    def _follow_room(self) -> None:
        before, self._width = self._width, self._window.width() / type_scale()
        limits = (*LEAST_WIDTHS.values(), WIDE)
        if any((before < limit) != (self._width < limit) for limit in limits):
            self._arrange()

    def _has_room(self, name: PaneName) -> bool:
        return self._width >= LEAST_WIDTHS.get(name, 0)

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
        dock.dockLocationChanged.connect(partial(self._on_moved, pane.name))
        self._docks[pane.name] = dock
        self._window.addDockWidget(_AREAS[pane.name], dock)

    def _arrange(self) -> None:
        """Put what a person has not moved into its place for the window's width."""
        self._is_arranging = True
        run = self._docks["run"]
        if "run" not in self._chosen:
            self._place_run()
        for name in LEAST_WIDTHS:
            if name not in self._chosen:
                self._docks[name].setVisible(self._is_shown and self._has_room(name))
            self._window.resizeDocks([self._docks[name]], [SIDE], Qt.Orientation.Horizontal)
        if self._is_run_beside:
            width = round(self._window.width() * RUN_BESIDE)
            self._window.resizeDocks([run], [width], Qt.Orientation.Horizontal)
        self._is_arranging = False

    def _place_run(self) -> None:
        module, run = self._docks["module"], self._docks["run"]
        if self._is_run_beside:
            self._window.addDockWidget(_RIGHT, run)
            if "module" not in self._chosen:
                self._window.splitDockWidget(run, module, Qt.Orientation.Horizontal)
        elif self._window.dockWidgetArea(run) != _BOTTOM:
            self._window.addDockWidget(_BOTTOM, run)

    def _on_moved(self, name: PaneName, _area: Qt.DockWidgetArea) -> None:
        if not self._is_arranging and self._window.isVisible():
            self._chosen.add(name)
