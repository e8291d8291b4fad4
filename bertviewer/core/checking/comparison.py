"""Compares what a module gave with what was recomputed, and says what rounding may do."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.activations.check_step import CheckStep, Proof
from bertviewer.core.frozen import frozen

FACTOR = 16
"""How much larger than in our own rounded calculation an error may be: the order of sums differs
from one kernel to another, and with it the error, but not by an order of magnitude."""
FLOOR = 4
"""Units in the last place of the largest value that are always allowed."""
FEW = 64
"""So few values may all have been rounded well by chance: the input's size counts then, too. And
one feature in so many, at the most, may stand apart."""
OUTLYING = 16
"""So many times larger than the median, a feature stands apart: trained models have a few that are
thousands of times larger than the others (Sun et al. 2024, "Massive Activations")."""


@frozen(eq=False)
class Compared:
    """One tensor of a comparison: recomputed in float64, as it was given, and what is allowed.

    ``tolerances`` are those of each feature, the last axis: [D].
    """

    exact: Tensor
    given: Tensor
    tolerances: Tensor


@frozen
class Deviation:
    """The largest difference, what is allowed, and whether it is within that.

    ``tensors`` are what was compared, where somebody wants to see them.
    """

    error: float | None
    tolerance: float
    ok: bool
    tensors: tuple[Compared, ...] = field(default=(), compare=False, repr=False)


Look = Callable[[CheckStep, Deviation], None]
"""Is shown each step with the tensors that were compared."""


def step_of(path: str, name: str, found: Deviation, proof: Proof = "formula") -> CheckStep:
    """Return a comparison as what a check tells of it."""
    return CheckStep(path, name, found.error, found.tolerance, found.ok, proof)


def compare(
    exact: Any,
    rough: Any,
    actual: Any,
    inputs: Iterable[Tensor],
    stored: torch.dtype,
    *,
    keep: bool = False,
) -> Deviation | None:
    """Compare a module's result with its recomputations in float64 and in rounded arithmetic.

    The difference between the two recomputations is what rounding alone does, so the tolerance
    is 16 times its maximum, and at least 4 units in the last place of the largest value. The few
    features that are far larger than most are compared apart: within their tolerance an error in
    the others would go unseen. Told is the largest difference, or the one that is not allowed.
    Tensors that are not in both results are left out; ``None`` means that there are none in both,
    or that both hold nothing finite: NaN that equals NaN proves nothing. ``keep`` has the tensors
    come along.
    """
    triples = list(_pairs(exact, rough, actual))
    if not triples:
        return None
    if any(a.shape != b.shape for a, _, b in triples):
        return with_tensors(Deviation(None, 0.0, False), triples, (), keep=keep)
    eps = torch.finfo(stored).eps
    # float64 cannot be compared with something finer; float32 shows how the rounding adds up.
    shrink = eps / torch.finfo(torch.float32).eps if stored == torch.float64 else 1.0
    figures = [_figures(*triple, shrink) for triple in triples]
    usual = [_is_usual(sizes) for _, _, sizes in figures]
    apart = torch.cat([each[:, ~chosen] for each, chosen in zip(figures, usual, strict=True)], 1)
    error, noise, size = torch.cat(figures, 1).amax(1).tolist()
    if sum(given.numel() for _, _, given in triples) < FEW:
        # The first is what the module works on; others may be masks of -10^38.
        first = next((x for x in inputs if x.is_floating_point()), None)
        size = size if first is None else max(size, float(_largest(first.double()).max()))
    whole = _compared((error, noise, size), eps)
    if not all(_same_places(a, given) for a, _, given in triples):
        return with_tensors(Deviation(None, whole.tolerance, False), triples, (), keep=keep)
    if not any(bool(given.isfinite().any()) for _, _, given in triples):
        return None
    if not apart.numel():
        return with_tensors(whole, triples, (), keep=keep)
    together = torch.cat([each[:, chosen] for each, chosen in zip(figures, usual, strict=True)], 1)
    found = [_compared(group.amax(1).tolist(), eps) for group in (together, apart)]
    allowed = torch.tensor([one.tolerance for one in found], dtype=torch.float64)
    tolerances = [torch.where(chosen, allowed[0], allowed[1]) for chosen in usual]
    worst = max(found, key=lambda one: (not one.ok, one.error))
    return with_tensors(worst, triples, tolerances, keep=keep)


def with_tensors(
    found: Deviation,
    triples: Sequence[tuple[Tensor, Tensor, Tensor]],
    tolerances: Sequence[Tensor],
    *,
    keep: bool,
) -> Deviation:
    """Return a deviation with what was compared, if ``keep`` says so.

    ``tolerances`` are those of the features of each tensor; () where all have the same.
    """
    if not keep:
        return found
    every = torch.tensor(found.tolerance, dtype=torch.float64)
    each = tolerances or [every.expand(_features(given)) for _, _, given in triples]
    tensors = zip(triples, each, strict=True)
    return replace(found, tensors=tuple(Compared(a, b, bound) for (a, _, b), bound in tensors))


def _compared(largest: Sequence[float], eps: float) -> Deviation:
    error, noise, size = largest
    tolerance = max(FACTOR * noise, FLOOR * eps * size)
    return Deviation(error, tolerance, error <= tolerance)


def _figures(exact: Tensor, rough: Tensor, actual: Tensor, shrink: float) -> Tensor:
    """Return each feature's largest error, its largest rounding and its largest value: [3, D]."""
    given = actual.double()
    return torch.stack(
        (_largest(exact - given), _largest((exact - rough).double()) * shrink, _largest(given))
    )


def _is_usual(sizes: Tensor) -> Tensor:
    """Tell which features are of the usual size [D]: all, unless a few stand apart."""
    usual = sizes <= OUTLYING * sizes.median()
    # Many large ones are no outliers: after an activation most of the others may be near 0.
    is_few = int((~usual).sum()) <= len(usual) // FEW
    return usual if is_few else torch.ones_like(usual)


def _pairs(exact: Any, rough: Any, actual: Any) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Walk three results of the same form side by side."""
    if isinstance(exact, Tensor) and isinstance(actual, Tensor):
        yield exact, rough, actual
    elif isinstance(exact, Mapping) and isinstance(actual, Mapping):
        for name in exact.keys() & actual.keys():
            yield from _pairs(exact[name], rough[name], actual[name])
    elif isinstance(exact, tuple | list) and isinstance(actual, tuple | list):
        for items in zip(exact, rough, actual, strict=False):
            yield from _pairs(*items)


def _same_places(exact: Tensor, actual: Tensor) -> bool:
    """Whether NaN and Inf stand in the same places, once the exact result is stored."""
    stored = exact.to(actual.dtype)
    return bool(
        torch.equal(stored.isnan(), actual.isnan())
        and torch.equal(stored.isposinf(), actual.isposinf())
        and torch.equal(stored.isneginf(), actual.isneginf())
    )


def _features(tensor: Tensor) -> int:
    return tensor.shape[-1] if tensor.dim() else 1


def _largest(difference: Tensor) -> Tensor:
    """Return the largest finite absolute value of each feature, the last axis: [D], 0 for none."""
    features = _features(difference)
    if not difference.numel():
        return torch.zeros(max(features, 1), dtype=torch.float64)
    low, high = difference.reshape(-1, features).aminmax(dim=0)
    largest = torch.maximum(low.abs(), high.abs())
    if not largest.isfinite().all():
        return _largest(difference.nan_to_num(0.0, 0.0, 0.0))
    return largest
