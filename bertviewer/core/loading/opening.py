"""Opens models: a source becomes a ``LoadedModel``, without torch if it was seen before."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import check_inside, find_checkpoint
from bertviewer.core.checkpoints.keys import KeyReport
from bertviewer.core.checkpoints.quantization import Quantization, quantization_of
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.loading.cached_models import keep_head, recall_head, recall_keys, recall_model
from bertviewer.core.loading.file_facts import file_notices, with_facts
from bertviewer.core.loading.loaded_model import Blueprint, LoadedModel
from bertviewer.core.loading.structure import structure, why_not_run
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.configuration import (
    CodeSettings,
    code_settings,
    has_type,
    read_configuration,
    without_type,
)
from bertviewer.core.sources.layouts import notices_of
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.tasks import AUTO, BASE, find_task
from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UnknownTypeError
from bertviewer.core.util.progress import Progress, no_progress

if TYPE_CHECKING:
    from bertviewer.core.hub.opening import HubModel


def open_model(
    source: ModelSource, progress: Progress = no_progress, *, keep: bool = True
) -> LoadedModel:
    """Read the configuration, and find out what the model is made of; no weights are read.

    Of a checkpoint only the headers are read, and every file is checked. What was found out before
    of the same configuration and the same headers is not found out again; what is found out now
    is kept for the next time, unless the caller has more urgent things to do before.

    Raises:
        UserError: the configuration or a file is bad, the two do not belong together, or the
            family has no head for the task.
    """
    remote = None
    source = replace(source, untied=(), notices=())  # of the same model, opened before
    if source.kind == "hub":
        from bertviewer.core.hub.opening import open_hub

        remote = open_hub(source, progress)
        source = remote.source
    if source.kind in ("folder", "pickle", "weights") and source.path.is_dir():
        source = replace(source, notices=notices_of(source.path))
    progress(0, 3, "Reading the configuration")
    data: dict[str, Any] | None
    if source.kind == "runs":
        from bertviewer.core.saved_runs.file_format import read_saved_model  # needs numpy

        data, task, untied, notices = read_saved_model(source.path)
        source = replace(source, task=find_task(task), untied=untied, notices=notices)
    else:
        data = _configuration(source)
    checkpoint = remote.checkpoint if remote else _find_checkpoint(source, progress)
    guess = ""
    if data is None or not has_type(data):
        data, guess = _guessed(source, data, checkpoint, progress)
    file = source.config_file
    settings = CodeSettings() if file is None else code_settings(file)
    tensors = None if checkpoint is None else checkpoint.tensors
    quantization = quantization_of(tensors, settings.quantization)
    notices = *filter(None, [guess]), *file_notices(settings, quantization)
    source = replace(source, notices=(*source.notices, *notices))
    if data is None:
        assert checkpoint is not None
        return _structure(source, checkpoint, quantization)
    try:
        model = _model(source, data, checkpoint, quantization, progress, remote=remote)
    except UnknownTypeError:
        if checkpoint is None:
            raise
        return _structure(source, checkpoint, quantization)
    if keep and model.config is not None:  # it was not seen before
        model.keep()
    return model


def _model(
    source: ModelSource,
    data: Mapping[str, Any],
    checkpoint: Checkpoint | None,
    quantization: Quantization | None,
    progress: Progress,
    *,
    remote: "HubModel | None",
) -> LoadedModel:
    """Return a model of a known type.

    Raises:
        UnknownTypeError: transformers does not have the type.
        UserError: as ``open_model``.
    """
    if source.task == AUTO:
        source = _with_saved_head(source, data, checkpoint, progress)
    seen = recall_model(source, data)
    keys = None if checkpoint is None or not seen else recall_keys(source, data, checkpoint, seen)
    fits = checkpoint is None or (keys is not None and not _is_untied(keys, checkpoint, progress))
    if seen is not None and fits:
        architecture = replace(seen.architecture, source=source.info(keys))
        architecture = with_facts(architecture, quantization, seen.notices, keys, checkpoint)
        blueprint = Blueprint(None, seen.heads, data, quantization, seen.notices)
        return LoadedModel(source, architecture, blueprint, checkpoint, keys, remote=remote)
    libraries.load(progress)
    from bertviewer.core.loading.meta_model import read_meta_model

    # Another checkpoint may have had this configuration, and its formulas are there.
    found = read_meta_model(source, data, checkpoint, seen, progress)
    blueprint = Blueprint(found.config, found.heads, data, quantization, found.notices)
    architecture = with_facts(
        found.architecture, quantization, found.notices, found.keys, checkpoint
    )
    return LoadedModel(found.source, architecture, blueprint, checkpoint, found.keys, remote=remote)


def _with_saved_head(
    source: ModelSource,
    data: Mapping[str, Any],
    checkpoint: Checkpoint | None,
    progress: Progress,
) -> ModelSource:
    """Return the source with the head that its checkpoint was saved with.

    Raises:
        UserError: the configuration is bad, or the model cannot be built.
    """
    if checkpoint is None or not data.get("architectures"):
        return replace(source, task=BASE)
    if (seen := recall_head(source, data, checkpoint)) is not None:
        task, note = find_task(seen[0]), seen[1]
    else:
        libraries.load(progress)
        from bertviewer.core.loading.saved_head import saved_head

        task, note = saved_head(data, source.name, checkpoint)
        keep_head(source, data, checkpoint, task.name, note)
    return replace(source, task=task, notices=(*source.notices, *filter(None, [note])))


def _is_untied(keys: KeyReport, checkpoint: Checkpoint, progress: Progress) -> bool:
    """Tell whether the values of tensors that were seen as tied are not the same."""
    if not keys.twice:
        return False
    from bertviewer.core.checkpoints.ties import untied_names  # needs numpy

    return bool(untied_names(keys, checkpoint, progress))


def _configuration(source: ModelSource) -> dict[str, Any] | None:
    file = source.config_file
    if file is None:
        return None
    if source.kind not in ("preset", "demo"):
        check_inside(file)
    return read_configuration(file, needs_type=False)


def _structure(
    source: ModelSource, checkpoint: Checkpoint, quantization: Quantization | None
) -> LoadedModel:
    """Return a model of which only its tensors are known."""
    source = replace(source, task=BASE if source.task == AUTO else source.task)
    reason = f"{why_not_run(Path(source.name).name)}."
    info = SourceInfo(source.kind, source.name, source.task.name, "pretrained")
    info = replace(info, notices=(reason, *source.notices))
    architecture = with_facts(structure(checkpoint, info), quantization, checkpoint=checkpoint)
    return LoadedModel(source, architecture, None, checkpoint)


def _guessed(
    source: ModelSource,
    data: dict[str, Any] | None,
    checkpoint: Checkpoint | None,
    progress: Progress,
) -> tuple[dict[str, Any] | None, str]:
    """Return a configuration with the model type that it lacks, and what in it is a guess.

    The configuration is ``None`` if only tensors are known. The type is that of the class which
    ``architectures`` names, or else what the tensors are known to be.

    Raises:
        UserError: neither tells it, and there are no weights.
    """
    if data is not None and data.get("architectures"):
        libraries.load(progress)
        from bertviewer.core.loading.saved_head import named_type

        if named := named_type(data):
            return {**data, "model_type": named}, ""
    if checkpoint is not None:
        libraries.load(progress)
        from bertviewer.core.loading.rebuilding import rebuilt

        return rebuilt(checkpoint, source.name, data) or (None, "")
    assert source.config_file is not None  # weights alone are a checkpoint, or were refused
    raise without_type(source.config_file)


def _find_checkpoint(source: ModelSource, progress: Progress) -> Checkpoint | None:
    if source.kind in ("preset", "config", "runs"):
        return None
    if source.kind != "pickle":
        return find_checkpoint(source.path)
    if not source.pickle_allowed and source.config_file is not None:
        return None  # the architecture is shown, and its weights when somebody agrees
    from bertviewer.core.pickles.consent import consented_checkpoint

    return consented_checkpoint(source, source.pickle_allowed, progress)
