"""Observed calls, and tensors in nested containers."""

from collections import UserDict
from typing import NamedTuple

import pytest
import torch
from torch import nn

from bertviewer.core.graph.module_calls import CallObserver, map_plain, observing, tensors_in


class Pair(NamedTuple):
    a: torch.Tensor
    b: str


def test_tensors_in_nested_containers() -> None:
    first, second, third = torch.ones(1), torch.ones(2), torch.ones(3)
    held = (UserDict(x=first), [None, 3, Pair(second, "text")], {"y": {"z": third}})
    assert [len(tensor) for tensor in tensors_in(held)] == [1, 2, 3]
    assert [len(tensor) for tensor in tensors_in(map_plain(held, torch.clone))] == [1, 2, 3]
    assert tensors_in(7) == []


def test_a_module_with_hooks_is_observed() -> None:
    seen: list[tuple[float, float]] = []

    class Halving(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.item() < 0:
                raise ValueError("negative")
            return x / 2

    module = Halving()
    module.register_forward_pre_hook(lambda _module, args: (args[0] + 1,))
    module.register_forward_hook(lambda _module, _args, output: output * 10)
    observer = CallObserver(
        module,
        lambda arguments, output, noted: seen.append((noted, output.item())),
        lambda arguments: arguments[0][0].item(),
    )
    with observing([observer]):
        module(torch.tensor(3.0))
        with pytest.raises(ValueError, match="negative"):
            module(torch.tensor(-9.0))
        module.forward(torch.tensor(4.0))  # runs no hooks
        module(torch.tensor(5.0))
    module(torch.tensor(7.0))
    assert seen == [(4.0, 20.0), (4.0, 2.0), (6.0, 30.0)]
