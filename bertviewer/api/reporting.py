"""A report that a script or a command wants: refused at once if it must be, written at the end."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from msgspec.structs import replace

from bertviewer.api.arguments import check_wishes
from bertviewer.api.drawing import drawn
from bertviewer.core.saving.atomic_files import check_writable
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

if TYPE_CHECKING:
    from bertviewer.api.corpus import Corpus
    from bertviewer.api.run import Run
    from bertviewer.core.comparison.comparison import Comparison
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.report.choices import Paper
    from bertviewer.report.looking_beside import OtherRun
    from bertviewer.report.recipe import Recipe, SavedRun, SentenceRun
    from bertviewer.report.subject import Subject


class ReportWishes(TypedDict, total=False):
    """What can be chosen of a report.

    Attributes:
        sections: the names of its chapters; all that there is something to tell of if left out.
        layers: the numbers of the layers that are shown whole, or such a text as "0, 2-4" or "all";
            the first and the last if left out.
        statistic: what is drawn layer by layer.
        paper: ``a4`` or ``letter``.
        title: the model's name if left out.
        author: who it is by.
        grey: whether it is for a printer without colours.
        corpus: a corpus of this model, or its folder: a chapter shows it.
        format: pdf, html, markdown, latex or json, where the file's ending says nothing.
    """

    sections: Sequence[str] | None
    layers: Sequence[int] | str | None
    statistic: str
    paper: "Paper"
    title: str
    author: str
    grey: bool
    corpus: "Corpus | str | PathLike[str] | None"
    format: str | None


class ReportPlan:
    """A report of a model before anything is run for it.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, source: ModelSource, **wishes: Unpack[ReportWishes]) -> None:
        """Check all that can be.

        Raises:
            UserError: the file cannot be written, or there is no such format, section or statistic.
        """
        from bertviewer.charts.layers import check_statistic
        from bertviewer.report.choices import PAPERS, Choices, check_paper, today
        from bertviewer.report.contents import chosen
        from bertviewer.report.formats.formats import format_of
        from bertviewer.report.formats.saving import check_report
        from bertviewer.report.layers import read_layers
        from bertviewer.report.subject import STATISTIC

        check_wishes("a report", wishes, ReportWishes)
        check_writable(path, [source])
        self.path = path
        self._form = format_of(path, wishes.get("format"))
        check_report(path, self._form, [source])
        sections, layers = wishes.get("sections"), wishes.get("layers")
        if sections is not None and not chosen(sections):
            raise UserError("no section is selected")
        self._format = wishes.get("format") or ""
        words = layers if isinstance(layers, str) else ",".join(map(str, layers or ()))
        self._layers = read_layers(words)
        self._statistic = wishes.get("statistic", STATISTIC)
        check_statistic(self._statistic)
        paper = wishes.get("paper", PAPERS[0])
        check_paper(paper)
        self._corpus = _corpus(wishes.get("corpus"))
        self._choices = Choices(
            None if sections is None else tuple(sections),
            paper,
            wishes.get("title", ""),
            wishes.get("author", ""),
            wishes.get("grey", False),
            today(),
        )

    def write(
        self,
        model: "LoadedModel",
        run: "Run | None",
        against: "Run | None",
        *,
        left: "LoadedModel | None" = None,
        right: "LoadedModel | None" = None,
        progress: Progress,
    ) -> None:
        """Write it; what was there before stays as it was if that fails.

        Args:
            model: the model.
            run: one of its runs.
            against: run A, of this model or one that is built alike.
            left: a model from which the way to this one is measured.
            right: a model that is compared with this one.
            progress: told of the steps.

        Raises:
            UserError: it cannot be written, or the runs cannot be compared.
        """
        from bertviewer.report.writing import drawings_of, write_report

        layers = self._layers_of(model, run)
        subject = self._subject(model, run, against, layers, progress)
        subject = replace(subject, comparison=_comparison(model, left, right, progress))
        recipe = self._recipe(model, run, against, (left, right), layers)
        progress(0, 0, "Writing the report")
        choices = replace(self._choices, command=recipe.command)
        others = [each.source for each in (left, right) if each is not None]
        write_report(
            *(self.path, subject, self._form, choices, [model.source, *others]),
            draw=lambda *arguments: drawn(drawings_of, *arguments),
        )

    def _layers_of(self, model: "LoadedModel", run: "Run | None") -> tuple[int, ...] | None:
        """Return the layers that are meant, of those that a run called."""
        from bertviewer.report.layers import layer_count

        if run is None or run.closer_look.kept is None:
            return None
        return self._layers.of(layer_count(model.architecture, run.data))

    def _subject(
        self,
        model: "LoadedModel",
        run: "Run | None",
        against: "Run | None",
        layers: tuple[int, ...] | None,
        progress: Progress,
    ) -> "Subject":
        """Gather what is told."""
        from bertviewer.core.comparison.comparison import check_same_structure
        from bertviewer.core.corpus.corpus import check_model
        from bertviewer.report.looking import looked_at, origin_of_model
        from bertviewer.report.looks import Looks
        from bertviewer.report.subject import Subject

        corpus = None if self._corpus is None else self._corpus.data
        if corpus is not None:
            check_model(corpus, model.architecture)
        if against is not None and against.closer_look.model is not model:
            check_same_structure(model.architecture, against.closer_look.model.architecture)
        at = None if run is None else run.closer_look
        looks = Looks()
        if at is not None and at.kept is not None:
            looks = looked_at(
                *(at.model, at.run, at.kept, at.progress),
                layers=layers,
                other=None if against is None else _other(against),
            )
        return Subject(
            architecture=model.with_formulas(progress),
            run=None if run is None else run.data,
            other=None if against is None else against.data,
            looks=looks,
            keys=model.load_report,
            origin=origin_of_model(model, progress),
            statistic=self._statistic,
            corpus=corpus,
        )

    def _recipe(
        self,
        model: "LoadedModel",
        run: "Run | None",
        against: "Run | None",
        beside: "tuple[LoadedModel | None, LoadedModel | None]",
        layers: tuple[int, ...] | None,
    ) -> "Recipe":
        """Return what makes this report again on the command line.

        ``beside`` are the models on the left and the right of this one.
        """
        from bertviewer.report.recipe import Recipe, asked_task

        source = model.source
        left, right = beside
        is_all, checked = (False, ()) if run is None else run.checked
        models = [model, *(each for each in (left, right) if each is not None)]
        if against is not None:
            models.append(against.closer_look.model)
        return Recipe(
            source.name,
            self.path.name,
            asked_task(source),
            allow_pickle=any(each.source.pickle_allowed for each in models),
            offload=any(each.architecture.source.offloaded for each in models),
            run=_made(run, model),
            run_a=_made(against, model),
            checks_all=is_all,
            checks=checked,
            right="" if right is None else right.source.name,
            left="" if left is None else left.source.name,
            corpus="" if self._corpus is None else str(self._corpus.folder),
            layers=layers,
            statistic=self._statistic,
            choices=self._choices,
            format=self._format,
        )


def _corpus(corpus: "Corpus | str | PathLike[str] | None") -> "Corpus | None":
    """Return a corpus, read if it is not yet."""
    from bertviewer.api.corpus import Corpus
    from bertviewer.core.corpus.reading import read_corpus

    if corpus is None or isinstance(corpus, Corpus):
        return corpus
    folder = Path(corpus)
    return Corpus(folder, read_corpus(folder))


def _comparison(
    model: "LoadedModel",
    left: "LoadedModel | None",
    right: "LoadedModel | None",
    progress: Progress,
) -> "Comparison | None":
    """Compare the model with another one, both as they are before anything is run through them."""
    if left is None and right is None:
        return None
    from bertviewer.core.comparison.compare_models import compare_models
    from bertviewer.core.loading.opening import open_model

    ours, theirs = (left or model), (right or model)
    return compare_models(
        open_model(ours.source, progress), open_model(theirs.source, progress), progress
    )


def _other(run: "Run") -> "OtherRun":
    """Return run A, to look closer at."""
    from bertviewer.report.looking_beside import OtherRun

    at = run.closer_look
    return OtherRun(at.run, at.model, at.kept)


def _made(run: "Run | None", model: "LoadedModel") -> "SentenceRun | SavedRun | None":
    """Return how a run is made again, for a report of the model."""
    from bertviewer.report.recipe import sentence_run

    if run is None or run.saved is not None:
        return None if run is None else run.saved
    name = run.closer_look.model.source.name
    return sentence_run(run.data, "" if name == model.source.name else name)
