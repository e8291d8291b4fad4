"""Search index of many texts, which works in small slices."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bertviewer.charts.labels import shortened, visible
from bertviewer.ui.palette.matching import Match, folded, match

MAX_TEXT = 2_000
"""Characters of a text; a longer one is cut. A section of the guide has up to 1,500."""
SLICE = 2_000
"""Texts per slice."""
MAX_HITS = 250
"""Texts that are ranked."""

_NUMBER = re.compile(r"\d")
_START, _INSIDE, _SCATTERED, _SCATTERED_NUMBER = range(4)
"""Where a text has a word: at the start of a word, anywhere, or only its letters in order."""


class Hit(Struct, frozen=True):
    """A matching text and its number."""

    number: int
    text: str
    match: Match

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key: the best score first, then the shorter text."""
        return -self.match.score, len(self.text)


class SearchIndex:
    """Numbered texts, which are searched in lower case."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = texts
        self.texts: list[str] = []
        self._small: list[str] = []

    def prepare(self) -> Iterator[None]:
        """Build the index in slices; ``find`` does it if it was not done before."""
        while (first := len(self.texts)) < len(self._given):
            shown = [_shown(text) for text in self._given[first : first + SLICE]]
            self.texts += shown
            self._small += map(folded, shown)
            yield

    def find(self, words: tuple[str, ...], found: list[Hit]) -> Iterator[None]:
        """Append the best matches to ``found`` in slices; without words the first texts."""
        yield from self.prepare()
        if not words:
            first = enumerate(self.texts[:MAX_HITS])
            found += [Hit(number, text, Match(0, ())) for number, text in first]
            return
        patterns = [_Word(word) for word in words]
        ranked: tuple[list[int], ...] = ([], [], [], [])
        for first_number in range(0, len(self._small), SLICE):
            some = self._small[first_number : first_number + SLICE]
            for number, small in enumerate(some, first_number):
                worst = _worst_rank(patterns, small)
                if worst is not None:
                    ranked[worst].append(number)
            yield
        for number in self._best(ranked, any(pattern.has_number for pattern in patterns)):
            text = self.texts[number]
            if (fits := match(words, text, self._small[number])) is not None:
                found.append(Hit(number, text, fits))

    def _best(self, ranked: tuple[list[int], ...], has_number: bool) -> list[int]:
        """Return the texts to list, of each rank the shortest first."""
        tiers = ranked[:_SCATTERED_NUMBER]
        if has_number and ranked[_START]:
            tiers = ranked[:1]  # if there is a layer 3, neither 13 nor 384 is listed
        elif not any(tiers):
            tiers = ranked  # scattered letters of a word with a number match too much
        best = (n for numbers in tiers for n in sorted(numbers, key=lambda n: len(self._small[n])))
        return list(best)[:MAX_HITS]


class _Word:
    """A word of the query, with its patterns."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.has_number = _NUMBER.search(text) is not None
        before = r"(?<!\d)" if text[0].isdigit() else r"(?<![^\W\d_])"
        after = r"(?!\d)" if text[-1].isdigit() else ""
        self._begun = re.compile(before + re.escape(text) + after)
        # Possessive quantifiers: the first way to find the letters is enough.
        letters = "".join(f"[^{c}]*+{c}" for c in map(re.escape, text))
        self._scattered = re.compile(letters, re.DOTALL)

    def rank_in(self, text: str) -> int | None:
        """Return where a text has the word, ``None`` if it has not."""
        if self._text in text:
            return _START if self._begun.search(text) else _INSIDE
        if self._scattered.match(text) is None:
            return None
        return _SCATTERED_NUMBER if self.has_number else _SCATTERED


def _worst_rank(words: Sequence[_Word], text: str) -> int | None:
    """Return the worst rank of all words, ``None`` if one is missing."""
    worst = _START
    for word in words:
        rank = word.rank_in(text)
        if rank is None:
            return None
        worst = max(worst, rank)
    return worst


def _shown(text: str) -> str:
    cut = shortened(text, MAX_TEXT)
    return cut if cut.isprintable() else visible(cut)
