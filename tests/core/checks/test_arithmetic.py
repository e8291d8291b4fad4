"""Our own versions of torch's functions compute the same."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bertviewer.core.checks.float64_mode import in_float64


def drawn(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


X, Q, K = drawn(3, 5, 8), drawn(2, 4, 6, 8), drawn(2, 2, 7, 8)
ROW = drawn(8)
SHOWN = torch.ones(6, 7, dtype=torch.bool).tril(1)
NOTHING = SHOWN.clone()
NOTHING[2] = False


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (functional.softmax, (X,), {"dim": 1}),
        (torch.softmax, (X, -1), {}),
        (functional.gelu, (3 * X,), {}),
        (functional.gelu, (3 * X,), {"approximate": "tanh"}),
        (functional.silu, (X,), {"inplace": False}),
        (functional.relu, (X,), {}),
        (torch.sigmoid, (X,), {}),
        (functional.linear, (X, drawn(4, 8), drawn(4)), {}),
        (functional.linear, (X, drawn(4, 8)), {}),
        (torch.addmm, (drawn(4), X[0], drawn(8, 4)), {}),
        (torch.baddbmm, (drawn(3, 5, 4), X, drawn(3, 8, 4)), {"beta": 0.5, "alpha": 2.0}),
        (torch.Tensor.baddbmm, (drawn(3, 5, 4),), {"batch1": X, "batch2": drawn(3, 8, 4)}),
        (functional.gelu, (), {"input": X}),
        (functional.embedding, (torch.tensor([[2, 0]]), drawn(4, 8), 0), {}),
        (functional.layer_norm, (X, (8,), ROW, ROW, 1e-3), {}),
        (functional.layer_norm, (X, (5, 8)), {}),
        (functional.rms_norm, (X, (8,), ROW, 1e-3), {}),
        (functional.scaled_dot_product_attention, (Q, Q, Q), {"is_causal": True}),
        (functional.scaled_dot_product_attention, (Q, Q, Q), {"scale": 0.3}),
        (functional.scaled_dot_product_attention, (Q, K, K, SHOWN), {"enable_gqa": True}),
        (functional.scaled_dot_product_attention, (Q[:, :2], K, K, drawn(6, 7)), {}),
        (functional.scaled_dot_product_attention, (Q[:, :2], K, K, NOTHING), {}),
    ],
)
def test_it_is_what_torch_computes(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    found = in_float64(function, function.__name__, args, kwargs)
    assert found.dtype == torch.float64
    assert torch.allclose(found, function(*args, **kwargs), rtol=1e-12, atol=1e-13)
