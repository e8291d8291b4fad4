"""Prints the state of a window as JSON whenever it changes, for a test in another process."""

import json
import sys
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QTimer
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QListView,
    QMenu,
    QTabWidget,
    QTreeView,
    QWidget,
)
from typing_extensions import override

from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.pages import PageTabs

INTERVAL = 40  # milliseconds between two reports
INPUT = (QEvent.Type.KeyPress, QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease,
         QEvent.Type.Shortcut, QEvent.Type.ShortcutOverride)  # fmt: skip


class Reporter(QObject):
    """Reports the state of a window, and where the focus moved without any input of the user.

    The focus may move by itself only if the widget that had it is gone, or in another window.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._printed = ""
        self._keys = 0
        self._has_input = False
        self._jumps: list[str] = []
        self._written: list[str] = []
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.installEventFilter(self)
        application.focusChanged.connect(self._on_focus)
        for signal in (window.workspace.exported, window.workspace.saved):
            signal.connect(self._written.append)
        timer = QTimer(self)
        timer.timeout.connect(self._report)
        timer.start(INTERVAL)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in INPUT and event.spontaneous():
            self._allow_focus()
        if event.type() == QEvent.Type.KeyRelease and watched.isWindowType():
            # What the key does is done by then.
            self._keys += event.spontaneous()
        return super().eventFilter(watched, event)

    def _allow_focus(self) -> None:
        """Let the focus go anywhere until this turn of the event loop is over."""
        self._has_input = True
        QTimer.singleShot(0, self, self._on_turn)

    def _on_turn(self) -> None:
        self._has_input = False

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is None or (old is not None and not old.isVisible()):
            self._allow_focus()
        elif not self._has_input and old is not None and old.window() is new.window():
            self._jumps.append(f"{name_of(old)} → {name_of(new)}")

    def _report(self) -> None:
        text = json.dumps(self._state(), sort_keys=True)
        if text != self._printed:
            self._printed = text
            sys.stdout.write(f"state {text}\n")
            sys.stdout.flush()

    def _state(self) -> dict[str, Any]:
        window, workspace = self._window, self._window.workspace
        row, run = workspace.selection.row, workspace.runs.run
        focus, active = QApplication.focusWidget(), QApplication.activeWindow()
        return {
            "active": None if active is None else active.objectName() or type(active).__name__,
            "focus": name_of(focus),
            "focus_is_visible": focus is not None and not focus.visibleRegion().isEmpty(),
            "jumps": self._jumps,
            "keys": self._keys,
            "model": window.windowTitle().partition(" — ")[0],
            "selected": None if row is None else row.key,
            "token": workspace.selection.token,
            "tokens": 0 if run is None else len(run.tokens),
            "idle": not workspace.jobs.activity and not workspace.deferred.pending,
            "has_baseline": workspace.runs.baseline is not None,
            "written": self._written,
            "shown": {
                tabs.objectName(): tabs.shown for tabs in window.findChildren(PageTabs)
            },
            "panes": {
                name: [dock.isVisible(), dock.isFloating(), *_box(dock)]
                for name in ("structure", "module", "run")
                if (dock := window.panes.dock(name)) is not None
            },
            "window": [*_box(window), window.isMaximized(), window.isMinimized()],
            "zoom": _zoom(window),
            "typed": {} if active is None else {
                edit.objectName(): edit.text()
                for edit in active.findChildren(QLineEdit) if edit.objectName()
            },
            "places": self._places(),
        }  # fmt: skip

    def _places(self) -> dict[str, list[int]]:
        """Return the screen coordinates of everything that can be clicked, by its name."""
        places: dict[str, list[int]] = {}
        for top in QApplication.topLevelWidgets():
            if not top.isVisible():
                continue
            if isinstance(top, QMenu):
                places |= {
                    f"action:{action.objectName() or action.text().replace('&', '')}": _at(
                        top, top.actionGeometry(action).center()
                    )
                    for action in top.actions()
                    if action.isEnabled()
                }
            for widget in top.findChildren(QWidget):
                if widget.isVisible() and widget.isEnabled():
                    places |= _places_in(widget)
        return places


def name_of(widget: QWidget | None) -> str:
    """Return the object name of a widget, or of the nearest parent that has one."""
    while widget is not None:
        # Names of Qt's own parts don't identify their widget.
        if widget.objectName() and not widget.objectName().startswith("qt_"):
            return widget.objectName()
        widget = widget.parentWidget()
    return ""


def _places_in(widget: QWidget) -> dict[str, list[int]]:
    if isinstance(widget, QAbstractButton | QLineEdit) and widget.objectName():
        return {widget.objectName(): _at(widget, widget.rect().center())}
    if isinstance(widget, QTabWidget):
        bar = widget.tabBar()
        return {
            f"tab:{widget.tabText(n)}": _at(bar, bar.tabRect(n).center())
            for n in range(bar.count())
        }
    if isinstance(widget, QTreeView) and widget.objectName() == "moduleTree":
        return _rows_of(widget)
    if isinstance(widget, QListView) and widget.objectName() == "tokenChips":
        model = widget.model()
        return {
            f"chip:{n}": _at(
                widget.viewport(), widget.visualRect(model.index(n, widget.modelColumn())).center()
            )
            for n in range(model.rowCount())
        }
    if isinstance(widget, QDialogButtonBox) and isinstance(widget.parentWidget(), QFileDialog):
        save = widget.button(QDialogButtonBox.StandardButton.Save)
        return {} if save is None else {"save": _at(save, save.rect().center())}
    if widget.objectName() == "mapCanvas":
        return _parts_of(widget)
    return {}


def _rows_of(tree: QTreeView) -> dict[str, list[int]]:
    """Return the places of visible rows and of the arrows that expand them."""
    places = {}
    index = tree.indexAt(QPoint(tree.viewport().width() // 2, 2)).siblingAtColumn(0)
    while index.isValid() and tree.visualRect(index).bottom() <= tree.viewport().height():
        row, name = tree.visualRect(index), _path(index)
        places[f"row:{name}"] = _at(tree.viewport(), row.center())
        arrow = QPoint(row.left() - tree.indentation() // 2, row.center().y())
        places[f"arrow:{name}"] = _at(tree.viewport(), arrow)
        index = tree.indexBelow(index)
    return places


def _path(index: QModelIndex) -> str:
    names: list[str] = []
    while index.isValid():
        names.insert(0, str(index.data()))
        index = index.parent()
    return ".".join(names[1:]) or names[0]


def _parts_of(canvas: QWidget) -> dict[str, list[int]]:
    from bertviewer.ui.map.canvas import FlowCanvas

    viewport = canvas.viewport if isinstance(canvas, FlowCanvas) else None
    drawing = None if viewport is None else viewport.cache.drawing(viewport.scope)
    if viewport is None or drawing is None:
        return {}
    places = {}
    for placed in drawing.nodes:
        rect = viewport.camera.seen(placed.rect)
        middle = QPoint(round(rect.x + rect.width / 2), round(rect.y + rect.height / 2))
        if placed.node.path and canvas.rect().contains(middle):
            places[f"part:{placed.node.path}"] = _at(canvas, middle)
    return places


def _zoom(window: MainWindow) -> float:
    from bertviewer.ui.map.canvas import FlowCanvas

    canvas = window.findChild(FlowCanvas, "mapCanvas")
    return canvas.viewport.zoom_level if canvas is not None and canvas.viewport is not None else 0.0


def _box(widget: QWidget) -> tuple[int, ...]:
    place = widget.mapToGlobal(QPoint(0, 0))
    return place.x(), place.y(), widget.width(), widget.height()


def _at(widget: QWidget, place: QPoint) -> list[int]:
    return list(widget.mapToGlobal(place).toTuple())
