"""Compares recorded tensors with their recomputations, within the limits of rounding."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from msgspec import Struct
from torch import Tensor

from bertviewer.core.util.serialization import PartialEquality

FACTOR = 16
"""How much larger than in our own rounded calculation an error may be: the order of sums differs
from one kernel to another, and with it the error, but not by an order of magnitude."""
FLOOR = 4
"""Units in the last place of the largest value that are always allowed."""
FEW = 64
"""So few values may all have been rounded well by chance: the input's size counts then, too. And
at most one feature in so many is an outlier."""
OUTLYING = 16
"""A feature that is so many times larger than the median is an outlier: trained models have a few
that are thousands of times larger than the others (Sun et al. 2024, "Massive Activations")."""

FEW_CHOICES = 100
"""One integer in so many may differ: of two nearly equal candidates the other one was chosen."""

WIDEST = 2**14
"""Units in the last place that rounding may cause: 0.2 % in float32, where 150 are usual. Where it
causes more, the two calculations have diverged, and nothing is proven."""


class Compared(Struct, frozen=True, eq=False):
    """One tensor of a comparison: recomputed in float64, as it was recorded, and what is allowed.

    ``tolerances`` are those of each feature, the last axis: [D].
    """

    exact: Tensor
    given: Tensor
    tolerances: Tensor


class Deviation(PartialEquality, Struct, frozen=True):
    """The largest difference, what is allowed, whether it is within that, and of which tensor."""

    NOT_COMPARED = ("tensors",)

    error: float | None
    tolerance: float
    ok: bool
    tensors: tuple[Compared, ...] = ()


class NotComparableError(Exception):
    """A comparison would prove nothing."""


class Triple(NamedTuple):
    """One tensor in float64, as the reference instance rounds it, and as it was recorded.

    ``None`` where there was no such tensor.
    """

    exact: Tensor | None
    rough: Tensor | None
    actual: Tensor | None


def badness(found: Deviation) -> tuple[bool, float]:
    """Return a key that sorts deviations: failures last, then by share of the tolerance."""
    if found.error is None:
        return not found.ok, torch.inf
    return not found.ok, found.error / found.tolerance if found.tolerance else found.error


def compare_each(
    triples: Iterable[Triple], inputs: Sequence[Tensor], coarsest: torch.dtype | None
) -> Deviation | None:
    """Compare tensors that belong together, and return the worst; ``None`` if none can be.

    Each has its own tolerance: a mask may be 10^38 and what it masks 1.

    Args:
        triples: the tensors.
        inputs: what they were computed from.
        coarsest: the dtype with the largest rounding error on the way.

    Raises:
        NotComparableError: the bound would be so wide that nothing is proven.
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
    exact, rough, actual = (_endless(it, limit) for it in (exact, rough, actual))
    found = compare(exact, rough, actual, inputs, stored)
    widest = min(WIDEST * torch.finfo(stored).eps, 1.0)
    # What is left of a difference may be small next to what it was computed from.
    if found and all(found.tolerance > widest * _largest(tensor) for tensor in (actual, *inputs)):
        raise NotComparableError("rounding error alone is so large that nothing can be verified")
    return found


def compare(
    exact: Tensor, rough: Tensor, actual: Tensor, inputs: Sequence[Tensor], stored: torch.dtype
) -> Deviation | None:
    """Compare a recorded tensor with its recomputations in float64 and in rounded arithmetic.

    The difference between the two recomputations is what rounding alone does, so the tolerance
    is 16 times its maximum, and at least 4 units in the last place of the largest value in the
    coarsest dtype on the way, ``stored``. The few features that are far larger than most are
    compared separately: within their tolerance an error in the others would go unseen. The result
    is the largest difference, or the one that is not allowed; ``None`` if nothing is finite: NaN
    that equals NaN proves nothing.
    """
    eps = torch.finfo(stored).eps
    # float64 cannot be compared with something finer; float32 shows how the rounding adds up.
    shrink = eps / torch.finfo(torch.float32).eps if stored == torch.float64 else 1.0
    given = actual.double()
    difference = exact - given
    errors, sizes = _largest_each(difference), _largest_each(given)
    noises = _largest_each((exact - rough).double()) * shrink
    # The first is what the module works on; others may be masks of -10^38.
    least = _largest(inputs[0]) if inputs and actual.numel() < FEW else 0.0
    usual = sizes <= OUTLYING * sizes.median()
    if int((~usual).sum()) > len(usual) // FEW:
        # Many large ones are no outliers: after an activation most of the others may be near 0.
        usual = torch.ones_like(usual)
    found, tolerances = [], torch.empty_like(sizes)
    for chosen in (usual, ~usual) if not bool(usual.all()) else (usual,):
        error, noise, size = (float(each[chosen].max()) for each in (errors, noises, sizes))
        tolerance = max(FACTOR * noise, FLOOR * eps * max(size, least))
        tolerances[chosen] = tolerance
        found.append(Deviation(error, tolerance, error <= tolerance))
    if not bool(difference.sum().isfinite()) and not _same_places(exact, rough, actual):
        return _deviation(None, float(tolerances.max()), exact, actual)
    if not bool(actual.isfinite().any()):
        return None
    worst = max(found, key=lambda one: (not one.ok, one.error))
    compared = Compared(exact, actual, tolerances)
    return Deviation(worst.error, worst.tolerance, worst.ok, (compared,))


def _deviation(error: float | None, tolerance: float, exact: Tensor, actual: Tensor) -> Deviation:
    """Return a deviation with one tolerance for all features."""
    features = actual.shape[-1] if actual.dim() else 1
    tolerances = torch.full((features,), tolerance, dtype=torch.float64)
    is_ok = error is not None and error <= tolerance
    return Deviation(error, tolerance, is_ok, (Compared(exact, actual, tolerances),))


def _same_places(exact: Tensor, rough: Tensor, actual: Tensor) -> bool:
    """Return whether NaN and Inf are where the exact result, stored, or the rough one has them.

    torch's kernels do not agree on what they make of NaN, and large numbers overflow in some.
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
    """Return the largest absolute value, without what means infinity; 0 for none."""
    limit = torch.finfo(tensor.dtype).max / 4
    return float(_largest_each(_endless(tensor, limit)).max()) if tensor.numel() else 0.0


def _endless(values: Tensor, limit: float) -> Tensor:
    """Return a mask's largest numbers as infinite: they mean that, and would hide the rest."""
    if not bool((values.abs() > limit).any()):
        return values
    return torch.where(values > limit, torch.inf, torch.where(values < -limit, -torch.inf, values))
