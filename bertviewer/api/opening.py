"""Opens models for scripts and commands."""

from os import PathLike, fspath
from pathlib import Path
from typing import overload

from msgspec.structs import replace

from bertviewer.api.comparison import Comparison
from bertviewer.api.corpus import Corpus
from bertviewer.api.corpus_comparison import CorpusComparison
from bertviewer.api.errors import in_one_line
from bertviewer.api.model import Model
from bertviewer.api.tables import Row
from bertviewer.api.telling import told
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles.consent import consent_message
from bertviewer.core.sources.model_source import AUTO, BASE, ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import PRESETS
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress


@in_one_line
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
        model: what the command line takes: ``demo``, a preset's name, a folder, a config.json,
            weights, a ``.bertviewer`` file of runs, or ``hf://org/name``.
        task: the head, as ``masked-lm``; the one that the weights were saved with if left out.
        allow_pickle: whether a pickle may be read (.bin, .pt, .pth, .ckpt): only its tensors, in
            a separate process.
        offload: whether weights are read layer by layer, even if all fit into memory.
        progress: called as ``progress(done, total, label)`` for all that the model does, ``total``
            0 where it is not known; what it raises stops the work. Long steps without a report of
            their own repeat the last one from another thread.
    """
    source = source_of(fspath(model), task or AUTO.name, allow_pickle)
    return opened(replace(source, offload=offload), told(progress))


@in_one_line
def open_corpus(folder: str | PathLike[str], model: Model | None = None) -> Corpus:
    """Open what ``Model.corpus`` or the command ``corpus`` wrote.

    Args:
        folder: where it is.
        model: the model that it is of, which figures need; the demo and presets are opened when
            they are needed.
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
@in_one_line
def compare(
    left: str | PathLike[str] | Model | Corpus,
    right: str | PathLike[str] | Model | Corpus,
    task: str | None = None,
    allow_pickle: bool = False,
    *,
    progress: Progress | None = None,
) -> Comparison | CorpusComparison:
    """Compare two models, counts, configuration and the values of every tensor, or two corpora.

    Args:
        left: a model, open or as ``open`` takes it, or a corpus, open or its folder: the one that
            the right is compared with.
        right: the other one.
        task: the head of models that are opened here.
        allow_pickle: as of ``open``.
        progress: as of ``open``.
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
    ours, theirs = _opened_pair(sources[0], sources[1], told(progress))
    return ours.compare(theirs)


def _opened_pair(
    left: Model | ModelSource, right: Model | ModelSource, progress: Progress
) -> tuple[Model, Model]:
    """Open what is not open yet, both with the same head where their families have it.

    Tensors have other names under another head. Of two models that were saved with different heads
    the base models are compared.
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
    """Return a row for each configuration that comes with the program: its name and what it is."""
    return [{"name": preset.name, "description": preset.description} for preset in PRESETS]


def source_of(name: str, task: str, allow_pickle: bool) -> ModelSource:
    """Return the model of that name, once a pickle is agreed to.

    Raises:
        UserError: there is none, or nobody agreed.
    """
    source = parse_source(name, task)
    if source.kind == "pickle" and not allow_pickle:
        raise UserError(consent_message(source))
    return replace(source, pickle_allowed=allow_pickle)


def opened_like(source: ModelSource, other: Model, progress: Progress) -> Model:
    """Open a model with another one's head, or with its own if its family has no such head."""
    model, head = opened(source, progress), other.loaded.source.task
    if source.kind == "runs" or model.task == head.name or head.name not in model.loaded.tasks:
        return model
    return opened(replace(source, task=head), progress)


def opened(source: ModelSource, progress: Progress) -> Model:
    """Open a model; nothing is read of its weights but what they are."""
    return Model(open_model(source, progress), progress)
