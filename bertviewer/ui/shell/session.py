"""Remembers what a person left, when the window closes, and puts it back when it opens."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QMainWindow, QTreeView

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.settings.settings import opened_name, opens_last, store
from bertviewer.ui.shell.session_state import (
    MOST_ROWS,
    MOST_SENTENCES,
    ModelState,
    SessionState,
    WindowState,
    kept,
)
from bertviewer.ui.shell.window_geometry import mended_place
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageTabs

SETTING = "session"
LAYOUT_VERSION = 1
"""To be raised when the window has other docks: an old layout is left out then."""


@runtime_checkable
class OpensRows(Protocol):
    """The tree, whose rows are open or not."""

    def open_rows(self, most: int) -> tuple[str, ...] | None: ...  # noqa: D102
    def open_only(self, keys: Sequence[str]) -> None: ...  # noqa: D102


class Session(QObject):
    """What was there last time, for as long as it is still to be put back."""

    def __init__(self, window: QMainWindow, workspace: Workspace) -> None:
        super().__init__(window)
        self._window = window
        self._workspace = workspace
        self.last = SessionState.from_text(QSettings().value(SETTING))
        self.is_saved = True
        """Whether what was to be written down has been."""
        self._is_model_back = self._are_views_back = False
        window.installEventFilter(self)
        self._workspace.architecture_changed.connect(self._on_architecture)
        self._workspace.views_ready.connect(self._on_views)

    @property
    def source(self) -> ModelSource | None:
        """The model that was open last, ``None`` without one, or where it is not to be opened.

        Raises:
            UserError: it is not there any more.
        """
        model = self.last.model
        if model is None or not opens_last():
            return None
        return parse_source(model.name, model.task)

    def restore(self) -> None:
        """Put the window back to where it was, and the sentences; the rest follows with a model."""
        self._workspace.next_run.history.set_entries(self.last.history)
        place = self.last.window.place
        if place is not None:
            screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
            self._window.setGeometry(mended_place(QRect(*place), screens))
        if self.last.window.is_maximised:
            self._window.setWindowState(Qt.WindowState.WindowMaximized)

    def save(self) -> None:
        """Write down how everything is now."""
        self.is_saved = store(SETTING, self._state().to_text())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remember everything when the window is about to close; Qt calls it."""
        if event.type() == QEvent.Type.Close and watched is self._window:
            self.save()
        return super().eventFilter(watched, event)

    def _state(self) -> SessionState:
        window = self._window
        normal = window.normalGeometry() if window.isMaximized() else window.geometry()
        has_model = self._workspace.architecture is not None
        # Without a model there are no docks to be seen, and no pages.
        layout = window.saveState(LAYOUT_VERSION).data() if has_model else self.last.window.layout
        pages = {tabs.objectName(): tabs.shown for tabs in window.findChildren(PageTabs)}
        return SessionState(
            WindowState(
                (normal.x(), normal.y(), normal.width(), normal.height()),
                window.isMaximized(),
                bytes(layout),
                tuple(sorted(self._panes.moved)) if has_model else self.last.window.moved,
                {str(name): shown for name, shown in self._panes.wished.items()}
                if has_model
                else self.last.window.wished,
            ),
            self._model_state() if has_model else self.last.model,
            {**self.last.pages, **(pages if has_model else {})},
            Sentence(self._text("sentenceEdit"), self._text("pairEdit") or None),
            self._history(),
        )

    def _history(self) -> tuple[Sentence, ...]:
        """Return the sentences of this window, after those that others have written meanwhile."""
        own = tuple(filter(kept, self._workspace.next_run.history.entries))
        written = SessionState.from_text(QSettings().value(SETTING)).history
        return (*(one for one in written if one not in own), *own)[-MOST_SENTENCES:]

    def _model_state(self) -> ModelState | None:
        source, row = self._workspace.source, self._workspace.selection.row
        if source is None:
            return None
        tree = self._tree()
        return ModelState(
            opened_name(source),
            source.task.name,
            "" if row is None else row.key,
            None if tree is None else tree.open_rows(MOST_ROWS),
        )

    @property
    def _panes(self) -> Panes:
        panes = self._window.findChild(Panes)
        assert panes is not None  # the main window has them
        return panes

    def _tree(self) -> OpensRows | None:
        found: object = self._window.findChild(QTreeView, "moduleTree")
        return found if isinstance(found, OpensRows) else None

    def _text(self, name: str) -> str:
        edit = self._window.findChild(QLineEdit, name)
        return "" if edit is None else edit.text()

    def _on_architecture(self) -> None:
        """Put back what belongs to the first model; a later one begins anew."""
        if self._is_model_back:
            return
        self._is_model_back = True
        if layout := self.last.window.layout:
            had = self._window.focusWidget()
            window, panes = self.last.window, self._panes
            content = QByteArray(layout)
            panes.restore(
                lambda: self._window.restoreState(content, LAYOUT_VERSION),
                window.moved,
                window.wished,
            )
            # Each pane was out of sight for a moment, and with it the keys.
            if had is not None and had.isVisible():
                had.setFocus(Qt.FocusReason.OtherFocusReason)
        self._bring("detailTabs")
        model, source = self.last.model, self._workspace.source
        if model is None or source is None or model.name != opened_name(source):
            return
        tree = self._tree()
        if tree is not None and model.expanded is not None:
            tree.open_only(model.expanded)
        self._workspace.selection.select(model.row)

    def _on_views(self) -> None:
        if not self._are_views_back:
            self._are_views_back = True
            self._bring("runViews")

    def _bring(self, name: str) -> None:
        tabs = self._window.findChild(PageTabs, name)
        if tabs is not None and name in self.last.pages:
            tabs.bring(self.last.pages[name])
