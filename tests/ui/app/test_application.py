"""The program as a process: how it starts, how it ends, what it says without a display."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.app import ERROR
from tests.ui.app.program import START, TIMEOUT, run_python

HEAVY = ("torch", "transformers", "numpy", "typst", "sympy", "scipy", "tokenizers")
"""What takes longer to import than the window may take to come."""


def test_a_model_that_was_seen_before_is_there_without_the_libraries(tmp_path: Path) -> None:
    code = (
        START
        + f"""
heavy = {HEAVY!r}
def imported():
    return [name for name in heavy if name in sys.modules]
from bertviewer.ui.jobs import model_jobs as jobs
jobs.PAUSE = 60  # the imports that follow wait so long
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
sys.argv[1:] = ["demo"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout.splitlines() == ["True []", "22713216 True []"], done.stderr
    assert done.returncode == 0


def test_a_model_that_was_never_seen_waits_for_them_behind_a_window(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "bert", "num_hidden_layers": 1}')
    code = (
        START
        + f"""
def hook(window, worker):
    window.painted.connect(lambda: print("torch" in sys.modules))
    def opened():
        print("torch" in sys.modules, len(window.workspace.architecture.modules))
        window.close()
    window.workspace.architecture_changed.connect(opened)
sys.argv[1:] = [{str(file)!r}]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout.splitlines() == ["False", "True 30"], done.stderr
    assert done.returncode == 0


def test_an_exception_in_a_slot_becomes_a_dialog_and_a_log_entry(tmp_path: Path) -> None:
    code = (
        START
        + """
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
sys.argv[1:] = ["demo"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert done.returncode == 0, done.stderr
    assert "You can keep working" in done.stdout
    log = tmp_path / "state" / "bertviewer" / "log" / "bertviewer.log"
    assert str(log) in done.stdout
    assert "broken on purpose" in log.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="displays are found out about on Linux")
@pytest.mark.parametrize(
    "display",
    [
        {},
        {"DISPLAY": ":7654"},
        {"WAYLAND_DISPLAY": "wayland-7654"},
        {"QT_QPA_PLATFORM": "wayland"},
        {"QT_QPA_PLATFORM": "no-such-platform"},
    ],
)
def test_no_display_is_one_line(tmp_path: Path, display: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bertviewer"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | display,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(ERROR)
    assert "bertviewer report MODEL -o FILE.pdf" in done.stderr
    assert done.stdout == ""


LOOKS = """
def hook(window, worker):
    def look():
        architecture = window.workspace.architecture
        name = "none" if architecture is None else architecture.source.name
        from PySide6.QtWidgets import QLabel, QMessageBox
        note = window.findChild(QLabel, "welcomeNote")
        boxes = window.findChildren(QMessageBox)
        print(name, window.welcome.isVisible(), len(boxes), note.text() if note else "")
        window.close()
    def later():
        if not window.workspace.jobs.activity:
            timer.stop()
            QTimer.singleShot(0, look)
    timer = QTimer(window, interval=20, timeout=later)
    window.painted.connect(timer.start)
sys.argv[1:] = {0}
sys.exit(app.main())
"""


def look(tmp_path: Path, *arguments: str) -> str:
    done = run_python(START + LOOKS.format(list(arguments)), tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_start_without_a_name_opens_what_was_open_last(tmp_path: Path) -> None:
    assert look(tmp_path) == "none True 0"
    assert look(tmp_path, "bert-large-uncased") == "bert-large-uncased False 0"
    assert look(tmp_path) == "bert-large-uncased False 0"


def test_what_is_gone_or_broken_by_then_is_one_calm_line(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "bert", "num_hidden_layers": 1}')
    assert look(tmp_path, str(file)) == f"{file} False 0"
    file.write_text("[")
    said = look(tmp_path)
    assert said.startswith(f"none True 0 {file}: ")
    file.unlink()
    assert look(tmp_path) == f"none True 0 The model opened last, {file}, no longer exists."


def test_a_sentence_of_the_command_line_is_run(tmp_path: Path) -> None:
    code = (
        START
        + """
def hook(window, worker):
    def ran():
        run = window.workspace.runs.run
        if run is not None:
            print(run.sentence.text, run.sentence.pair, len(run.tokens))
            QTimer.singleShot(0, window.close)
    window.workspace.runs.run_changed.connect(ran)
sys.argv[1:] = ["demo", "--sentence", "a test", "--pair", "another"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout.splitlines() == ["a test another 6"], done.stderr
    assert done.returncode == 0
