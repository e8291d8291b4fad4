"""Compares recorded tensors with their recomputations, within the limits of rounding."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

import torch
from torch import Tensor

from bertviewer.core.frozen import frozen

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


@frozen(eq=False)
class Compared:
    """One tensor of a comparison: recomputed in float64, as it was recorded, and what is allowed.

    ``tolerances`` are those of each feature, the last axis: [D].
    """

    exact: Tensor
    given: Tensor
    tolerances: Tensor


@frozen
class Deviation:
    """The largest difference, what is allowed, and whether it is within that.

    ``tensors`` are what was compared, if they were to be kept.
    """

    error: float | None
    tolerance: float
    ok: bool
    tensors: tuple[Compared, ...] = field(default=(), compare=False, repr=False)


class NotComparableError(Exception):
    """A comparison would prove nothing."""


def compare(
    exact: Tensor,
    rough: Tensor,
    actual: Tensor,
    inputs: Iterable[Tensor],
    stored: torch.dtype,
    *,
    keep: bool = False,
) -> Deviation | None:
    """Compare a recorded tensor with its recomputations in float64 and in rounded arithmetic.

    The difference between the two recomputations is what rounding alone does, so the tolerance
    is 16 times its maximum, and at least 4 units in the last place of the largest value. The few
    features that are far larger than most are compared separately: within their tolerance an error
    in the others would go unseen. The result is the largest difference, or the one that is not
    allowed; ``None`` if nothing is finite: NaN that equals NaN proves nothing.

    Args:
        exact: in float64.
        rough: in the model's dtype.
        actual: as it was recorded.
        inputs: what it was computed from.
        stored: the dtype with the largest rounding error on the way.
        keep: whether the tensors are kept.
    """
    eps = torch.finfo(stored).eps
    # float64 cannot be compared with something finer; float32 shows how the rounding adds up.
    shrink = eps / torch.finfo(torch.float32).eps if stored == torch.float64 else 1.0
    figures = _figures(exact, rough, actual, shrink)
    usual = _is_usual(figures[2])
    error, noise, size = figures.amax(1).tolist()
    if actual.numel() < FEW:
        # The first is what the module works on; others may be masks of -10^38.
        first = next((x for x in inputs if x.is_floating_point()), None)
        size = size if first is None else max(size, float(_largest_each(first.double()).max()))
    whole = _allowed((error, noise, size), eps)
    if not _same_places(exact, actual):
        return _with_tensors(Deviation(None, whole.tolerance, False), exact, actual, keep=keep)
    if not bool(actual.isfinite().any()):
        return None
    if bool(usual.all()):
        return _with_tensors(whole, exact, actual, keep=keep)
    found = [_allowed(figures[:, chosen].amax(1).tolist(), eps) for chosen in (usual, ~usual)]
    allowed = torch.tensor([one.tolerance for one in found], dtype=torch.float64)
    tolerances = torch.where(usual, allowed[0], allowed[1])
    worst = max(found, key=lambda one: (not one.ok, one.error))
    return _with_tensors(worst, exact, actual, tolerances, keep=keep)


def _with_tensors(
    found: Deviation,
    exact: Tensor,
    actual: Tensor,
    tolerances: Tensor | None = None,
    *,
    keep: bool,
) -> Deviation:
    """Return a deviation with what was compared, if ``keep`` says so.

    ``tolerances`` are those of the features; ``None`` where all have the same.
    """
    if not keep:
        return found
    if tolerances is None:
        tolerances = torch.tensor(found.tolerance, dtype=torch.float64).expand(_features(actual))
    return replace(found, tensors=(Compared(exact, actual, tolerances),))


def _allowed(largest: Sequence[float], eps: float) -> Deviation:
    error, noise, size = largest
    tolerance = max(FACTOR * noise, FLOOR * eps * size)
    return Deviation(error, tolerance, error <= tolerance)


def _figures(exact: Tensor, rough: Tensor, actual: Tensor, shrink: float) -> Tensor:
    """Return each feature's largest error, its largest rounding and its largest value: [3, D]."""
    given = actual.double()
    return torch.stack(
        (
            _largest_each(exact - given),
            _largest_each((exact - rough).double()) * shrink,
            _largest_each(given),
        )
    )


def _is_usual(sizes: Tensor) -> Tensor:
    """Return which features are of the usual size [D]: all, unless a few are outliers."""
    usual = sizes <= OUTLYING * sizes.median()
    # Many large ones are no outliers: after an activation most of the others may be near 0.
    is_few = int((~usual).sum()) <= len(usual) // FEW
    return usual if is_few else torch.ones_like(usual)


def _same_places(exact: Tensor, actual: Tensor) -> bool:
    """Return whether NaN and Inf are in the same places, once the exact result is stored."""
    stored = exact.to(actual.dtype)
    return bool(
        torch.equal(stored.isnan(), actual.isnan())
        and torch.equal(stored.isposinf(), actual.isposinf())
        and torch.equal(stored.isneginf(), actual.isneginf())
    )


def _features(tensor: Tensor) -> int:
    return tensor.shape[-1] if tensor.dim() else 1


def _largest_each(difference: Tensor) -> Tensor:
    """Return the largest finite absolute value of each feature, the last axis: [D], 0 for none."""
    features = _features(difference)
    if not difference.numel():
        return torch.zeros(max(features, 1), dtype=torch.float64)
    low, high = difference.reshape(-1, features).aminmax(dim=0)
    largest = torch.maximum(low.abs(), high.abs())
    if not largest.isfinite().all():
        return _largest_each(difference.nan_to_num(0.0, 0.0, 0.0))
    return largest


@frozen
class Triple:
    """One tensor in float64, as the reference instance rounds it, and as it was recorded.

    ``None`` where there was no such tensor.
    """

    exact: Tensor | None
    rough: Tensor | None
    actual: Tensor | None


def compare_each(
    triples: Sequence[Triple],
    inputs: Sequence[Tensor],
    coarsest: torch.dtype | None,
    *,
    keep: bool = False,
) -> Deviation | None:
    """Compare tensors that belong together, and return the worst; ``None`` if none can be.

    Each has its own tolerance: a mask may be 10^38 and what it masks 1.

    Args:
        triples: the tensors.
        inputs: what they were computed from.
        coarsest: the dtype with the largest rounding error on the way.
        keep: whether the worst tensor is kept.

    Raises:
        NotComparableError: the bound would be so wide that nothing is proven.
    """
    found = [_compare_triple(triple, inputs, coarsest, keep=keep) for triple in triples]
    return max((it for it in found if it is not None), key=badness, default=None)


def badness(found: Deviation) -> tuple[bool, float]:
    """Return a key that sorts deviations: failures last, then by share of the tolerance."""
    if found.error is None:
        return not found.ok, torch.inf
    return not found.ok, found.error / found.tolerance if found.tolerance else found.error


def _compare_triple(
    triple: Triple, inputs: Sequence[Tensor], coarsest: torch.dtype | None, *, keep: bool
) -> Deviation | None:
    exact, rough, actual = triple.exact, triple.rough, triple.actual
    if exact is None or rough is None or actual is None:
        return Deviation(None, 0.0, False)
    if exact.shape != actual.shape:
        return _with_tensors(Deviation(None, 0.0, False), exact, actual, keep=keep)
    if not actual.numel():
        return None
    if actual.is_complex():
        exact, rough, actual = (torch.view_as_real(it) for it in (exact, rough, actual))
    if not exact.is_floating_point() or not actual.is_floating_point():
        found = _integers(exact, actual)
        return None if found is None else _with_tensors(found, exact, actual, keep=keep)
    dtypes = (actual.dtype, *(() if coarsest is None else (coarsest,)))
    stored = max(dtypes, key=lambda dtype: torch.finfo(dtype).eps)
    floats = [tensor for tensor in inputs if tensor.is_floating_point()]
    limit = torch.finfo(stored).max / 4
    exact, rough, actual = (_endless(it, limit) for it in (exact, rough, actual))
    found = compare(exact, rough, actual, floats, stored, keep=keep)
    if found is not None and _is_too_wide(found, (actual, *floats), stored):
        raise NotComparableError("rounding error alone is so large that nothing can be verified")
    return found


def _is_too_wide(found: Deviation, tensors: Sequence[Tensor], stored: torch.dtype) -> bool:
    widest = min(WIDEST * torch.finfo(stored).eps, 1.0)
    # What is left of a difference may be small next to what it was computed from.
    return all(found.tolerance > widest * _largest(tensor) for tensor in tensors)


def _largest(tensor: Tensor) -> float:
    if not tensor.numel():
        return 0.0
    sizes = _endless(tensor, torch.finfo(tensor.dtype).max / 4).nan_to_num(0.0, 0.0, 0.0).abs()
    return float(sizes.max())


def _integers(exact: Tensor, actual: Tensor) -> Deviation | None:
    """Compare integers and Booleans."""
    differing = int((exact != actual).sum())
    if not differing:
        return Deviation(0.0, 0.0, True)
    if differing <= actual.numel() // FEW_CHOICES:
        return None
    return Deviation(float((exact.double() - actual.double()).abs().max()), 0.0, False)


def _endless(values: Tensor, limit: float) -> Tensor:
    """Return a mask's largest numbers as infinite: they mean that, and would hide the rest."""
    if not bool((values.abs() > limit).any()):
        return values
    return torch.where(values > limit, torch.inf, torch.where(values < -limit, -torch.inf, values))
