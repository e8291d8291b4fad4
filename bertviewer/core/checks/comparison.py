"""Compares recorded tensors with their recomputations, within the limits of rounding."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from msgspec import Struct
from torch import Tensor

from bertviewer.core.util.serialization import PartialEquality

FACTOR = 16
"""Tolerance as a multiple of the error of the same calculation in the model's dtype: the order of
sums differs among kernels, and with it the error, but not by an order of magnitude."""
FLOOR = 4
"""Minimal tolerance in units in the last place of the largest value."""
FEW = 64
"""Fewer values may all be rounded well by chance, so that the input's size counts, too. At most one
feature in so many is an outlier."""
OUTLYING = 16
"""Ratio to the median from which a feature is an outlier: trained models have a few features that
are thousands of times larger than the others (Sun et al. 2024, "Massive Activations")."""

FEW_CHOICES = 100
"""One integer in so many may differ, where two candidates are nearly equal."""

WIDEST = 2**14
"""Limit of the rounding error in units in the last place: 0.2% in float32, where 150 are usual.
With more, the two calculations have diverged, and nothing is proven."""


class ComparedTensor(Struct, frozen=True, eq=False):
    """One compared tensor: recomputed in float64, and as recorded.

    ``tolerances`` are those of each feature, the last axis: [D].
    """

    exact: Tensor
    recorded: Tensor
    tolerances: Tensor


class Deviation(PartialEquality, Struct, frozen=True):
    """The largest difference, its tolerance, whether it is within it, and the tensors."""

    NOT_COMPARED = ("tensors",)

    error: float | None
    tolerance: float
    ok: bool
    tensors: tuple[ComparedTensor, ...] = ()


class NotComparableError(Exception):
    """A comparison would prove nothing."""


class Triple(NamedTuple):
    """One tensor in float64, as rounded by the reference instance, and as recorded; or ``None``."""

    exact: Tensor | None
    rough: Tensor | None
    actual: Tensor | None


def badness(found: Deviation) -> tuple[bool, float]:
    """Return a sort key for deviations: failures last, then by ratio to the tolerance."""
    if found.error is None:
        return not found.ok, torch.inf
    return not found.ok, found.error / found.tolerance if found.tolerance else found.error


def compare_each(
    triples: Iterable[Triple], inputs: Sequence[Tensor], coarsest: torch.dtype | None
) -> Deviation | None:
    """Compare several tensors, and return the worst deviation; ``None`` if none is comparable.

    Each has its own tolerance: a mask may be 10^38 and what it masks 1.

    Args:
        triples: the tensors.
        inputs: the tensors from which they were computed.
        coarsest: the dtype with the largest rounding error in the computation.

    Raises:
        NotComparableError: the tolerance would be so wide that nothing is proven.
    """
    floats = [tensor for tensor in inputs if tensor.is_floating_point()]
    found = [_compare_triple(triple, floats, coarsest) for triple in triples]
    return max((it for it in found if it is not None), key=badness, default=None)


def _compare_triple(
    triple: Triple, inputs: Sequence[Tensor], coarsest: torch.dtype | None
) -> Deviation | None:
    exact, rough, actual = triple
    if exact is None or rough is None or actual is None:
        return Deviation(None, 0.0, False)
    if exact.shape != actual.shape:
        return _deviation(None, 0.0, exact, actual)
    if not actual.numel():
        return None
    if actual.is_complex():
        exact, rough, actual = (torch.view_as_real(it) for it in (exact, rough, actual))
    if not exact.is_floating_point() or not actual.is_floating_point():
        differing = int((exact != actual).sum())
        if 0 < differing <= actual.numel() // FEW_CHOICES:
            return None
        error = float((exact.double() - actual.double()).abs().max()) if differing else 0.0
        return _deviation(error, 0.0, exact, actual)
    dtypes = (actual.dtype, *(() if coarsest is None else (coarsest,)))
    stored = max(dtypes, key=lambda dtype: torch.finfo(dtype).eps)
    limit = torch.finfo(stored).max / 4
    exact, rough, actual = (_beyond_as_infinity(it, limit) for it in (exact, rough, actual))
    found = compare(exact, rough, actual, inputs, stored)
    widest = min(WIDEST * torch.finfo(stored).eps, 1.0)
    # A difference may be small compared with the inputs.
    if found and all(found.tolerance > widest * _largest(tensor) for tensor in (actual, *inputs)):
        raise NotComparableError("rounding error alone is so large that nothing can be verified")
    return found


def compare(
    exact: Tensor, rough: Tensor, actual: Tensor, inputs: Sequence[Tensor], stored: torch.dtype
) -> Deviation | None:
    """Compare a recorded tensor with its recomputations in float64 and in rounded arithmetic.

    The difference between the two recomputations is the rounding error, so the tolerance is 16
    times its maximum, and at least 4 units in the last place of the largest value in ``stored``,
    the coarsest dtype in the computation. The few features that are far larger than most are
    compared separately, as their tolerance would hide errors in the others. The result is the
    largest difference, or one beyond the tolerance; ``None`` if nothing is finite.
    """
    eps = torch.finfo(stored).eps
    # There is no finer dtype than float64; float32 shows how rounding errors accumulate.
    shrink = eps / torch.finfo(torch.float32).eps if stored == torch.float64 else 1.0
    given = actual.double()
    difference = exact - given
    errors, sizes = _largest_each(difference), _largest_each(given)
    noises = _largest_each((exact - rough).double()) * shrink
    # Only the first input, as others may be masks of -10^38.
    least = _largest(inputs[0]) if inputs and actual.numel() < FEW else 0.0
    usual = sizes <= OUTLYING * sizes.median()
    if int((~usual).sum()) > len(usual) // FEW:
        # Many are no outliers: after an activation most features may be near 0.
        usual = torch.ones_like(usual)
    found, tolerances = [], torch.empty_like(sizes)
    for chosen in (usual, ~usual) if not bool(usual.all()) else (usual,):
        error, noise, size = (float(each[chosen].max()) for each in (errors, noises, sizes))
        tolerance = max(FACTOR * noise, FLOOR * eps * max(size, least))
        tolerances[chosen] = tolerance
        found.append(Deviation(error, tolerance, error <= tolerance))
    if not bool(difference.sum().isfinite()) and not _same_nonfinite(exact, rough, actual):
        return _deviation(None, float(tolerances.max()), exact, actual)
    if not bool(actual.isfinite().any()):
        return None
    worst = max(found, key=lambda one: (not one.ok, one.error))
    compared = ComparedTensor(exact, actual, tolerances)
    return Deviation(worst.error, worst.tolerance, worst.ok, (compared,))


def _deviation(error: float | None, tolerance: float, exact: Tensor, actual: Tensor) -> Deviation:
    """Return a deviation with one tolerance for all features."""
    features = actual.shape[-1] if actual.dim() else 1
    tolerances = torch.full((features,), tolerance, dtype=torch.float64)
    is_ok = error is not None and error <= tolerance
    return Deviation(error, tolerance, is_ok, (ComparedTensor(exact, actual, tolerances),))


def _same_nonfinite(exact: Tensor, rough: Tensor, actual: Tensor) -> bool:
    """Return whether NaN and Inf are where the exact or the rounded result has them.

    torch's kernels treat NaN differently, and large numbers overflow in some.
    """
    stored = exact.to(actual.dtype)
    one, other, found = (torch.where(it.isfinite(), 0, it) for it in (stored, rough, actual))
    is_same = torch.isclose(found, one, equal_nan=True)
    return bool((is_same | torch.isclose(found, other.to(found), equal_nan=True)).all())


def _largest_each(values: Tensor) -> Tensor:
    """Return the largest finite absolute value of each feature, the last axis: [D], 0 for none."""
    low, high = values.reshape(-1, values.shape[-1] if values.dim() else 1).aminmax(dim=0)
    largest = torch.maximum(low.abs(), high.abs())
    if not largest.isfinite().all():
        return _largest_each(values.nan_to_num(0.0, 0.0, 0.0))
    return largest


def _largest(tensor: Tensor) -> float:
    """Return the largest finite absolute value, 0 without any."""
    limit = torch.finfo(tensor.dtype).max / 4
    return float(_largest_each(_beyond_as_infinity(tensor, limit)).max()) if tensor.numel() else 0.0


def _beyond_as_infinity(values: Tensor, limit: float) -> Tensor:
    """Return values with those beyond a limit, as in masks, replaced by infinity."""
    if not bool((values.abs() > limit).any()):
        return values
    return torch.where(values > limit, torch.inf, torch.where(values < -limit, -torch.inf, values))
