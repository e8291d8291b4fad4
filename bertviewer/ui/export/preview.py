"""The report as it is wished for now: its pages, and pictures of those that are in sight."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from bertviewer.core.util.progress import Progress
from bertviewer.ui.export.maker import Order, Pages, ReportMaker
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Images = Mapping[int, QImage]
"""Pictures of pages by their numbers, from 0."""


class Preview(QObject):
    """Has pages made in the worker; the last wish counts.

    The signals: ``changed`` when pages are there, or ``error`` why not; ``drawn`` with pictures of
    them; ``late`` when either takes a while.
    """

    changed = Signal()
    drawn = Signal(object)
    late = Signal()

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        queue = workspace.jobs
        self._wanted: tuple[ReportMaker, Order] | None = None
        self._look: Request[None] = Request(queue, self)
        self._pages: Request[Pages] = Request(queue, self)
        self._images: Request[Images] = Request(queue, self, needs_torch=False)
        self._look.finished.connect(self._go_on)
        self._pages.finished.connect(self.changed)
        self._images.finished.connect(self._on_images)
        for request in (self._look, self._pages):
            request.late.connect(self.late)

    @property
    def pages(self) -> Pages | None:
        """The pages that were made last."""
        return self._pages.result

    @property
    def error(self) -> str:
        """Why there are none."""
        if self._wanted is None:
            return ""
        maker, order = self._wanted
        return self._look.error if maker.unseen(order) else self._pages.error

    @property
    def is_waiting(self) -> bool:
        """Whether pages are on their way."""
        return self._look.is_waiting or self._pages.is_waiting

    def want(self, maker: ReportMaker, order: Order) -> None:
        """Have these pages made in place of what was wanted before."""
        self._wanted = maker, order
        self._images.cancel()
        self._go_on()

    def want_images(self, numbers: tuple[int, ...], pixels_per_inch: float) -> None:
        """Have pictures made of these pages, in place of those that were wanted before."""
        pages = self.pages
        if pages is None or not numbers:
            return

        def draw(_: "LoadedModel", progress: Progress) -> Images:
            return _drawn(pages, numbers, pixels_per_inch, progress)

        if self._images.want((pages, numbers, pixels_per_inch), draw):
            self._on_images()

    def close(self) -> None:
        """Want nothing more, and keep nothing."""
        self._wanted = None
        for request in (self._look, self._pages, self._images):
            request.forget()

    def _go_on(self) -> None:
        if self._wanted is None:
            return
        maker, order = self._wanted
        # A wish of another title leaves the look at the run as it is.
        if unseen := maker.unseen(order):
            self._look.needs_torch = "run" in unseen
            if self._look.want((maker, unseen, order.layers), partial(maker.look, order)):
                self.changed.emit()  # it is known already why not
            return
        architecture = maker.material.architecture
        self._pages.needs_torch = architecture.costs is None or architecture.flows is None

        def make(model: "LoadedModel", progress: Progress) -> Pages:
            return maker.pages(order, model, progress)

        if self._pages.want((maker, order), make):
            self.changed.emit()

    def _on_images(self) -> None:
        if self._images.result is not None:
            self.drawn.emit(self._images.result)


def _drawn(
    pages: Pages, numbers: tuple[int, ...], pixels_per_inch: float, progress: Progress
) -> Images:
    """Draw pages; what is in sight first."""
    from bertviewer.report.typesetting import page_png

    images = {}
    for number in numbers:
        progress(0, 0, "Drawing the pages")
        png = page_png(pages.svgs[number], pixels_per_inch)
        images[number] = QImage.fromData(png).convertToFormat(QImage.Format.Format_RGB32)
    return images
