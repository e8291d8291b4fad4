"""Multiply-adds of a run: from the model's formulas, or counted while it runs.

A counted run has the multiply-adds of its own tokens: of a mixture of experts those of the experts
that they were routed to, of BigBird those of the attention that it switches to.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct
from torch import nn

from bertviewer.core.graph.products import ProductMode
from bertviewer.core.graph.trace import macs_by_module, operations_by_module
from bertviewer.core.graph.tracing import CallTracer
from bertviewer.core.schema.activation_run import Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import token_bindings
from bertviewer.core.schema.costs import Costs


class Macs(Struct, frozen=True):
    """The multiply-adds of all calls of a module.

    Attributes:
        count: their number; ``None`` if it is not known.
        reason: why it is not known, or why it had to be counted.
    """

    count: int | None
    reason: str = ""


NOT_COUNTED = Macs(None, "nothing was counted")


def formula_macs(architecture: Architecture, tokens: Sequence[Token]) -> Mapping[str, Macs] | None:
    """Return the multiply-adds for one sentence by module path.

    ``None`` if a module has no formula (yet), or none for this number of tokens.
    """
    costs = architecture.costs
    if costs is None or costs.reason:
        return None
    values = token_bindings(architecture, tokens)
    found = {path: costs.macs(path, values) for path in costs.modules}
    known = {path: Macs(count) for path, count in found.items() if count is not None}
    return known if len(known) == len(found) else None


class RunCounter:
    """Counts the multiply-adds of a model inside ``with counter.counting():``."""

    def __init__(self, model: nn.Module) -> None:
        self._tracer = CallTracer(model)
        self._mode = ProductMode(
            self._tracer.note_product, self._tracer.note_unknown, is_limited=False
        )

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count inside the ``with``."""
        with self._tracer.watching(), self._mode:
            yield

    def macs(self, costs: Costs | None = None) -> Mapping[str, Macs]:
        """Return the multiply-adds of all modules that were called or contain one that was.

        ``costs`` has the reasons why modules have no formula.
        """
        trace, unknown = self._tracer.trace(), self._tracer.unknown
        found = {
            path: Macs(count, _why_counted(costs, path))
            for path, count in macs_by_module(trace).items()
        }
        if not unknown:
            return found
        for path, parts in operations_by_module(trace).items():
            number = next((n for n in unknown if any(n in part for part in parts)), None)
            if number is not None:
                call = trace.innermost[number]
                inner = path if call is None else trace.calls[call].path
                reason = unknown[number]
                found[path] = Macs(None, reason if inner == path else f"{inner}: {reason}")
        return found


def _why_counted(costs: Costs | None, path: str) -> str:
    reason = "" if costs is None else costs.reason_for(path)
    return f"as counted in this run, because there is no formula: {reason}" if reason else ""
