"""The way of data through the program, followed while it happens: ``python -m tests.journeys``.

Three journeys are made for real, offscreen: a name becomes a tree of modules, a sentence a plot,
and a forward pass a drawing. Python's profiler records every call of the package's functions in
all threads. A journey has waypoints, functions in which the data take another form; between one and
the next the way is what is on the call stack. Printed are the stops: the files on the way, each
with the function by which the way first enters it, whether it changes the data or only passes them
on ("·"). What these functions call besides, such as checks and other views, is not on the way.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

import bertviewer
from bertviewer.app import main
from bertviewer.core.loading.cached_models import NO_CACHE
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util import libraries
from bertviewer.ui.app.application import configure, make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow

PACKAGE = f"{Path(bertviewer.__file__).parent}{os.sep}"
SECONDS = 120
CONFIG = (
    '{"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, '
    '"intermediate_size": 64, "vocab_size": 100}'
)

COMMIT = "0a2a4152"
FORMER = {"name to tree": 14, "sentence to plot": 18, "forward pass to drawing": 21}
"""Stops that this command counted in ``COMMIT``, whose README lists 15, 17 and 17 by hand.

The lists have returns to a file as stops of their own, and leave out files that only pass data on.
"""

Stop = tuple[str, str]
"""A file, relative to the package, and a function's qualified name."""

NAME_TO_TREE = (
    "Opening.open_named",
    "parse_source",
    "Worker.start",
    "open_model",
    "read_configuration",
    "Architecture.from_json",
    "fold",
    "ModuleTreeModel.set_tree",
)
SENTENCE_TO_PLOT = (
    "Workspace.run_next",
    "Worker.start",
    "run_sentence",
    "Tokenizer.tokenize",
    "LoadedModel.module",
    "start_measuring",
    "Recorder.activations",
    "series_chart",
    "LinePlot.show_chart",
)
FORWARD_PASS_TO_DRAWING = (
    "Model.figure",
    "trace_model",
    "Tracer.__torch_function__",
    "Graph.__init__",
    "find_patterns",
    "partition",
    "EdgeFinder.node_edges",
    "flow_of",
    "draw",
    "svg_of",
)


class Call:
    """One call of a function of the package, and the one that it was made from."""

    __slots__ = ("caller", "stop")

    def __init__(self, stop: Stop, caller: "Call | None") -> None:
        self.stop, self.caller = stop, caller

    def stack(self) -> list["Call"]:
        """Return the calls from the outermost one to this."""
        found: list[Call] = [self]
        while found[-1].caller is not None:
            found.append(found[-1].caller)
        return found[::-1]


class Recorder:
    """Records calls of the current journey's waypoints, with their stacks, in all threads."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._waypoints: Sequence[str] = ()
        self._local = threading.local()
        threading.setprofile(self._profile)  # for threads that are started later
        sys.setprofile(self._profile)

    @contextmanager
    def following(self, waypoints: Sequence[str]) -> Iterator[None]:
        """Record the calls inside the ``with``."""
        self.calls, self._waypoints = [], waypoints
        yield
        self._waypoints = ()

    @property
    def has_arrived(self) -> bool:
        """Whether all waypoints were called in order."""
        names = iter([call.stop[1] for call in self.calls])
        return all(name in names for name in self._waypoints)

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_qualname not in self._waypoints:
            return
        if code.co_filename.startswith(PACKAGE):
            self.calls.append(self._call(frame))

    def _call(self, frame: FrameType | None) -> Call:
        frames = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(PACKAGE):
                frames.append(frame)
            frame = frame.f_back
        known: dict[int, Call] = getattr(self._local, "known", {})
        call: Call | None = None
        kept: dict[int, Call] = {}
        for each in reversed(frames):
            file = each.f_code.co_filename.removeprefix(PACKAGE)
            before = known.get(id(each))
            stop = (file, each.f_code.co_qualname)
            is_same = before is not None and before.caller is call and before.stop == stop
            call = before if before is not None and is_same else Call(stop, call)
            kept[id(each)] = call
        self._local.known = kept
        assert call is not None
        return call


def way(calls: Sequence[Call], waypoints: Sequence[str]) -> list[Stop]:
    """Return the functions on the way through all waypoints by which it first enters a file.

    Raises:
        LookupError: a waypoint was not called after the one before it.
    """
    stops: dict[str, Stop] = {}
    place, before = 0, list[Call]()
    for name in waypoints:
        later = [number for number in range(place, len(calls)) if calls[number].stop[1] == name]
        if not later:
            raise LookupError(
                f"{name} was not called after {list(waypoints[: waypoints.index(name)])}"
            )
        # Other threads work too: the way goes on where it is, if it does not go to another thread.
        within = (number for number in later if set(calls[number].stack()) & set(before))
        place = next(within, later[0])
        stack = calls[place].stack()
        for call in stack if before else stack[-1:]:
            if call not in before:
                stops.setdefault(call.stop[0], call.stop)
        before = stack
    return list(stops.values())


def wait_until(is_done: Callable[[], bool]) -> None:
    """Process the window's events until something is done, or ``SECONDS`` are over."""
    end = time.monotonic() + SECONDS
    while not is_done() and time.monotonic() < end:
        QApplication.processEvents()
        time.sleep(0.005)


def from_name_to_tree(recorder: Recorder, window: MainWindow) -> None:
    """Open the demo model."""
    with recorder.following(NAME_TO_TREE):
        window.open_named("demo")
        wait_until(lambda: recorder.has_arrived)


def from_sentence_to_plot(recorder: Recorder, window: MainWindow) -> None:
    """Run a sentence through it, with the plot of the layers in view."""
    window.workspace.run_input.set_sentence(Sentence("The cat sat on the mat."))
    wait_until(lambda: not window.workspace.jobs.activity)  # its tokens are counted
    with recorder.following(SENTENCE_TO_PLOT):
        window.workspace.run_next()
        wait_until(lambda: recorder.has_arrived)


def from_forward_pass_to_drawing(recorder: Recorder, folder: Path) -> None:
    """Draw a layer of a model that was never opened."""
    file = folder / "config.json"
    file.write_text(CONFIG)
    os.environ[NO_CACHE] = "1"
    with recorder.following(FORWARD_PASS_TO_DRAWING), redirect_stdout(StringIO()) as output:
        status = main(["flow", str(file), "encoder.layer.0", "--format", "svg"])
    assert status == 0
    assert output.getvalue().startswith("<svg")


def described(title: str, waypoints: Sequence[str], calls: Sequence[Call]) -> str:
    """Return one journey as text.

    Raises:
        LookupError: a waypoint was not called.
    """
    stops = way(calls, waypoints)
    lines = [f"{title}: {len(stops)} stops; {FORMER[title]} in commit {COMMIT}"]
    for number, (file, function) in enumerate(stops, 1):
        lines.append(f"{number:4} {' ' if function in waypoints else '·'} {file} {function}")
    return "\n".join(lines)


def follow() -> None:
    """Make the three journeys and print their stops."""
    application = QApplication([])
    calls = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, folder)
        configure(application)
        recorder = Recorder()  # before the worker's thread is started
        worker = Worker()
        window = make_window(worker)
        window.show()
        try:
            from_name_to_tree(recorder, window)
            calls.append(recorder.calls)
            wait_until(lambda: libraries.are_settled() and not worker.busy)
            from_sentence_to_plot(recorder, window)
            calls.append(recorder.calls)
            window.close()
        finally:
            worker.stop(SECONDS)
        from_forward_pass_to_drawing(recorder, Path(folder))
        calls.append(recorder.calls)
    ways = (NAME_TO_TREE, SENTENCE_TO_PLOT, FORWARD_PASS_TO_DRAWING)
    for title, waypoints, found in zip(FORMER, ways, calls, strict=True):
        sys.stdout.write(f"{described(title, waypoints, found)}\n")


if __name__ == "__main__":
    follow()
