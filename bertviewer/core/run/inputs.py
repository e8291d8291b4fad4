"""What a model is called with to run tokens through it."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn

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
    types = config.get("type_vocab_size")
    # Only where there is a table for them: GPT-2 would look segments up among its words.
    if isinstance(types, int) and types > 0:
        given["token_type_ids"] = torch.clamp(segments, max=types - 1)
    return model_inputs(module, given)


def parameters_of(module: nn.Module) -> Collection[str]:
    """Return the names of what a model's ``forward`` takes."""
    return inspect.signature(module.forward).parameters
