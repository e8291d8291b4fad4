"""Opens models: a source becomes a ``LoadedModel``, without torch if it was seen before."""

from dataclasses import replace
from typing import Any

from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.cache.models import recall_keys, recall_model
from bertviewer.core.loading.loaded_model import Blueprint, LoadedModel
from bertviewer.core.loading.rebuilding import rebuilt
from bertviewer.core.loading.structure import structure
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.source.configuration import read_configuration
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.tasks import find_task
from bertviewer.core.system import libraries
from bertviewer.core.weights.finding import check_inside, find_checkpoint
from bertviewer.core.weights.stored import Checkpoint


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
    if source.kind == "hub":
        from bertviewer.core.hub.opening import open_hub

        remote = open_hub(source, progress)
        source = remote.source
    progress(0, 3, "Reading the configuration")
    data: dict[str, Any] | None
    if source.kind == "runs":
        from bertviewer.core.run_files.reading import read_saved_model  # needs numpy

        data, task = read_saved_model(source.path)
        source = replace(source, task=find_task(task))
    else:
        data = _configuration(source)
    checkpoint = remote.checkpoint if remote else _find_checkpoint(source, progress)
    if data is None:
        assert checkpoint is not None  # weights stand alone, or their consent was refused
        if (data := rebuilt(checkpoint, source.name)) is None:
            info = SourceInfo(source.kind, source.name, source.task.name, "pretrained")
            return LoadedModel(source, structure(checkpoint, info), None, checkpoint)
    seen = recall_model(source, data)
    keys = None if checkpoint is None or not seen else recall_keys(source, data, checkpoint, seen)
    if seen is not None and (checkpoint is None or keys is not None):
        architecture = replace(seen.architecture, source=source.info(keys))
        blueprint = Blueprint(None, seen.heads, data)
        return LoadedModel(source, architecture, blueprint, checkpoint, keys, remote=remote)
    libraries.load(progress)
    from bertviewer.core.loading.meta_model import read_meta_model

    # Another checkpoint may have had this configuration, and its formulas are there.
    found = read_meta_model(source, data, checkpoint, seen, progress)
    blueprint = Blueprint(found.config, found.heads, data)
    model = LoadedModel(
        source, found.architecture, blueprint, checkpoint, found.keys, remote=remote
    )
    if keep:
        model.keep()
    return model


def _configuration(source: ModelSource) -> dict[str, Any] | None:
    file = source.config_file
    if file is None:
        return None
    if source.kind not in ("preset", "demo"):
        check_inside(file)
    return read_configuration(file)


def _find_checkpoint(source: ModelSource, progress: Progress) -> Checkpoint | None:
    if source.kind in ("preset", "config", "runs"):
        return None
    if source.kind != "pickle":
        return find_checkpoint(source.path)
    if not source.pickle_allowed and source.config_file is not None:
        return None  # the architecture is shown, and its weights when somebody agrees
    from bertviewer.core.pickles.consent import consented_checkpoint

    return consented_checkpoint(source, source.pickle_allowed, progress)
