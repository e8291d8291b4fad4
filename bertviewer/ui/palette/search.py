"""Search over all sources, in small slices."""

import re
import time
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from bertviewer.ui.palette.matching import HELP, Match, begins, folded, match, words_of
from bertviewer.ui.palette.search_index import Hit
from bertviewer.ui.palette.sources import Source, name_of

MAX_PER_KIND = 7
"""Hits of each kind if several are searched."""
MIN_SCORE = 0.6
"""Of the best score; worse hits are dropped, as scattered letters match nearly every text."""
MIN_LETTER_SCORE = 4
"""Score per letter from which a word is an abbreviation of a name."""
MIN_STEM = 4
QUESTION_WORDS = frozenset({"why", "what", "which", "where", "how"})
"""Words with which questions and help are listed first."""
COUNT_WORDS = frozenset({"many", "much", "number"})
"""Words with which numbers of the model are listed first."""


class Group(Struct, frozen=True):
    """The hits of one kind, the best first."""

    source: Source
    hits: tuple[Hit, ...]


class Search:
    """A query and its hits so far; the first character may be the prefix of one source."""

    def __init__(self, query: str, sources: Sequence[Source]) -> None:
        typed = query.strip()
        prefix = typed[:1]
        chosen = [source for source in sources if prefix and source.prefix == prefix]
        self._is_of_one_kind = bool(chosen)
        self._sources = chosen or sources
        searched = typed[1:] if chosen else typed
        self._words = words_of(searched)
        self._typed = folded(searched.strip())
        self._is_counted = not COUNT_WORDS.isdisjoint(self._words)
        self._found: list[tuple[Source, list[Hit]]] = []
        self._is_loose = False
        self._pieces = self._look()
        self.is_done = False

    def work(self, seconds: float) -> None:
        """Search for about so long; ``is_done`` is set at the end."""
        until = time.perf_counter() + seconds
        while not self.is_done and time.perf_counter() < until:
            self.is_done = next(self._pieces, "the end") is not None

    def groups(self) -> list[Group]:
        """Return the hits, the kind with the best one first."""
        groups: list[tuple[tuple[bool, bool, int, int], Group]] = []
        best = max((hit.match.score for _, hits in self._found for hit in hits), default=0)
        for source, hits in self._found:
            words = self._words_for(source)
            rank = partial(self._rank, words)
            fit = [
                hit
                for hit in hits
                if hit.match.score >= MIN_SCORE * best or self._is_named(hit, words)
            ]
            if words:
                near = [h for h in fit if self._is_loose or _is_near(h, words, source.is_prose)]
                written = [h for h in near if all(word in folded(h.text) for word in words)]
                fit = sorted(written if written and source.is_prose else near, key=rank)
            few = fit if self._is_of_one_kind else fit[:MAX_PER_KIND]
            if few:
                groups.append((rank(few[0]), Group(source, tuple(few))))
        is_asked = not QUESTION_WORDS.isdisjoint(self._words)

        def order(ranked: tuple[tuple[bool, bool, int, int], Group]) -> tuple[bool | int, ...]:
            (is_other, *rank, length), group = ranked
            is_answer = is_asked and group.source.prefix == HELP
            is_figure = self._is_counted and group.source.has_numbers
            return is_other, not is_figure, not is_answer, *rank, length if is_figure else 0

        return [group for _, group in sorted(groups, key=order)]

    def _rank(self, words: tuple[str, ...], hit: Hit) -> tuple[bool, bool, int, int]:
        """Return the sort key: whole names first, then matches within the name."""
        last = hit.match.places[-1] if hit.match.places else -1
        return not self._is_named(hit, words), last >= len(name_of(hit.text)), *hit.rank

    def _is_named(self, hit: Hit, words: tuple[str, ...]) -> bool:
        """Return whether the query is a hit's whole name, or "how many" and the name."""
        name = folded(name_of(hit.text))
        is_asked_for = self._is_counted and name == " ".join(words)
        return bool(words) and (name == self._typed or is_asked_for)

    def _words_for(self, source: Source) -> tuple[str, ...]:
        """Return the words to search for, without stop words, unless there are no others."""
        return tuple(w for w in self._words if w not in source.stop_words) or self._words

    def _look(self) -> Iterator[None]:
        for source in self._sources:
            hits: list[Hit] = []
            self._found.append((source, hits))
            yield from source.index.find(self._words_for(source), hits)
        if not self.groups():
            yield from self._look_for_most()

    def _look_for_most(self) -> Iterator[None]:
        """Find texts with most of the words, or their stems, if nothing has all of them.

        Not for numbers: if there is no "layer 40", another layer is no answer.
        """
        skipped = frozenset[str]().union(*(source.stop_words for source in self._sources))
        words = [word for word in self._words if word not in skipped]
        if any(letter.isdigit() for word in words for letter in word):
            return
        stems = tuple(dict.fromkeys(map(_stem, words)))
        merged: list[dict[int, list[Hit]]] = []
        for source, _ in self._found:
            of_source: dict[int, list[Hit]] = {}
            for stem in stems:
                hits: list[Hit] = []
                yield from source.index.find((stem,), hits)
                for hit in hits:
                    if _begins_word(stem, hit.text):
                        of_source.setdefault(hit.number, []).append(hit)
            merged.append(of_source)
        most = max((len(hits) for found in merged for hits in found.values()), default=0)
        self._is_loose = True
        for (_, found), of_source in zip(self._found, merged, strict=True):
            found[:] = [_merged(hits) for hits in of_source.values() if len(hits) == most]


def _stem(word: str) -> str:
    """Return a word without its ending."""
    return word[: max(MIN_STEM, len(word) - len(word) // 3)]


def _merged(hits: Sequence[Hit]) -> Hit:
    """Merge the hits of several words in the same text."""
    places = sorted({place for hit in hits for place in hit.match.places})
    score = sum(hit.match.score for hit in hits)
    return Hit(hits[0].number, hits[0].text, Match(score, tuple(places)))


def _begins_word(word: str, text: str) -> bool:
    """Return whether a word of a text starts with this one; symbols may be anywhere."""
    found = (place.start() for place in re.finditer(re.escape(word), folded(text)))
    return any(not word[0].isalnum() or begins(text, place) for place in found)


def _is_near(hit: Hit, words: Sequence[str], is_prose: bool) -> bool:
    """Return whether a hit contains each word, or its name is abbreviated by it.

    Sentences contain the letters of any word, and short words inside of others: in a description a
    word must start with the query's.
    """
    whole = name_of(hit.text) if is_prose else hit.text
    text = folded(whole)
    for word in words:
        if word not in text and not (is_prose and _begins_word(word, hit.text)):
            found = match((word,), whole)
            if found is None or found.score < MIN_LETTER_SCORE * len(word):
                return False
    return True
