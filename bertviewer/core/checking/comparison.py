"""Compares what a module gave with what was recomputed, and says what rounding may do."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

FACTOR = 16
"""How much larger than in our own rounded calculation an error may be: the order of sums differs
from one kernel to another, and with it the error, but not by an order of magnitude."""
FLOOR = 4
"""Units in the last place of the largest value that are always allowed."""
FEW = 64
"""So few values may all have been rounded well by chance: the input's size counts then, too."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The largest difference, what is allowed, and whether it is within that."""

    error: float | None
    tolerance: float
    ok: bool


def compare(
    exact: Any, rough: Any, actual: Any, inputs: Iterable[Tensor], stored: torch.dtype
) -> Comparison | None:
    """Compare a module's result with its recomputations in float64 and in rounded arithmetic.

    The difference between the two recomputations is what rounding alone does, so the tolerance
    is 16 times its maximum, and at least 4 units in the last place of the largest value. Tensors
    that are not in both results are left out; ``None`` means that there are none in both.
    """
    triples = list(_pairs(exact, rough, actual))
    if not triples:
        return None
    if any(a.shape != b.shape for a, _, b in triples):
        return Comparison(None, 0.0, False)
    eps = torch.finfo(stored).eps
    # float64 cannot be compared with something finer; float32 shows how the rounding adds up.
    shrink = eps / torch.finfo(torch.float32).eps if stored == torch.float64 else 1.0
    noise = max(_largest(a - b) for a, b, _ in triples) * shrink
    size = max(_largest(given.double()) for _, _, given in triples)
    if sum(given.numel() for _, _, given in triples) < FEW:
        # The first is what the module works on; others may be masks of -10^38.
        first = next((x for x in inputs if x.is_floating_point()), None)
        size = size if first is None else max(size, _largest(first.double()))
    tolerance = max(FACTOR * noise, FLOOR * eps * size)
    if not all(_same_places(a, given) for a, _, given in triples):
        return Comparison(None, tolerance, False)
    error = max(_largest(a - given.double()) for a, _, given in triples)
    return Comparison(error, tolerance, error <= tolerance)


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


def _largest(difference: Tensor) -> float:
    """Return the largest finite absolute value, 0 for none."""
    if not difference.numel():
        return 0.0
    low, high = difference.aminmax()
    largest = max(-float(low), float(high))
    if not math.isfinite(largest):
        finite = difference[difference.isfinite()]
        return float(finite.abs().max()) if finite.numel() else 0.0
    return abs(largest)
