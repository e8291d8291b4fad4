"""Multiply-adds: products, noted operation by operation, summed for modules and parts.

1 MAC = 2 FLOPs. Only matrix products count, as in ``torch.utils.flop_counter``: for attention
these are Q·Kᵀ and the weights times V, 2·B·S_q·S_k·D (Vaswani et al. 2017, section 3.2.1).
In a mixture of experts they are the products of the experts that tokens were sent to.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from bertviewer.core.architecture.architecture import ancestors
from bertviewer.core.graph.trace import Trace


def macs_of(trace: Trace, operations: Iterable[int]) -> int:
    """Return the multiply-adds of operations, by their numbers."""
    return sum(prod(sizes) for number in operations for sizes in trace.operations[number].products)


def macs_by_module(trace: Trace) -> dict[str, int]:
    """Return the multiply-adds of all calls of each module, with all calls below.

    A container that is not called itself has those of its modules; a module is left out if
    nothing in it was called.
    """
    return {
        path: sum(macs_of(trace, operations) for operations in parts)
        for path, parts in operations_by_module(trace).items()
    }


def operations_by_module(trace: Trace) -> Mapping[str, tuple[range, ...]]:
    """Return the operations in all calls of each module, or of those that it contains."""
    found: dict[str, list[range]] = {}
    for call in trace.calls:
        for path in ancestors(call.path):
            if path != call.path and path in trace.calls_of:
                continue
            parts = found.setdefault(path, [])
            # A call in a call of the same module, or of a sibling, is counted by then.
            if not parts or call.start >= parts[-1].stop:
                parts.append(call.operations)
    return {path: tuple(parts) for path, parts in found.items()}


def innermost_calls(trace: Trace) -> Sequence[int | None]:
    """Return for each operation the number of the call that does it itself, if one does."""
    return trace.innermost
