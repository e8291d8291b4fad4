"""Makes the README's screenshots: ``python -m tests.screenshots [FOLDER]``.

The window is a real one on a virtual X display where Xvfb is installed, an offscreen one elsewhere.
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
TIMEOUT = 120.0


def main() -> int:
    """Start the program that takes the pictures, with a display for it."""
    folder = sys.argv[1] if len(sys.argv) > 1 else str(resources_folder() / "screenshots")
    command = [sys.executable, "-c", f"from tests import screenshots; screenshots.take({folder!r})"]
    with tempfile.TemporaryDirectory() as settings:
        environment = os.environ | {"XDG_CONFIG_HOME": settings, "QT_QPA_PLATFORM": "offscreen"}
        if not AVAILABLE:
            return subprocess.run(command, env=environment, check=False).returncode
        with virtual_display() as display:
            environment |= {"QT_QPA_PLATFORM": "xcb", "DISPLAY": display}
            return subprocess.run(command, env=environment, check=False).returncode


def take(folder: str) -> None:
    """Open the demo model, walk through the main job, and take a picture at each stop."""
    from PySide6.QtWidgets import (
        QAbstractButton,
        QApplication,
        QPushButton,
        QTableView,
        QTabWidget,
    )

    from bertviewer.charts.place import Place
    from bertviewer.core.source.parsing import parse_source
    from bertviewer.ui.application import configure, make_window
    from bertviewer.ui.background.worker import Worker
    from bertviewer.ui.formula_tab import FormulaTab
    from tests.ui.finding import find, is_drawn

    application = QApplication([])
    configure(application)
    worker = Worker()
    window = make_window(worker)
    window.set_appearance("light")
    window.show()
    tabs = find(window, QTabWidget, "detailTabs")

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            application.processEvents()
            time.sleep(0.005)

    def open_tab(title: str, among: QTabWidget = tabs) -> None:
        among.setCurrentIndex([among.tabText(i) for i in range(among.count())].index(title))

    def settle() -> None:
        # Time for layouts to settle and for messages in the status bar to go.
        until = time.monotonic() + 1.5
        wait(lambda: time.monotonic() > until)

    def picture(name: str, at_last: Callable[[], None] | None = None) -> None:
        settle()
        if at_last is not None:
            at_last()
            settle()
        path = Path(folder) / f"{name}.png"
        if not window.grab().save(str(path)):
            raise OSError(f"cannot write {path}")
        sys.stdout.write(f"{path}\n")

    window.open_source(parse_source("demo"))
    wait(lambda: window.workspace.architecture is not None and not worker.busy)
    window.workspace.selection.select("encoder.layer.3.attention.self")
    open_tab("Formula")
    picture("tree-and-formula")
    open_tab("Overview")
    window.set_sentence(SENTENCE, None)
    window.run()
    wait(lambda: is_drawn(window) and not worker.busy)
    views = find(window, QTabWidget, "runViews")
    window.workspace.selection.go(Place(token=2))
    picture("activations")
    window.enlarge_views()
    open_tab("Attention", views)
    wait(lambda: not window.workspace.draw_queue.pending and not worker.busy)
    picture("attention")
    window.enlarge_views()
    open_tab("Layers", views)
    open_tab("Walk")
    picture("walk")
    window.workspace.selection.select("encoder.layer.3.attention.self")
    open_tab("Tensors")
    find(window, QTableView, "tensorTable").selectRow(0)
    find(window, QAbstractButton, "tensorView1").click()
    wait(lambda: not window.workspace.draw_queue.pending and not worker.busy)
    picture("tensors")
    window.set_appearance("dark")
    window.workspace.selection.select("encoder.layer.3")
    open_tab("Formula")
    find(window, QPushButton, "checkButton").click()
    wait(lambda: bool(window.workspace.runs.checks) and not worker.busy)
    page = find(window, FormulaTab)
    picture("dark", lambda: page.verticalScrollBar().setValue(page.verticalScrollBar().maximum()))
    window.close()
    worker.stop(10)


if __name__ == "__main__":
    raise SystemExit(main())
