"""Session: the window's state in the settings, and its restoration at the next start."""

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QLabel, QLineEdit, QTabWidget, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.run_area import MIN_OPEN_HEIGHT
from bertviewer.ui.settings.settings import note_start, recent_names, remember, set_opens_last
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.session import (
    LAYOUT_VERSION,
    MAX_CHARACTERS,
    SETTING,
    ModelState,
    Session,
    SessionState,
    WindowState,
)
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.run_input import MAX_SENTENCES
from bertviewer.ui.tree.header import COLUMNS_SETTING, EXACT_SETTING, STATISTIC_SETTING
from bertviewer.ui.tree.model import ModuleTreeModel
from tests.tools.subprocesses import output_of
from tests.ui.conftest import OPEN_TIMEOUT, reopened
from tests.ui.finding import find, is_drawn

WHOLE = SessionState(
    WindowState(b"\1\xfe geometry", b"\0\xff layout", ("run",), {"module": False}),
    ModelState("/a 模型/b", "masked-lm", "encoder.layer.0-5", ("", "encoder")),
    {"detailTabs": "Formula", "runViews": "Attention"},
    Sentence("the cat", "the dog"),
    (Sentence("one"), Sentence("two", "three")),
)
PARTS = ("window", "model", "pages", "sentence", "history")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("state", [WHOLE, SessionState()])
def test_a_state_is_read_as_it_was_written(state: SessionState) -> None:
    assert SessionState.from_text(state.to_text()) == state


@pytest.mark.parametrize("text", [None, 5, "", "{", "[]", "null", "[" * 100_000, ["{}"]])
def test_anything_else_is_an_empty_state(text: object) -> None:
    assert SessionState.from_text(text) == SessionState()


@given(
    part=st.sampled_from(PARTS),
    inner=st.sampled_from([None, "geometry", "layout", "moved", "name", "row", "expanded"]),
    value=JSON,
)
def test_an_invalid_part_leaves_the_others(part: str, inner: str | None, value: object) -> None:
    data: dict[str, Any] = json.loads(WHOLE.to_text())
    if inner is not None and isinstance(data[part], dict):
        data[part][inner] = value
    else:
        data[part] = value
    found = SessionState.from_text(json.dumps(data))
    for other in set(PARTS) - {part}:
        assert getattr(found, other) == getattr(WHOLE, other)
    assert SessionState.from_text(found.to_text()) == found


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_damaged_layout_is_ignored(place: int, change: int) -> None:
    layout = bytes(range(256)) * 2
    data = json.loads(replace(WHOLE, window=WindowState(layout=layout)).to_text())
    checksum, _, encoded = data["window"]["layout"].partition(" ")
    damaged = bytearray(base64.b64decode(encoded))
    damaged[place] ^= change
    data["window"]["layout"] = f"{checksum} {base64.b64encode(damaged).decode()}"
    assert SessionState.from_text(json.dumps(data)).window == WindowState()


def test_long_and_invalid_sentences_are_not_stored() -> None:
    state = SessionState(sentence=Sentence("x" * (MAX_CHARACTERS + 1)))
    assert SessionState.from_text(state.to_text()).sentence == Sentence("")
    surrogates = {"sentence": ["\ud800", None], "history": [["\ud800", None], ["a", None]]}
    found = SessionState.from_text(json.dumps(surrogates))
    assert (found.sentence, found.history) == (Sentence(""), (Sentence("a"),))
    history = tuple(Sentence(str(number)) for number in range(MAX_SENTENCES + 9))
    found = SessionState.from_text(SessionState(history=history).to_text())
    assert found.history == history[-MAX_SENTENCES:]


Start = Callable[[], tuple[MainWindow, Session]]
Open = Callable[[MainWindow], None]


@pytest.fixture
def start(worker: Worker, qtbot: QtBot) -> Start:
    """Return a function that makes a window as a start of the program does."""

    def start() -> tuple[MainWindow, Session]:
        window = make_window(worker)
        qtbot.addWidget(window)
        session = Session(window, window.workspace)
        session.restore()
        window.show()
        return window, session

    return start


@pytest.fixture
def open_demo(
    worker: Worker, opened_demo: LoadedModel, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> Open:
    monkeypatch.setattr(model_jobs, "open_model_job", reopened(opened_demo))
    monkeypatch.setattr(model_jobs, "random_heads_job", lambda _model, _progress: {})

    def open_demo(window: MainWindow) -> None:
        window.open_source(parse_source("demo"))
        qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)

    return open_demo


def stored() -> SessionState:
    return SessionState.from_text(QSettings().value(SETTING))


def shown_tab(window: MainWindow) -> str:
    tabs = find(window, QTabWidget, "detailTabs")
    return tabs.tabText(tabs.currentIndex())


def is_expanded(window: MainWindow, key: str) -> bool:
    tree = find(window, QTreeView, "moduleTree")
    model = tree.model()
    assert isinstance(model, ModuleTreeModel)
    return tree.isExpanded(model.index_of(key))


def test_the_next_window_is_as_the_last_one_was_closed(start: Start, open_demo: Open) -> None:
    window, session = start()
    assert session.source is None
    open_demo(window)
    tree = find(window, QTreeView, "moduleTree")
    model = tree.model()
    assert isinstance(model, ModuleTreeModel)
    tree.collapse(model.index_of("embeddings"))
    window.workspace.selection.select("encoder.layer.3")
    window.workspace.show_page(Page.CONFIGURATION)
    window.set_sentence("the cat", "the dog")
    window.workspace.run_input.history.add(Sentence("an old one", "and its pair"))
    window.setGeometry(10, 40, 775, 500)
    window.panes.toggle("module")
    layout = window.saveState(LAYOUT_VERSION)
    window.close()

    other, session = start()
    # The offscreen screen is smaller than the minimum size of a window with a model.
    assert other.screen().availableGeometry().contains(other.geometry())
    assert other.height() == 500
    assert session.source == parse_source("demo")
    assert session.last.sentence == Sentence("the cat", "the dog")
    history = other.workspace.run_input.history.entries
    assert history == (Sentence("an old one", "and its pair"),)
    open_demo(other)
    assert shown_tab(other) == "Configuration"
    assert other.focusWidget() is find(other, QTreeView, "moduleTree")
    assert other.workspace.selection.row is not None
    assert other.workspace.selection.row.key == "encoder.layer.3"
    assert not is_expanded(other, "embeddings")
    assert is_expanded(other, "encoder")
    assert other.panes.dock("module").isVisible()
    assert other.saveState(LAYOUT_VERSION).size() == layout.size()


def test_what_was_stored_of_another_model_is_not_restored(start: Start, open_demo: Open) -> None:
    window, _ = start()
    open_demo(window)
    window.workspace.selection.select("encoder.layer.3")
    window.workspace.show_page(Page.SOURCE)
    window.close()
    before = stored()
    without_model, _ = start()
    without_model.close()
    after = stored()
    assert (after.model, after.pages) == (before.model, before.pages)
    assert after.window.layout == before.window.layout
    assert before.model is not None
    renamed = replace(before, model=replace(before.model, name="another"))
    QSettings().setValue(SETTING, renamed.to_text())
    other, _ = start()
    open_demo(other)
    assert other.workspace.selection.place.path == ""
    other.workspace.show_page(Page.FORMULA)
    other.close()
    assert stored().pages["detailTabs"] == "Formula"


def test_the_next_window_shrinks_the_pane_of_the_run(
    start: Start, open_demo: Open, worker: Worker, qtbot: QtBot
) -> None:
    window, _ = start()
    open_demo(window)
    window.set_sentence("the cat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy, timeout=OPEN_TIMEOUT)
    assert window.panes.dock("run").height() > MIN_OPEN_HEIGHT
    window.close()
    other, _ = start()
    open_demo(other)
    run = other.panes.dock("run")
    qtbot.waitUntil(lambda: run.height() == run.minimumSizeHint().height())
    assert run.height() < MIN_OPEN_HEIGHT


def test_the_last_model_is_opened_if_wanted_and_if_it_exists(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    state = SessionState(model=ModelState(str(folder), "base"))
    QSettings().setValue(SETTING, state.to_text())
    _, session = start()
    sources = []
    for is_wanted in (False, True):
        set_opens_last(is_wanted)
        sources.append(session.source)
    assert sources == [None, parse_source(str(folder), "base")]
    (folder / "config.json").unlink()
    folder.rmdir()
    with pytest.raises(UserError):
        _ = session.source


INVALID = [
    QByteArray(bytes(range(256))),
    "\u202e<b>\0 ' \" %",
    "x" * 100_000,
    ["", "\ud7ff", "a"],
    {"a": [1, 2]},
    float("nan"),
]


@pytest.mark.parametrize("value", INVALID, ids=lambda value: type(value).__name__)
def test_with_invalid_settings_the_window_opens(value: object, start: Start) -> None:
    keys = (
        *(SETTING, COLUMNS_SETTING, EXACT_SETTING, STATISTIC_SETTING, "recentModels"),
        *("recentTimes", "started", "appearance", "device", "textSize", "openLastModel"),
        *("rootColors", "headPicture", "allowedPickles"),
    )
    for key in keys:
        QSettings().setValue(key, value)
    window, session = start()
    assert session.source is None
    assert window.isVisible()
    assert find(window, QLineEdit, "treeFilter").isEnabled()
    window.close()
    assert stored().window.geometry


def test_settings_that_cannot_be_written_are_reported(start: Start, tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")
    user = QSettings.Scope.UserScope
    QSettings.setPath(QSettings.Format.NativeFormat, user, str(blocked))
    window, session = start()
    label = find(window, QLabel, "settingsRefused")
    shown, saved = [label.isVisible()], []
    note_start()
    shown.append(label.isVisible())
    assert str(blocked) in label.toolTip()
    session.save()
    saved.append(session.is_saved)
    blocked.unlink()
    window.set_appearance("dark")
    shown.append(label.isVisible())
    session.save()
    saved.append(session.is_saved)
    assert (shown, saved) == ([False, True, False], [False, True])
    window.close()


def write_elsewhere(values: dict[str, object]) -> None:
    """Write settings from another process."""
    code = f"""
from PySide6.QtCore import QSettings
settings = QSettings({QSettings().fileName()!r}, QSettings.Format.IniFormat)
for key, value in {values!r}.items():
    settings.setValue(key, value)
"""
    output_of([sys.executable, "-c", code], Path.cwd())


def test_sentences_and_models_of_another_process_are_kept(start: Start) -> None:
    window, session = start()
    history = window.workspace.run_input.history
    long = Sentence("x" * (MAX_CHARACTERS + 1))
    for sentence in (Sentence("of both"), long, Sentence("of this one", "with a pair")):
        history.add(sentence)
    other = SessionState(history=(Sentence("of the other"), Sentence("of both")))
    write_elsewhere({SETTING: other.to_text(), "recentModels": ["/the/others", "/both"]})
    folder = ModelSource("folder", "", Path("/"), find_task("base"))
    for name in ("/both", "/this"):
        remember(replace(folder, name=name))
    session.save()
    assert recent_names() == ["/this", "/both", "/the/others"]
    expected = Sentence("of the other"), Sentence("of both"), Sentence("of this one", "with a pair")
    assert stored().history == expected
    again, _ = start()
    assert again.workspace.run_input.history.entries == expected
