"""The program as a process: how it starts, how it ends, what it says without a display."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.app import ERROR

TIMEOUT = 300  # seconds; a program that hangs takes as long


def run_python(code: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter; a variable set to nothing is taken away."""
    settings = {
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        # A test must not find what another one opened: only what came with the program.
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    values = {k: v for k, v in (os.environ | settings | environment).items() if v}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=values,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


# Starts the program as the command does, with a hook into its window.
START = """
import sys
from PySide6.QtCore import QTimer
from bertviewer import app
from bertviewer.ui import application
make_window = application.make_window
def hooked(worker):
    window = make_window(worker)
    hook(window, worker)
    return window
application.make_window = hooked
"""


HEAVY = ("torch", "transformers", "numpy", "pyqtgraph", "typst", "sympy", "scipy", "tokenizers")
"""What takes longer to import than the window may take to come."""


def test_a_model_that_was_seen_before_is_there_without_the_libraries(tmp_path: Path) -> None:
    code = (
        START
        + f"""
heavy = {HEAVY!r}
def imported():
    return [name for name in heavy if name in sys.modules]
from bertviewer.ui import jobs
jobs.REST = 60  # the imports that follow wait so long
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


@pytest.mark.parametrize("moment", ["painted", "importing", "running", "stuck"])
def test_closing_at_any_moment_exits_with_0(tmp_path: Path, moment: str) -> None:
    code = (
        START
        + f"""
import threading
from bertviewer.core.system import libraries
moment = {moment!r}
def stuck(progress):
    progress(0, 0, "stuck")
    threading.Event().wait()  # as inside a library, where nobody hears of a cancel
def hook(window, worker):
    def close_at(words):
        window.workspace.scheduler.progressed.connect(
            lambda done, total, label: words in label and window.close())
    def opened():
        if moment == "running":
            close_at("encoder.layer.")
            window.set_sentence("word " * 500, None)
            window.run()
        elif moment == "stuck":
            close_at("stuck")
            window.workspace.scheduler.start("save", stuck, print)
    if moment == "painted":
        window.painted.connect(window.close)
    elif moment == "importing":
        def look():
            if libraries.are_loading():
                window.close()
        timer = QTimer(window, interval=10, timeout=look)
        timer.start()
    window.workspace.architecture_changed.connect(lambda: QTimer.singleShot(0, opened))
sys.argv[1:] = ["demo"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.replace("This plugin does not support propagateSizeHints()\n", "") == ""


def test_closing_while_a_file_is_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    code = (
        START
        + f"""
import threading
from pathlib import Path
from bertviewer.core.saving.files import write_atomically
folder = Path({str(folder)!r})
def pieces(progress):
    yield b"some of it"
    progress(0, 0, "writing")
    threading.Event().wait()  # as on a disk that does not answer
def hook(window, worker):
    def look(done, total, label):
        if label == "writing":
            print(len(list(folder.iterdir())))
            window.close()
    window.workspace.scheduler.progressed.connect(look)
    work = lambda progress: write_atomically(folder / "a", pieces(progress))
    window.painted.connect(lambda: window.workspace.scheduler.start("save", work, print))
sys.argv[1:] = []
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout.splitlines() == ["1"], done.stderr
    assert done.returncode == 0
    assert not list(folder.iterdir())


def test_closing_ends_it_though_a_widget_is_drawn_just_then(tmp_path: Path) -> None:
    code = (
        START
        + """
import os
from PySide6.QtWidgets import QWidget
def hook(window, worker):
    late = QWidget()
    def close():
        window.close()
        late.show()  # as what is still built when the window closes
        late.hide()
        QTimer.singleShot(20_000, window, lambda: os._exit(9))
    window.painted.connect(close)
sys.argv[1:] = ["demo"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr


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
    assert "The program goes on" in done.stdout
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
        cwd=Path(__file__).parents[2],
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


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_closes_the_window_in_order(tmp_path: Path, name: str) -> None:
    code = (
        START
        + f"""
import os, signal
from PySide6.QtCore import QSettings
def hook(window, worker):
    close = window.closeEvent
    def closed(event):
        close(event)
        print("closed", event.isAccepted())
    window.closeEvent = closed
    QSettings().setValue("written", "at the end")
    window.painted.connect(lambda: os.kill(os.getpid(), signal.{name}))
sys.argv[1:] = ["demo"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout == "closed True\n"
    assert done.returncode == 0, done.stderr
    assert "at the end" in (tmp_path / "bertviewer" / "bertviewer.conf").read_text()


def test_a_signal_closes_the_dialog_in_front_too(tmp_path: Path) -> None:
    code = (
        START
        + """
import os, signal
def hook(window, worker):
    def ask():
        window.opening.choose_hub()
        QTimer.singleShot(0, lambda: os.kill(os.getpid(), signal.SIGTERM))
    window.painted.connect(ask)
sys.argv[1:] = ["bert-base-uncased"]
sys.exit(app.main())
"""
    )
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr


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
        if not window.workspace.scheduler.activity:
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
    assert look(tmp_path) == f"none True 0 {file}, which was open last, is not there any more."


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
