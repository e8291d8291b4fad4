"""Operations are evaluated in float64, without torch's fused kernels."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from bertviewer.core.checks.float64_functions import in_float64
from bertviewer.core.checks.float64_mode import Float64Mode, Frame, NoValuesError, Values


def drawn(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


X, Q, K = drawn(3, 5, 8), drawn(2, 4, 6, 8), drawn(2, 2, 7, 8)
ROW = drawn(8)
VISIBLE = torch.ones(6, 7, dtype=torch.bool).tril(1)
NO_KEYS = VISIBLE.clone()
NO_KEYS[2] = False


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
        (functional.scaled_dot_product_attention, (Q, K, K, VISIBLE), {"enable_gqa": True}),
        (functional.scaled_dot_product_attention, (Q[:, :2], K, K, drawn(6, 7)), {}),
        (functional.scaled_dot_product_attention, (Q[:, :2], K, K, NO_KEYS), {}),
    ],
)
def test_functions_are_those_of_torch(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    found = in_float64(function, function.__name__, args, kwargs)
    assert found.dtype == torch.float64
    assert torch.allclose(found, function(*args, **kwargs), rtol=1e-12, atol=1e-13)


@pytest.fixture
def frame() -> Iterator[Frame]:
    with torch.no_grad(), Float64Mode() as mode:
        frame = Frame()
        mode.frames = (frame,)
        yield frame


@pytest.fixture
def x(frame: Frame) -> Tensor:
    with torch._C.DisableTorchFunction():
        torch.manual_seed(1)
        given = torch.randn(3, 5, 8)
    frame.put(given, Values(is_given=True))
    return given


def write_parts(x: Tensor) -> Tensor:
    y = torch.zeros_like(x)
    y[..., :4] = x[..., 4:]
    part = y[..., 4:]
    part.copy_(x[..., :4])
    part /= 3
    y.view(-1)[::2].mul_(1.7)
    return y


def cast_and_write(x: Tensor) -> Tensor:
    copy = x.double()
    copy += 1.0
    return (x * copy.to(x.dtype)).to(torch.float32)


def gathered(x: Tensor) -> Tensor:
    best = x.exp().argmax(-1, keepdim=True)
    values, places = x.topk(2)
    return torch.cat((x.gather(-1, best), values, x[..., places[0, 0]]), -1)


def softmax_attention(x: Tensor) -> Tensor:
    return functional.softmax(x @ x.mT / 3, dim=-1, dtype=torch.float32).to(x.dtype) @ x


Function = Callable[[Tensor], Tensor]
FUNCTIONS: list[tuple[Function, Function | None]] = [
    (lambda x: functional.layer_norm(x, (8,)).relu_(), None),
    (lambda x: torch.einsum("abc,adc->abd", x, x).type_as(x), None),
    (lambda x: torch.fft.fft(x).real, None),
    (lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True), None),
    (lambda x: torch.add(x, 1, out=torch.empty_like(x)), None),
    (lambda x: functional.relu(x * 1.1, inplace=True), None),
    (write_parts, None),
    (gathered, None),
    # In float64 nothing is cast.
    (softmax_attention, lambda x: (x @ x.mT / 3).softmax(-1) @ x),
    (cast_and_write, lambda x: x * (x + 1)),
]


@pytest.mark.parametrize(("function", "in_float64"), FUNCTIONS)
def test_results_are_those_in_float64(
    frame: Frame, x: Tensor, function: Function, in_float64: Function | None
) -> None:
    y = function(x)
    exact = frame.exact(y)
    with torch._C.DisableTorchFunction():
        expected = (in_float64 or function)(x.double())
    assert frame.problem == ""
    assert (y.dtype, exact.dtype) == (torch.float32, torch.float64)
    assert torch.allclose(exact, expected, rtol=1e-13, atol=1e-14)
    assert torch.allclose(y, exact.float(), rtol=0, atol=1e-5)
    values = frame.values(y)
    assert values is not None
    assert not values.is_given
    assert values.rough is None


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("needs_weights", [False, True])
@pytest.mark.parametrize("width", [12, 10])
def test_multihead_attention_with_masks(
    frame: Frame, batch_first: bool, needs_weights: bool, width: int
) -> None:
    with torch._C.DisableTorchFunction():
        attention = nn.MultiheadAttention(12, 3, batch_first=batch_first, kdim=width, vdim=width)
    x, source = torch.randn(2, 5, 12), torch.randn(2, 7, width)
    if not batch_first:
        x, source = x.transpose(0, 1), source.transpose(0, 1)
    hidden = torch.ones(5, 7, dtype=torch.bool).triu(1)
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    given = {"key_padding_mask": padding, "attn_mask": hidden, "need_weights": needs_weights}
    computed = [it for it in attention.eval()(x, source, source, **given) if it is not None]
    with torch._C.DisableTorchFunction():
        attention, x, source = attention.double(), x.double(), source.double()
        expected = [it for it in attention(x, source, source, **given) if it is not None]
    assert len(computed) == len(expected) == 1 + needs_weights
    for one, other in zip(computed, expected, strict=True):
        assert torch.allclose(frame.exact(one), other, rtol=1e-6, atol=1e-7)


def test_comparisons_and_rounding_are_those_of_the_models_dtype(frame: Frame, x: Tensor) -> None:
    # 1 + 2^-30 is 1 in float32, and so not the larger one.
    pair = torch.stack((x * 0 + 1, x * 0 + 1 + 2.0**-30))
    assert frame.exact(pair)[1].max() > 1
    chosen = pair.argmax(0)
    assert torch.equal(frame.exact(chosen), chosen)
    assert not chosen.any()
    rounded = frame.exact((pair * 2.5 + 2**-26).round())
    assert bool((rounded == 2).all())
    assert not frame.exact(pair[1] > 1).any()


def test_a_cast_is_a_copy(frame: Frame, x: Tensor) -> None:
    before = frame.exact(x).clone()
    copy = x.to(torch.bfloat16)
    copy.mul_(2)
    assert torch.equal(frame.exact(x), before)
    assert torch.equal(frame.exact(copy), before * 2)
    assert frame.coarsest == torch.bfloat16


def test_grouped_products(frame: Frame) -> None:
    rows = torch.randn(7, 16)
    weights = torch.randn(3, 16, 8)
    y = functional.grouped_mm(rows, weights, offs=torch.tensor([2, 2, 7], dtype=torch.int32))
    exact = torch.cat(
        (rows[:2].double() @ weights[0].double(), rows[2:].double() @ weights[2].double())
    )
    assert torch.equal(frame.exact(y), exact)


def test_weights_are_not_written_to(frame: Frame) -> None:
    weight = nn.Parameter(torch.ones(3), requires_grad=False)
    assert weight.div_(2) is weight
    weight[0] = 7
    assert weight.tolist() == [1, 1, 1]


def test_a_function_that_refuses_float64_is_reported(frame: Frame, x: Tensor) -> None:
    def only_float32(tensor: Tensor) -> Tensor:
        if torch.overrides.has_torch_function_unary(tensor):
            return torch.overrides.handle_torch_function(only_float32, (tensor,), tensor)
        assert tensor.dtype == torch.float32
        return tensor + 1

    y = only_float32(x)
    assert frame.problem == "only_float32 cannot be computed in float64"
    assert torch.equal(frame.exact(y), y.double())


def test_meta_tensors_are_refused(frame: Frame, x: Tensor) -> None:
    weight = nn.Parameter(torch.empty(8, 8, device="meta"), requires_grad=False)
    assert weight.dtype is x.dtype
    # torch itself gives a result that is what happens to be in memory.
    with pytest.raises(NoValuesError):
        functional.linear(x, weight)
    with pytest.raises(NoValuesError):
        x[0, :1].copy_(weight[0, :8])
    with pytest.raises(NoValuesError):
        x[0, 0] = weight.detach()[0]


def test_inputs_are_marked_until_they_are_changed(frame: Frame, x: Tensor) -> None:
    def is_given(tensor: Tensor) -> bool:
        values = frame.values(tensor)
        return values is not None and values.is_given

    assert is_given(x)
    assert is_given(functional.dropout(x, 0.1, training=False))
    assert not is_given(x[:, 0])
    x.add_(1)
    assert not is_given(x)


def test_frames_have_separate_values(x: Tensor) -> None:
    with torch.no_grad(), Float64Mode() as mode:
        outer, inner = Frame(), Frame()
        given = x.clone()
        outer.put(given, Values(x.double() + 1, x + 1))
        mode.frames = (outer, inner)
        y = torch.nn.functional.silu(given * 2)
        mode.frames = ()
        assert torch.equal(outer.rough(y), torch.nn.functional.silu((x + 1) * 2))
        assert torch.equal(inner.rough(y), y)
        assert torch.allclose(outer.exact(y), torch.nn.functional.silu((x.double() + 1) * 2))
        assert torch.allclose(inner.exact(y), torch.nn.functional.silu(x.double() * 2))
