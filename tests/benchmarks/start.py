"""How long it takes until something is there, each start in a separate process, in turns."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

ROUNDS = 5
TIMEOUT = 120.0
LAYERS = 1_000

BARE = """
import sys, time
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QMainWindow, QTreeView

class Painted(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            QTimer.singleShot(0, done)
        return False

def done():
    print(time.time(), flush=True)
    application.quit()

application = QApplication(sys.argv)
window, tree, model = QMainWindow(), QTreeView(), QStandardItemModel()
for number in range(40):
    model.appendRow([QStandardItem(f"layer {number}"), QStandardItem("BertLayer")])
tree.setModel(model)
window.setCentralWidget(tree)
window.resize(1360, 860)
painted = Painted()
tree.viewport().installEventFilter(painted)
window.show()
application.exec()
"""
"""A window of nothing but a tree, as small as PySide6 allows."""

OURS = """
import os, sys, time
from bertviewer.app import main
from bertviewer.ui.app import application

def done():
    print(time.time(), flush=True)
    os._exit(0)

def watched(worker, make=application.make_window):
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QTreeView

    class Painted(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.Paint and tree.model().rowCount():
                QTimer.singleShot(0, done)
            return False

    window = make(worker)
    if wanted == "window":
        window.painted.connect(done)
    else:
        tree = window.findChild(QTreeView, "moduleTree")
        window.watcher = Painted()
        tree.viewport().installEventFilter(window.watcher)
    return window

wanted = sys.argv.pop(1)
application.make_window = watched
main()
"""
"""The program itself, until its window is painted, or the tree of a model in it."""

GAPS = """
import os, sys, time
from bertviewer.app import main
from bertviewer.ui.app import application
from PySide6.QtCore import QTimer

ticks = []

def watched(worker, make=application.make_window):
    from bertviewer.core.schema.activation_run import Sentence
    window = make(worker)
    workspace = window.workspace
    timer = QTimer(window, interval=2)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))

    def end():
        print(max(after - before for before, after in zip(ticks, ticks[1:])), flush=True)
        os._exit(0)

    def on_run():
        if workspace.runs.run is not None:
            QTimer.singleShot(1000, end)

    def run():
        workspace.run_sentence(Sentence("The cat sat on the mat."), True)

    window.painted.connect(timer.start)
    workspace.confirmed.connect(lambda: QTimer.singleShot(200, run))
    workspace.runs.run_changed.connect(on_run)
    return window

application.make_window = watched
main(["bert-base-uncased"])
"""
"""From the first picture through the imports to a first run: the longest time without events."""

IMPORT = "import time, torch; from transformers import BertModel; print(time.time())"
"""What no start of an unknown model can do without."""

BUILD = """
import time, torch, json, sys
from transformers import AutoModel, AutoConfig, BertModel
config = AutoConfig.for_model(**json.load(open(sys.argv[1])))
start = time.time()
with torch.device("meta"):
    AutoModel.from_config(config)
print(start, time.time())
"""


class Start(Struct, frozen=True):
    """A way to start: the arguments of Python, and whether nothing was seen before."""

    arguments: Sequence[str]
    is_first: bool = False


def start(rounds: int = ROUNDS) -> dict[str, float]:
    """Start the program in all ways, in turns.

    Returns:
        Seconds, medians: from the start of the process until the window, or the tree in it, is
        painted, or the command has ended; the longest time without events from the first picture
        through the imports to the end of a first run; what a model of 1,000 layers takes beyond
        import and build; and ratios to the bare window, and to the import of torch and BertModel.
    """
    with tempfile.TemporaryDirectory(prefix="bertviewer-start-") as place:
        folder = Path(place)
        unknown, long = (
            _configuration(folder / "unknown", 5),
            _configuration(folder / "long", LAYERS),
        )
        command = ("-m", "bertviewer")
        starts = {
            "bare window": Start(("-c", BARE)),
            "import torch, BertModel": Start(("-c", IMPORT)),
            "--help": Start((*command, "--help")),
            "presets": Start((*command, "presets")),
            "window": Start(("-c", OURS, "window")),
            "tree, preset": Start(("-c", OURS, "tree", "bert-base-uncased")),
            "tree, demo": Start(("-c", OURS, "tree", "demo")),
            "tree, first": Start(("-c", OURS, "tree", unknown), is_first=True),
            "summary, preset": Start((*command, "summary", "bert-base-uncased")),
            "summary, demo": Start((*command, "summary", "demo")),
            "summary, first": Start((*command, "summary", unknown), is_first=True),
            "1,000 layers, tree": Start(("-c", OURS, "tree", long)),
            "1,000 layers, tree, first": Start(("-c", OURS, "tree", long), is_first=True),
            "1,000 layers, summary": Start((*command, "summary", long)),
            "1,000 layers, summary, first": Start((*command, "summary", long), is_first=True),
        }
        seconds: dict[str, list[float]] = {name: [] for name in starts}
        builds: list[float] = []
        gaps: list[float] = []
        for number in range(rounds + 1):
            for name, how in starts.items():
                cache = folder / f"cache-{number}-{name}" if how.is_first else folder / "cache"
                took = _seconds(how.arguments, cache)
                if number:  # the first round compiles, and fills caches
                    seconds[name].append(took)
            began, ended = _output(("-c", BUILD, long), folder / "cache").split()
            builds.append(float(ended) - float(began))
            gaps.append(float(_output(("-c", GAPS), folder / "cache").split()[-1]))
    figures = {name: statistics.median(values) for name, values in seconds.items()}
    figures["1,000 layers, build"] = statistics.median(builds)
    figures["gap, first picture to first run"] = statistics.median(gaps[1:])
    figures["gap, first picture to first run, largest"] = max(gaps[1:])
    return figures | _ratios(figures)


def _ratios(figures: Mapping[str, float]) -> dict[str, float]:
    bare, library = figures["bare window"], figures["import torch, BertModel"]
    quick = ["--help", "presets", "window", "tree, preset", "tree, demo"]
    quick += ["summary, preset", "summary, demo"]
    ratios = {f"{name}: ratio to the bare window": figures[name] / bare for name in quick}
    for name in ("tree, first", "summary, first"):
        ratios[f"{name}: ratio to the import"] = figures[name] / library
    for name in ("tree", "summary"):
        needed = library + figures["1,000 layers, build"]
        ratios[f"1,000 layers, {name}, after import and build"] = (
            figures[f"1,000 layers, {name}, first"] - needed
        )
    return ratios


def _seconds(arguments: Sequence[str], cache: Path) -> float:
    began = time.time()
    last = _output(arguments, cache).split()[-1:]
    ended = time.time()
    is_told = bool(last) and last[0].replace(".", "", 1).isdigit() and "-c" in arguments
    return (float(last[0]) if is_told else ended) - began


def _output(arguments: Sequence[str], cache: Path) -> str:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(cache),
        "XDG_CONFIG_HOME": str(cache / "settings"),
        "XDG_STATE_HOME": str(cache / "state"),
        "QT_QPA_PLATFORM": "offscreen",
    }
    # As after an installation, whose files are compiled.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT,
        check=True,
        text=True,
    ).stdout


def _configuration(folder: Path, layers: int) -> str:
    """Write a BERT that no cache knows, and return its path."""
    folder.mkdir()
    file = folder / "config.json"
    sizes = {"vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128}
    heads = {"num_attention_heads": 4, "num_hidden_layers": layers}
    file.write_text(json.dumps({"model_type": "bert", **sizes, **heads}), encoding="utf-8")
    return str(file)
