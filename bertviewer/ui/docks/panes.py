"""Panes around the central widget: opened, closed, undocked, maximized and placed by width."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QWidget
from typing_extensions import override

from bertviewer.plots.fonts import type_scale
from bertviewer.ui.docks.dock import Dock, Pane, PaneName
from bertviewer.ui.docks.focus import FocusKeeper, focus_first, focused_widget

MIN_WINDOW_WIDTHS: dict[PaneName, int] = {"structure": 760, "module": 1100}
"""A side pane is hidden at first in a window narrower than this, at the normal text size."""

WIDE = 1900
"""From this width on a run is next to the central widget."""

SIDE_WIDTH, NARROW_SIDE_WIDTH, RUN_WIDTH = 330, 240, 0.40
"""Width of a side pane, also in a narrow window with both of them, and the run's part of a wide
window."""
RUN_HEIGHT, MIN_RUN_HEIGHT = 0.42, 340
"""The run's part of the height, and its least height in pixels: its plots must be readable."""

_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
_AREAS: dict[PaneName, Qt.DockWidgetArea] = {"structure": _LEFT, "module": _RIGHT, "run": _BOTTOM}


class Panes(QObject):
    """Arranges docks around a window's central widget.

    When the window becomes narrow or wide, side panes are hidden or shown and the run is placed
    below or next to the central widget, except for what the user has chosen. Qt's own
    ``toggleViewAction`` knows neither that nor maximized panes.

    Signals:
        shown_changed: a pane was shown or hidden.

    Attributes:
        moved: panes that the user has moved or undocked.
        overrides: whether a pane is shown, where the user chose otherwise than the window's width.
    """

    shown_changed = Signal()

    def __init__(self, window: QMainWindow, panes: Iterable[Pane]) -> None:
        super().__init__(window)
        self._window = window
        self._docks: dict[PaneName, Dock] = {}
        self.moved: set[PaneName] = set()
        self.overrides: dict[PaneName, bool] = {}
        self._is_arranging = self._is_run_open = self._is_shown = self._are_sides_due = False
        self._run_height = 0  # when it was last open
        self._focus = FocusKeeper()
        self._hidden: list[QWidget] = []  # for the maximized pane
        self._sizes: dict[Dock, QSize] = {}  # before that
        window.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks
        )
        window.setCorner(Qt.Corner.BottomLeftCorner, _LEFT)
        window.setCorner(Qt.Corner.BottomRightCorner, _BOTTOM)
        for pane in panes:
            self._add(pane)
        self._width = window.width() / type_scale()  # in pixels at the normal text size
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
        """Close a visible pane, or open it again."""
        self._restore_maximized()
        focused, is_wanted = focused_widget(self._window), self._docks[name].isHidden()
        self._override(name, is_wanted)
        self._docks[name].setVisible(is_wanted)
        if name in MIN_WINDOW_WIDTHS and not self._has_room("module"):
            self._set_sides()
        self._focus.update(focused, self._middle)

    def undock(self, name: PaneName) -> None:
        """Make a pane a window, or dock it again; the focus stays where it is."""
        self._restore_maximized()
        dock, focused = self._docks[name], focused_widget(self._window)
        dock.setFloating(not dock.isFloating())
        dock.show()
        self._override(name, True)
        if dock.isFloating():
            self.moved.add(name)
        else:
            self.moved.discard(name)
        if focused is not None and dock.isAncestorOf(focused):
            # Not every desktop activates a new window.
            focus_first(self._middle)
            dock.activateWindow()
            focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def maximize(self, name: PaneName | None) -> None:
        """Hide everything but a pane, or the central widget for ``None``; if so, show all again."""
        if self._restore_maximized():
            return
        self._sizes = {dock: dock.size() for dock in self._docks.values()}
        kept, focused = self._place(name), focused_widget(self._window)
        others = [dock for dock in self._docks.values() if not dock.isFloating()]
        for widget in (self._middle, *others):
            if widget is not kept and widget.isVisible():
                self._hidden.append(widget)
                widget.hide()
        self._focus.update(focused, kept)
        for pane, dock in self._docks.items():
            dock.title.show_maximized(pane == name)

    def _restore_maximized(self) -> bool:
        """Show what was hidden for a maximized pane; return whether anything was."""
        hidden, self._hidden = self._hidden, []
        focused = focused_widget(self._window)
        for widget in hidden:
            widget.show()
        self._focus.update(focused, self._window)
        if not hidden:
            return False
        docks, sizes = list(self._sizes), self._sizes.values()
        widths, heights = [size.width() for size in sizes], [size.height() for size in sizes]
        self._window.resizeDocks(docks, widths, Qt.Orientation.Horizontal)
        self._window.resizeDocks(docks, heights, Qt.Orientation.Vertical)
        for dock in self._docks.values():
            dock.title.show_maximized(False)
        return True

    def _place(self, name: PaneName | None) -> QWidget:
        return self._middle if name is None else self._docks[name]

    def bring(self, name: PaneName | None) -> None:
        """Show a pane, or the central widget for ``None``, if it is hidden or closed."""
        if self._place(name) in self._hidden:
            self._restore_maximized()
        if name is not None and self._is_shown and self._docks[name].isHidden():
            self.toggle(name)

    def bring_parent(self, widget: QWidget) -> None:
        """Show the pane that a widget is in."""
        for name, dock in self._docks.items():
            if dock.isAncestorOf(widget):
                self.bring(name)

    def set_shown(self, shown: bool) -> None:
        """Show the open panes, or none: without a model they are empty."""
        self._restore_maximized()
        self._is_shown, self._is_arranging = shown, True
        for name, dock in self._docks.items():
            dock.setVisible(shown and self._is_wanted(name))
        if self._are_sides_due:
            self._set_sides()
        self._is_arranging = False
        if shown and not self._is_run_open:
            # The session before may have ended with a run.
            self._shrink_run()

    def restore(
        self,
        restore_layout: Callable[[], object],
        moved: Iterable[str],
        overrides: Mapping[str, bool],
    ) -> None:
        """Restore the layout of an earlier session as far as it suits this window.

        Which panes are shown follows from the window's width and what the user chose, not from
        the layout: in a narrow window a pane is hidden for lack of room.
        """
        self._is_arranging = True  # what moves now is not moved by the user
        restore_layout()
        self.moved = {name for name in self._docks if name in moved}
        self.overrides = {name: overrides[name] for name in self._docks if name in overrides}
        hidden = {name for name, dock in self._docks.items() if dock.isHidden()}
        if "run" not in self.moved:
            self._place_run()
        for name, dock in self._docks.items():
            dock.setVisible(self._is_shown and self._is_wanted(name))
            if name in hidden and name in MIN_WINDOW_WIDTHS:
                self._window.resizeDocks([dock], [SIDE_WIDTH], Qt.Orientation.Horizontal)
        self._is_arranging = self._are_sides_due = False

    def reset(self) -> None:
        """Restore the initial layout."""
        self._restore_maximized()
        self.moved.clear()
        self.overrides.clear()
        for dock in self._docks.values():
            dock.setFloating(False)
        self._arrange()

    def set_run_open(self, is_open: bool) -> None:
        """Enlarge the pane of a new run, unless it is large enough, or shrink it to a line."""
        run = self._docks["run"]
        self._is_run_open = is_open
        if is_open and self.overrides.get("run") is False:
            self.toggle("run")
        if not is_open:
            self._run_height = run.height()
        if self._is_wide:
            self._arrange()
        if is_open and run.height() < self._window.height() // 4:
            self._set_run_height(self._run_height or self._run_part)
        elif not is_open:
            self._shrink_run()

    @property
    def _run_part(self) -> int:
        """Height of the run when it is first opened."""
        return max(round(self._window.height() * RUN_HEIGHT), MIN_RUN_HEIGHT)

    def _shrink_run(self) -> None:
        # Later: until then the layouts know its old least height.
        run = self._docks["run"]
        QTimer.singleShot(0, self, lambda: self._set_run_height(run.minimumSizeHint().height()))

    def _set_run_height(self, height: int) -> None:
        run = self._docks["run"]
        if not run.isFloating() and self._window.dockWidgetArea(run) == _BOTTOM:
            self._window.resizeDocks([run], [height], Qt.Orientation.Vertical)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and event.type() == QEvent.Type.Resize:
            self._follow_room()
        elif watched is self._window and event.type() == QEvent.Type.FontChange:
            QTimer.singleShot(0, self, self._follow_room)  # once Qt has set the font everywhere
        elif event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.shown_changed.emit()
        return super().eventFilter(watched, event)

    def _follow_room(self) -> None:
        before, self._width = self._width, self._window.width() / type_scale()
        limits = (*MIN_WINDOW_WIDTHS.values(), WIDE)
        if any((before < limit) != (self._width < limit) for limit in limits):
            self._arrange()

    def _has_room(self, name: PaneName) -> bool:
        return self._width >= MIN_WINDOW_WIDTHS.get(name, 0)

    def _override(self, name: PaneName, shown: bool) -> None:
        """Remember what the user chose for a pane, unless the window's width implies it."""
        self.overrides.pop(name, None)
        if shown != self._is_wanted(name):
            self.overrides[name] = shown

    def _is_wanted(self, name: PaneName) -> bool:
        has_room = self._has_room(name) or self._docks[name].isFloating()
        return self.overrides.get(name, has_room)

    @property
    def _is_wide(self) -> bool:
        return self._width >= WIDE

    @property
    def _is_run_beside(self) -> bool:
        """Whether there is a run, and room for it next to the central widget."""
        return self._is_wide and self._is_run_open

    @property
    def _middle(self) -> QWidget:
        middle = self._window.centralWidget()
        assert middle is not None  # the window has it before it has panes
        return middle

    def _add(self, pane: Pane) -> None:
        dock = Dock(pane, self._window)
        dock.title.undock.clicked.connect(partial(self.undock, pane.name))
        dock.title.maximize.clicked.connect(partial(self.maximize, pane.name))
        dock.title.close_button.clicked.connect(partial(self.toggle, pane.name))
        dock.installEventFilter(self)
        dock.dockLocationChanged.connect(partial(self._on_moved, pane.name))
        self._docks[pane.name] = dock
        self._window.addDockWidget(_AREAS[pane.name], dock)

    def _arrange(self) -> None:
        """Place the panes that the user has not moved by the window's width."""
        self._is_arranging = True
        run = self._docks["run"]
        if "run" not in self.moved:
            self._place_run()
        for name, dock in self._docks.items():
            dock.setVisible(self._is_shown and self._is_wanted(name))
        self._set_sides()
        if self._is_run_beside:
            width = round(self._window.width() * RUN_WIDTH)
            self._window.resizeDocks([run], [width], Qt.Orientation.Horizontal)
        self._is_arranging = False

    def _set_sides(self) -> None:
        """Set the width of the side panes, once they are shown."""
        self._are_sides_due = not self._is_shown
        if not self._is_shown:
            return
        docks = [self._docks[name] for name in MIN_WINDOW_WIDTHS]
        are_both = not any(dock.isHidden() or dock.isFloating() for dock in docks)
        width = NARROW_SIDE_WIDTH if are_both and not self._has_room("module") else SIDE_WIDTH
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
