"""A model built on torch's meta device, and what is read off it: shapes, counts, heads, keys."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.building.building import (
    build_config,
    build_on_meta,
    heads_of,
    plain_config,
    untie,
)
from bertviewer.core.building.unused_keys import key_use
from bertviewer.core.checkpoints.keys import KeyReport
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.checkpoints.ties import untied_names
from bertviewer.core.loading.cached_models import SeenModel, recall_model
from bertviewer.core.loading.inspection import inspect_module
from bertviewer.core.loading.matching import match
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.demo import check_demo_weights
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress


class MetaModel(Struct, frozen=True):
    """What a source's model is, by transformers itself.

    Attributes:
        source: with the parameters that its checkpoint leaves untied.
        config: transformers' configuration.
        architecture: it has the formulas of what was seen before, if that was the same, or none.
        heads: the names of the tasks that its family has a model for.
        keys: how a checkpoint fits it, ``None`` without one.
        was_seen: whether it is the same as what was seen before.
        notices: on keys of the configuration that it does not use.
    """

    source: ModelSource
    config: Any
    architecture: Architecture
    heads: tuple[str, ...]
    keys: KeyReport | None
    was_seen: bool
    notices: tuple[str, ...]


def read_meta_model(
    source: ModelSource,
    data: Mapping[str, Any],
    checkpoint: Checkpoint | None,
    seen: SeenModel | None,
    progress: Progress,
) -> MetaModel:
    """Build the model of a checked configuration, and read off it what there is to know.

    Raises:
        UserError: it cannot be built, or not in the time and memory allowed, does not fit the
            checkpoint, or the demo's weights are not the published ones.
        Cancelled: by ``progress``.
    """
    if source.kind == "demo":
        check_demo_weights(source.path)
    try:
        with limited(progress) as limits:
            limits.report(0, 3, "Reading the configuration")
            config = build_config(data, source.name)
            limits.report(1, 3, "Building the architecture")
            module = build_on_meta(config, source.task, source.name, source.untied)
            limits.report(2, 3, "Reading modules and tensors")
            # Through JSON and back, so that what is shown is equal to what an export reads again.
            plain = plain_config(config, source.name, data)
            use = key_use(module, config, data, plain)
    except OverBudget as error:
        raise UserError(f"{source.name}: its architecture cannot be built: {error}") from error
    try:
        keys = None if checkpoint is None else match(module, checkpoint)
    except UserError as error:
        # What does not fit is often of another way of computing.
        raise UserError(". ".join((str(error), *use.notices))) from error
    if checkpoint is not None and keys is not None:
        if names := untied_names(keys, checkpoint, progress):
            source = replace(source, untied=(*source.untied, *names))
            untie(module, names)
            keys = match(module, checkpoint)
            seen = recall_model(source, data)
        keys = replace(keys, untied=source.untied)
    used = {key: value for key, value in plain.items() if key not in use.unused}
    architecture = inspect_module(module, source.info(keys), used, use.unused)
    heads = heads_of(config)
    was_seen = seen is not None and seen.is_like(architecture, heads)
    if seen is not None and was_seen:
        architecture = replace(
            seen.architecture, source=architecture.source, unused=architecture.unused
        )
    return MetaModel(source, config, architecture, heads, keys, was_seen, use.notices)
