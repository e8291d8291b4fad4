"""How quickly the map is drawn: a layer, a frame while one moves or zooms, a hundred layers."""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.app.application import configure
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import apply_appearance
from tests.ui.finding import find

SIZE = 1100, 700
ROUNDS, FRAMES = 9, 60
LAYER = Scope("encoder.layer.3")
FRAME_NAMES = ("a frame while moving", "a frame while zooming")
CONFIG = {
    "model_type": "bert",
    "num_hidden_layers": 100,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 1000,
}


class _Empty(QWidget):
    """A widget of the same size that paints nothing but its ground."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint nothing; Qt calls it."""
        del event


def map_(rounds: int = ROUNDS, frames: int = FRAMES) -> dict[str, float]:
    """Draw maps.

    Returns:
        Medians in seconds. ``layer`` is bert-base's, laid out and painted for the first time;
        a frame is one of many while one moves and zooms, to be held against that of an empty widget
        of the same size; ``100 layers`` is from the structure to the painted page.
    """
    with _application() as application:
        bert = _opened("bert-base-uncased")
        first = statistics.median(_first(bert) for _ in range(rounds))
        figures = {"layer: layout and first paint": first}
        canvas = _canvas(bert)
        figures |= _frames(canvas, frames)
        after_run = _frames(_with_heads(_canvas(_opened("bert-large-uncased"))), frames)
        figures |= {f"{name}, 16 heads after a run": after_run[name] for name in FRAME_NAMES}
        large = _hundred_layers()
        figures["100 layers: opened"] = statistics.median(_page(large)[1] for _ in range(rounds))
        tab, _ = _page(large)
        figures["100 layers: another layer opened"] = _median(_stepper(tab), rounds)
        application.processEvents()
    return figures


@contextmanager
def _application() -> Iterator[QApplication]:
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    configure(application)
    apply_appearance(application, "light")
    yield application


def _opened(name: str) -> Architecture:
    from bertviewer.core.loading.opening import open_model

    model = open_model(parse_source(name))
    return model.architecture if model.architecture.flows is not None else model.with_flows()


def _hundred_layers() -> Architecture:
    import json
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(CONFIG), encoding="utf-8")
        return _opened(str(file))


def _canvas(architecture: Architecture, part: Scope = LAYER) -> FlowCanvas:
    canvas = FlowCanvas()
    canvas.resize(*SIZE)
    _show(canvas)
    canvas.set_graphs(PartGraphs(architecture), part)
    canvas.repaint()
    return canvas


def _with_heads(canvas: FlowCanvas) -> FlowCanvas:
    """Return a canvas whose heads show what 128 tokens look at, with what a mask hides."""
    import numpy as np

    from bertviewer.plots.color_scale import ColorScale, color_table
    from bertviewer.ui.map.head_images import MAX_CELLS

    assert canvas.viewport is not None
    drawing = canvas.viewport.cache.drawing(LAYER)
    assert drawing is not None
    (attention,) = [each for each in drawing.nodes if each.form == "attention"]
    shares = np.random.default_rng(0).random((len(attention.tiles), MAX_CELLS, MAX_CELLS))
    shares[:, ~np.tri(MAX_CELLS, dtype=bool)] = np.nan
    scale = ColorScale((0.0, 1.0), color_table(canvas.viewport.cache.theme, False), is_root=True)
    canvas.show_heads({(LAYER, attention.node.id): tuple(map(scale.image, shares))}, 3)
    return canvas


def _show(widget: QWidget) -> None:
    """Show a widget: it is painted only once the system says that it is in sight."""
    widget.show()
    QApplication.processEvents()


def _first(architecture: Architecture) -> float:
    """Return how long it takes from an open model to the picture of a layer."""
    canvas = FlowCanvas()
    canvas.resize(*SIZE)
    _show(canvas)
    start = time.perf_counter()
    canvas.set_graphs(PartGraphs(architecture), LAYER)
    canvas.repaint()
    seconds = time.perf_counter() - start
    canvas.close()
    return seconds


def _frames(canvas: FlowCanvas, frames: int) -> dict[str, float]:
    """Return what a frame takes while one moves, while one zooms, and where there is nothing."""
    middle = QPointF(canvas.width() / 2, canvas.height() / 2)
    empty = _Empty()
    empty.resize(*SIZE)
    _show(empty)
    ways = [QPointF(7 if n // 15 % 2 else -7, 3 if n // 10 % 2 else -3) for n in range(frames)]

    def move(number: int) -> None:
        canvas.pan(ways[number % frames])
        canvas.repaint()

    def zoom(number: int) -> None:
        canvas.zoom(1.06 if number // 20 % 2 == 0 else 1 / 1.06, middle)
        canvas.repaint()

    nothing = _frame(lambda _number: empty.repaint(), frames)
    moved, zoomed = _frame(move, frames), _frame(zoom, 2 * frames)
    return {
        "a frame while moving": moved[0],
        "the slowest of twenty while moving": moved[1],
        "a frame while zooming": zoomed[0],
        "the slowest of twenty while zooming": zoomed[1],
        "an empty frame": nothing[0],
        "ratio of moving to an empty frame": moved[0] / nothing[0],
        "ratio of zooming to an empty frame": zoomed[0] / nothing[0],
    }


def _page(architecture: Architecture) -> tuple[MapTab, float]:
    """Return a page with a model, and how long it took from the model to its picture."""
    workspace = Workspace(_worker())
    tab = MapTab(workspace)
    tab.resize(*SIZE)
    _show(tab)
    workspace.architecture = architecture
    workspace.selection.set_tree(fold(architecture))
    start = time.perf_counter()
    tab.refresh()
    tab.repaint()
    return tab, time.perf_counter() - start


def _stepper(tab: MapTab) -> Callable[[], None]:
    canvas, numbers = find(tab, FlowCanvas, "mapCanvas"), iter(range(100))

    def step() -> None:
        assert canvas.viewport is not None
        canvas.viewport.fit(Scope(f"encoder.layer.{next(numbers)}"))
        canvas.repaint()

    return step


_WORKERS: list[Worker] = []


def _worker() -> Worker:
    """Return the one worker of all pages, which never has anything to do."""
    if not _WORKERS:
        _WORKERS.append(Worker())
    return _WORKERS[0]


def _frame(work: Callable[[int], None], frames: int) -> tuple[float, float]:
    """Return the median of many frames and their 95th percentile."""
    seconds = []
    for number in range(frames):
        start = time.perf_counter()
        work(number)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), sorted(seconds)[int(0.95 * frames)]


def _median(work: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
