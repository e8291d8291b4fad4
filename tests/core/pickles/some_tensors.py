"""What the tests of pickles share: some tensors, and a comparison."""

from pathlib import Path

import torch

Tensors = dict[str, torch.Tensor]


def some_tensors() -> Tensors:
    values = torch.linspace(-3, 3, 24).reshape(4, 6)
    return {
        "h.weight": values,
        "half": values.half(),
        "brain": values.bfloat16(),
        "double": values.double(),
        "numbers": torch.arange(5),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "flags": values > 0,
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "special": torch.tensor([float("nan"), float("inf"), -0.0]),
    }


def assert_equal(found: Tensors, expected: Tensors) -> None:
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name].nan_to_num(7), tensor.nan_to_num(7)), name


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
