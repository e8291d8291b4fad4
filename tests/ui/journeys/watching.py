"""What a window says of itself to who drives it from outside: a line whenever something changes."""

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

from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.pages import PageTabs

INTERVAL = 40  # milliseconds between two looks
INPUT = (QEvent.Type.KeyPress, QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease,
         QEvent.Type.Shortcut, QEvent.Type.ShortcutOverride)  # fmt: skip


class Watcher(QObject):
    """Looks at a window, and notes where the keys went without anybody having done anything.

    The keys may go on by themselves only where what had them is gone, or another window has come.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._said = ""
        self._keys = 0
        self._is_doing = False
        self._jumps: list[str] = []
        self._written: list[str] = []
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.installEventFilter(self)
        application.focusChanged.connect(self._on_focus)
        for signal in (window.workspace.exported, window.workspace.saved):
            signal.connect(self._written.append)
        timer = QTimer(self)
        timer.timeout.connect(self._look)
        timer.start(INTERVAL)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice that somebody does something; Qt calls it."""
        if event.type() in INPUT and event.spontaneous():
            self._allow_turn()
        if event.type() == QEvent.Type.KeyRelease and watched.isWindowType():
            # What the key does is done by then.
            self._keys += event.spontaneous()
        return super().eventFilter(watched, event)

    def _allow_turn(self) -> None:
        """Let the keys go anywhere until this turn of the event loop is over."""
        self._is_doing = True
        QTimer.singleShot(0, self, self._on_done)

    def _on_done(self) -> None:
        self._is_doing = False

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is None or (old is not None and not old.isVisible()):
            self._allow_turn()  # what had them is gone; the window may have a better place yet
        elif not self._is_doing and old is not None and old.window() is new.window():
            self._jumps.append(f"{name_of(old)} → {name_of(new)}")

    def _look(self) -> None:
        text = json.dumps(self._state(), sort_keys=True)
        if text != self._said:
            self._said = text
            sys.stdout.write(f"state {text}\n")
            sys.stdout.flush()

    def _state(self) -> dict[str, Any]:
        window, workspace = self._window, self._window.workspace
        row, run = workspace.selection.row, workspace.runs.run
        focus, active = QApplication.focusWidget(), QApplication.activeWindow()
        return {
            "active": None if active is None else active.objectName() or type(active).__name__,
            "focus": name_of(focus),
            "focus_is_seen": focus is not None and not focus.visibleRegion().isEmpty(),
            "jumps": self._jumps,
            "keys": self._keys,
            "model": window.windowTitle().partition(" — ")[0],
            "selected": None if row is None else row.key,
            "token": workspace.selection.token,
            "tokens": 0 if run is None else len(run.tokens),
            "rests": not workspace.jobs.activity and not workspace.deferred.pending,
            "kept": workspace.runs.baseline is not None,
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
            "closeness": _closeness(window),
            "typed": {} if active is None else {
                edit.objectName(): edit.text()
                for edit in active.findChildren(QLineEdit) if edit.objectName()
            },
            "places": self._places(),
        }  # fmt: skip

    def _places(self) -> dict[str, list[int]]:
        """Return where on the screen is what can be clicked, by its name."""
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
    """Return the object name of a widget, or of what it stands in."""
    while widget is not None:
        # Qt's own parts have names that say nothing of what they are parts of.
        if widget.objectName() and not widget.objectName().startswith("qt_"):
            return widget.objectName()
        widget = widget.parentWidget()
    return ""


def watch(window: MainWindow) -> None:
    """Have a window say what it does."""
    Watcher(window)


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
    """Return where the names of rows are, and the arrows before them."""
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
        seen = viewport.camera.seen(placed.rect)
        middle = QPoint(round(seen.x + seen.width / 2), round(seen.y + seen.height / 2))
        if placed.node.path and canvas.rect().contains(middle):
            places[f"part:{placed.node.path}"] = _at(canvas, middle)
    return places


def _closeness(window: MainWindow) -> float:
    from bertviewer.ui.map.canvas import FlowCanvas

    canvas = window.findChild(FlowCanvas, "mapCanvas")
    return canvas.viewport.zoom_level if canvas is not None and canvas.viewport is not None else 0.0


def _box(widget: QWidget) -> tuple[int, ...]:
    place = widget.mapToGlobal(QPoint(0, 0))
    return place.x(), place.y(), widget.width(), widget.height()


def _at(widget: QWidget, place: QPoint) -> list[int]:
    return list(widget.mapToGlobal(place).toTuple())
