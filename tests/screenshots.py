"""Takes pictures of the window: ``python -m tests.screenshots [FOLDER]``.

Without a folder these are the README's. With one it is a whole gallery: every tab and view, the
window empty, busy, and with results that are no longer of what is typed, light and dark, all sizes
of screens, and several families. The window is a real one on a virtual X display where Xvfb is
installed, an offscreen one elsewhere.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bertviewer.core.system.resources import resources_folder
from tests.xvfb import AVAILABLE, virtual_display

SENTENCE = "The bank by the river was closed, so she walked to the other bank."
OTHER = "The bank raised its rates."
LONG = " ".join(f"word{number}" for number in range(150))
ATTENTION = "encoder.layer.3.attention.self"
SIZES = ((1024, 700), (1280, 720), (1366, 768), (2560, 1440))
FAMILIES = ("gpt2", "transformer-base", "albert-base-v2", "distilbert-base-uncased",
            "bert-large-chinese", "electra-base-discriminator")  # fmt: skip
TIMEOUT = 180.0


def main() -> int:
    """Start the program that takes the pictures, with a display for it."""
    folder = sys.argv[1] if len(sys.argv) > 1 else ""
    command = [sys.executable, "-c", f"from tests import screenshots; screenshots.take({folder!r})"]
    with tempfile.TemporaryDirectory() as settings:
        environment = os.environ | {"XDG_CONFIG_HOME": settings, "QT_QPA_PLATFORM": "offscreen"}
        if not AVAILABLE:
            return subprocess.run(command, env=environment, check=False).returncode
        with virtual_display(2600, 1500) as display:
            environment |= {"QT_QPA_PLATFORM": "xcb", "DISPLAY": display}
            return subprocess.run(command, env=environment, check=False).returncode


def take(folder: str) -> None:
    """Take the README's pictures, or a gallery into a folder."""
    from PySide6.QtWidgets import QApplication

    from bertviewer.ui.application import configure, leave

    application = QApplication([])
    configure(application)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        _gallery(application, folder)
    else:
        _readme(application, str(resources_folder() / "screenshots"))
    leave(0)  # as the program does: torch and Qt would take each other apart


class Guide:
    """Goes through a window as a person does, and takes a picture at each stop."""

    def __init__(
        self, application: object, folder: str, size: tuple[int, int] = (1440, 900)
    ) -> None:
        from PySide6.QtWidgets import QApplication

        from bertviewer.ui.application import make_window
        from bertviewer.ui.background.worker import Worker

        assert isinstance(application, QApplication)
        self.application, self.folder = application, folder
        self.worker = Worker()
        self.window = make_window(self.worker)
        self.window.set_appearance("light")
        self.window.resize(*size)
        self.window.show()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let the window work until something is so."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            self.application.processEvents()
            time.sleep(0.005)

    def settle(self) -> None:
        """Wait until all is drawn and messages in the status bar are gone."""
        until = time.monotonic() + 1.5
        workspace = self.window.workspace
        self.wait(
            lambda: (
                time.monotonic() > until and not workspace.draw_queue.pending
                and not self.worker.busy
            )
        )  # fmt: skip

    def open(self, name: str) -> None:
        """Open a model and wait for its formulas."""
        self.window.open_named(name)
        workspace = self.window.workspace
        self.wait(
            lambda: (
                workspace.architecture is not None
                and workspace.source is not None
                and workspace.source.name == name
                and not self.worker.busy
            )
        )

    def run(self, text: str, pair: str | None = None) -> None:
        """Run a sentence, with random weights where there are no others."""
        workspace = self.window.workspace
        before = workspace.runs.watched
        self.window.set_sentence(text, pair)
        workspace.next_run.set_random_weights(True)
        self.window.run()
        self.wait(lambda: workspace.runs.watched not in (None, before) and not self.worker.busy)

    def select(self, path: str) -> None:
        """Select a module."""
        self.window.workspace.selection.select(path)

    def show(self, title: str) -> None:
        """Bring a tab or a view into sight."""
        self.window.workspace.page_wanted.emit(title)

    def picture(self, name: str) -> None:
        """Save what is to be seen."""
        self.settle()
        path = Path(self.folder) / f"{name}.png"
        if not self.window.grab().save(str(path)):
            raise OSError(f"cannot write {path}")
        sys.stdout.write(f"{path}\n")

    def close(self) -> None:
        """Close the window."""
        self.window.close()
        self.worker.stop(10)


def _readme(application: object, folder: str) -> None:
    from PySide6.QtWidgets import QAbstractButton, QTableView

    from bertviewer.charts.place import Place
    from tests.ui.finding import find

    guide = Guide(application, folder)
    guide.open("demo")
    guide.run(SENTENCE)
    guide.select(ATTENTION)
    guide.window.workspace.selection.go(Place(token=2, head=8))
    guide.picture("map")
    guide.show("Formula")
    guide.picture("tree-and-formula")
    guide.show("Attention")
    guide.window.enlarge_views()
    guide.picture("attention")
    guide.window.enlarge_views()
    guide.show("Layers")
    guide.show("Walk")
    guide.picture("walk")
    guide.show("Tensors")
    find(guide.window, QTableView, "tensorTable").selectRow(0)
    find(guide.window, QAbstractButton, "tensorView1").click()
    guide.picture("tensors")
    guide.window.set_appearance("dark")
    guide.select("encoder.layer.3")
    guide.show("Formula")
    find(guide.window, QAbstractButton, "checkButton").click()
    guide.wait(lambda: bool(guide.window.workspace.runs.checks))
    guide.show("Map")
    guide.picture("dark")
    guide.close()


def _gallery(application: object, folder: str) -> None:
    from bertviewer.ui.run.views import VIEWS
    from bertviewer.ui.tabs import TABS

    guide = Guide(application, folder)
    guide.picture("empty")
    guide.open("demo")
    guide.picture("opened")
    for theme in ("light", "dark"):
        guide.window.set_appearance(theme)
        guide.run(SENTENCE)
        guide.select(ATTENTION)
        for kind in TABS:
            guide.show(kind.title)
            guide.picture(f"{theme}-tab-{kind.title}")
        guide.show(TABS[0].title)
        for view in VIEWS:
            guide.show(view.title)
            guide.picture(f"{theme}-view-{view.title}")
        guide.window.enlarge_views()
        guide.picture(f"{theme}-enlarged")
        guide.window.enlarge_views()
    guide.window.set_appearance("light")
    guide.show("Layers")
    guide.window.set_sentence(OTHER, None)
    guide.picture("stale")
    guide.window.keep_run()
    guide.run(OTHER)
    guide.picture("compared")
    guide.run(LONG)
    guide.show("Attention")
    guide.picture("long")
    guide.window.open_named("/nowhere")
    guide.picture("failed")
    for size in SIZES:
        guide.window.resize(*size)
        guide.show("Layers")
        guide.picture(f"size-{size[0]}x{size[1]}")
    guide.close()
    guide = Guide(application, folder)
    for name in FAMILIES:
        guide.open(name)
        guide.picture(f"family-{name}")
        guide.run(SENTENCE)
        guide.picture(f"family-{name}-run")
    guide.close()


if __name__ == "__main__":
    raise SystemExit(main())
