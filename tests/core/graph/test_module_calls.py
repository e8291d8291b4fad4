"""Tensors in nested containers."""

from collections import UserDict
from typing import NamedTuple

import torch

from bertviewer.core.graph.module_calls import map_plain, tensors_in


class Pair(NamedTuple):
    a: torch.Tensor
    b: str


def test_tensors_are_found_in_all_that_is_mapped() -> None:
    first, second, third = torch.ones(1), torch.ones(2), torch.ones(3)
    held = (UserDict(x=first), [None, 3, Pair(second, "text")], {"y": {"z": third}})
    assert [len(tensor) for tensor in tensors_in(held)] == [1, 2, 3]
    assert [len(tensor) for tensor in tensors_in(map_plain(held, torch.clone))] == [1, 2, 3]
    assert tensors_in(7) == []
