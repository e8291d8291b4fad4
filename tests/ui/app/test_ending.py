"""How the program ends: at any moment, in order, and without a part of a file."""

from pathlib import Path

import pytest

from tests.ui.app.program import START, run_python


@pytest.mark.parametrize("moment", ["painted", "importing", "running", "stuck"])
def test_closing_at_any_moment_exits_with_0(tmp_path: Path, moment: str) -> None:
    code = (
        START
        + f"""
import threading
from bertviewer.core.util import libraries
moment = {moment!r}
def stuck(progress):
    progress(0, 0, "stuck")
    threading.Event().wait()  # as inside a library, where nobody hears of a cancel
def hook(window, worker):
    def close_at(words):
        window.workspace.jobs.progressed.connect(
            lambda done, total, label: words in label and window.close())
    def opened():
        if moment == "running":
            close_at("encoder.layer.")
            window.set_sentence("word " * 500, None)
            window.run()
        elif moment == "stuck":
            close_at("stuck")
            window.workspace.jobs.start("save", stuck, print)
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
from bertviewer.core.saving.atomic_files import write_atomically
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
    window.workspace.jobs.progressed.connect(look)
    work = lambda progress: write_atomically(folder / "a", pieces(progress))
    window.painted.connect(lambda: window.workspace.jobs.start("save", work, print))
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
