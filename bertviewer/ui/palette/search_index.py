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

_NUMBERS = re.compile(r"(\d+)")
_START, _INSIDE, _SCATTERED = range(3)
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
    """Numbered texts, searched by form.

    Texts that differ only in numbers, as the same module of all layers, have one form: 100,000
    tensors have a few dozen. Numbers are looked up in an inverted index.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = texts
        self.texts: list[str] = []
        self._small: list[str] = []
        self._forms: dict[str, list[int]] = {}  # their texts, the shortest first
        self._form_of: list[str] = []  # of each text
        self._by_number: dict[str, list[int]] = {}  # texts by the numbers in them
        self._is_ready = False

    def prepare(self) -> Iterator[None]:
        """Build the index in slices; ``find`` does it if it was not done before."""
        while len(self.texts) < len(self._given):
            first = len(self.texts)
            shown = [_shown(text) for text in self._given[first : first + SLICE]]
            small = list(map(folded, shown))
            for number, text in enumerate(small, first):
                pieces = _NUMBERS.split(text)
                form = "\0".join(pieces[::2])
                self._forms.setdefault(form, []).append(number)
                self._form_of.append(form)
                for found in dict.fromkeys(pieces[1::2]):
                    self._by_number.setdefault(found, []).append(number)
            self.texts += shown
            self._small += small
            yield
        if not self._is_ready:
            self._is_ready = True
            lengths = list(map(len, self.texts))
            for numbers in self._forms.values():
                numbers.sort(key=lengths.__getitem__)
            yield

    def find(self, words: tuple[str, ...], found: list[Hit]) -> Iterator[None]:
        """Append the best matches to ``found`` in slices; without words the first texts."""
        yield from self.prepare()
        if not words:
            first = enumerate(self.texts[:MAX_HITS])
            found += [Hit(number, text, Match(0, ())) for number, text in first]
            return
        ranked: tuple[list[int], ...] = ([], [], [])
        for _ in self._look(words, ranked):
            yield
        for numbers in ranked:
            numbers.sort(key=lambda n: len(self._small[n]))
            yield
        # If there is a layer 3, neither 13 nor 384 is listed.
        tiers = ranked[:1] if ranked[_START] and any(map(_NUMBERS.search, words)) else ranked
        best = [number for numbers in tiers for number in numbers][:MAX_HITS]
        for number in best:
            text = self.texts[number]
            if (fits := match(words, text, self._small[number])) is not None:
                found.append(Hit(number, text, fits))

    def _look(self, words: tuple[str, ...], ranked: tuple[list[int], ...]) -> Iterator[None]:
        """Sort the matching texts into ``ranked`` by their worst matching word."""
        of_forms = [_Word(word) for word in words if not _NUMBERS.search(word)]
        of_texts = [_Word(word) for word in words if _NUMBERS.search(word)]
        if of_texts:
            yield from self._look_up(of_forms, of_texts, ranked)
            if ranked[_START]:
                return
            for numbers in ranked:
                numbers.clear()  # found again below
        forms: list[list[int]] = []
        for count, (form, numbers) in enumerate(self._forms.items(), 1):
            if count % SLICE == 0:
                yield
            how = _how(of_forms, form)
            if how is not None and not of_texts:
                ranked[how].extend(numbers[:MAX_HITS])
            elif how is not None:
                forms.append(numbers)
                for piece in _slices(numbers):
                    self._look_at(piece, of_texts, how, ranked)
                    yield
        if any(ranked):
            return  # scattered letters of a word with a number would match too much
        for numbers in forms:
            for piece in _slices(numbers):
                fits = [n for n in piece if _how(of_texts, self._small[n]) is not None]
                ranked[_SCATTERED].extend(fits)
                yield

    def _look_up(
        self, of_forms: Sequence["_Word"], of_texts: list["_Word"], ranked: tuple[list[int], ...]
    ) -> Iterator[None]:
        """Search only the texts that contain all numbers of the words."""
        wanted = {number for word in of_texts for number in _NUMBERS.findall(word.text)}
        fewest = min((self._by_number.get(number, []) for number in wanted), key=len)
        hows: dict[str, int | None] = {}
        for piece in _slices(fewest):
            for number in piece:
                form = self._form_of[number]
                if form not in hows:
                    hows[form] = _how(of_forms, form)
            fits = [number for number in piece if hows[self._form_of[number]] == _START]
            self._look_at(fits, of_texts, _START, ranked)
            yield

    def _look_at(
        self, numbers: list[int], words: list["_Word"], how: int, ranked: tuple[list[int], ...]
    ) -> None:
        """Sort the texts that contain the words into ``ranked``."""
        small = self._small
        for word in words:
            numbers = [n for n in numbers if word.text in small[n]]
        begun = numbers
        for word in words:
            begun = [n for n in begun if word.begun.search(small[n])]
        ranked[how].extend(begun)
        others = set(numbers).difference(begun)
        ranked[max(how, _INSIDE)].extend([n for n in numbers if n in others][:MAX_HITS])


class _Word:
    """A word of the query, with its patterns."""

    def __init__(self, text: str) -> None:
        self.text = text
        before = r"(?<!\d)" if text[0].isdigit() else r"(?<![^\W_])"
        after = r"(?!\d)" if text[-1].isdigit() else ""
        self.begun = re.compile(before + re.escape(text) + after)
        # Possessive quantifiers: the first way to find the letters is enough.
        letters = "".join(f"[^{c}]*+{c}" for c in map(re.escape, text))
        self._scattered = re.compile(letters, re.DOTALL)

    def rank_in(self, text: str) -> int | None:
        """Return where a text has the word, ``None`` if it has not."""
        if self.text in text:
            return _START if self.begun.search(text) else _INSIDE
        return _SCATTERED if self._scattered.match(text) else None


def _how(words: Sequence[_Word], text: str) -> int | None:
    """Return the worst of all words, ``None`` if one is missing."""
    worst = _START
    for word in words:
        how = word.rank_in(text)
        if how is None:
            return None
        worst = max(worst, how)
    return worst


def _slices(numbers: list[int]) -> Iterator[list[int]]:
    return (numbers[first : first + SLICE] for first in range(0, len(numbers), SLICE))


def _shown(text: str) -> str:
    cut = shortened(text, MAX_TEXT)
    return cut if cut.isprintable() else visible(cut)
