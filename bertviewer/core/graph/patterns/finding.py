"""All patterns of a trace; each operation is in at most one of them."""

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from bertviewer.core.graph.patterns.activations import find_activations
from bertviewer.core.graph.patterns.attentions import (
    called_attention,
    fused_attention,
    written_attention,
)
from bertviewer.core.graph.patterns.feed_forwards import find_feed_forwards
from bertviewer.core.graph.patterns.norms import CALLED, affine, called_norm, written_norm
from bertviewer.core.graph.patterns.pattern import Pattern, Patterns
from bertviewer.core.graph.patterns.rotary import rotary_complex, rotary_pairs, rotary_sum
from bertviewer.core.graph.patterns.routing import CHOOSING, routing
from bertviewer.core.graph.patterns.sums import find_residuals
from bertviewer.core.graph.trace_graph import Graph, closure

_Recogniser = Callable[[Graph, int], Iterable[Pattern]]

_RECOGNISERS: tuple[Mapping[str, _Recogniser], ...] = (
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
"""What recognises patterns by the word of one of their operations, in this order."""


def find_patterns(graph: Graph) -> Patterns:
    """Find what is known as a whole in a trace."""
    taken: dict[int, Pattern] = {}
    for recognisers in _RECOGNISERS:
        seen: set[int] = set()
        for number, word in enumerate(graph.words):
            if number not in seen and (recogniser := recognisers.get(word)):
                found = tuple(recogniser(graph, number))
                seen.update(*(pattern.operations for pattern in found))
                _take(graph, taken, found)
    _take(graph, taken, find_activations(graph))  # the square root of a norm is none
    inner = dict(taken)
    for pattern in find_feed_forwards(graph, inner):
        taken |= dict.fromkeys(pattern.operations, pattern)
    _take(graph, taken, find_residuals(graph))
    return Patterns(taken, {**taken, **inner})


def _take(graph: Graph, taken: dict[int, Pattern], found: Iterable[Pattern]) -> None:
    """Add patterns whose operations are in no other one yet."""
    for pattern in found:
        whole = _whole(graph, pattern)
        if whole.isdisjoint(taken):
            taken |= dict.fromkeys(whole, replace(pattern, operations=whole))


def _whole(graph: Graph, pattern: Pattern) -> frozenset[int]:
    """Return the operations of a pattern and those between them.

    If something left it and came back, it would be both before and after that.
    """
    last = pattern.last
    later = closure(pattern.operations, lambda each: [u for u in graph.users(each) if u < last])
    return closure(pattern.operations, lambda each: [m for m in graph.makers(each) if m in later])
