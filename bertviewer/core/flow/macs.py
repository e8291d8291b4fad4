"""Multiply-adds: products, noted operation by operation, put together for modules and parts.

1 MAC = 2 FLOPs. Only matrix products count, as in ``torch.utils.flop_counter``: for attention
these are Q·Kᵀ and the weights times V, 2·B·S_q·S_k·D (Vaswani et al. 2017, section 3.2.1).
Where each token goes to a few experts of many, these are the products of those that it went to.
"""

from collections.abc import Iterable, Mapping
from math import prod

from bertviewer.core.architecture.architecture import ancestors
from bertviewer.core.flow.trace import Trace


def macs_of(trace: Trace, operations: Iterable[int]) -> int:
    """Return the multiply-adds of some operations, by their numbers."""
    return sum(
        prod(dimensions)
        for number in operations
        for dimensions in trace.operations[number].products
    )


def macs_by_module(trace: Trace) -> dict[str, int]:
    """Return the multiply-adds of all calls of each module, with all that was called in them.

    A module that holds others and is not called itself has theirs; one of which nothing was
    called is not there.
    """
    return {
        path: sum(macs_of(trace, operations) for operations in parts)
        for path, parts in operations_by_module(trace).items()
    }


def operations_by_module(trace: Trace) -> Mapping[str, tuple[range, ...]]:
    """Return the operations in all calls of each module, or of those that it holds."""
    found: dict[str, list[range]] = {}
    for call in trace.calls:
        for path in ancestors(call.path):
            if path != call.path and path in trace.calls_of:
                continue
            parts = found.setdefault(path, [])
            # A call in a call of the same module, or of one beside it, is counted by then.
            if not parts or call.start >= parts[-1].stop:
                parts.append(call.operations)
    return {path: tuple(parts) for path, parts in found.items()}


def innermost_calls(trace: Trace) -> tuple[int | None, ...]:
    """Return for each operation the number of the call that does it itself, if one does."""
    found: list[int | None] = [None] * len(trace.operations)
    for number, call in enumerate(trace.calls):  # outer ones first
        found[call.start : call.stop] = [number] * (call.stop - call.start)
    return tuple(found)
