"""One question to all that can be found, answered in small pieces of work."""

import time
from collections.abc import Iterator, Sequence

from bertviewer.core.frozen import frozen
from bertviewer.ui.palette.haystack import Hit
from bertviewer.ui.palette.matching import words_of
from bertviewer.ui.palette.sources import Source

FEW = 7
"""Hits of each kind where several kinds are looked through."""
LEAST = 0.6
"""What fits so much worse than the best is left out: letters are scattered over every text."""


@frozen
class Group:
    """The hits of one kind, the best first."""

    source: Source
    hits: tuple[Hit, ...]


class Search:
    """What was typed, and the hits that were found up to now.

    ``>`` as the first sign finds commands alone, ``#`` tensors and ``@`` tokens.
    """

    def __init__(self, query: str, sources: Sequence[Source]) -> None:
        typed = query.strip()
        prefix = typed[:1]
        chosen = [source for source in sources if prefix and source.prefix == prefix]
        self._is_of_one_kind = bool(chosen)
        self._sources = chosen or sources
        self._words = words_of(typed[1:] if chosen else typed)
        self._found: list[tuple[Source, list[Hit]]] = []
        self._pieces = self._look()
        self.is_done = False

    def work(self, seconds: float) -> None:
        """Go on for about so long; ``is_done`` says whether that was all."""
        until = time.perf_counter() + seconds
        while not self.is_done and time.perf_counter() < until:
            self.is_done = next(self._pieces, "the end") is not None

    def groups(self) -> list[Group]:
        """Return what was found, the kind with the best hit first."""
        groups = []
        best = max((hit.match.score for _, hits in self._found for hit in hits), default=0)
        for source, hits in self._found:
            if self._words:
                hits.sort(key=lambda hit: hit.rank)
            fit = [hit for hit in hits if hit.match.score >= LEAST * best]
            few = fit if self._is_of_one_kind else fit[:FEW]
            if few:
                groups.append(Group(source, tuple(few)))
        return sorted(groups, key=lambda group: -group.hits[0].match.score)

    def _look(self) -> Iterator[None]:
        for source in self._sources:
            hits: list[Hit] = []
            self._found.append((source, hits))
            yield from source.haystack.find(self._words, hits)
