"""A model's torch module with pretrained or random weights, within the memory that is free."""

from typing import Any

from msgspec import Struct
from torch import nn

from bertviewer.core.building.models import build_on_meta, build_random
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.loading.layer_by_layer import (
    OffloadPlan,
    OffloadState,
    load_layer_by_layer,
    plan_offload,
)
from bertviewer.core.loading.lazy_parameter import move_module
from bertviewer.core.loading.pretrained import converted_bytes, load_pretrained
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError, library_message
from bertviewer.core.util.memory import BYTES_PER_PARAMETER, MEMORY_FACTOR, fits, shortage
from bertviewer.core.util.progress import Progress


class Loaded(Struct, frozen=True):
    """A module with a checkpoint's weights.

    Attributes:
        module: in eval mode.
        random: the names of tensors that the checkpoint lacks, which were initialized randomly.
        offload_state: of a model that runs layer by layer; ``None`` if its weights are in memory.
    """

    module: nn.Module
    random: tuple[str, ...]
    offload_state: OffloadState | None = None


def random_module(source: ModelSource, config: Any) -> nn.Module:
    """Return the module in eval mode with seeded random weights.

    Raises:
        UserError: it does not fit into memory, cannot be built, or was requested layer by layer.
    """
    if source.offload:
        raise UserError(
            f"{source.name} has no weights, so none can be read layer by layer (--offload)"
        )
    meta = build_on_meta(config, source.task, source.name, source.untied)
    parameters = sum(parameter.numel() for parameter in meta.parameters())
    needed = parameters * BYTES_PER_PARAMETER + _buffers(meta)
    if not fits(needed):
        raise UserError(f"{source.name}: {shortage('its weights need', needed)}")
    module = build_random(config, source.task, source.name, untied=source.untied)
    return disable_kv_cache(module)


def pretrained_module(  # noqa: PLR0917
    source: ModelSource,
    config: Any,
    architecture: Architecture,
    checkpoint: Checkpoint,
    report: LoadReport,
    progress: Progress,
) -> Loaded:
    """Return the module with a checkpoint's weights: in memory if they fit, else layer by layer.

    Raises:
        UserError: not even a layer fits into memory, or a file is bad.
        Cancelled: by ``progress``.
    """
    meta = build_on_meta(config, source.task, source.name, source.untied)
    weights = sum(parameter.nbytes for parameter in meta.parameters())
    whole = weights * MEMORY_FACTOR + _buffers(meta) + converted_bytes(checkpoint, report)
    if not source.offload and fits(whole):
        module, random = load_pretrained(meta, config, checkpoint, report, progress)
        return Loaded(disable_kv_cache(module), random)
    plan = plan_offload(meta, architecture, report)
    _check_plan(plan, source, whole, _buffers(meta))
    module, random, state = load_layer_by_layer(
        meta, config, checkpoint, report, plan, source.untied, progress
    )
    return Loaded(disable_kv_cache(module), random, state)


def disable_kv_cache(module: nn.Module) -> nn.Module:
    """Disable the key/value cache of a module and its parts.

    Nothing is generated, and layers are called again. Not every ``forward`` has ``use_cache``.
    """
    for part in module.modules():
        config: Any = getattr(part, "config", None)
        if getattr(config, "use_cache", None) is True:
            config.use_cache = False
    return module


def move(module: nn.Module, name: str, device: str, back: str) -> None:
    """Move a module from the device ``back`` to ``device``; ``name`` is for messages.

    Raises:
        UserError: the device does not accept it; the module is then on ``back`` again.
    """
    try:
        move_module(module, device)
    except (RuntimeError, AssertionError, TypeError) as error:  # MPS has no float64
        move_module(module, back)  # a part may have been moved
        raise UserError(
            f"{name}: its weights cannot be moved to {device}: {library_message(error)}"
        ) from error


def _check_plan(plan: OffloadPlan, source: ModelSource, whole: float, buffers: int) -> None:
    # While a layer is converted it is in memory twice.
    needed = 2 * plan.largest + plan.rest + buffers
    if not fits(needed):
        raise UserError(
            f"{source.name}: {shortage('its weights need', whole)}; layer by layer it needs "
            f"{needed / 1e9:.1f} GB"
        )


def _buffers(meta: nn.Module) -> int:
    # Masks of all positions in each layer may be larger than all weights.
    return sum(buffer.nbytes for buffer in meta.buffers())
