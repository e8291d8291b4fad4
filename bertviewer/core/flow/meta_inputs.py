"""What a model on the meta device is called with: token ids and their masks, of any length."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

SENTENCES = "B"
TOKENS = "S"
TARGET_TOKENS = "S_d"

_SPECIAL = ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id")


@dataclass(frozen=True, slots=True)
class MetaInputs:
    """The arguments of a model's forward, and the value of each tensor among them."""

    arguments: Mapping[str, Any]
    known: tuple[tuple[Tensor, Tensor], ...]


def meta_inputs(model: nn.Module, values: Mapping[str, int]) -> MetaInputs:
    """Return inputs for ``B`` whole sentences of ``S`` tokens, nothing padded.

    They are those of a run (see ``running``): an encoder-decoder gets ``S_d`` tokens more and no
    masks. ``values`` has a value for each of these letters.

    Raises:
        ValueError: the model does not read text.
    """
    accepted = inspect.signature(model.forward).parameters
    if "input_ids" not in accepted:
        raise ValueError("the model does not read text")
    config: Any = model.config
    if getattr(config, "pad_token_id", None) is None:
        # A batch needs one; GPT-2's classifier refuses several sentences without it.
        config.pad_token_id = 0
    shape = values[SENTENCES], values[TOKENS]
    tensors = {"input_ids": _token_ids(config, shape)}
    if getattr(config, "is_encoder_decoder", False):
        tensors["decoder_input_ids"] = _token_ids(config, (shape[0], values[TARGET_TOKENS]))
    else:
        tensors["attention_mask"] = torch.ones(shape, dtype=torch.long)
        if getattr(config, "type_vocab_size", 0):
            tensors["token_type_ids"] = torch.zeros(shape, dtype=torch.long)
    known = {name: value for name, value in tensors.items() if name in accepted}
    arguments: dict[str, Any] = {name: value.to("meta") for name, value in known.items()}
    pairs = tuple((arguments[name], value) for name, value in known.items())
    if "use_cache" in accepted:
        arguments["use_cache"] = False
    return MetaInputs({**arguments, "return_dict": True}, pairs)


def _token_ids(config: Any, shape: tuple[int, int]) -> Tensor:
    """Return ids of plain tokens, with an end of sentence where the model knows one."""
    special = {getattr(config, key, None) for key in _SPECIAL}
    plain = next(number for number in range(len(special) + 1) if number not in special)
    ids = torch.full(shape, plain)
    if isinstance(end := getattr(config, "eos_token_id", None), int):
        ids[:, -1] = end
    return ids
