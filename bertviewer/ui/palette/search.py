"""One question to all that can be found, answered in small pieces of work."""

import time
from collections.abc import Iterator, Sequence

from bertviewer.core.frozen import frozen
from bertviewer.ui.action import HELP
from bertviewer.ui.palette.haystack import Hit
from bertviewer.ui.palette.matching import folded, match, words_of
from bertviewer.ui.palette.sources import Source, name_of

FEW = 7
"""Hits of each kind where several kinds are looked through."""
LEAST = 0.6
"""What fits so much worse than the best is left out: letters are scattered over every text."""
LEAST_LETTER = 4
"""Points for each letter of a word without which it does not abbreviate a name."""
QUESTION_WORDS = frozenset({"why", "what", "which", "where", "how"})
"""Words after which questions and help come first."""


@frozen
class Group:
    """The hits of one kind, the best first."""

    source: Source
    hits: tuple[Hit, ...]


class Search:
    """What was typed, and the hits that were found up to now.

    The prefix of a source as the first character finds things of that source alone.
    """

    def __init__(self, query: str, sources: Sequence[Source]) -> None:
        typed = query.strip()
        prefix = typed[:1]
        chosen = [source for source in sources if prefix and source.prefix == prefix]
        self._is_of_one_kind = bool(chosen)
        self._sources = chosen or sources
        searched = typed[1:] if chosen else typed
        self._words = words_of(searched)
        self._typed = folded(searched.strip())
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
            words = self._words_for(source)
            fit = [hit for hit in hits if hit.match.score >= LEAST * best or self._is_named(hit)]
            if words:
                fit = sorted(
                    (hit for hit in fit if _is_near(hit, words, source.is_prose)), key=self._rank
                )
            few = fit if self._is_of_one_kind else fit[:FEW]
            if few:
                groups.append(Group(source, tuple(few)))
        is_asked = not QUESTION_WORDS.isdisjoint(self._words)

        def order(group: Group) -> tuple[bool, bool, bool, int]:
            is_answer = is_asked and group.source.prefix == HELP
            return not is_answer, *self._rank(group.hits[0])[:3]

        return sorted(groups, key=order)

    def _rank(self, hit: Hit) -> tuple[bool, bool, int, int]:
        """Return what sorts hits: the whole name first, then what fits within the name."""
        said = hit.match.places[-1] if hit.match.places else -1
        return not self._is_named(hit), said >= len(name_of(hit.text)), *hit.rank

    def _is_named(self, hit: Hit) -> bool:
        """Tell whether what was typed is the whole name of a hit."""
        return bool(self._words) and folded(name_of(hit.text)) == self._typed

    def _words_for(self, source: Source) -> tuple[str, ...]:
        """Return the words to look for: "why" finds all questions and says little."""
        return tuple(w for w in self._words if w not in source.skipped) or self._words

    def _look(self) -> Iterator[None]:
        for source in self._sources:
            hits: list[Hit] = []
            self._found.append((source, hits))
            yield from source.haystack.find(self._words_for(source), hits)


def _is_near(hit: Hit, words: Sequence[str], is_prose: bool) -> bool:
    """Tell whether each word is in a hit as it is, or abbreviates it.

    The letters of any word are somewhere in a sentence, of which only the name is abbreviated.
    """
    text = folded(hit.text)
    whole = name_of(hit.text) if is_prose else hit.text
    for word in words:
        if word not in text:
            found = match((word,), whole)
            if found is None or found.score < LEAST_LETTER * len(word):
                return False
    return True
