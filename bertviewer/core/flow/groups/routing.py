"""Mixtures of experts: a router chooses a few experts for each token (Shazeer et al. 2017).

Whatever the code does to bring tokens to their experts, it hangs on the indices that were chosen.
"""

from collections.abc import Iterator

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import Graph
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.groups.linears import is_linear, widths_of
from bertviewer.core.flow.operation_names import ELEMENTWISE
from bertviewer.core.flow.trace import Call
from bertviewer.core.text.special_floats import Scalar

ROUTING: KnownOperation = "routing"
EXPERTS: KnownOperation = "experts"

_CHOOSING = ("topk", "argmax", "max", "sort", "argsort")
_SCORING = ELEMENTWISE | {"softmax", "sum", "gather", "cumsum", "scatter", "log_softmax"}


def find_routing(graph: Graph) -> Iterator[Group]:
    """Yield each router and the experts that it chooses from."""
    taken: set[int] = set()
    for number, word in enumerate(graph.words):
        if word in _CHOOSING and number not in taken and (router := _router(graph, number)):
            found = tuple(_of(graph, number, router))
            for group in found:
                taken |= group.operations
            yield from found


def _router(graph: Graph, choice: int) -> int | None:
    """Return the linear layer whose scores a choice is made of."""
    waiting, seen = [choice], {choice}
    while waiting:
        for reading in graph.data(waiting.pop()):
            maker = reading.maker
            if maker is None or maker in seen:
                continue
            if is_linear(graph, maker):
                return maker
            if graph.words[maker] in _SCORING or graph.words[maker] in _CHOOSING:
                seen.add(maker)
                waiting.append(maker)
    return None


def _of(graph: Graph, choice: int, router: int) -> Iterator[Group]:
    block = _block(graph, router, choice)
    if block is None:
        return
    chosen = _depending(graph, {choice}, block.stop)
    experts = {each for each in chosen if _is_product(graph, each)}
    if not experts:
        return
    first = min(experts)
    part = _part(graph, first, block)
    inner = set() if part is None else set(part.operations)
    scores = ({router, choice} | {each for each in chosen if each < first}) - inner
    work = (chosen | inner) - scores
    work -= _after_experts(graph, work, max(experts))
    count = widths_of(graph, router)[1]
    details: dict[str, Scalar] = {"experts": count}
    if (chosen_few := _number_chosen(graph, scores, work)) is not None and chosen_few < count:
        details["chosen"] = chosen_few
    for kind, operations in ((ROUTING, scores), (EXPERTS, work)):
        if real := _real(graph, operations):
            yield Group(kind, frozenset(real), details=details)


def _block(graph: Graph, router: int, choice: int) -> Call | None:
    """Return the innermost call that holds the router, the choice, and products that follow it."""
    found = None
    for call in graph.trace.calls:
        if call.start <= router and choice < call.stop:
            chosen = _depending(graph, {choice}, call.stop)
            if any(_is_product(graph, each) for each in chosen):
                found = call
    return found


def _depending(graph: Graph, first: set[int], stop: int) -> set[int]:
    """Return all operations before ``stop`` that hang on the first ones, these left out."""
    found: set[int] = set()
    waiting = list(first)
    while waiting:
        for user in graph.users.get(waiting.pop(), ()):
            if user < stop and user not in found:
                found.add(user)
                waiting.append(user)
    return found


def _is_product(graph: Graph, number: int) -> bool:
    return bool(graph.trace.operations[number].products)


def _part(graph: Graph, first: int, block: Call) -> Call | None:
    """Return the call directly below a block that the first expert's product is done in."""
    for call in graph.trace.calls:
        is_below = call.path.rpartition(".")[0] == block.path and block.start <= call.start
        if is_below and call.start <= first < call.stop:
            return call
    return None


def _after_experts(graph: Graph, work: set[int], last: int) -> set[int]:
    """Return what is done to the experts' sum afterwards: an expert that all tokens share."""
    return {
        each
        for each in work
        if each > last
        and graph.words[each] == "add"
        and any(reading.maker not in work for reading in graph.data(each))
    }


def _real(graph: Graph, operations: set[int]) -> set[int]:
    return {each for each in operations if not graph.is_moving(each)}


def _number_chosen(graph: Graph, scores: set[int], work: set[int]) -> int | None:
    """Return how many experts each token goes to: so many indices the experts are given for it."""
    for number in sorted(work):
        for reading in graph.readings[number]:
            value = graph.value(reading.same)
            if reading.maker in scores and value.dtype.startswith("int") and value.shape:
                return value.shape[-1]
    return None
