"""Makes reports in the worker: looks closer at the run, gathers, has it drawn, and sets it."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.theme import Theme
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.report.contents import CHAPTERS
from bertviewer.ui.export.drawer import Drawer, Sheet
from bertviewer.ui.export.report_inputs import Material

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.schema.architecture import Architecture
    from bertviewer.core.sources.model_folder import Origin
    from bertviewer.report.building import Draft
    from bertviewer.report.choices import Choices
    from bertviewer.report.document import ReportDocument
    from bertviewer.report.formats.formats import ReportFormat
    from bertviewer.report.looks import Looks


CORPUS = ("corpus-layers", "corpus-values", "corpus-entropy")
"""The names of the pictures that are of a corpus."""


class Order(Struct, frozen=True):
    """What is to be made.

    Attributes:
        choices: how it is to be.
        layers: those whose heads are shown, ``None`` for a choice of some.
        corpus: the folder of a corpus, ``""`` for none.
    """

    choices: "Choices"
    layers: tuple[int, ...] | None
    corpus: str = ""


class Pages(Struct, frozen=True, eq=False):
    """The pages of a report as SVG, how many bytes its PDF has, and the names of its chapters."""

    svgs: tuple[bytes, ...]
    nbytes: int
    chapters: tuple[str, ...]


class _Seen(Struct, frozen=True, eq=False):
    """What was looked at: of which runs, and the layers that are shown whole."""

    material: Material
    layers: tuple[int, ...] | None
    looks: "Looks"

    def is_of(self, material: Material) -> bool:
        """Whether this is of the same runs, and of what is checked of them by now."""
        mine = self.material
        return (
            mine.watched is material.watched
            and mine.watched_a is material.watched_a
            and mine.check == material.check
        )


class _Read(Struct, frozen=True, eq=False):
    """What is in a folder: a corpus of the model, or why there is none."""

    folder: str
    corpus: "Corpus | None"
    trouble: str = ""


def _read(folder: str, architecture: "Architecture") -> _Read:
    from bertviewer.core.corpus.corpus import check_model
    from bertviewer.core.corpus.reading import read_corpus

    try:
        found = read_corpus(Path(folder))
        check_model(found, architecture)
    except UserError as error:
        return _Read(folder, None, str(error))
    return _Read(folder, found)


class ReportMaker:
    """Makes reports of one material; what does not change from one to the next is kept.

    Its functions are the worker's, which does one at a time.
    """

    def __init__(
        self, material: Material, drawer: Drawer, before: "ReportMaker | None" = None
    ) -> None:
        self.material = material
        self._drawer = drawer
        self._origin: Origin | None = None if before is None else before._origin
        self._seen: _Seen | None = None if before is None else before._seen
        self._corpus: _Read | None = None if before is None else before._corpus
        self._drawn: dict[tuple[str, Theme], str] = {}

    def unseen(self, order: Order) -> tuple[str, ...]:
        """Return what is to be looked at before this can be made."""
        weights = ("weights",) if self._origin is None else ()
        corpus = ("corpus",) if self._is_unread(order) else ()
        return (*weights, *(("run",) if self._needs_looks(order) else ()), *corpus)

    def trouble(self, order: Order) -> str:
        """Return why the corpus is none, or none of this model; "" if it is, or is not read yet."""
        read = self._corpus
        return "" if read is None or read.folder != order.corpus else read.trouble

    def look(self, order: Order, model: "LoadedModel", progress: Progress) -> None:
        """Look at the weights' files and closer at the run, and read the corpus, each once."""
        from bertviewer.report.looking import origin_of_model

        if self._origin is None:
            progress(0, 0, "Reading the weight files")
            self._origin = origin_of_model(model, progress)
        if self._is_unread(order):
            progress(0, 0, "Reading the corpus")
            self._corpus = _read(order.corpus, self.material.architecture)
            # Those of another corpus have the same names.
            self._drawn = {key: one for key, one in self._drawn.items() if key[0] not in CORPUS}
        watched = self.material.watched
        if watched is not None and self._needs_looks(order):
            progress(0, 0, "Analysing the run")
            self._seen = self._looked(watched, order, model, progress)

    def _looked(
        self, watched: RecordedRun, order: Order, model: "LoadedModel", progress: Progress
    ) -> _Seen:
        """Look at what was not looked at yet: other layers may be all."""
        from bertviewer.report.looking import looked_at, of_layers
        from bertviewer.report.looking_beside import OtherRun

        material, layers = self.material, order.layers
        run = replace(watched.run, check=material.check)
        if self._seen is not None and self._seen.is_of(material):
            looks = of_layers(self._seen.looks, model, run, watched.kept, layers, progress)
            return _Seen(material, layers, looks)
        a = material.watched_a
        other = None if a is None else OtherRun(a.run, a.model or model, a.capture)
        looks = looked_at(model, run, watched.kept, progress, layers=layers, other=other)
        return _Seen(material, layers, looks)

    def _is_unread(self, order: Order) -> bool:
        return bool(order.corpus) and (self._corpus is None or self._corpus.folder != order.corpus)

    def _needs_looks(self, order: Order) -> bool:
        watched, sections = self.material.watched, order.choices.sections
        tells_of_run = any(
            chapter.needs_run and (sections is None or chapter.name in sections)
            for chapter in CHAPTERS
        )
        has_more = watched is not None and watched.capture is not None
        seen = self._seen
        is_seen = seen is not None and seen.is_of(self.material) and seen.layers == order.layers
        return not is_seen and has_more and tells_of_run

    def document(self, order: Order, model: "LoadedModel", progress: Progress) -> "ReportDocument":
        """Return the report, with all of its pictures drawn."""
        progress(0, 0, "Composing the report")
        draft, architecture = self._draft(order, model, progress)
        total, theme = len(draft.pictures), order.choices.theme
        for done, (name, picture) in enumerate(draft.pictures.items()):
            go_on = partial(progress, done, total, "Drawing the figures")
            go_on()
            if (name, theme) not in self._drawn:
                sheet = Sheet(picture, architecture, theme)
                self._drawn[name, theme] = self._drawer.draw(sheet, go_on)
        return draft.with_pictures({name: self._drawn[name, theme] for name in draft.pictures})

    def pages(self, order: Order, model: "LoadedModel", progress: Progress) -> Pages:
        """Return the report's pages, to be looked at."""
        from bertviewer.report.typesetting import report_pages, report_pdf

        document = self.document(order, model, progress)
        progress(0, 0, "Typesetting the pages")
        svgs = report_pages(document, order.choices.paper, order.choices.theme)
        progress(0, 0, "Typesetting the pages")
        nbytes = len(report_pdf(document, order.choices.paper, order.choices.theme))
        progress(0, 0, "Typesetting the pages")
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
        """Write the report, over no file of ``models``; the path comes back.

        Raises:
            UserError: it cannot be written, or what is wished for is no corpus of the model.
        """
        from bertviewer.report.formats.saving import save_report

        self.look(order, model, progress)
        if trouble := self.trouble(order):
            raise UserError(trouble)
        document = self.document(order, model, progress)
        save_report(path, document, form, order.choices, models, progress)
        return path

    def _draft(
        self, order: Order, model: "LoadedModel", progress: Progress
    ) -> "tuple[Draft, Architecture]":
        from bertviewer.core.sources.model_folder import Origin
        from bertviewer.report.building import build_document
        from bertviewer.report.looks import Looks
        from bertviewer.report.subject import Subject

        material, run = self.material, self.material.run
        architecture = material.architecture
        if architecture.costs is None or architecture.flows is None:
            # A first run may have drawn random weights, which the window knows.
            architecture = replace(model.with_formulas(progress), source=architecture.source)
        subject = Subject(
            architecture=architecture,
            run=None if run is None else replace(run, check=material.check),
            other=material.run_a,
            looks=self._seen.looks if self._seen and self._seen.is_of(material) else Looks(),
            keys=material.keys,
            comparison=material.comparison,
            origin=self._origin or Origin(),
            statistic=material.statistic,
            corpus=self._corpus.corpus if self._corpus and order.corpus else None,
        )
        return build_document(subject, order.choices), architecture
