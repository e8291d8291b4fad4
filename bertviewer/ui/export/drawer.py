"""Pictures of a report, drawn by the window's thread for a worker that waits for them."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Qt, Signal

from bertviewer.charts.theme import Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.ui.jobs.deferred_calls import DeferredCalls

if TYPE_CHECKING:
    from bertviewer.report.pictures import Picture

PATIENCE = 0.02
"""Seconds between two looks whether the picture is still wanted."""


class Sheet(Struct, frozen=True, eq=False):
    """A picture of a model, and the colours to draw it in."""

    picture: "Picture"
    architecture: Architecture
    theme: Theme


class _Wish(Struct, frozen=True, eq=False):
    sheet: Sheet
    drawing: "Future[str]"


class Drawer(QObject):
    """Draws one picture in a turn of the event loop: plots are widgets."""

    _wanted = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # Drawn as they are heard of, one would follow the other without a turn for mouse and keys.
        self._queue = DeferredCalls(self)
        self._wanted.connect(self._on_wanted, Qt.ConnectionType.QueuedConnection)

    def draw(self, sheet: Sheet, go_on: Callable[[], None]) -> str:
        """Have a picture drawn, and return it as SVG; a worker's thread calls this.

        Raises:
            Cancelled: by ``go_on``, which is called all the time.
        """
        # What it takes is imported here: the window's thread would stand still meanwhile.
        import bertviewer.report.drawing  # noqa: F401

        drawing: Future[str] = Future()
        self._wanted.emit(_Wish(sheet, drawing))
        try:
            while True:
                go_on()
                try:
                    return drawing.result(PATIENCE)
                except TimeoutError:
                    continue
        finally:
            drawing.cancel()

    def _on_wanted(self, wish: _Wish) -> None:
        self._queue.add(partial(self._draw, wish))

    def _draw(self, wish: _Wish) -> None:
        from bertviewer.report.drawing import draw_pictures

        if not wish.drawing.set_running_or_notify_cancel():
            return
        try:
            sheet = wish.sheet
            ((_, drawing),) = draw_pictures({"": sheet.picture}, sheet.architecture, sheet.theme)
        except BaseException as error:  # noqa: BLE001 - the worker raises it
            wish.drawing.set_exception(error)
        else:
            wish.drawing.set_result(drawing)
