"""The program as a process: start, errors, crashes, and end."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.app import ERROR
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.app.application import first_sentence
from bertviewer.ui.run.sentence_bar import EXAMPLE
from tests.ui.app.program import START, TIMEOUT, run_python

HEAVY = ("torch", "transformers", "numpy", "typst", "sympy", "scipy", "tokenizers")
"""Libraries that take longer to import than the window may take to be shown."""


def test_the_sentence_at_the_start() -> None:
    demo, other = parse_source("demo"), parse_source("gpt2")
    none, last, given = Sentence(""), Sentence("of the last session"), Sentence("given")
    assert first_sentence(demo, None, none) == (EXAMPLE, True)
    assert first_sentence(demo, None, last) == (last, False)
    assert first_sentence(demo, given, last) == (given, True)
    assert first_sentence(other, None, none) == (none, False)
    assert first_sentence(None, None, none) == (none, False)


def start(tmp_path: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program; ``code`` defines ``hook(window, worker)``."""
    end = f"\nsys.argv[1:] = {list(arguments)!r}\nsys.exit(app.main())\n"
    return run_python(START + code + end, tmp_path)


def test_a_known_model_is_shown_without_the_libraries(tmp_path: Path) -> None:
    code = f"""
from bertviewer.ui.jobs import model_jobs as jobs
jobs.PAUSE = 60  # before the imports that follow
def imported():
    return [name for name in {HEAVY!r} if name in sys.modules]
def hook(window, worker):
    def painted():
        image = window.grab().toImage()
        colors = {{image.pixel(x, y) for x in range(0, image.width(), 7)
                  for y in range(0, image.height(), 7)}}
        print(len(colors) > 3, imported())
    window.painted.connect(painted)
    def opened():
        architecture = window.workspace.architecture
        print(architecture.root.parameters, architecture.costs is not None, imported())
        window.close()
    window.workspace.architecture_changed.connect(lambda: QTimer.singleShot(0, opened))
"""
    done = start(tmp_path, code, "demo")
    assert done.stdout.splitlines() == ["True []", "22713216 True []"], done.stderr
    assert done.returncode == 0


STATE = """
def hook(window, worker):
    window.painted.connect(lambda: print("torch" in sys.modules))
    def look():
        from PySide6.QtWidgets import QLabel, QMessageBox
        architecture = window.workspace.architecture
        note = window.findChild(QLabel, "welcomeNote")
        print("none" if architecture is None else architecture.source.name)
        print(window.welcome.isVisible(), len(window.findChildren(QMessageBox)))
        print(note.text() if note else "")
        window.close()
    def later():
        if not window.workspace.jobs.activity:
            timer.stop()
            QTimer.singleShot(0, look)
    timer = QTimer(window, interval=20, timeout=later)
    window.painted.connect(timer.start)
"""


def test_a_start_without_arguments_opens_the_last_model_or_says_why_not(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "bert", "num_hidden_layers": 1}')

    def state(*arguments: str) -> list[str]:
        done = start(tmp_path, STATE, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    opened = ["False", str(file), "False 0", ""]  # painted before torch was imported
    assert state(str(file)) == opened
    assert state() == opened
    file.write_text("[")
    *_, page, note = state()
    assert page == "True 0"
    assert note.startswith(f"{file}: ")
    file.unlink()
    gone = f"The model opened last, {file}, no longer exists."
    assert state()[1:] == ["none", "True 0", gone]


def test_without_a_display_there_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bertviewer"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"{ERROR}.*bertviewer report MODEL -o FILE\.pdf.*\n", done.stderr)


def test_an_exception_in_a_slot_is_shown_and_logged(tmp_path: Path) -> None:
    code = """
from PySide6.QtWidgets import QMessageBox
def hook(window, worker):
    def fail():
        raise RuntimeError("broken on purpose")
    def look():
        box = window.findChild(QMessageBox, "errorDialog")
        if box is not None:
            timer.stop()
            print(box.text(), box.informativeText())
            window.close()
    timer = QTimer(window, interval=20, timeout=look)
    window.painted.connect(fail)
    window.painted.connect(timer.start)
"""
    done = start(tmp_path, code, "bert-base-uncased")
    assert done.returncode == 0, done.stderr
    assert "You can keep working" in done.stdout
    log = tmp_path / "state" / "bertviewer" / "log" / "bertviewer.log"
    assert str(log) in done.stdout
    assert "broken on purpose" in log.read_text()


def test_after_a_crash_the_next_start_shows_the_trace_and_damaged_settings(
    tmp_path: Path,
) -> None:
    crash = """
import ctypes
def hook(window, worker):
    def crash_on_purpose():
        ctypes.string_at(0)
    window.painted.connect(crash_on_purpose)
"""
    assert start(tmp_path, crash, "bert-base-uncased").returncode == -signal.SIGSEGV
    settings = tmp_path / "bertviewer" / "bertviewer.conf"
    settings.parent.mkdir(exist_ok=True)
    settings.write_bytes(b"\0 not settings")
    look = """
from PySide6.QtWidgets import QMessageBox
from bertviewer.ui.widgets.messages import ErrorBar
def hook(window, worker):
    def look():
        for box in window.findChildren(QMessageBox):
            print(box.text(), "|", box.informativeText(), "|", box.detailedText(), "|")
        print(window.findChild(ErrorBar).text())
        window.close()
    window.painted.connect(lambda: QTimer.singleShot(100, look))
"""
    done = start(tmp_path, look, "bert-base-uncased")
    assert done.returncode == 0, done.stderr
    message, details, trace, damaged = map(str.strip, done.stdout.split("|"))
    log = tmp_path / "state" / "bertviewer" / "log" / "bertviewer.log"
    assert message == "The program quit unexpectedly last time."
    assert details == f"Details were saved to {log}"
    assert f"Python {sys.version.split()[0]}" in trace
    assert "crash_on_purpose" in trace
    assert "crash_on_purpose" in log.read_text()
    assert damaged == (
        "The settings file was damaged, so the default settings are used. "
        f"The old file is {settings}.damaged"
    )


@pytest.mark.parametrize("moment", ["painted", "importing", "running"])
def test_closing_at_any_moment_exits_with_0(tmp_path: Path, moment: str) -> None:
    code = f"""
import os
from PySide6.QtWidgets import QWidget
from bertviewer.core.util import libraries
moment = {moment!r}
def hook(window, worker):
    late = QWidget()
    def close():
        window.close()
        late.show()  # as what is still built when the window closes
        late.hide()
        QTimer.singleShot(20_000, window, lambda: os._exit(9))
    def run():
        window.workspace.jobs.progressed.connect(
            lambda done, total, label: "encoder.layer." in label and window.close())
        window.set_sentence("word " * 500, None)
        window.run()
    if moment == "painted":
        window.painted.connect(close)
    elif moment == "importing":
        timer = QTimer(
            window, interval=10, timeout=lambda: libraries.are_loading() and window.close())
        timer.start()
    else:
        window.workspace.architecture_changed.connect(lambda: QTimer.singleShot(0, run))
"""
    done = start(tmp_path, code, "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.replace("This plugin does not support propagateSizeHints()\n", "") == ""


def test_closing_while_a_file_is_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    code = f"""
import threading
from pathlib import Path
from bertviewer.core.saving.atomic_files import write_atomically
folder = Path({str(folder)!r})
def pieces(progress):
    yield b"some of it"
    progress(0, 0, "writing")
    threading.Event().wait()  # as on a disk that does not answer: it cannot be cancelled
def hook(window, worker):
    def look(done, total, label):
        if label == "writing":
            print(len(list(folder.iterdir())))
            window.close()
    window.workspace.jobs.progressed.connect(look)
    work = lambda progress: write_atomically(folder / "a", pieces(progress))
    window.painted.connect(lambda: window.workspace.jobs.start("save", work, print))
"""
    done = start(tmp_path, code)
    assert done.stdout.splitlines() == ["1"], done.stderr
    assert done.returncode == 0
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_closes_the_window_and_its_dialogs(tmp_path: Path, name: str) -> None:
    code = f"""
import os, signal
from PySide6.QtCore import QSettings
def hook(window, worker):
    close = window.closeEvent
    def closed(event):
        close(event)
        print("closed", event.isAccepted())
    window.closeEvent = closed
    QSettings().setValue("written", "at the end")
    def send():
        if {name!r} == "SIGTERM":
            window.opening.choose_hub()
        QTimer.singleShot(0, lambda: os.kill(os.getpid(), signal.{name}))
    window.painted.connect(send)
"""
    done = start(tmp_path, code, "bert-base-uncased")
    assert done.stdout == "closed True\n"
    assert done.returncode == 0, done.stderr
    assert "at the end" in (tmp_path / "bertviewer" / "bertviewer.conf").read_text()
