"""The README's journeys are ways that the program goes, call by call."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from PySide6.QtWidgets import QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

import bertviewer
from bertviewer import app
from bertviewer.core.cache import models
from bertviewer.core.cache.store import Store
from bertviewer.core.system.resources import resources_folder
from bertviewer.ui.application import make_window
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn

PACKAGE = Path(bertviewer.__file__).parent
README = PACKAGE.parent / "README.md"
NAME_TO_TREE, SENTENCE_TO_PLOT = "From a name to the tree", "From a sentence to a plot"
PASS_TO_DRAWING = "From a forward pass to a drawing"

Step = tuple[str, str]  # a file of the package, and the qualified name of a function in it


def journey(title: str) -> list[Step]:
    """Return the steps below a heading of the README."""
    _, _, rest = README.read_text(encoding="utf-8").partition(f"### {title}\n")
    section, _, _ = rest.partition("\n#")
    return re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", section, re.MULTILINE)


@contextmanager
def noted(calls: list[Step]) -> Iterator[None]:
    """Add the package's functions to ``calls`` as they are called, in this and in new threads."""

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            calls.append((Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def first_missing(steps: list[Step], calls: list[Step]) -> Step | None:
    """Return the first step that does not come after the one before it."""
    rest = iter(calls)
    return next((step for step in steps if step not in rest), None)


@pytest.fixture
def calls(qtbot: QtBot) -> Iterator[tuple[MainWindow, list[Step]]]:
    """Return a window and what is called in it and in its worker."""
    found: list[Step] = []
    with noted(found):
        worker = Worker()
        window = make_window(worker)
        qtbot.addWidget(window)
        window.show()
        yield window, found
    assert worker.stop(OPEN_TIMEOUT / 1000)


def test_a_step_that_is_not_passed_is_noticed() -> None:
    a, b = ("a.py", "a"), ("b.py", "b")
    assert first_missing([a, b], [a, a, b]) is None
    assert first_missing([b, a], [a, b]) == a


def test_a_name_becomes_the_tree(
    calls: tuple[MainWindow, list[Step]], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, found = calls
    seen = resources_folder() / "seen"  # which other tests do without
    monkeypatch.setattr(models, "shipped", lambda kind: Store(seen / kind, None))
    window.open_named("bert-base-uncased")
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    steps = journey(NAME_TO_TREE)
    assert len(steps) > 10
    assert first_missing(steps, found) is None


def test_a_sentence_becomes_a_plot(calls: tuple[MainWindow, list[Step]], qtbot: QtBot) -> None:
    window, found = calls
    window.open_named("demo")
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    find(window, QLineEdit, "sentenceEdit").setText("A small test.")
    button = find(window, QPushButton, "runButton")
    qtbot.waitUntil(button.isEnabled, timeout=OPEN_TIMEOUT)
    button.click()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    steps = journey(SENTENCE_TO_PLOT)
    assert len(steps) > 10
    assert first_missing(steps, found) is None


def test_a_forward_pass_becomes_a_drawing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(models.NO_CACHE, "1")
    found: list[Step] = []
    with noted(found):
        assert app.main(["flow", "demo", "encoder.layer.0", "--format", "svg"]) == 0
    assert capsys.readouterr().out.startswith("<svg")
    steps = journey(PASS_TO_DRAWING)
    assert len(steps) > 10
    assert first_missing(steps, found) is None
