"""What a model is called with to run tokens through it."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import replacing
from bertviewer.core.sources.configuration import segment_kinds
from bertviewer.core.util.errors import Stopped

SEGMENTS = "token_type_ids"
_KNOWN: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
_ALWAYS = ("output_hidden_states", "return_dict")


def model_inputs(module: nn.Module, given: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return what a model's ``forward`` takes of what is given, and that it gives hidden states."""
    accepted = parameters_of(module)
    inputs = {
        "output_hidden_states": True,
        "return_dict": True,
        # Nothing is generated, and a cache would be changed after it was seen.
        "use_cache": False,
        **given,
    }
    # Heads hand it on as one of their **kwargs.
    return {k: v for k, v in inputs.items() if k in accepted or k in _ALWAYS}


def text_inputs(
    module: nn.Module, ids: Tensor, mask: Tensor, segments: Tensor, config: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the inputs of a model of one stack, for texts [B, S]."""
    given = {"input_ids": ids, "attention_mask": mask}
    # Only where there is a table for them: GPT-2 would look segments up among its words.
    if segment_kinds(config) and (segments.any() or not _has_own(module, given)):
        given[SEGMENTS] = segments
    return model_inputs(module, given)


def _has_own(module: nn.Module, given: Mapping[str, Tensor]) -> bool:
    """Tell whether a model that is given no segments makes some that are not all 0.

    BigBird's question answering gives the text another segment than the question. The model is
    called up to its base model, and no further.
    """
    if module not in _KNOWN:
        seen: list[Tensor | None] = []

        def see(*args: Any, **kwargs: Any) -> Any:
            seen.append(kwargs.get(SEGMENTS))
            raise _SeenError

        inner = getattr(module, "base_model", module)
        if inner is not module and all(SEGMENTS in parameters_of(it) for it in (inner, module)):
            try:
                with torch.no_grad(), replacing([(inner, see)]):
                    module(**model_inputs(module, given))
            except Stopped:
                raise
            except Exception:  # noqa: BLE001 - what fails here fails in the run too, which says why
                pass
        _KNOWN[module] = any(own is not None and bool(own.any()) for own in seen)
    return _KNOWN[module]


class _SeenError(Exception):
    """The segments have been seen."""


def parameters_of(module: nn.Module) -> Collection[str]:
    """Return the names of what a model's ``forward`` takes."""
    return inspect.signature(module.forward).parameters
