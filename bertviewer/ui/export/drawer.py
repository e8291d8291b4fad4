"""Draws pictures in the GUI thread for a worker that waits for them."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Qt, Signal

from bertviewer.charts.theme import Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.deferred_calls import DeferredCalls

if TYPE_CHECKING:
    from bertviewer.report.pictures import Picture

POLL_SECONDS = 0.02
"""Interval between two checks whether the worker's job is cancelled."""


class _Task(Struct, frozen=True, eq=False):
    picture: "Picture"
    architecture: Architecture
    theme: Theme
    drawing: "Future[str]"


class Drawer(QObject):
    """Draws one picture per turn of the event loop, because plots are widgets."""

    _requested = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # Without the queue, all pictures would be drawn in one turn.
        self._queue = DeferredCalls(self)
        self._requested.connect(self._on_requested, Qt.ConnectionType.QueuedConnection)

    def draw(
        self,
        pictures: "Mapping[str, Picture]",
        architecture: Architecture,
        theme: Theme,
        progress: Progress,
    ) -> Iterator[tuple[str, str]]:
        """Yield the name and the SVG of each picture; call it from a worker's thread.

        Raises:
            Cancelled: by ``progress``, which is called repeatedly.
        """
        # Imported here, so that the GUI thread is not blocked by it.
        import bertviewer.report.drawing  # noqa: F401

        for done, (name, picture) in enumerate(pictures.items()):
            check = partial(progress, done, len(pictures), "Drawing the figures")
            drawing: Future[str] = Future()
            self._requested.emit(_Task(picture, architecture, theme, drawing))
            try:
                while True:
                    check()
                    try:
                        svg = drawing.result(POLL_SECONDS)
                        break
                    except TimeoutError:
                        continue
            finally:
                drawing.cancel()
            yield name, svg

    def _on_requested(self, task: _Task) -> None:
        self._queue.add(partial(self._draw, task))

    def _draw(self, task: _Task) -> None:
        from bertviewer.report.drawing import draw_pictures

        if not task.drawing.set_running_or_notify_cancel():
            return
        try:
            ((_, svg),) = draw_pictures({"": task.picture}, task.architecture, task.theme)
        except BaseException as error:  # noqa: BLE001 - raised in the worker
            task.drawing.set_exception(error)
        else:
            task.drawing.set_result(svg)
