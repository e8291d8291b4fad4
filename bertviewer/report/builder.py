"""Builds reports: analyses a run, drafts the chapters, draws the figures and writes the files."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.layers import check_statistic
from bertviewer.charts.theme import Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_folder import Origin
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.report.catalogue import MODELS, chosen_chapters
from bertviewer.report.command import default_file_name, report_command
from bertviewer.report.document import ReportDocument
from bertviewer.report.draft import draft_report
from bertviewer.report.formats.formats import ReportFormat, format_by_name
from bertviewer.report.formats.saving import save_report
from bertviewer.report.options import (
    APPENDICES,
    PAPERS,
    Options,
    layer_numbers,
    parse_layers,
    today,
)
from bertviewer.report.pictures import Picture
from bertviewer.report.run_details import OtherModelDetails, RunContext, RunDetails
from bertviewer.report.subject import ReportInputs, Subject

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.loading.loaded_model import LoadedModel

Draw = Callable[[Mapping[str, Picture], Architecture, Theme, Progress], Iterable[tuple[str, str]]]
"""Draws pictures; yields the name and the SVG of each."""
CORPUS_PICTURES = ("corpus-layers", "corpus-values", "corpus-entropy")


def check_options(options: Options) -> None:
    """Check options before a model is opened.

    Raises:
        UserError: there is no such chapter, statistic, paper or appendix, or the layers are no
            numbers.
    """
    if not chosen_chapters(options.sections):
        raise UserError("no section is selected")
    parse_layers(options.layers)
    check_statistic(options.statistic)
    if options.paper not in PAPERS:
        raise UserError(f"unknown paper size {options.paper!r}: choose from {', '.join(PAPERS)}")
    if options.appendix not in APPENDICES:
        known = ", ".join(APPENDICES)
        raise UserError(f"unknown appendix {options.appendix!r}: choose from {known}")


class _Analysis(Struct, frozen=True, eq=False):
    """The details of a run, with some layers shown in full."""

    inputs: ReportInputs
    layers: tuple[int, ...] | None
    details: RunDetails

    def is_of(self, inputs: ReportInputs) -> bool:
        """Return whether the runs and their checks are the same."""
        mine, other = self.inputs.run, inputs.run
        if mine is None or other is None:
            return mine is other
        return (
            mine.capture is other.capture
            and mine.run.check == other.run.check
            and self.inputs.baseline is inputs.baseline
        )


class _OtherModel(Struct, frozen=True, eq=False):
    """The details of the run's sentence in the model that is compared."""

    inputs: ReportInputs
    details: OtherModelDetails

    def is_of(self, inputs: ReportInputs) -> bool:
        """Return whether the run and the other model are the same."""
        mine, other = self.inputs.run, inputs.run
        is_same_run = mine is not None and other is not None and mine.capture is other.capture
        return is_same_run and self.inputs.comparison is inputs.comparison


class _CorpusFolder(Struct, frozen=True, eq=False):
    """A folder and its corpus, or the problem with it."""

    folder: str
    corpus: "Corpus | None"
    problem: str = ""


class ReportBuilder:
    """Builds reports of one model and its runs; what their options share is calculated once.

    Methods that take the model belong to one thread, in the window the worker's.
    """

    def __init__(
        self, inputs: ReportInputs, draw: Draw, previous: "ReportBuilder | None" = None
    ) -> None:
        """Results of a previous builder for the same model are reused where they still apply."""
        self.inputs = inputs
        self._draw = draw
        self._origin: Origin | None = None if previous is None else previous._origin
        self._analysis: _Analysis | None = None if previous is None else previous._analysis
        self._other: _OtherModel | None = None if previous is None else previous._other
        self._corpus: _CorpusFolder | None = None if previous is None else previous._corpus
        self._drawings: dict[tuple[str, Theme], str] = {}

    def pending(self, options: Options) -> tuple[str, ...]:
        """Return what ``analyse`` has to do: "weights", "run" or "corpus"."""
        steps = {
            "weights": self._origin is None,
            "run": self._needs_analysis(options) or self._needs_other(options),
            "corpus": self._needs_corpus(options),
        }
        return tuple(step for step, is_pending in steps.items() if is_pending)

    def corpus_problem(self, options: Options) -> str:
        """Return why the folder has no corpus of this model; "" if it has, or is not read yet."""
        known = self._corpus
        return known.problem if known is not None and known.folder == options.corpus else ""

    def analyse(self, options: Options, model: "LoadedModel", progress: Progress) -> None:
        """Calculate what the options need beyond the inputs.

        Raises:
            UserError: a file of weights cannot be read, or the model lacks a chosen layer.
            Cancelled: by ``progress``.
        """
        from bertviewer.report.analysis import origin_of_model

        if self._origin is None:
            progress(0, 0, "Reading the weight files")
            self._origin = origin_of_model(model, progress)
        if self._needs_corpus(options):
            progress(0, 0, "Reading the corpus")
            self._corpus = _read_corpus(options.corpus, self.inputs)
            # Pictures of another corpus have the same names.
            self._drawings = {
                key: svg for key, svg in self._drawings.items() if key[0] not in CORPUS_PICTURES
            }
        if self._needs_analysis(options):
            progress(0, 0, "Analysing the run")
            self._analyse_run(self._layers(options), model, progress)
        if self._needs_other(options):
            from bertviewer.report.analysis import analyse_other_model

            assert self.inputs.run is not None
            context = RunContext(self.inputs.run.model or model, self.inputs.run, progress)
            details = analyse_other_model(context, self.inputs.compared[0])
            self._other = _OtherModel(self.inputs, details)

    def document(
        self, options: Options, model: "LoadedModel", progress: Progress, file: str = ""
    ) -> ReportDocument:
        """Return the report with all of its figures.

        Args:
            options: those that were analysed.
            model: the open model.
            progress: called for each figure.
            file: name of its file, for the command in it; "" for the default.
        """
        progress(0, 0, "Composing the report")
        subject = self._subject(options, model, progress)
        name = file or default_file_name(self.inputs.source, format_by_name(options.format))
        command = report_command(self.inputs, options, self._layers(options), name)
        draft = draft_report(subject, options, today(), command)
        theme, total = options.theme, len(draft.pictures)
        missing = {
            name: picture
            for name, picture in draft.pictures.items()
            if (name, theme) not in self._drawings
        }
        done = total - len(missing)
        for name, svg in self._draw(
            missing,
            subject.architecture,
            theme,
            lambda drawn, _total, label: progress(done + drawn, total, label),
        ):
            self._drawings[name, theme] = svg
        return draft.with_drawings({name: self._drawings[name, theme] for name in draft.pictures})

    def write(  # noqa: PLR0917
        self,
        path: Path,
        form: ReportFormat,
        options: Options,
        models: Iterable[ModelSource],
        model: "LoadedModel",
        progress: Progress,
    ) -> Path:
        """Write the report and return its path; on failure an existing file is not changed.

        Args:
            path: the file.
            form: its format.
            options: the user's choices.
            models: models whose files must not be replaced.
            model: the open model.
            progress: called for each step.

        Raises:
            UserError: it cannot be written, or an option does not fit the model.
            Cancelled: by ``progress``.
        """
        self.analyse(options, model, progress)
        if problem := self.corpus_problem(options):
            raise UserError(problem)
        document = self.document(options, model, progress, path.name)
        save_report(path, document, form, options, models, progress)
        return path

    def _layers(self, options: Options) -> tuple[int, ...] | None:
        count = self.inputs.layer_count
        return layer_numbers(options.layers, count) if count else None

    def _needs_corpus(self, options: Options) -> bool:
        is_known = self._corpus is not None and self._corpus.folder == options.corpus
        return bool(options.corpus) and not is_known

    def _needs_analysis(self, options: Options) -> bool:
        if not self.inputs.can_replay:
            return False
        known, layers = self._analysis, self._layers(options)
        if known is not None and known.is_of(self.inputs) and known.layers == layers:
            return False
        run = None if self.inputs.run is None else self.inputs.run.run
        return any(
            chapter.needs_run or chapter.reads_run
            for chapter in chosen_chapters(options.sections, run)
        )

    def _needs_other(self, options: Options) -> bool:
        inputs, sections = self.inputs, options.sections
        is_chosen = sections is None or MODELS in sections
        is_known = self._other is not None and self._other.is_of(inputs)
        return bool(inputs.compared) and inputs.can_replay and is_chosen and not is_known

    def _analyse_run(
        self, layers: tuple[int, ...] | None, model: "LoadedModel", progress: Progress
    ) -> None:
        """Analyse the run, or only other layers of one that was analysed."""
        from bertviewer.report.analysis import analyse_layers, analyse_run

        run, baseline = self.inputs.run, self.inputs.baseline
        assert run is not None
        context = RunContext(run.model or model, run, progress)
        known = self._analysis
        if known is not None and known.is_of(self.inputs):
            details = analyse_layers(known.details, context, layers)
        else:
            other = None
            if baseline is not None:
                other = RunContext(baseline.model or model, baseline, progress)
            details = analyse_run(context, layers=layers, baseline=other)
        self._analysis = _Analysis(self.inputs, layers, details)

    def _subject(self, options: Options, model: "LoadedModel", progress: Progress) -> Subject:
        inputs, known = self.inputs, self._analysis
        architecture = inputs.architecture
        if architecture.costs is None or architecture.flows is None:
            # After a run with random weights, the source of the inputs says so.
            architecture = replace(model.with_formulas(progress), source=architecture.source)
        return Subject(
            architecture=architecture,
            run=None if inputs.run is None else inputs.run.run,
            baseline=None if inputs.baseline is None else inputs.baseline.run,
            details=known.details if known and known.is_of(inputs) else RunDetails(),
            load_report=inputs.load_report,
            comparison=inputs.comparison,
            other_model=self._other.details if self._other and self._other.is_of(inputs) else None,
            origin=self._origin or Origin(),
            statistic=options.statistic,
            corpus=self._corpus.corpus if self._corpus and options.corpus else None,
        )


def _read_corpus(folder: str, inputs: ReportInputs) -> _CorpusFolder:
    from bertviewer.core.corpus.corpus import check_model
    from bertviewer.core.corpus.reading import read_corpus

    try:
        corpus = inputs.corpus or read_corpus(Path(folder))
        check_model(corpus, inputs.architecture)
    except UserError as error:
        return _CorpusFolder(folder, None, str(error))
    return _CorpusFolder(folder, corpus)
