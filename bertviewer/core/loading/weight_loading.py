"""A model's torch module with its weights: those of a checkpoint, or random ones."""

from typing import Any

from torch import nn

from bertviewer.core.building.building import build_on_meta, build_random
from bertviewer.core.errors import UserError
from bertviewer.core.loading.pretrained import converted_bytes, load_pretrained
from bertviewer.core.progress import Progress
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.system.library_words import plain_words
from bertviewer.core.system.memory import check_memory
from bertviewer.core.weights.keys import KeyReport
from bertviewer.core.weights.stored import Checkpoint


def random_module(source: ModelSource, config: Any) -> nn.Module:
    """Return the module in eval mode with seeded random weights.

    Raises:
        UserError: it does not fit into memory, or cannot be built.
    """
    like = build_on_meta(config, source.task, source.name)
    _check_memory(like, source.name)
    return without_caches(build_random(config, source.task, source.name))


def pretrained_module(
    source: ModelSource,
    config: Any,
    checkpoint: Checkpoint,
    keys: KeyReport,
    progress: Progress,
) -> tuple[nn.Module, tuple[str, ...]]:
    """Return the same with a checkpoint's weights, and the names of those drawn all the same.

    Raises:
        UserError: it does not fit into memory, or the file is bad.
        Cancelled: by ``progress``.
    """
    like = build_on_meta(config, source.task, source.name)
    _check_memory(like, source.name, converted_bytes(checkpoint, keys))
    module, random = load_pretrained(like, config, checkpoint, keys, progress)
    return without_caches(module), random


def without_caches(module: nn.Module) -> nn.Module:
    """Let no part of a model keep what it saw: nothing is generated, and a layer is called again.

    Not each of them can be told so when it is called.
    """
    for part in module.modules():
        config: Any = getattr(part, "config", None)
        if getattr(config, "use_cache", None) is True:
            config.use_cache = False
    return module


def move(module: nn.Module, name: str, device: str, back: str) -> None:
    """Move a module to a device as torch names it; ``back`` is where it is now.

    Raises:
        UserError: the device does not take it, and it is back; ``name`` is in the message.
    """
    try:
        module.to(device)
    except (RuntimeError, AssertionError, TypeError) as error:  # MPS has no float64
        module.to(back)  # what had been moved by then
        raise UserError(
            f"{name}: its weights cannot be moved to {device}: {plain_words(error)}"
        ) from error


def _check_memory(like: nn.Module, name: str, beside: int = 0) -> None:
    # Masks for all positions, one a layer, may be larger than all weights.
    buffers = sum(buffer.nbytes for buffer in like.buffers())
    parameters = sum(parameter.numel() for parameter in like.parameters())
    check_memory(parameters, name, buffers + beside)
