"""Statistics of any tensor, by C, NumPy and torch, compared with a plain loop."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from bertviewer.core.runs.measuring import measure, measure_tokens
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics import row_statistics
from tests.core.runs.plain_figures import assert_figures, figures_of

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int64, torch.int32, torch.uint8, torch.bool)
LARGEST = 1.7e308
"""The square of a float64 may be too large for any float."""
NORM_VANISHES = 1e-18
"""Squares of smaller elements are zero in float32."""


@pytest.fixture(autouse=True, scope="module", params=["compiled", "not compiled", "on a device"])
def _compiled_or_not(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "not compiled":
            patch.setattr(row_statistics, "compiled", None)
        elif request.param == "on a device":
            patch.setattr(Tensor, "is_cpu", False)
        elif not row_statistics.is_compiled():
            pytest.skip("bertviewer was installed without a C compiler")
        yield


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Draw a tensor of any dtype, shape and memory layout, with extreme values."""
    dtype = draw(st.sampled_from(FLOATS + WHOLE))
    shape = draw(st.lists(st.integers(0, 6), max_size=4))
    count = math.prod(shape)
    if dtype in WHOLE:
        most = 1 if dtype is torch.bool else 255
        least = 0 if dtype in (torch.bool, torch.uint8) else -255
        flat: list[float] = draw(st.lists(st.integers(least, most), min_size=count, max_size=count))
    else:
        offset = draw(st.sampled_from((0.0, 0.0, 1.0, 1e4, -1e7)))
        scale = draw(st.sampled_from((1.0, 1e-3, 1e-30, 1e30, 1e-45, 1e-300, 1e300)))
        element = st.one_of(
            st.floats(-1, 1).map(lambda x: offset + scale * x),
            st.sampled_from((0.0, -0.0, 1.0, math.nan, math.inf, -math.inf)),
            st.floats(-LARGEST, LARGEST),
        )
        flat = draw(st.lists(element, min_size=count, max_size=count))
    values = torch.tensor(flat, dtype=torch.float64).to(dtype).reshape(shape)
    layout = draw(st.sampled_from(("plain", "transposed", "strided", "expanded")))
    if layout == "transposed" and values.dim() > 1:
        return values.transpose(0, -1)
    if layout == "strided" and values.dim():
        return torch.stack((values, values), dim=-1).flatten(-2)[..., ::2]
    if layout == "expanded":
        return values.unsqueeze(0).expand(3, *values.shape)
    return values


def rows_of(tensor: Tensor) -> list[Tensor]:
    return [tensor] if tensor.dim() < 2 else list(tensor.flatten(0, -2))


def norm_of(row: Tensor) -> float:
    return math.hypot(*row.flatten().tolist())


@settings(max_examples=60)
@given(tensors())
@example(torch.tensor(3.0))
@example(torch.zeros(0))
@example(torch.zeros(5, 0))
@example(torch.zeros(0, 5))
@example(torch.zeros(2, 0, 3))
@example(torch.tensor([math.nan, math.nan]))
@example(torch.tensor([-0.0, 0.0]))
@example(torch.tensor([[1e-45, 3e-45], [0.0, -1e-45]]))
@example(torch.tensor([3e38, -3e38]))
@example(torch.full((4, 5), 1e4))
def test_any_tensor(tensor: Tensor) -> None:
    statistics, norms = measure(tensor)
    assert statistics.count == tensor.numel()
    assert_figures(statistics, tensor)
    tokens = measure_tokens(tensor)
    rows = rows_of(tensor)
    assert len(norms) == len(tokens) == len(rows)
    for number, row in enumerate(rows):
        assert_figures(tokens.of([number]), row)
        if row.isfinite().all():
            wanted = pytest.approx(norm_of(row), rel=1e-5, abs=NORM_VANISHES)
            assert norms[number] == wanted
            assert tokens.norms[number] == wanted


def test_a_view_with_the_negative_bit() -> None:
    values = torch.tensor([[[1.0, 2.0], [3.0, -4.0]], [[5.0, 6.0], [0.0, math.nan]]])
    for tensor, wanted in (
        (torch._neg_view(values), -values),
        (torch.view_as_complex(values).conj().imag, -values[..., 1]),
    ):
        assert tensor.is_neg()
        assert_figures(measure(tensor)[0], wanted)
        assert_figures(measure_tokens(tensor).of(range(len(rows_of(wanted)))), wanted)


@settings(max_examples=40)
@given(st.lists(tensors(), min_size=1, max_size=4))
@example([torch.tensor([[[0.0], [0.0]], [[0.0], [1.3408e154]]], dtype=torch.float64)])
def test_merged_statistics_are_those_of_all_elements(parts: list[Tensor]) -> None:
    merged = measure(parts[0])[0]
    for part in parts[1:]:
        merged = merged.merge(measure(part)[0])
    together = torch.cat([part.flatten().double() for part in parts])
    assert merged.count == together.numel()
    # Values much smaller than the largest ones lose their digits.
    assert_merged(merged, together)


def assert_merged(got: Statistics, together: Tensor) -> None:
    wanted = figures_of(together)
    if wanted["rms"] is None:
        assert got.mean is got.std is got.rms is None
        return
    assert (got.min, got.max) == (wanted["min"], wanted["max"])
    assert got.mean == pytest.approx(wanted["mean"], rel=0, abs=1e-6 * wanted["rms"])
    assert got.rms == pytest.approx(wanted["rms"], rel=1e-5)
    assert got.std == pytest.approx(wanted["std"], rel=1e-5, abs=1e-6 * wanted["rms"])


def seeded(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def signs(*shape: int, positive: float) -> Tensor:
    drawn = torch.rand(*shape, generator=torch.Generator().manual_seed(1))
    return torch.where(drawn < positive, 1.0, -1.0)


LARGE: Sequence[tuple[str, Tensor]] = (
    ("the activations of a layer", seeded(64, 768)),
    ("nearly constant", 1e4 + 1e-3 * seeded(64, 768)),
    ("nearly constant in float64", 1e4 + 1e-3 * seeded(64, 768).double()),
    ("nearly constant in bfloat16", (300 + seeded(64, 96)).bfloat16()),
    ("one large feature", torch.cat([torch.full((64, 1), 300.0), seeded(64, 767)], dim=1)),
    ("almost all cancels", 2.9 + seeded(64, 768)),
    ("the scores of a vocabulary", seeded(4, 30522)),
    # Equal elements round alike, so that errors add up.
    ("equal squares", 3.3 * signs(4, 30522, positive=0.5)),
    ("equal squares and a mean", 0.7 * signs(8, 4096, positive=0.9)),
    ("one long row", 0.1 * signs(300_000, positive=0.5)),
    ("many short rows", seeded(100_000, 2)),
    ("transposed", seeded(500, 400).T),
    ("part of a larger tensor", seeded(16, 3, 100)[:, 1]),
)


@pytest.mark.parametrize(("name", "tensor"), LARGE, ids=[name for name, _ in LARGE])
def test_large_tensors_keep_their_digits(name: str, tensor: Tensor) -> None:
    statistics, norms = measure(tensor)
    assert_figures(statistics, tensor)
    tokens = measure_tokens(tensor)
    assert_figures(tokens.of(range(len(tokens))), tensor)
    wanted = [norm_of(row) for row in rows_of(tensor)[:10]]
    assert norms[:10] == pytest.approx(wanted, rel=1e-5)
    assert tokens.norms[:10] == pytest.approx(wanted, rel=1e-12)


def test_elements_that_are_not_finite_are_counted_and_left_out() -> None:
    tensor = seeded(32, 64)
    tensor[3, 5], tensor[4, 5], tensor[6, :2] = math.nan, -math.inf, 0.0
    statistics, norms = measure(tensor)
    counts = statistics.nan_count, statistics.inf_count, statistics.zero_count
    assert counts == (1, 1, 2)
    rest = norm_of(tensor[3][tensor[3].isfinite()])
    assert norms[3] == pytest.approx(rest)
    assert np.isfinite(norms).all()


def test_measuring_changes_nothing() -> None:
    tensor = seeded(5, 7)
    before = tensor.clone()
    _, norms = measure(tensor)
    measure_tokens(tensor)
    assert torch.equal(tensor, before)
    assert tensor._version == before._version == 0
    assert not np.shares_memory(norms, tensor.numpy())


def exact(values: Sequence[float]) -> dict[str, float]:
    """Return the figures by fractions, which have no limit of size."""
    parts = [Fraction(value) for value in values]
    mean = sum(parts) / len(parts)
    squares = {
        "std": sum((part - mean) ** 2 for part in parts) / len(parts),
        "rms": sum(part * part for part in parts) / len(parts),
    }
    roots = {name: float(Fraction(isqrt(int(s * 4**1100)), 2**1100)) for name, s in squares.items()}
    return {"mean": float(mean), **roots}


@pytest.mark.parametrize("size", [1.7e308, 1e300, 1e154, 1e-154, 1e-200, 1e-300])
def test_float64_of_any_size(size: float) -> None:
    values = np.random.default_rng(0).uniform(-1, 1, (4, 8)) * size
    values[1] = np.random.default_rng(1).uniform(-1, 1, 8)
    values[2] = 0.0
    values[3] /= 64  # a row with another unit
    statistics, norms = measure(torch.from_numpy(values[None]))
    tokens = measure_tokens(torch.from_numpy(values[None]))
    for rows in ([0], [1], [3], [0, 2, 3], [1, 2]):
        got, wanted = tokens.of(rows), exact(values[rows].ravel().tolist())
        for name, figure in wanted.items():
            close = pytest.approx(figure, rel=1e-12, abs=1e-14 * wanted["rms"])
            assert getattr(got, name) == close, (rows, name)
    whole = exact(values.ravel().tolist())
    assert statistics.std == pytest.approx(whole["std"], rel=1e-5)
    assert statistics.rms == pytest.approx(whole["rms"], rel=1e-5)
    hypot = [math.hypot(*row) for row in values.tolist()]
    np.testing.assert_allclose(tokens.norms, hypot, rtol=1e-12)
    # Next to large rows the norms of small ones may be 0.
    np.testing.assert_allclose(norms, hypot, rtol=1e-5, atol=NORM_VANISHES)


def test_a_norm_that_exceeds_float64_is_infinite() -> None:
    tensor = torch.full((1, 2, 6), 1.7e308, dtype=torch.float64)
    statistics, norms = measure(tensor)
    assert (statistics.mean, statistics.rms) == pytest.approx((1.7e308, 1.7e308))
    assert np.isinf(norms).all()
