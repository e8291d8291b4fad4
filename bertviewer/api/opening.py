"""Opens and compares models and corpora, for scripts and commands."""

from os import PathLike, fspath
from pathlib import Path
from typing import overload

from msgspec.structs import replace

from bertviewer.api.comparison import Comparison, CorpusComparison
from bertviewer.api.corpus import Corpus
from bertviewer.api.errors import with_error_lines
from bertviewer.api.model import Model
from bertviewer.api.tables import Row
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles.consent import consent_message
from bertviewer.core.sources.model_source import AUTO, BASE, ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import PRESETS
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress, no_progress


@with_error_lines
def open(
    model: str | PathLike[str],
    task: str | None = None,
    allow_pickle: bool = False,
    *,
    offload: bool = False,
    progress: Progress | None = None,
) -> Model:
    """Open a model.

    Args:
        model: ``demo``, the name of a preset, a folder, a config.json, a file of weights, a
            ``.bertviewer`` file, or ``hf://org/name``, as on the command line.
        task: the head, such as ``masked-lm``; by default the one that was saved.
        allow_pickle: whether to read pickled weights (.bin, .pt, .pth, .ckpt): tensors only, in a
            sandboxed process.
        offload: whether to load each layer's weights when it is called, even if all fit into
            memory.
        progress: called as ``progress(done, total, label)`` for all work on the model; ``total``
            is 0 if it is unknown. An exception stops the work. Long steps repeat the last call
            from another thread.
    """
    source = source_of(fspath(model), task or AUTO.name, allow_pickle)
    return opened(replace(source, offload=offload), _cancelling(progress))


@with_error_lines
def open_corpus(folder: str | PathLike[str], model: Model | None = None) -> Corpus:
    """Open the folder of ``Model.corpus`` or of the command ``corpus``.

    Args:
        folder: the folder.
        model: the model of the corpus, for figures; built-in models are opened when needed.
    """
    from bertviewer.core.corpus.corpus import check_model
    from bertviewer.core.corpus.reading import read_corpus

    found = read_corpus(Path(folder))
    if model is not None:
        check_model(found, model.architecture)
    return Corpus(Path(folder), found, None if model is None else model.loaded)


@overload
def compare(
    left: Model,
    right: str | PathLike[str] | Model,
    task: str | None = None,
    allow_pickle: bool = False,
    *,
    progress: Progress | None = None,
) -> Comparison: ...
@overload
def compare(
    left: str | PathLike[str] | Model,
    right: Model,
    task: str | None = None,
    allow_pickle: bool = False,
    *,
    progress: Progress | None = None,
) -> Comparison: ...
@overload
def compare(left: Corpus, right: str | PathLike[str] | Corpus) -> CorpusComparison: ...
@overload
def compare(left: str | PathLike[str], right: Corpus) -> CorpusComparison: ...
@overload
def compare(
    left: str | PathLike[str],
    right: str | PathLike[str],
    task: str | None = None,
    allow_pickle: bool = False,
    *,
    progress: Progress | None = None,
) -> Comparison | CorpusComparison: ...
@with_error_lines
def compare(
    left: str | PathLike[str] | Model | Corpus,
    right: str | PathLike[str] | Model | Corpus,
    task: str | None = None,
    allow_pickle: bool = False,
    *,
    progress: Progress | None = None,
) -> Comparison | CorpusComparison:
    """Compare two models (configuration, counts and the values of all tensors), or two corpora.

    Args:
        left: the reference: an open model or the name of one, or a corpus or its folder.
        right: the model or corpus to compare with it.
        task: head of the models that are opened here.
        allow_pickle: as for ``open``.
        progress: as for ``open``.
    """
    from bertviewer.core.corpus.reading import is_corpus

    both = [
        open_corpus(one) if isinstance(one, str | PathLike) and is_corpus(Path(one)) else one
        for one in (left, right)
    ]
    corpora = [one for one in both if isinstance(one, Corpus)]
    models = [one for one in both if not isinstance(one, Corpus)]
    if corpora and models:
        name = models[0].name if isinstance(models[0], Model) else fspath(models[0])
        raise UserError(
            f"{name}: not a corpus, unlike the other one; compare two models or two corpora"
        )
    if corpora:
        return corpora[0].compare(corpora[1])
    sources = [
        one if isinstance(one, Model) else source_of(fspath(one), task or AUTO.name, allow_pickle)
        for one in models
    ]
    ours, theirs = _opened_pair(sources[0], sources[1], _cancelling(progress))
    return ours.compare(theirs)


def _opened_pair(
    left: Model | ModelSource, right: Model | ModelSource, progress: Progress
) -> tuple[Model, Model]:
    """Open two models with the same head, if their families have it.

    Names of tensors depend on the head. For models that were saved with different heads, the base
    models are returned.
    """
    if isinstance(left, Model):
        if not isinstance(right, Model):
            right = opened_like(right, left, progress)
        return left, right
    if isinstance(right, Model):
        return opened_like(left, right, progress), right
    ours, theirs = opened(left, progress), opened(right, progress)
    if ours.task == theirs.task or not all(BASE.name in one.loaded.tasks for one in (ours, theirs)):
        return ours, theirs
    left, right = replace(left, task=BASE), replace(right, task=BASE)
    return opened(left, progress), opened(right, progress)


def presets() -> list[Row]:
    """Return a row for each built-in configuration: name and description."""
    return [{"name": preset.name, "description": preset.description} for preset in PRESETS]


def source_of(name: str, task: str, allow_pickle: bool) -> ModelSource:
    """Return the model of that name.

    Raises:
        UserError: there is none, or it is a pickle and ``allow_pickle`` is false.
    """
    source = parse_source(name, task)
    if source.kind == "pickle" and not allow_pickle:
        raise UserError(consent_message(source))
    return replace(source, pickle_allowed=allow_pickle)


def opened_like(source: ModelSource, other: Model, progress: Progress) -> Model:
    """Open a model with the head of another one, if its family has this head."""
    model, head = opened(source, progress), other.loaded.source.task
    if source.kind == "runs" or model.task == head.name or head.name not in model.loaded.tasks:
        return model
    return opened(replace(source, task=head), progress)


def opened(source: ModelSource, progress: Progress) -> Model:
    """Open a model; its weights are loaded when needed."""
    return Model(open_model(source, progress), progress)


def _cancelling(progress: Progress | None) -> Progress:
    """Return a progress callback whose exceptions cancel the work."""
    if progress is None:
        return no_progress

    def report(done: int, total: int, label: str) -> None:
        try:
            progress(done, total, label)
        except BaseException as error:
            # Any other exception might be taken for a failure of the model.
            raise Cancelled from error

    return report
