"""Mixtures of experts: a router chooses a few experts for each token (Shazeer et al. 2017).

Whatever the code does to bring tokens to their experts depends on the indices that were chosen.
"""

from collections.abc import Iterable, Iterator, Set

from bertviewer.core.graph.operation_names import ELEMENTWISE
from bertviewer.core.graph.patterns.linears import is_linear, widths_of
from bertviewer.core.graph.patterns.pattern import Pattern
from bertviewer.core.graph.trace import Call
from bertviewer.core.graph.trace_graph import Graph, closure
from bertviewer.core.schema.flow import KnownOperation
from bertviewer.core.util.serialization import Scalar

CHOOSING = ("topk", "argmax", "max", "sort", "argsort")
_SCORING = ELEMENTWISE.union(
    CHOOSING, ("softmax", "sum", "gather", "cumsum", "scatter", "log_softmax")
)


def routing(graph: Graph, choice: int) -> Iterator[Pattern]:
    """Yield the router whose scores a choice is made of, and the experts that it chooses from."""
    router = _router(graph, choice)
    block = None if router is None else _block(graph, router, choice)
    if router is None or block is None or not block.path:
        return  # a model that chooses boxes or regions is no mixture
    chosen = _following(graph, choice, block.stop)
    experts = _products(graph, chosen)
    first, last = min(experts), max(experts)
    inner = {
        each
        for call in graph.trace.children(block)
        if call.holder == block.path and first in call.operations
        for each in call.operations
    }
    scores = ({router, choice} | {each for each in chosen if each < first}) - inner
    work = (chosen | inner) - scores
    # The sum with an expert that all tokens share comes afterwards.
    work -= {
        each
        for each in work
        if each > last
        and graph.words[each] == "add"
        and any(reading.maker not in work for reading in graph.data(each))
    }
    count = widths_of(graph, router)[1]
    details: dict[str, Scalar] = {"experts": count}
    if (chosen_few := _number_chosen(graph, scores, work)) is not None and chosen_few < count:
        details["chosen"] = chosen_few
    found: dict[KnownOperation, Set[int]] = {"routing": scores, "experts": work}
    for kind, operations in found.items():
        if real := frozenset(each for each in operations if not graph.is_view(each)):
            yield Pattern(kind, real, details=details)


def _router(graph: Graph, choice: int) -> int | None:
    """Return the linear layer whose scores a choice is made of."""
    scoring = closure(
        [choice], lambda n: [m for m in graph.data_makers(n) if graph.words[m] in _SCORING]
    )
    makers = {maker for number in scoring for maker in graph.data_makers(number)}
    return max((maker for maker in makers if is_linear(graph, maker)), default=None)


def _block(graph: Graph, router: int, choice: int) -> Call | None:
    """Return the innermost call that holds the router, the choice, and products that follow it."""
    for call in reversed(graph.trace.calls):
        is_around = call.start <= router and choice < call.stop
        if is_around and _products(graph, _following(graph, choice, call.stop)):
            return call
    return None


def _following(graph: Graph, choice: int, stop: int) -> frozenset[int]:
    """Return all operations before ``stop`` that depend on a choice."""
    return closure([choice], lambda n: [u for u in graph.users(n) if u < stop]) - {choice}


def _products(graph: Graph, operations: Iterable[int]) -> list[int]:
    return [each for each in operations if graph.trace.operations[each].products]


def _number_chosen(graph: Graph, scores: Set[int], work: Set[int]) -> int | None:
    """Return the number of experts for each token: that of the indices that the experts read."""
    for number in sorted(work):
        for reading in graph.readings[number]:
            value = graph.trace.values[reading.same]
            if reading.maker in scores and value.dtype.startswith("int") and value.shape:
                return value.shape[-1]
    return None
