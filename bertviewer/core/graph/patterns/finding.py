"""All patterns of a trace, residual connections included; patterns do not overlap."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from bertviewer.core.graph.patterns.attentions import (
    called_attention,
    fused_attention,
    rotary_complex,
    rotary_pairs,
    rotary_sum,
    written_attention,
)
from bertviewer.core.graph.patterns.feed_forwards import (
    CHOOSING,
    find_activations,
    find_feed_forwards,
    routing,
)
from bertviewer.core.graph.patterns.norms import CALLED, affine, called_norm, written_norm
from bertviewer.core.graph.trace_graph import Graph, Pattern, Patterns, Reading, closure

_Summands = list[tuple[int, Reading]]
"""The terms of a sum, each with the addition that reads it."""


def find_residuals(graph: Graph) -> Iterator[Pattern]:
    """Yield every sum in which one term was used to compute another one.

    Nested sums are one residual: x + attention(x) + mlp(x) in any order.
    """
    inner: set[int] = set()
    for number in reversed(range(len(graph.words))):
        if graph.words[number] not in ("add", "sub") or number in inner:
            continue
        alone = {number}, [(number, each) for each in graph.data(number)]
        for operations, summands in (_summands(graph, number), alone):
            if (skip := _skip(graph, [each for _, each in summands])) is not None:
                inner |= operations
                ends = [(owner, each.value) for owner, each in summands if each.same == skip]
                roles = dict.fromkeys(ends, "residual")
                yield Pattern("residual", frozenset(operations), roles=roles)
                break


def _summands(graph: Graph, number: int) -> tuple[set[int], _Summands]:
    """Return the nested additions of a sum, and its terms."""
    operations, found = {number}, []
    waiting = [(number, each) for each in graph.data(number)]
    shape = graph.shape(graph.made(number))
    while waiting:
        owner, reading = waiting.pop()
        maker = reading.maker
        if (
            reading.word == "add"
            and graph.sole_user(maker) == owner
            and graph.shape(graph.made(maker)) == shape
            and reading.same == graph.made(maker)
            and len(graph.data(maker)) == 2
            and maker not in graph.output_makers
        ):
            operations.add(maker)
            waiting += [(maker, each) for each in graph.data(maker)]
        else:
            found.append((owner, reading))
    return operations, found


def _skip(graph: Graph, summands: list[Reading]) -> int | None:
    """Return the term that another one was computed from, ``None`` if there is none."""
    for skip in sorted({each.same for each in summands}):
        if any(each.same != skip and _reads(graph, each.maker, skip) for each in summands):
            return skip
    return None


def _reads(graph: Graph, number: int, value: int) -> bool:
    """Return whether an operation's result was computed from a value."""
    first = graph.trace.maker_of.get(value, -1)
    if number <= first:
        return False
    whole = graph.whole(value)
    return any(
        reading.same == value or graph.whole(reading.value) == whole
        for each in closure([number], lambda n: [m for m in graph.data_makers(n) if m > first])
        for reading in graph.data(each)
    )


_Recognizer = Callable[[Graph, int], Iterable[Pattern]]
_RECOGNIZERS: tuple[Mapping[str, _Recognizer], ...] = (
    {
        **dict.fromkeys(CALLED, called_norm),
        **dict.fromkeys(("sqrt", "rsqrt", "pow"), written_norm),
    },
    {
        "add": rotary_sum,
        "mul": rotary_complex,
        **dict.fromkeys(("cat", "stack"), rotary_pairs),
    },
    {
        "scaled_dot_product_attention": fused_attention,
        "multi_head_attention_forward": called_attention,
        "softmax": written_attention,
    },
    dict.fromkeys(CHOOSING, routing),
    {"mul": affine},
)
"""Functions that recognise patterns by the name of one of their operations, in this order."""


def find_patterns(graph: Graph) -> Patterns:
    """Return the patterns of a trace."""
    taken: dict[int, Pattern] = {}
    for recognizers in _RECOGNIZERS:
        seen: set[int] = set()
        for number, word in enumerate(graph.words):
            if number not in seen and (recognizer := recognizers.get(word)):
                found = tuple(recognizer(graph, number))
                seen.update(*(pattern.operations for pattern in found))
                _take(graph, taken, found)
    _take(graph, taken, find_activations(graph))  # the square root of a norm is none
    inner = dict(taken)
    for pattern in find_feed_forwards(graph, inner):
        taken |= dict.fromkeys(pattern.operations, pattern)
    _take(graph, taken, find_residuals(graph))
    return Patterns(taken, {**taken, **inner})


def _take(graph: Graph, taken: dict[int, Pattern], found: Iterable[Pattern]) -> None:
    """Add patterns whose operations are in no other pattern yet."""
    for pattern in found:
        whole = _whole(graph, pattern)
        if whole.isdisjoint(taken):
            taken |= dict.fromkeys(whole, replace(pattern, operations=whole))


def _whole(graph: Graph, pattern: Pattern) -> frozenset[int]:
    """Return the operations of a pattern and those on paths between them.

    Otherwise these would have to be both before and after the pattern.
    """
    last = pattern.last
    later = closure(pattern.operations, lambda each: [u for u in graph.users(each) if u < last])
    return closure(pattern.operations, lambda each: [m for m in graph.makers(each) if m in later])
