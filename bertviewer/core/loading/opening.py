"""Opening a model: a source becomes a ``LoadedModel``, without torch if it is in the cache."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import check_inside, find_checkpoint
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.quantization import quantization_of
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.loading.cached_models import (
    ModelSpec,
    load_head,
    load_report,
    load_spec,
    store_head,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.notices import file_notices, why_not_run
from bertviewer.core.loading.structure import structure_from_names
from bertviewer.core.schema.flow import Flows
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.configuration import (
    RemovedSettings,
    has_type,
    missing_type_error,
    read_configuration,
    removed_settings,
)
from bertviewer.core.sources.model_folder import notices_of, sentence_pooling_of
from bertviewer.core.sources.model_source import AUTO, BASE, ModelSource, find_task
from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UnknownTypeError
from bertviewer.core.util.progress import Progress, no_progress


def open_model(
    source: ModelSource, progress: Progress = no_progress, *, store: bool = True
) -> LoadedModel:
    """Read a model's configuration and structure, but no weights.

    Of a checkpoint only the headers are read, and every file is checked. What the cache has for
    the same configuration and headers is used; what is new is stored there, unless ``store`` is
    false: then the caller calls ``LoadedModel.store`` later.

    Raises:
        UserError: the configuration or a file is bad, the two do not fit, or the family has no
            head for the task.
        Cancelled: by ``progress``.
    """
    remote = None
    # It may have been opened before.
    source = replace(source, untied=(), notices=(), sentence_pooling=None)
    if source.kind == "hub":
        from bertviewer.core.hub.opening import open_hub

        remote = open_hub(source, progress)
        source = remote.source
    if source.kind in ("folder", "pickle", "weights") and source.path.is_dir():
        source = replace(source, notices=notices_of(source.path))
    if source.kind in ("folder", "pickle", "weights", "demo", "hub"):
        source = replace(source, sentence_pooling=sentence_pooling_of(source.folder))
    progress(0, 3, "Reading the configuration")
    data: dict[str, Any] | None
    if source.kind == "runs":
        from bertviewer.core.saved_runs.file_format import read_saved_model  # needs numpy

        data, task, untied, notices = read_saved_model(source.path)
        source = replace(source, task=find_task(task), untied=untied, notices=notices)
    else:
        data = _read_config(source)
    checkpoint = remote.checkpoint if remote else _find_checkpoint(source, progress)
    guess = ""
    if data is None or not has_type(data):
        data, guess = _identify(source, data, checkpoint, progress)
    file = source.config_file
    settings = RemovedSettings() if file is None else removed_settings(file)
    tensors = None if checkpoint is None else checkpoint.tensors
    quantization = quantization_of(tensors, settings.quantization)
    notices = *filter(None, [guess]), *file_notices(settings, quantization)
    source = replace(source, notices=(*source.notices, *notices))
    spec = None
    try:
        if data is not None:
            spec = _find_spec(source, data, checkpoint, progress)
    except UnknownTypeError:
        if checkpoint is None:
            raise
    if spec is None:
        assert checkpoint is not None
        return LoadedModel(_spec_from_names(source, checkpoint), None, checkpoint, quantization)
    model = LoadedModel(spec, data, checkpoint, quantization, remote=remote)
    if store and model.config is not None:  # it was built
        model.store()
    return model


def _find_spec(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint | None, progress: Progress
) -> ModelSpec:
    """Return a model from the cache, or build it.

    Raises:
        UnknownTypeError: transformers does not know the model type.
        UserError: as ``open_model``.
    """
    if source.task == AUTO:
        source = _with_saved_head(source, data, checkpoint, progress)
    cached = load_spec(source, data)
    if cached is not None:
        report = None if checkpoint is None else load_report(cached, data, checkpoint)
        if checkpoint is None or (report is not None and not _untied(report, checkpoint, progress)):
            architecture = replace(cached.architecture, source=source.info(report))
            return replace(cached, architecture=architecture, load_report=report)
    libraries.load(progress)
    from bertviewer.core.loading.meta_model import read_meta_model

    # The cache may have the formulas of another checkpoint with this configuration.
    return read_meta_model(source, data, checkpoint, cached, progress)


def _with_saved_head(
    source: ModelSource, data: Mapping[str, Any], checkpoint: Checkpoint | None, progress: Progress
) -> ModelSource:
    """Return the source with the task that its checkpoint was saved for.

    Raises:
        UserError: the configuration is bad, or the model cannot be built.
    """
    if checkpoint is None or not data.get("architectures"):
        return replace(source, task=BASE)
    if (cached := load_head(source, data, checkpoint)) is not None:
        task, note = find_task(cached[0]), cached[1]
    else:
        libraries.load(progress)
        from bertviewer.core.loading.identification import saved_head

        task, note = saved_head(data, source.name, checkpoint)
        store_head(source, data, checkpoint, task.name, note)
    return replace(source, task=task, notices=(*source.notices, *filter(None, [note])))


def _untied(report: LoadReport, checkpoint: Checkpoint, progress: Progress) -> bool:
    """Return whether tensors that the report has as tied have different values now."""
    if not report.stored_twice:
        return False
    from bertviewer.core.checkpoints.reading import untied_names  # needs numpy

    return bool(untied_names(report, checkpoint, progress))


def _read_config(source: ModelSource) -> dict[str, Any] | None:
    file = source.config_file
    if file is None:
        return None
    if source.kind not in ("preset", "demo"):
        check_inside(file)
    return read_configuration(file, needs_type=False)


def _spec_from_names(source: ModelSource, checkpoint: Checkpoint) -> ModelSpec:
    """Return a model of which only tensor names are known."""
    source = replace(source, task=BASE if source.task == AUTO else source.task)
    reason = f"{why_not_run(Path(source.name).name)}."
    info = SourceInfo(source.kind, source.name, source.task.name, "pretrained")
    info = replace(info, notices=(reason, *source.notices))
    architecture = structure_from_names(checkpoint, info)
    flows = Flows({}, missing={"": why_not_run(source.name)})
    return ModelSpec(source, replace(architecture, flows=flows))


def _identify(
    source: ModelSource,
    data: dict[str, Any] | None,
    checkpoint: Checkpoint | None,
    progress: Progress,
) -> tuple[dict[str, Any] | None, str]:
    """Return a configuration with the missing model type, and a notice on what is guessed in it.

    The type is that of the class that ``architectures`` names, or follows from the tensors. Without
    either, the configuration is ``None``.

    Raises:
        UserError: the type is unknown, and there are no weights.
    """
    is_named = data is not None and bool(data.get("architectures"))
    if is_named or checkpoint is not None:
        libraries.load(progress)
        from bertviewer.core.loading.identification import configuration_from_weights, named_type

        if data is not None and is_named and (named := named_type(data)):
            return {**data, "model_type": named}, ""
        if checkpoint is not None:
            return configuration_from_weights(checkpoint, source.name, data) or (None, "")
    assert source.config_file is not None  # weights alone are a checkpoint, or were refused
    raise missing_type_error(source.config_file)


def _find_checkpoint(source: ModelSource, progress: Progress) -> Checkpoint | None:
    if source.kind in ("preset", "config", "runs"):
        return None
    if source.kind != "pickle":
        return find_checkpoint(source.path)
    if not source.pickle_allowed and source.config_file is not None:
        return None  # weights are read when the user agrees
    from bertviewer.core.pickles.consent import consented_checkpoint

    return consented_checkpoint(source, source.pickle_allowed, progress)
