"""Runs a model's attention again with transformers' other implementation: eager, or SDPA."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from bertviewer.core.flow.nested_tensors import versions
from bertviewer.core.progress import Progress
from bertviewer.core.run.capture import Capture, KeptCall

EAGER = "eager"
SDPA = "sdpa"


def other_attention(
    module: nn.Module, first: Capture, paths: Collection[str], progress: Progress
) -> tuple[str, Capture]:
    """Return the other implementation's name, and the calls of the attentions with it.

    ``paths`` are the attentions' paths. The model gets the first run's inputs, and is as before
    afterwards, whatever happens.
    """
    capture = Capture(budget=first.budget)
    capture.inputs = first.inputs
    others = {path: module.get_submodule(path) for path in paths}
    for path in [path for path, it in others.items() if isinstance(it, nn.MultiheadAttention)]:
        inner = others.pop(path)
        for call in first.calls.get(path, ()):
            progress(0, 0, path)
            capture.add(path, _with_weights(inner, call))
    used = getattr(getattr(module, "config", None), "_attn_implementation", None)
    name = SDPA if used == EAGER else EAGER
    if others and used in (EAGER, SDPA) and getattr(module, "_supports_sdpa", False):
        _run(module, capture, others, used, name, progress)
    return name, capture


def _with_weights(attention: nn.Module, call: KeptCall) -> KeptCall:
    """Call torch.nn's attention again for its weights: then it does not use SDPA."""
    # Positional arguments past the fourth would name the same flag twice.
    args, kwargs = call.args[:4], {**call.kwargs, "need_weights": True}
    with torch.no_grad():
        output = attention(*args, **kwargs)
    return replace(
        call, args=args, kwargs=kwargs, output=output, versions=versions((args, kwargs, output))
    )


def _run(  # noqa: PLR0917
    module: Any,
    capture: Capture,
    attentions: Mapping[str, nn.Module],
    used: str,
    other: str,
    progress: Progress,
) -> None:
    """Run the model once with the other implementation, and set it back."""
    count = 0

    def report(inner: nn.Module, _args: Any) -> None:
        nonlocal count
        count += 1
        progress(count, len(attentions), type(inner).__name__)

    handles = [inner.register_forward_pre_hook(report) for inner in attentions.values()]
    try:
        module.set_attn_implementation(other)
        with torch.no_grad(), capture.watching(attentions):
            module(**capture.inputs)
    finally:
        for handle in handles:
            handle.remove()
        module.set_attn_implementation(used)
