"""Session: saves the window's state when it closes, and restores it at the next start."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

from msgspec import Meta, Struct, ValidationError, field, to_builtins
from msgspec.structs import asdict, replace
from PySide6.QtCore import QByteArray, QEvent, QObject, QSettings, Qt
from PySide6.QtWidgets import QLineEdit, QMainWindow, QTreeView
from typing_extensions import override

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.serialization import convert, convert_valid
from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.settings.settings import opened_name, opens_last, store
from bertviewer.ui.state.run_input import MAX_SENTENCES
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageTabs

SETTING = "session"
LAYOUT_VERSION = 1
"""To be increased when the window has other docks: older layouts are ignored."""

MAX_CHARACTERS = 10_000
"""Of a sentence that is stored."""
MAX_ROWS = 2_000
MAX_BYTES = 100_000
"""Of Qt's descriptions of geometry and layout, which take a few hundred."""

NO_SENTENCE = Sentence("")


class WindowState(Struct, frozen=True, rename={"overrides": "wished"}):  # the stored name
    """Geometry and docks.

    Attributes:
        geometry: ``QWidget.saveGeometry()``.
        layout: ``QMainWindow.saveState()``.
        moved: the panes that the user has moved.
        overrides: whether a pane is shown, where the user has chosen that.
    """

    geometry: bytes = b""
    layout: bytes = b""
    moved: tuple[str, ...] = ()
    overrides: Mapping[str, bool] = field(default_factory=dict)


class ModelState(Struct, frozen=True):
    """The open model.

    Attributes:
        name: by which it is opened again.
        task: its task head.
        row: the key of the selected row of the tree.
        expanded: the keys of the expanded rows, ``None`` if there were too many.
    """

    name: str = ""
    task: str = ""
    row: str = ""
    expanded: Annotated[tuple[str, ...], Meta(max_length=MAX_ROWS)] | None = None


class SessionState(Struct, frozen=True):
    """Everything that is saved; ``pages`` has the shown page's title by the tabs' object name."""

    window: WindowState = WindowState()
    model: ModelState | None = None
    pages: Mapping[str, str] = field(default_factory=dict)
    sentence: Sentence = NO_SENTENCE
    history: tuple[Sentence, ...] = ()

    def to_text(self) -> str:
        """Return the state as JSON."""
        window = self.window
        packed = {"geometry": _pack(window.geometry), "layout": _pack(window.layout)}
        return json.dumps(
            {
                "window": {**to_builtins(window), **packed},
                "model": None if self.model is None else asdict(self.model),
                "pages": dict(self.pages),
                "sentence": _pair(self.sentence),
                "history": [_pair(sentence) for sentence in self.history[-MAX_SENTENCES:]],
            }
        )

    @classmethod
    def from_text(cls, text: object) -> "SessionState":
        """Read what ``to_text`` returned; invalid values are replaced by their defaults.

        They may have been written by another version or by hand.
        """
        try:
            data = json.loads(text) if isinstance(text, str) else {}
        except (ValueError, RecursionError):
            return cls()
        if not isinstance(data, dict):
            return cls()
        window, history = data.get("window"), data.get("history")
        packed = window if isinstance(window, dict) else {}
        found = map(_sentence, history if isinstance(history, list) else [])
        return cls(
            replace(
                convert_valid(window, WindowState),
                geometry=_unpack(packed.get("geometry")),
                layout=_unpack(packed.get("layout")),
            ),
            _model(data.get("model")),
            _pages(data.get("pages")),
            _sentence(data.get("sentence")) or NO_SENTENCE,
            tuple(one for one in found if one is not None)[-MAX_SENTENCES:],
        )


def can_store(sentence: Sentence) -> bool:
    """Return whether a sentence is short enough to be stored, and can be encoded."""
    texts = (sentence.text, sentence.pair or "")
    return all(len(text) <= MAX_CHARACTERS and _is_encodable(text) for text in texts)


def _pair(sentence: Sentence) -> list[str | None]:
    return [sentence.text, sentence.pair] if can_store(sentence) else ["", None]


def _sentence(pair: Any) -> Sentence | None:
    match pair:
        case [str(text), (str() | None) as second] if can_store(Sentence(text, second)):
            return Sentence(text, second)
    return None


def _pack(content: bytes) -> str:
    """Return bytes as text with a checksum: Qt aborts on a layout with a single wrong byte."""
    return f"{binascii.crc32(content):08x} {base64.b64encode(content).decode()}"


def _unpack(text: Any) -> bytes:
    checksum, _, encoded = text.partition(" ") if isinstance(text, str) else ("", "", "")
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""
    is_sound = len(content) <= MAX_BYTES and checksum == f"{binascii.crc32(content):08x}"
    return content if is_sound else b""


def _model(data: Any) -> ModelState | None:
    found = convert_valid(data, ModelState)
    return found if found.name and found.task and _is_encodable(found.name) else None


def _pages(data: Any) -> dict[str, str]:
    try:
        return convert(data, dict[str, str])
    except ValidationError:
        return {}


def _is_encodable(text: str) -> bool:
    """Return whether a text has no lone surrogates, which Qt and files refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@runtime_checkable
class _Tree(Protocol):
    """The tree of modules."""

    def open_rows(self, most: int) -> tuple[str, ...] | None: ...
    def open_only(self, keys: Sequence[str]) -> None: ...


class Session(QObject):
    """Saves the session when the window closes, and restores ``last`` step by step.

    Attributes:
        last: the last session.
        is_saved: whether the session could be written.
    """

    def __init__(self, window: QMainWindow, workspace: Workspace) -> None:
        super().__init__(window)
        self._window = window
        self._workspace = workspace
        self.last = SessionState.from_text(QSettings().value(SETTING))
        self.is_saved = True
        self._is_model_restored = self._are_views_restored = False
        window.installEventFilter(self)
        self._workspace.architecture_changed.connect(self._on_architecture)
        self._workspace.views_ready.connect(self._on_views)

    @property
    def source(self) -> ModelSource | None:
        """The model that was open last, ``None`` without one, or if it is not to be opened.

        Raises:
            UserError: it does not exist any more.
        """
        model = self.last.model
        if model is None or not opens_last():
            return None
        return parse_source(model.name, model.task)

    def restore(self) -> None:
        """Restore the window's geometry and the sentences; the rest follows with a model."""
        self._workspace.run_input.history.set_entries(self.last.history)
        if self.last.window.geometry:
            self._window.restoreGeometry(QByteArray(self.last.window.geometry))

    def save(self) -> None:
        """Write the present state to the settings."""
        self.is_saved = store(SETTING, self._state().to_text())

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Close and watched is self._window:
            self.save()
        return super().eventFilter(watched, event)

    def _state(self) -> SessionState:
        window, last = self._window, self.last
        geometry = bytes(window.saveGeometry().data())
        sentence = Sentence(self._text("sentenceEdit"), self._text("pairEdit") or None)
        if self._workspace.architecture is None:  # without a model there are no docks and pages
            kept = replace(last.window, geometry=geometry)
            return SessionState(kept, last.model, last.pages, sentence, self._history())
        shown = {str(name): is_shown for name, is_shown in self._panes.overrides.items()}
        layout = bytes(window.saveState(LAYOUT_VERSION).data())
        pages = {tabs.objectName(): tabs.shown for tabs in window.findChildren(PageTabs)}
        return SessionState(
            WindowState(geometry, layout, tuple(sorted(self._panes.moved)), shown),
            self._model_state(),
            {**last.pages, **pages},
            sentence,
            self._history(),
        )

    def _history(self) -> tuple[Sentence, ...]:
        """Return this window's sentences, after those that other windows have written meanwhile."""
        own = tuple(filter(can_store, self._workspace.run_input.history.entries))
        written = SessionState.from_text(QSettings().value(SETTING)).history
        return (*(one for one in written if one not in own), *own)[-MAX_SENTENCES:]

    def _model_state(self) -> ModelState | None:
        source, row = self._workspace.source, self._workspace.selection.row
        if source is None:
            return None
        tree = self._tree()
        return ModelState(
            opened_name(source),
            source.task.name,
            "" if row is None else row.key,
            None if tree is None else tree.open_rows(MAX_ROWS),
        )

    @property
    def _panes(self) -> Panes:
        panes = self._window.findChild(Panes)
        assert panes is not None  # the main window has them
        return panes

    def _tree(self) -> _Tree | None:
        found: object = self._window.findChild(QTreeView, "moduleTree")
        return found if isinstance(found, _Tree) else None

    def _text(self, name: str) -> str:
        edit = self._window.findChild(QLineEdit, name)
        return "" if edit is None else edit.text()

    def _on_architecture(self) -> None:
        """Restore the layout and what belongs to the first model; later ones start fresh."""
        if self._is_model_restored:
            return
        self._is_model_restored = True
        if self.last.window.layout:
            self._restore_layout(self.last.window)
        self._bring("detailTabs")
        model, source = self.last.model, self._workspace.source
        if model is None or source is None or model.name != opened_name(source):
            return
        tree = self._tree()
        if tree is not None and model.expanded is not None:
            tree.open_only(model.expanded)
        self._workspace.selection.select(model.row)

    def _restore_layout(self, state: WindowState) -> None:
        focused, layout = self._window.focusWidget(), QByteArray(state.layout)
        self._panes.restore(
            lambda: self._window.restoreState(layout, LAYOUT_VERSION), state.moved, state.overrides
        )
        # Each pane was hidden for a moment, and lost the focus.
        if focused is not None and focused.isVisible():
            focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_views(self) -> None:
        if not self._are_views_restored:
            self._are_views_restored = True
            self._bring("runViews")

    def _bring(self, name: str) -> None:
        tabs = self._window.findChild(PageTabs, name)
        if tabs is not None and name in self.last.pages:
            tabs.bring(self.last.pages[name])
