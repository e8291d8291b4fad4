"""The parameters of a model's forward, and tensors of the sizes that its configuration names."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from math import prod
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.building.configurations import config_value
from bertviewer.core.graph.inputs.texts import SENTENCES, parts_of, token_ids
from bertviewer.core.graph.shared_weights import spread

Form = Mapping[str, Any]
"""Arguments that belong together, by their names."""

Dimension = int | str | tuple[str, ...]
"""A size, the letter of a length, or configuration keys of which the first that exists counts."""

Parts = Sequence[str]
"""Words in the names of sub-configurations whose keys are read before those of the others."""

LARGE = 2**21
"""The elements of larger tensors share memory."""


class ForwardSignature(Struct, frozen=True, dict=True):
    """A model's forward by the names of its parameters.

    ``values`` are the numbers of sentences, tokens and target tokens, by the letters of ``texts``.
    """

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
        """The names of those without a default."""
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = self.accepted.values()
        return frozenset(p.name for p in parameters if p.default is p.empty and p.kind in plain)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths that the linear layers expect, in the order of the layers."""
        linears = (it for it in self.model.modules() if isinstance(it, nn.Linear))
        return tuple(dict.fromkeys(linear.in_features for linear in linears))

    def first_of(self, names: tuple[str, ...]) -> str | None:
        """Return the first name that is a parameter."""
        return next((name for name in names if name in self.accepted), None)

    def only_accepted(self, form: Form) -> Form:
        """Return the arguments that forward accepts."""
        return {name: value for name, value in form.items() if name in self.accepted}

    def number(self, *keys: str, parts: Parts = (), default: int = 0) -> int:
        """Return the first integer among configuration keys, as ``number`` does."""
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
    """Return numbers from 0 to 1, always the same: pixels, samples and activations."""
    count, numbers = prod(shape), _numbers()
    return numbers[:count].view(shape) if count <= LARGE else spread(numbers.clone(), shape)


def ones(*shape: int) -> Tensor:
    """Return a mask that hides nothing."""
    is_large = prod(shape) > LARGE
    return torch.ones(() if is_large else shape, dtype=torch.long).expand(shape)


def found_in(config: Any, names: Sequence[str], first: Parts = ()) -> Iterator[Any]:
    """Yield the values of synonymous keys: by key in the given order, then by part."""
    parts = sorted(parts_of(config), key=lambda part: not any(word in part[0] for word in first))
    for name in names:
        for _, part in parts:
            if (value := config_value(part, name)) is not None:
                yield value


def number(config: Any, names: Sequence[str], first: Parts = (), default: int = 0) -> int:
    """Return the first integer among the values of ``found_in``, or at the start of a list."""
    for value in found_in(config, names, first):
        first_value = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(first_value, int) and not isinstance(first_value, bool):
            return first_value
    return default


def height_and_width(
    config: Any, names: Sequence[str], first: Parts = (), default: int = 0
) -> tuple[int, int]:
    """Return the first size of a rectangle: one number, two, or two by their names."""
    for value in found_in(config, names, first):
        if isinstance(value, int):
            return value, value
        if isinstance(value, list | tuple) and value and isinstance(value[0], int):
            return value[-2 if len(value) > 1 else -1], value[-1]
        if isinstance(value, dict) and {"height", "width"} <= value.keys():
            return value["height"], value["width"]
    return default, default
