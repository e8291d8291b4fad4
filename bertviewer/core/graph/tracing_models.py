"""Traces a model from its configuration: on the meta device, or with random weights if needed."""

from collections.abc import Mapping
from math import prod
from typing import Any, Literal

import torch
from torch import Tensor, nn

from bertviewer.core.building.building import build_config, build_on_meta, untie
from bertviewer.core.errors import Cancelled, Stopped
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.graph.meta_trace import (
    Attempt,
    Known,
    meta_attempts,
    prepare,
    trace_with_weights,
)
from bertviewer.core.graph.shared_weights import build_shared
from bertviewer.core.graph.trace import Trace
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.system.library_words import words_of
from bertviewer.core.system.memory import BYTES_PER_PARAMETER, available_memory

LENGTHS: Mapping[str, int] = {SENTENCES: 1, TOKENS: 16, TARGET_TOKENS: 12}
"""One sentence, and lengths that differ."""

MOST_PARAMETERS = 20_000_000_000
"""A larger model takes more than a minute with weights, even if most experts rest."""
MOST_OF_MASKS = 2**27
"""Elements of the buffers whose values are computed."""
MOST_RUNS = 4
"""Inputs that a model is tried with if it has weights."""


@frozen
class TracedModel:
    """What one forward pass of a model did, and how it was carried out.

    Attributes:
        trace: what was done; a pass that failed is traced until then.
        device: ``meta`` without weights and numbers; ``cpu`` with random ones.
        kinds: what the model was given: ``text``, ``image``, ``sound``, ``time series``.
    """

    trace: Trace
    device: Literal["meta", "cpu"]
    kinds: tuple[str, ...] = ()


def trace_model(
    source: ModelSource, config: Mapping[str, Any], values: Mapping[str, int] = LENGTHS
) -> TracedModel:
    """Trace one forward pass of a source's model. Its own weights are never needed.

    Args:
        source: where the model comes from, and with which head.
        config: its configuration, validated.
        values: B sentences, images or sounds; S tokens of a text, S_d of the target's.

    Raises:
        UserError: the model cannot be built.
    """
    model = build_on_meta(
        build_config(config, source.name), source.task, source.name, source.untied
    )
    try:
        attempts = meta_attempts(model, values, _known_masks(model, source, config))
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - a configuration fails with any kind of error
        reason = str(error) if isinstance(error, Stopped) else words_of(error)
        return TracedModel(Trace((), (), (), ("", reason)), "meta")
    best = attempts[0]
    on_meta = TracedModel(best.trace, "meta", best.inputs.kinds)
    # torch's message names the device if it was asked for the numbers of a tensor without any.
    asking = [it for it in attempts if it.trace.stopped and "meta" in it.trace.stopped[1]]
    if best.trace.stopped is None or not asking or not _has_room(model):
        return on_meta
    try:
        real = build_shared(build_config(config, source.name), source.task, source.name)
    except Cancelled:
        raise
    except Exception:  # noqa: BLE001 - what was traced on the meta device stays
        return on_meta
    untie(real, source.untied)
    prepare(real, "eager")
    for attempt in asking[:MOST_RUNS]:
        found = Attempt(trace_with_weights(real, attempt.inputs), attempt.inputs)
        best = max(best, found, key=lambda attempt: attempt.reach)
        if found.trace.stopped is None:
            break
    return on_meta if best is attempts[0] else TracedModel(best.trace, "cpu", best.inputs.kinds)


def _known_masks(model: nn.Module, source: ModelSource, config: Mapping[str, Any]) -> Known:
    """Return the values of buffers that may be a mask, as in OpenAI GPT: [..., S, S] each.

    On the meta device they have none, so that the model is built on the CPU as well.
    """
    masks = {name: each for name, each in model.named_buffers() if _may_be_mask(each)}
    if not masks or sum(each.numel() for each in masks.values()) > MOST_OF_MASKS:
        return ()
    real = build_shared(build_config(config, source.name), source.task, source.name)
    values = dict(real.named_buffers())
    return tuple((each, values[name]) for name, each in masks.items() if name in values)


def _may_be_mask(buffer: Tensor) -> bool:
    is_square = buffer.dim() > 1 and buffer.shape[-1] == buffer.shape[-2] > 1
    return is_square and (buffer.dtype == torch.bool or buffer.is_floating_point())


def _has_room(model: nn.Module) -> bool:
    """Tell whether a model can be run with weights, of which one matrix at a time takes memory."""
    matrices = [
        prod(parameter.shape[-2:])
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
        for parameter in module.parameters(recurse=False)
    ]
    available = available_memory()
    fits = available is None or 2 * max(matrices, default=0) * BYTES_PER_PARAMETER < available
    return sum(parameter.numel() for parameter in model.parameters()) <= MOST_PARAMETERS and fits
