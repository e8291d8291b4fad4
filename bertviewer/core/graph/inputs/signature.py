"""The parameters of a model's forward, and text inputs and tensors of the sizes that it expects."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from math import prod
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from bertviewer.core.building.configurations import config_value
from bertviewer.core.expressions.symbols import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.graph.meta_device import spread

TEXT = "text"


class MetaInputs(Struct, frozen=True):
    """Arguments of a model's forward on the meta device, with the values of the tensors."""

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
    """Return inputs for ``B`` sentences of ``S`` tokens without padding, as in a run.

    An encoder-decoder gets ``S_d`` target tokens and no masks. ``values`` are those of the symbols.

    Raises:
        ValueError: the model does not read text.
    """
    accepted = inspect.signature(model.forward).parameters
    if "input_ids" not in accepted:
        raise ValueError("the model does not read text")
    config: Any = model.config
    if config_value(config, "pad_token_id") is None:
        # GPT-2's classifier refuses several sentences without it.
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
    """Return the arguments for no cache and for outputs by name."""
    return {**({"use_cache": False} if "use_cache" in accepted else {}), "return_dict": True}


def token_ids(config: Any, shape: tuple[int, int]) -> Tensor:
    """Return ids of a plain token, and the end-of-sequence token last if there is one."""
    special = special_token_ids(config)
    plain = next(number for number in range(len(special) + 1) if number not in special)
    ids = torch.full(shape, plain)
    rows = config_value(config, "vocab_size")
    end = config_value(config, "eos_token_id")
    if isinstance(end, int) and not (isinstance(rows, int) and end >= rows):
        ids[:, -1] = end
    return ids


def special_token_ids(config: Any) -> frozenset[int]:
    """Return all special token ids of a configuration."""
    found: set[int] = set()
    for _, part in parts_of(config):
        for key, value in vars(part).items():
            if "token_id" in key or "token_index" in key:
                values = value if isinstance(value, list | tuple) else (value,)
                found |= {item for item in values if isinstance(item, int)}
    return frozenset(found)


def parts_of(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield a configuration, with an empty name, and its sub-configurations, breadth first."""
    waiting = [("", config)]
    for name, each in waiting:
        yield name, each
        waiting += [
            (f"{name}.{key}", value)
            for key, value in vars(each).items()
            if hasattr(value, "model_type") and not isinstance(value, type)
        ]


Form = Mapping[str, Any]
"""Arguments that are used together, by name."""

Dimension = int | str | tuple[str, ...]
"""A size, the symbol of a length, or alternative configuration keys."""

Parts = Sequence[str]
"""Words in the names of sub-configurations that are read before the others."""

LARGE = 2**21
"""Elements of larger tensors share memory."""


class ForwardSignature(Struct, frozen=True, dict=True):
    """The parameters of a model's forward; ``values`` are those of the symbols B, S and S_d."""

    model: nn.Module
    values: Mapping[str, int]

    @property
    def config(self) -> Any:
        """Transformers' configuration."""
        return self.model.config

    @property
    def count(self) -> int:
        """The number of sentences, images or sounds."""
        return self.values[SENTENCES]

    @cached_property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        """All parameters."""
        return inspect.signature(self.model.forward).parameters

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of parameters without a default."""
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = self.accepted.values()
        return frozenset(p.name for p in parameters if p.default is p.empty and p.kind in plain)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The input widths of the linear layers, in their order."""
        linears = (it for it in self.model.modules() if isinstance(it, nn.Linear))
        return tuple(dict.fromkeys(linear.in_features for linear in linears))

    def first_of(self, names: tuple[str, ...]) -> str | None:
        """Return the first name that is a parameter."""
        return next((name for name in names if name in self.accepted), None)

    def only_accepted(self, form: Form) -> Form:
        """Return the arguments that forward accepts."""
        return {name: value for name, value in form.items() if name in self.accepted}

    def number(self, *keys: str, parts: Parts = (), default: int = 0) -> int:
        """Return the first integer among the values of configuration keys."""
        return number(self.config, keys, parts, default)

    def shape(self, *dimensions: Dimension) -> list[int]:
        """Return dimensions as numbers."""
        sizes = (self.number(*it) if isinstance(it, tuple) else it for it in dimensions)
        return [self.values[size] if isinstance(size, str) else size for size in sizes]

    def random(self, *dimensions: Dimension) -> Tensor:
        """Return ``random`` numbers of these dimensions."""
        return random(*self.shape(*dimensions))

    def ones(self, *dimensions: Dimension) -> Tensor:
        """Return ``ones`` of these dimensions."""
        return ones(*self.shape(*dimensions))

    def zeros(self, *dimensions: Dimension) -> Tensor:
        """Return integers of these dimensions that are all 0."""
        return 0 * self.ones(*dimensions)

    def ids(self, rows: Dimension, length: Dimension) -> Tensor:
        """Return token ids of these dimensions."""
        count, tokens = self.shape(rows, length)
        return token_ids(self.config, (count, tokens))


@cache
def _numbers() -> Tensor:
    return torch.rand(LARGE, generator=torch.Generator().manual_seed(0))


def random(*shape: int) -> Tensor:
    """Return reproducible numbers from 0 to 1: pixels, samples and activations."""
    count, numbers = prod(shape), _numbers()
    return numbers[:count].view(shape) if count <= LARGE else spread(numbers.clone(), shape)


def ones(*shape: int) -> Tensor:
    """Return integers that are all 1."""
    is_large = prod(shape) > LARGE
    return torch.ones(() if is_large else shape, dtype=torch.long).expand(shape)


def found_in(config: Any, names: Sequence[str], first: Parts = ()) -> Iterator[Any]:
    """Yield the values of synonymous keys, ordered by key, then by part."""
    parts = sorted(parts_of(config), key=lambda part: not any(word in part[0] for word in first))
    for name in names:
        for _, part in parts:
            if (value := config_value(part, name)) is not None:
                yield value


def number(config: Any, names: Sequence[str], first: Parts = (), default: int = 0) -> int:
    """Return the first integer among the values of ``found_in``, also in lists."""
    for value in found_in(config, names, first):
        first_value = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(first_value, int) and not isinstance(first_value, bool):
            return first_value
    return default


def height_and_width(
    config: Any, names: Sequence[str], first: Parts = (), default: int = 0
) -> tuple[int, int]:
    """Return the first size of a rectangle: one number, two, or a mapping."""
    for value in found_in(config, names, first):
        if isinstance(value, int):
            return value, value
        if isinstance(value, list | tuple) and value and isinstance(value[0], int):
            return value[-2 if len(value) > 1 else -1], value[-1]
        if isinstance(value, dict) and {"height", "width"} <= value.keys():
            return value["height"], value["width"]
    return default, default
