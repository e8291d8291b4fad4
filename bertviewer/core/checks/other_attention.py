"""Runs a model's attention again with transformers' other implementation: eager, or SDPA."""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from torch import nn

from bertviewer.core.graph.nested_tensors import versions
from bertviewer.core.progress import Progress
from bertviewer.core.run.capture import Capture, KeptCall
from bertviewer.core.run.replay import reporting

EAGER = "eager"
SDPA = "sdpa"


class _EnoughError(Exception):
    """All attentions have been called."""


def other_attention(
    module: Any, first: Capture, paths: Collection[str], progress: Progress
) -> tuple[str, Capture]:
    """Return the other implementation's name, and the calls of the attentions with it.

    ``paths`` are the attentions' paths. The model gets the first run's inputs, and is as before
    afterwards, whatever happens. Gradients have to be off.
    """
    capture = Capture(budget=first.budget)
    capture.inputs = first.inputs
    others = {path: module.get_submodule(path) for path in paths}
    for path in [path for path, it in others.items() if isinstance(it, nn.MultiheadAttention)]:
        # Asked for its weights, torch.nn's attention does not use SDPA.
        inner = others.pop(path)
        for call in first.calls.get(path, ()):
            progress(0, 0, path)
            # Positional arguments past the fourth would name the same flag twice.
            args, kwargs = call.args[:4], {**call.kwargs, "need_weights": True}
            output = inner(*args, **kwargs)
            taken = args, kwargs
            capture.add(path, KeptCall(*taken, output, versions=versions((taken, output))))
    used = getattr(getattr(module, "config", None), "_attn_implementation", None)
    name = SDPA if used == EAGER else EAGER
    if not others or used not in (EAGER, SDPA) or not getattr(module, "_supports_sdpa", False):
        return name, capture

    def stop(*_: Any) -> None:
        if all(len(capture.calls.get(path, ())) == len(first.calls[path]) for path in others):
            raise _EnoughError

    handles = []
    try:
        module.set_attn_implementation(name)
        with (
            suppress(_EnoughError),
            reporting(module, progress),
            capture.watching(others),
        ):
            handles = [inner.register_forward_hook(stop) for inner in others.values()]
            module(**capture.inputs)
    finally:
        for handle in handles:
            handle.remove()
        module.set_attn_implementation(used)
    return name, capture
