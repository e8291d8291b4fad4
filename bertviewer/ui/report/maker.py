"""Makes reports in the worker: looks closer at the run, gathers, has it drawn, and sets it."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bertviewer.charts.theme import Theme
from bertviewer.core.frozen import frozen
from bertviewer.core.progress import Progress
from bertviewer.core.source.model_source import ModelSource
from bertviewer.report.contents import CHAPTERS
from bertviewer.ui.report.drawer import Drawer, Sheet
from bertviewer.ui.report.material import Material

if TYPE_CHECKING:
    from bertviewer.core.architecture.architecture import Architecture
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.source.origin import Origin
    from bertviewer.report.building import Draft
    from bertviewer.report.choices import Choices
    from bertviewer.report.document import ReportDocument
    from bertviewer.report.formats.formats import ReportFormat
    from bertviewer.report.subject import Looks


@frozen
class Order:
    """What is to be made: the choices, and the layers whose heads are shown."""

    choices: "Choices"
    layers: tuple[int, ...] | None


@frozen(eq=False)
class Pages:
    """The pages of a report as SVG, how many bytes its PDF has, and the names of its chapters."""

    svgs: tuple[bytes, ...]
    nbytes: int
    chapters: tuple[str, ...]


class ReportMaker:
    """Makes reports of one material; what does not change from one to the next is kept.

    Its functions are the worker's, which does one at a time.
    """

    def __init__(
        self, material: Material, drawer: Drawer, before: "ReportMaker | None" = None
    ) -> None:
        self.material = material
        self._drawer = drawer
        is_same_run = before is not None and before.material.watched is material.watched
        self._origin: Origin | None = None if before is None else before._origin
        self._looks: Looks | None = before._looks if before and is_same_run else None
        self._drawn: dict[tuple[str, Theme], str] = {}

    def unseen(self, order: Order) -> tuple[str, ...]:
        """Return what is to be looked at before this can be made."""
        weights = ("weights",) if self._origin is None else ()
        return (*weights, *(("run",) if self._needs_looks(order) else ()))

    def look(self, order: Order, model: "LoadedModel", progress: Progress) -> None:
        """Look at the weights' files and closer at the run, each once."""
        from bertviewer.report.looking import looked_at, origin_of_model

        if self._origin is None:
            progress(0, 0, "Looking at the weights' files")
            self._origin = origin_of_model(model, progress)
        watched = self.material.watched
        if watched is not None and self._needs_looks(order):
            progress(0, 0, "Looking closer at the run")
            self._looks = looked_at(model, watched.run, watched.kept, progress)

    def _needs_looks(self, order: Order) -> bool:
        watched, sections = self.material.watched, order.choices.sections
        tells_of_run = any(
            chapter.needs_run and (sections is None or chapter.name in sections)
            for chapter in CHAPTERS
        )
        has_more = watched is not None and watched.capture is not None
        return self._looks is None and has_more and tells_of_run

    def document(self, order: Order, model: "LoadedModel", progress: Progress) -> "ReportDocument":
        """Return the report, with all of its pictures drawn."""
        progress(0, 0, "Gathering the report")
        draft, architecture = self._draft(order, model, progress)
        total, theme = len(draft.pictures), order.choices.theme
        for done, (name, picture) in enumerate(draft.pictures.items()):
            go_on = partial(progress, done, total, "Drawing the pictures")
            go_on()
            if (name, theme) not in self._drawn:
                sheet = Sheet(picture, architecture, theme)
                self._drawn[name, theme] = self._drawer.draw(sheet, go_on)
        return draft.with_pictures({name: self._drawn[name, theme] for name in draft.pictures})

    def pages(self, order: Order, model: "LoadedModel", progress: Progress) -> Pages:
        """Return the report's pages, to be looked at."""
        from bertviewer.report.typesetting import report_pages, report_pdf

        document = self.document(order, model, progress)
        progress(0, 0, "Setting the pages")
        svgs = report_pages(document, order.choices.paper, order.choices.theme)
        progress(0, 0, "Setting the pages")
        nbytes = len(report_pdf(document, order.choices.paper, order.choices.theme))
        progress(0, 0, "Setting the pages")
        return Pages(svgs, nbytes, tuple(chapter.name for chapter in document.chapters))

    def write(  # noqa: PLR0917
        self,
        path: Path,
        form: "ReportFormat",
        order: Order,
        models: Iterable[ModelSource],
        model: "LoadedModel",
        progress: Progress,
    ) -> Path:
        """Write the report, over no file of ``models``; the path comes back."""
        from bertviewer.report.formats.saving import save_report

        self.look(order, model, progress)
        document = self.document(order, model, progress)
        save_report(path, document, form, order.choices, models, progress)
        return path

    def _draft(
        self, order: Order, model: "LoadedModel", progress: Progress
    ) -> "tuple[Draft, Architecture]":
        from bertviewer.core.source.origin import Origin
        from bertviewer.report.building import build_document
        from bertviewer.report.subject import Looks, Subject

        material, run = self.material, self.material.run
        architecture = material.architecture
        if architecture.costs is None or architecture.flows is None:
            # A first run may have drawn random weights, which the window knows.
            architecture = replace(model.with_formulas(progress), source=architecture.source)
        subject = Subject(
            architecture=architecture,
            run=None if run is None else replace(run, check=material.check),
            other=material.run_a,
            looks=self._looks or Looks(),
            keys=material.keys,
            comparison=material.comparison,
            origin=self._origin or Origin(),
            layers=order.layers,
            statistic=material.statistic,
        )
        return build_document(subject, order.choices), architecture
