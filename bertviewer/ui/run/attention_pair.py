"""The attention of the last run in one layer, and that of run A where there is one."""

from collections.abc import Callable
from typing import TypeVar

from bertviewer.charts.attentions import Attended, token_pairs
from bertviewer.charts.comparison import Partners
from bertviewer.core.analysis.alignment import align
from bertviewer.core.frozen import frozen

Made = TypeVar("Made")


@frozen(eq=False)
class AttentionPair:
    """B and A, and which of A's queries and keys is which of B's."""

    b: Attended
    a: Attended | None
    partners: Partners

    def charts(self, make: Callable[[Attended], Made]) -> tuple[Made, Made | None]:
        """Return what is made of B and of A."""
        return make(self.b), None if self.a is None else make(self.a)


def attention_pair(b: Attended, a: Attended | None) -> AttentionPair:
    """Put both together."""
    if a is None:
        return AttentionPair(b, None, Partners())
    tokens = align(a.run.tokens, b.run.tokens)
    queries = token_pairs(tokens, a.maps.query_tokens, b.maps.query_tokens)
    keys = token_pairs(tokens, a.maps.key_tokens, b.maps.key_tokens)
    return AttentionPair(b, a, Partners(tokens, queries, keys))
