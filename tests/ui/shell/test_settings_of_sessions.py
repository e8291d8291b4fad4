"""The settings that a session is kept in: whatever stands there, and whoever writes them."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.settings.settings import note_start, recent_names, remember
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.session import SETTING, Session, SessionState
from bertviewer.ui.tree.header import COLUMNS_SETTING, EXACT_SETTING, STATISTIC_SETTING
from tests.tools.subprocesses import output_of
from tests.ui.finding import find
from tests.ui.shell.starts import another

SETTINGS = (
    *(COLUMNS_SETTING, EXACT_SETTING, STATISTIC_SETTING, "recentModels", "recentTimes"),
    *("started", "appearance", "device", "textSize", "openLastModel", "rootColors", "headPicture"),
    "allowedPickles",
)


def write_elsewhere(values: dict[str, object]) -> None:
    """Have another process write settings into the file of this one's."""
    code = f"""
from PySide6.QtCore import QSettings
settings = QSettings({QSettings().fileName()!r}, QSettings.Format.IniFormat)
for key, value in {values!r}.items():
    settings.setValue(key, value)
"""
    output_of([sys.executable, "-c", code], Path.cwd())


ODD = [
    QByteArray(bytes(range(256))),
    "\u202e<b>\0 ' \" %",
    "x" * 100_000,
    ["", "\ud7ff", "a"],
    {"a": [1, 2]},
    -(2**63),
    float("nan"),
    True,
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_whatever_stands_in_the_settings_there_is_a_window(
    value: object, worker: Worker, qtbot: QtBot
) -> None:
    for key in (SETTING, *SETTINGS):
        QSettings().setValue(key, value)
    window, session = another(worker, qtbot)
    assert session.source is None
    assert window.isVisible()
    assert find(window, QLineEdit, "treeFilter").isEnabled()
    window.close()
    assert SessionState.from_text(QSettings().value(SETTING)).window.geometry


def test_of_two_windows_that_close_the_last_is_remembered(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    Session(window, window.workspace)
    other, _ = another(worker, qtbot)
    for each, text in ((window, "first"), (other, "second")):
        each.set_sentence(text, None)
    window.close()
    other.close()
    assert SessionState.from_text(QSettings().value(SETTING)).sentence == Sentence("second")


def test_settings_that_cannot_be_written_are_said(
    worker: Worker, tmp_path: Path, qtbot: QtBot
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")
    user = QSettings.Scope.UserScope
    QSettings.setPath(QSettings.Format.NativeFormat, user, str(blocked))
    window, session = another(worker, qtbot)
    said = find(window, QLabel, "settingsRefused")
    shown, saved = [said.isVisible()], []
    note_start()
    shown.append(said.isVisible())
    assert str(blocked) in said.toolTip()
    session.save()
    saved.append(session.is_saved)
    # There is room again.
    blocked.unlink()
    window.set_appearance("dark")
    shown.append(said.isVisible())
    session.save()
    saved.append(session.is_saved)
    assert (shown, saved) == ([False, True, False], [False, True])
    window.close()
    assert not window.isVisible()


def test_what_another_process_wrote_meanwhile_is_kept(worker: Worker, qtbot: QtBot) -> None:
    """Its sentences and its models stand before this one's."""
    window, session = another(worker, qtbot)
    history = window.workspace.next_run.history
    history.add(Sentence("of both"))
    history.add(Sentence("of this one"))
    other = SessionState(history=(Sentence("of the other"), Sentence("of both")))
    write_elsewhere({SETTING: other.to_text(), "recentModels": ["/the/others", "/both"]})
    folder = ModelSource("folder", "", Path("/"), find_task("base"))
    for name in ("/both", "/this"):
        remember(replace(folder, name=name))
    session.save()
    assert recent_names() == ["/this", "/both", "/the/others"]
    texts = [
        sentence.text for sentence in SessionState.from_text(QSettings().value(SETTING)).history
    ]
    assert texts == ["of the other", "of both", "of this one"]
