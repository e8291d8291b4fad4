"""Compares what the flow's proof carried out with what a run had, each tensor by itself."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bertviewer.core.checking.comparison import Deviation, compare, with_tensors
from bertviewer.core.checking.evaluator import NoRecomputationError
from bertviewer.core.frozen import frozen

FEW_CHOICES = 100
"""One whole number in so many may differ: two that were nearly equal, and the other was chosen."""

WIDEST = 2**14
"""Units in the last place that rounding may do: 0.2 % in float32, where 150 are usual. Where it
does more, the two calculations have parted, and nothing is proven."""


@frozen
class Triple:
    """One tensor in float64, as the clean model rounds it, and as it was in the run.

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

    They are not thrown together, as a mask may be 10^38 and what it masks 1.

    Args:
        triples: the tensors.
        inputs: what they were made of.
        coarsest: the dtype that rounded the most on the way.
        keep: whether the tensor that is the worst comes along.

    Raises:
        NoRecomputationError: the bound would be so wide that nothing is proven.
    """
    found = [_compared(triple, inputs, coarsest, keep=keep) for triple in triples]
    return max((it for it in found if it is not None), key=_badness, default=None)


def _badness(found: Deviation) -> tuple[bool, float]:
    if found.error is None:
        return not found.ok, torch.inf
    return not found.ok, found.error / found.tolerance if found.tolerance else found.error


def _compared(
    triple: Triple, inputs: Sequence[Tensor], coarsest: torch.dtype | None, *, keep: bool
) -> Deviation | None:
    exact, rough, actual = triple.exact, triple.rough, triple.actual
    if exact is None or rough is None or actual is None or exact.shape != actual.shape:
        return Deviation(None, 0.0, False)
    if not actual.numel():
        return None
    if actual.is_complex():
        exact, rough, actual = (torch.view_as_real(it) for it in (exact, rough, actual))
    if not exact.is_floating_point() or not actual.is_floating_point():
        found = _whole(exact, actual)
        return (
            None if found is None else with_tensors(found, [(exact, rough, actual)], (), keep=keep)
        )
    dtypes = (actual.dtype, *(() if coarsest is None else (coarsest,)))
    stored = max(dtypes, key=lambda dtype: torch.finfo(dtype).eps)
    floats = [tensor for tensor in inputs if tensor.is_floating_point()]
    limit = torch.finfo(stored).max / 4
    exact, rough, actual = (_endless(it, limit) for it in (exact, rough, actual))
    found = compare(exact, rough, actual, floats, stored, keep=keep)
    if found is not None and _is_too_wide(found, (actual, *floats), stored):
        raise NoRecomputationError("rounding error alone is so large that nothing can be verified")
    return found


def _is_too_wide(found: Deviation, tensors: Sequence[Tensor], stored: torch.dtype) -> bool:
    widest = min(WIDEST * torch.finfo(stored).eps, 1.0)
    # What is left of a difference may be small beside what it was made of.
    return all(found.tolerance > widest * _largest(tensor) for tensor in tensors)


def _largest(tensor: Tensor) -> float:
    if not tensor.numel():
        return 0.0
    sizes = _endless(tensor, torch.finfo(tensor.dtype).max / 4).nan_to_num(0.0, 0.0, 0.0).abs()
    return float(sizes.max())


def _whole(exact: Tensor, actual: Tensor) -> Deviation | None:
    """Compare whole numbers, and what is true or false."""
    differing = int((exact != actual).sum())
    if not differing:
        return Deviation(0.0, 0.0, True)
    if differing <= actual.numel() // FEW_CHOICES:
        return None
    return Deviation(float((exact.double() - actual.double()).abs().max()), 0.0, False)


def _endless(values: Tensor, limit: float) -> Tensor:
    """Return a mask's largest numbers as infinite: they stand for that, and would hide the rest."""
    if not bool((values.abs() > limit).any()):
        return values
    return torch.where(values > limit, torch.inf, torch.where(values < -limit, -torch.inf, values))
