"""The program in a real X window, driven by keys as a person would."""

import shutil
from pathlib import Path

import pytest

from tests.tools.xvfb import AVAILABLE
from tests.ui.journeys.person import person_at

pytestmark = pytest.mark.skipif(
    not AVAILABLE or shutil.which("xdotool") is None, reason="needs Xvfb and xdotool"
)

BEFORE_TORCH = """
import threading
from PySide6.QtWidgets import QStatusBar, QTreeView
from bertviewer.core.util import libraries
from bertviewer.ui.app import application
may_import = threading.Event()
def held():
    may_import.wait(300)
    libraries.import_modules()
libraries.shared_import = libraries.Import(held)
application.first_sentence = lambda asked, given, last: (last, False)  # nothing runs by itself
def hook(window, worker):
    workspace, tree = window.workspace, window.findChild(QTreeView, "moduleTree")
    told = set()
    def say(*words):
        if words not in told:
            told.add(words)
            print(*words, flush=True)
    def has_plots():
        image = window.screen().grabWindow(window.winId()).toImage()
        colors = {image.pixel(x, y) for x in range(0, image.width(), 3)
                  for y in range(0, image.height(), 3)}
        return len(colors) > 50
    def look():
        if workspace.architecture is None:
            return
        say("opened")
        if workspace.runs.run is not None and has_plots():
            say("ran", len(workspace.runs.run.tokens), "torch" in sys.modules)
        index = tree.indexAt(tree.viewport().rect().topLeft())
        rows = []
        while index.isValid():
            rows.append(index)
            index = tree.indexBelow(index)
        names = [index.data() for index in rows]
        if "query" in names and "Embeddings" not in names:
            place = tree.visualRect(rows[names.index("query")]).center()
            place = tree.viewport().mapToGlobal(place)
            say("filtered", place.x(), place.y())
        if workspace.selection.row is not None and workspace.selection.row.node.name == "query":
            say("selected", "torch" in sys.modules)
        if workspace.jobs.activity == "run" and not may_import.is_set():
            message = window.findChild(QStatusBar).currentMessage()
            if message:
                say("asked:", message)
                window.grab().save("asked.png")
                may_import.set()
    workspace.saved.connect(lambda path: say("saved", "torch" in sys.modules))
    QTimer(window, interval=50, timeout=look).start()
sys.argv[1:] = ["demo"]
sys.exit(app.main())
"""


def test_before_torch_is_imported_all_but_a_run_is_there_and_that_follows(tmp_path: Path) -> None:
    with person_at(BEFORE_TORCH, tmp_path) as person:
        person.does("key", "ctrl+f")
        person.does("type", "query")
        x, y = person.sees("filtered").split()
        person.does("mousemove", x, y, "click", "1")
        assert person.sees("selected") == "False"
        person.does("key", "alt+f")
        person.does("key", "v")
        person.turns_to("Export modules as CSV")
        person.does("type", str(tmp_path / "modules.csv"))
        person.does("key", "Return")
        assert person.sees("saved") == "False"
        header, *rows = (tmp_path / "modules.csv").read_text().splitlines()
        assert header.startswith("path,class,depth,parameters")
        assert any(row.startswith("encoder.layer.5.attention.self.query,Linear,") for row in rows)
        person.turns_to("demo — bertviewer")
        person.does("key", "ctrl+l")
        person.does("type", "hello world")
        person.does("key", "Return")
        message = person.sees("asked:")
        assert message == "Loading torch and transformers… Your run will follow."
        assert person.sees("ran 4") == "True"
