"""Preview of a report: its pages, and images of the visible ones, made by the worker."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from bertviewer.core.util.progress import Progress
from bertviewer.report.builder import ReportBuilder
from bertviewer.report.options import Options
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Images = Mapping[int, QImage]
"""Images of pages by index."""


class Pages(Struct, frozen=True, eq=False):
    """The pages of a report as SVG, the size of its PDF in bytes, and the names of its chapters."""

    svgs: tuple[bytes, ...]
    nbytes: int
    chapters: tuple[str, ...]


def typeset_pages(
    builder: ReportBuilder, options: Options, model: "LoadedModel", progress: Progress
) -> Pages:
    """Return the pages of a report that was analysed."""
    from bertviewer.report.typesetting import TypesetReport

    document = builder.document(options, model, progress)
    progress(0, 0, "Typesetting the pages")
    report = TypesetReport(document, options.paper, options.theme)
    progress(0, 0, "Typesetting the pages")
    svgs = report.pages()
    progress(0, 0, "Typesetting the pages")
    nbytes = len(report.pdf())
    progress(0, 0, "Typesetting the pages")
    return Pages(svgs, nbytes, tuple(chapter.name for chapter in document.chapters))


def draw_pages(
    pages: Pages, numbers: tuple[int, ...], pixels_per_inch: float, progress: Progress
) -> Images:
    """Return images of pages."""
    from bertviewer.report.typesetting import page_png

    images = {}
    for number in numbers:
        progress(0, 0, "Drawing the pages")
        png = page_png(pages.svgs[number], pixels_per_inch)
        images[number] = QImage.fromData(png).convertToFormat(QImage.Format.Format_RGB32)
    return images


class Preview(QObject):
    """Requests the pages of a report; the latest request wins.

    Signals: ``changed`` when there are pages or an ``error``; ``drawn`` with images of pages;
    ``late`` when either takes a while.
    """

    changed = Signal()
    drawn = Signal(object)
    late = Signal()

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        queue = workspace.jobs
        self._requested: tuple[ReportBuilder, Options] | None = None
        self._analysis: Request[None] = Request(queue, self)
        self._pages: Request[Pages] = Request(queue, self)
        self._images: Request[Images] = Request(queue, self, needs_torch=False)
        self._analysis.finished.connect(self._continue)
        self._pages.finished.connect(self.changed)
        self._images.finished.connect(self._on_images)
        for request in (self._analysis, self._pages):
            request.late.connect(self.late)

    @property
    def pages(self) -> Pages | None:
        """The latest pages."""
        return self._pages.result

    @property
    def error(self) -> str:
        """Why there are no pages."""
        if self._requested is None:
            return ""
        builder, options = self._requested
        return self._analysis.error if builder.pending(options) else self._pages.error

    @property
    def is_waiting(self) -> bool:
        """Whether pages are being made."""
        return self._analysis.is_waiting or self._pages.is_waiting

    def request(self, builder: ReportBuilder, options: Options) -> None:
        """Request the pages of a report."""
        self._requested = builder, options
        self._images.cancel()
        self._continue()

    def request_images(self, numbers: tuple[int, ...], pixels_per_inch: float) -> None:
        """Request images of pages."""
        pages = self.pages
        if pages is None or not numbers:
            return

        def draw(_: "LoadedModel", progress: Progress) -> Images:
            return draw_pages(pages, numbers, pixels_per_inch, progress)

        if self._images.want((pages, numbers, pixels_per_inch), draw):
            self._on_images()

    def close(self) -> None:
        """Cancel all requests and drop their results."""
        self._requested = None
        for request in (self._analysis, self._pages, self._images):
            request.forget()

    def _continue(self) -> None:
        if self._requested is None:
            return
        builder, options = self._requested
        # Options such as the title do not need another analysis.
        if pending := builder.pending(options):
            self._analysis.needs_torch = "run" in pending
            key = builder, pending, options.layers, options.corpus
            if self._analysis.want(key, partial(builder.analyse, options)):
                self.changed.emit()  # the error is known already
            return
        architecture = builder.inputs.architecture
        self._pages.needs_torch = architecture.costs is None or architecture.flows is None
        if self._pages.want((builder, options), partial(typeset_pages, builder, options)):
            self.changed.emit()

    def _on_images(self) -> None:
        if self._images.result is not None:
            self.drawn.emit(self._images.result)
