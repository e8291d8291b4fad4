"""Token ids and their masks, of any length, for models that read text."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from bertviewer.core.building.configurations import config_value

SENTENCES = "B"
TOKENS = "S"
TARGET_TOKENS = "S_d"

TEXT = "text"


class MetaInputs(Struct, frozen=True):
    """The arguments of a model's forward on the meta device, and the value of each tensor."""

    arguments: Mapping[str, Any]
    known: tuple[tuple[Tensor, Tensor], ...]


class ModelInputs(Struct, frozen=True):
    """Arguments of a model's forward on the CPU; ``kinds`` are ``text``, ``image`` and so on."""

    arguments: Mapping[str, Any]
    kinds: tuple[str, ...]

    def on_meta(self) -> MetaInputs:
        """Return the same on the meta device."""
        moved = tree_map_only(Tensor, lambda tensor: tensor.to("meta"), dict(self.arguments))
        pairs = zip(tree_leaves(moved), tree_leaves(dict(self.arguments)), strict=True)
        return MetaInputs(moved, tuple(pair for pair in pairs if isinstance(pair[0], Tensor)))


def text_inputs(model: nn.Module, values: Mapping[str, int]) -> ModelInputs:
    """Return inputs for ``B`` whole sentences of ``S`` tokens, nothing padded.

    They are those of a run (see ``running``): an encoder-decoder gets ``S_d`` target tokens and no
    masks. ``values`` has a value for each of these letters.

    Raises:
        ValueError: the model does not read text.
    """
    accepted = inspect.signature(model.forward).parameters
    if "input_ids" not in accepted:
        raise ValueError("the model does not read text")
    config: Any = model.config
    if config_value(config, "pad_token_id") is None:
        # A batch needs one; GPT-2's classifier refuses several sentences without it.
        config.pad_token_id = 0
    shape = values[SENTENCES], values[TOKENS]
    tensors = {"input_ids": token_ids(config, shape)}
    if config_value(config, "is_encoder_decoder"):
        tensors["decoder_input_ids"] = token_ids(config, (shape[0], values[TARGET_TOKENS]))
    else:
        tensors["attention_mask"] = torch.ones(shape, dtype=torch.long)
        if config_value(config, "type_vocab_size"):
            tensors["token_type_ids"] = torch.zeros(shape, dtype=torch.long)
    arguments: dict[str, Any] = {name: value for name, value in tensors.items() if name in accepted}
    return ModelInputs({**arguments, **plain_arguments(accepted)}, (TEXT,))


def plain_arguments(accepted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are no tensors: no caches, and outputs by their names."""
    return {**({"use_cache": False} if "use_cache" in accepted else {}), "return_dict": True}


def token_ids(config: Any, shape: tuple[int, int]) -> Tensor:
    """Return ids of plain tokens, with an end of sentence if the model has one."""
    special = token_ids_in(config)
    plain = next(number for number in range(len(special) + 1) if number not in special)
    ids = torch.full(shape, plain)
    rows = config_value(config, "vocab_size")
    end = config_value(config, "eos_token_id")
    if isinstance(end, int) and not (isinstance(rows, int) and end >= rows):
        ids[:, -1] = end
    return ids


def token_ids_in(config: Any) -> frozenset[int]:
    """Return every token id that a configuration gives a meaning to."""
    found: set[int] = set()
    for _, part in parts_of(config):
        for key, value in vars(part).items():
            if "token_id" in key or "token_index" in key:
                values = value if isinstance(value, list | tuple) else (value,)
                found |= {item for item in values if isinstance(item, int)}
    return frozenset(found)


def parts_of(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield a configuration under an empty name and its sub-configurations, breadth first."""
    waiting = [("", config)]
    for name, each in waiting:
        yield name, each
        waiting += [
            (f"{name}.{key}", value)
            for key, value in vars(each).items()
            if hasattr(value, "model_type") and not isinstance(value, type)
        ]
