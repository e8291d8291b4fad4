"""Reports for scripts and the ``report`` command: checked first, written when the runs are made."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.api.drawing import drawn
from bertviewer.charts.theme import Theme
from bertviewer.core.saving.atomic_files import check_writable
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.report.builder import ReportBuilder, check_options
from bertviewer.report.formats.formats import ReportFormat, format_of
from bertviewer.report.formats.saving import check_report
from bertviewer.report.options import Options
from bertviewer.report.pictures import Picture
from bertviewer.report.subject import ReportInputs

if TYPE_CHECKING:
    from bertviewer.api.run import Run
    from bertviewer.core.comparison.comparison import Comparison
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.loading.loaded_model import LoadedModel


class ReportPlan(Struct, frozen=True, eq=False):
    """The checked options of a report, before a model is open."""

    path: Path
    form: ReportFormat
    options: Options
    corpus: "Corpus | None"


def plan_report(
    path: Path, source: ModelSource, options: Options, corpus: "Corpus | None" = None
) -> ReportPlan:
    """Check a report's file and options, and read its corpus unless it is given.

    Raises:
        UserError: the file cannot be written, an option is wrong, or the folder has no corpus.
    """
    check_writable(path, [source])
    form = format_of(path, options.format)
    check_report(path, form, [source])
    check_options(options)
    if options.corpus and corpus is None:
        from bertviewer.core.corpus.reading import read_corpus

        corpus = read_corpus(Path(options.corpus))
    return ReportPlan(path, form, options, corpus)


def write_report(
    plan: ReportPlan,
    model: "LoadedModel",
    run: "Run | None",
    against: "Run | None",
    *,
    left: "LoadedModel | None" = None,
    right: "LoadedModel | None" = None,
    progress: Progress,
) -> None:
    """Write a report; on failure an existing file is not changed.

    Args:
        plan: file and options.
        model: the model.
        run: one of its runs.
        against: run A, of this model or of one with the same structure.
        left: a model that this one is compared with, as the reference.
        right: a model that is compared with this one.
        progress: called for each step.

    Raises:
        UserError: it cannot be written, or the runs or models cannot be compared.
    """
    if left is not None and right is not None:
        raise UserError("a report compares one model: give either compare or compare_from")
    if against is not None and against.context.model is not model:
        from bertviewer.core.comparison.comparison import check_same_structure

        check_same_structure(model.architecture, against.context.model.architecture)
    is_all_checked, checked = (False, ()) if run is None else run.checked
    compared = tuple(each.source for each in (left, right) if each is not None)
    inputs = ReportInputs(
        source=model.source,
        architecture=model.architecture,
        load_report=model.load_report,
        run=None if run is None else run.context.recorded,
        baseline=None if against is None else against.context.recorded,
        checked=checked,
        is_all_checked=is_all_checked,
        comparison=_comparison(left or model, right or model, progress) if compared else None,
        compared=compared,
        corpus=plan.corpus,
    )
    builder = ReportBuilder(replace(inputs, architecture=model.with_formulas(progress)), _draw)
    models = [model.source, *compared]
    builder.write(plan.path, plan.form, plan.options, models, model, progress)


def _comparison(left: "LoadedModel", right: "LoadedModel", progress: Progress) -> "Comparison":
    """Compare two models in the state before any run."""
    from bertviewer.core.comparison.compare_models import compare_models
    from bertviewer.core.loading.opening import open_model

    return compare_models(
        open_model(left.source, progress), open_model(right.source, progress), progress
    )


def _draw(
    pictures: Mapping[str, Picture], architecture: Architecture, theme: Theme, progress: Progress
) -> Iterable[tuple[str, str]]:
    progress(0, 0, "Drawing the figures")
    return drawn(_drawings, pictures, architecture, theme).items() if pictures else ()


def _drawings(
    pictures: Mapping[str, Picture], architecture: Architecture, theme: Theme
) -> dict[str, str]:
    # It may run in a helper process, so that this one need not import Qt.
    from bertviewer.report.drawing import draw_pictures

    return dict(draw_pictures(pictures, architecture, theme))
