"""The attention of the last run in one layer, and that of run A where there is one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bertviewer.charts.attentions import Attended, token_pairs
from bertviewer.charts.comparison import Partners
from bertviewer.core.analysis.alignment import align
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.progress import Progress
from bertviewer.ui.watched_run import RunWork, WatchedRun

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class AttentionPair:
    """B and A, and which of A's queries and keys is which of B's."""

    b: Attended
    a: Attended | None
    partners: Partners

    def charts(self, make: Callable[[Attended], Made]) -> tuple[Made, Made | None]:
        """Return what is made of B and of A."""
        return make(self.b), None if self.a is None else make(self.a)


def remembered(
    work: RunWork[Attended], known: AttentionPair | None, layer: AttentionLayer
) -> RunWork[Attended]:
    """Return the work, or B or A as they are known: one stays while the other changes."""
    pair = () if known is None else (known.b, known.a)
    there = [
        one
        for one in pair
        if one is not None and (one.maps.path, one.maps.call) == (layer.path, layer.call)
    ]

    def find(model: "LoadedModel", watched: WatchedRun, progress: Progress) -> Attended:
        found = next((one for one in there if one.run is watched.run), None)
        return work(model, watched, progress) if found is None else found

    return find


def attention_pair(b: Attended, a: Attended | None) -> AttentionPair:
    """Put both together."""
    if a is None:
        return AttentionPair(b, None, Partners())
    tokens = align(a.run.tokens, b.run.tokens)
    queries = token_pairs(tokens, a.maps.query_tokens, b.maps.query_tokens)
    keys = token_pairs(tokens, a.maps.key_tokens, b.maps.key_tokens)
    return AttentionPair(b, a, Partners(tokens, queries, keys))
