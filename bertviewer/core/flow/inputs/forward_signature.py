"""What a model's forward can take, and what it cannot do without."""

import inspect
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.flow.shared_weights import spread
from bertviewer.core.frozen import frozen

Form = Mapping[str, Any]
"""Arguments that belong together, by their names."""

SEED = 0
LARGE = 2**21
"""Larger tensors share memory."""


@frozen(slots=False)
class ForwardSignature:
    """A model's forward, by its names alone.

    Attributes:
        model: whose it is.
        values: how many sentences, tokens and target's tokens, by the letters of ``texts``.
    """

    model: nn.Module
    values: Mapping[str, int]

    @property
    def config(self) -> Any:
        """Transformers' configuration."""
        return self.model.config

    @cached_property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        """Its parameters by name."""
        return inspect.signature(self.model.forward).parameters

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of those that have no default."""
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return frozenset(
            name
            for name, parameter in self.accepted.items()
            if parameter.default is inspect.Parameter.empty and parameter.kind in plain
        )

    @cached_property
    def main(self) -> frozenset[str]:
        """The names of those that transformers says are the model's input."""
        named = getattr(self.model, "main_input_name", None) or ()
        return frozenset((named,) if isinstance(named, str) else named)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths that its linear layers want, in the order of the layers."""
        linears = (it for it in self.model.modules() if isinstance(it, nn.Linear))
        return tuple(dict.fromkeys(linear.in_features for linear in linears))

    def first_of(self, names: tuple[str, ...]) -> str | None:
        """Return the first name that it takes."""
        return next((name for name in names if name in self.accepted), None)


def random(*shape: int) -> Tensor:
    """Return numbers from 0 to 1, always the same: pixels, samples and activations.

    The elements of a large tensor share memory.
    """
    numbers = torch.rand(min(prod(shape), LARGE), generator=torch.Generator().manual_seed(SEED))
    return numbers.view(shape) if prod(shape) <= LARGE else spread(numbers, shape)


def ones(*shape: int) -> Tensor:
    """Return a mask that hides nothing. The elements of a large one share memory."""
    if prod(shape) > LARGE:
        return torch.ones((), dtype=torch.long).expand(shape)
    return torch.ones(shape, dtype=torch.long)
