"""The arguments that a model is called with for tokens."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import replacing
from bertviewer.core.sources.configuration import segment_rows
from bertviewer.core.util.errors import Stopped

SEGMENTS = "token_type_ids"
# By model, as finding out takes a part of a forward pass.
_MAKES_SEGMENTS: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
_ALWAYS = ("output_hidden_states", "return_dict")


def model_inputs(module: nn.Module, given: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return those of the given arguments that ``forward`` takes, and ask for hidden states."""
    accepted = parameters_of(module)
    inputs = {
        "output_hidden_states": True,
        "return_dict": True,
        # Nothing is generated, and a cache would be changed after it was recorded.
        "use_cache": False,
        **given,
    }
    # Heads pass them on in their **kwargs.
    return {k: v for k, v in inputs.items() if k in accepted or k in _ALWAYS}


def text_inputs(
    module: nn.Module, ids: Tensor, mask: Tensor, segments: Tensor, config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments for texts, [B, S] each, of a model that is no encoder-decoder."""
    given = {"input_ids": ids, "attention_mask": mask}
    # Only models with a table of segments: GPT-2 would look them up in its vocabulary.
    if segment_rows(config) and (segments.any() or not _makes_segments(module, given)):
        given[SEGMENTS] = segments
    return model_inputs(module, given)


def accepted_by(module: nn.Module, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options that ``forward`` takes, also as one of its ``**kwargs``."""
    parameters = inspect.signature(module.forward).parameters
    takes_any = any(it.kind == it.VAR_KEYWORD for it in parameters.values())
    return {key: value for key, value in options.items() if takes_any or key in parameters}


def parameters_of(module: nn.Module) -> Collection[str]:
    """Return the names of the arguments of a module's ``forward``."""
    return inspect.signature(module.forward).parameters


def _makes_segments(module: nn.Module, given: Mapping[str, Tensor]) -> bool:
    """Return whether a model that gets no segment ids creates some that are not all 0.

    BigBird's question answering gives question and text different segments. The model is called
    up to its base model.
    """
    if module not in _MAKES_SEGMENTS:
        seen: list[Tensor | None] = []

        def stop(*args: Any, **kwargs: Any) -> Any:
            seen.append(kwargs.get(SEGMENTS))
            raise _SeenError

        inner = getattr(module, "base_model", module)
        if inner is not module and all(SEGMENTS in parameters_of(it) for it in (inner, module)):
            try:
                with torch.no_grad(), replacing([(inner, stop)]):
                    module(**model_inputs(module, given))
            except Stopped:
                raise
            except Exception:  # noqa: BLE001 - what fails here fails in the run too, which reports it
                pass
        _MAKES_SEGMENTS[module] = any(own is not None and bool(own.any()) for own in seen)
    return _MAKES_SEGMENTS[module]


class _SeenError(Exception):
    """The base model was reached."""
