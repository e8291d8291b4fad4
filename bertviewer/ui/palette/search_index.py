"""Many texts, and the search for those that fit what was typed, in small pieces of work."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bertviewer.charts.labels import shortened, visible
from bertviewer.ui.palette.matching import Match, folded, match

LONGEST = 2_000
"""Letters of a text; a longer one is cut. A section of the guide has up to 1,500."""
PIECE = 2_000
"""Texts that are looked at before others have their turn."""
MOST = 250
"""So many of all that fit are ranked; there are never more in sight."""

_NUMBERS = re.compile(r"(\d+)")
_BEGUN, _PART, _SCATTERED = range(3)
"""How a word is in a text: from a beginning on, anywhere, or in its letters alone."""


class Hit(Struct, frozen=True):
    """A text that fits, by its number, and how."""

    number: int
    text: str
    match: Match

    @property
    def rank(self) -> tuple[int, int]:
        """What sorts hits: the best first, the shorter first of those that fit equally."""
        return -self.match.score, len(self.text)


class SearchIndex:
    """Texts as they are shown and searched, numbered as they were given.

    Those that differ by their numbers alone, as the same part of all layers, are looked through
    once for all: 100,000 tensors are a few dozen such forms. Which texts have a number in them is
    noted beforehand.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._given = texts
        self.texts: list[str] = []
        self._small: list[str] = []
        self._forms: dict[str, list[int]] = {}  # the texts of each, the shortest first
        self._form_of: list[str] = []  # of each text
        self._with: dict[str, list[int]] = {}  # the texts that have a number in them
        self._is_ready = False

    def prepare(self) -> Iterator[None]:
        """Get ready, in pieces; ``find`` does it where it was not done before."""
        while len(self.texts) < len(self._given):
            first = len(self.texts)
            shown = [_shown(text) for text in self._given[first : first + PIECE]]
            small = list(map(folded, shown))
            for number, text in enumerate(small, first):
                pieces = _NUMBERS.split(text)
                form = "\0".join(pieces[::2])
                self._forms.setdefault(form, []).append(number)
                self._form_of.append(form)
                for found in dict.fromkeys(pieces[1::2]):
                    self._with.setdefault(found, []).append(number)
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
        """Add the texts that fit best to ``found``, in pieces; without words the first ones."""
        yield from self.prepare()
        if not words:
            first = enumerate(self.texts[:MOST])
            found += [Hit(number, text, Match(0, ())) for number, text in first]
            return
        ranked: tuple[list[int], ...] = ([], [], [])
        for _ in self._look(words, ranked):
            yield
        for numbers in ranked:
            numbers.sort(key=lambda n: len(self._small[n]))
            yield
        # Layer 3 is not 13 and not 384, where there is a layer 3.
        tiers = ranked[:1] if ranked[_BEGUN] and any(map(_NUMBERS.search, words)) else ranked
        best = [number for numbers in tiers for number in numbers][:MOST]
        for number in best:
            text = self.texts[number]
            if (fits := match(words, text, self._small[number])) is not None:
                found.append(Hit(number, text, fits))

    def _look(self, words: tuple[str, ...], ranked: tuple[list[int], ...]) -> Iterator[None]:
        """Put the numbers of what fits where it belongs, by the word that fits it least."""
        of_forms = [_Word(word) for word in words if not _NUMBERS.search(word)]
        of_texts = [_Word(word) for word in words if _NUMBERS.search(word)]
        if of_texts:
            yield from self._look_up(of_forms, of_texts, ranked)
            if ranked[_BEGUN]:
                return
            for numbers in ranked:
                numbers.clear()  # they are found again, and others with them
        forms: list[list[int]] = []
        for count, (form, numbers) in enumerate(self._forms.items(), 1):
            if count % PIECE == 0:
                yield
            how = _how(of_forms, form)
            if how is not None and not of_texts:
                ranked[how].extend(numbers[:MOST])
            elif how is not None:
                forms.append(numbers)
                for piece in _pieces(numbers):
                    self._look_at(piece, of_texts, how, ranked)
                    yield
        if any(ranked):
            return  # letters of a word with a number in it are scattered over very much
        for numbers in forms:
            for piece in _pieces(numbers):
                fits = [n for n in piece if _how(of_texts, self._small[n]) is not None]
                ranked[_SCATTERED].extend(fits)
                yield

    def _look_up(
        self, of_forms: Sequence["_Word"], of_texts: list["_Word"], ranked: tuple[list[int], ...]
    ) -> Iterator[None]:
        """Look at those alone that have all numbers of the words as they are."""
        wanted = {number for word in of_texts for number in _NUMBERS.findall(word.text)}
        fewest = min((self._with.get(number, []) for number in wanted), key=len)
        hows: dict[str, int | None] = {}
        for piece in _pieces(fewest):
            for number in piece:
                form = self._form_of[number]
                if form not in hows:
                    hows[form] = _how(of_forms, form)
            fits = [number for number in piece if hows[self._form_of[number]] == _BEGUN]
            self._look_at(fits, of_texts, _BEGUN, ranked)
            yield

    def _look_at(
        self, numbers: list[int], words: list["_Word"], how: int, ranked: tuple[list[int], ...]
    ) -> None:
        """Put those where they belong that have the words in them as they are."""
        small = self._small
        for word in words:
            numbers = [n for n in numbers if word.text in small[n]]
        begun = numbers
        for word in words:
            begun = [n for n in begun if word.begun.search(small[n])]
        ranked[how].extend(begun)
        others = set(numbers).difference(begun)
        ranked[max(how, _PART)].extend([n for n in numbers if n in others][:MOST])


class _Word:
    """A word that was typed, and how to tell how it is in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        before = r"(?<!\d)" if text[0].isdigit() else r"(?<![^\W_])"
        after = r"(?!\d)" if text[-1].isdigit() else ""
        self.begun = re.compile(before + re.escape(text) + after)
        # A second way to find the letters is never tried: the first one that is there is enough.
        letters = "".join(f"[^{c}]*+{c}" for c in map(re.escape, text))
        self._scattered = re.compile(letters, re.DOTALL)

    def how(self, text: str) -> int | None:
        """Return how it is in a text, ``None`` if it is not."""
        if self.text in text:
            return _BEGUN if self.begun.search(text) else _PART
        return _SCATTERED if self._scattered.match(text) else None


def _how(words: Sequence[_Word], text: str) -> int | None:
    """Return how the word is in a text that fits it least, ``None`` if one does not."""
    worst = _BEGUN
    for word in words:
        how = word.how(text)
        if how is None:
            return None
        worst = max(worst, how)
    return worst


def _pieces(numbers: list[int]) -> Iterator[list[int]]:
    return (numbers[first : first + PIECE] for first in range(0, len(numbers), PIECE))


def _shown(text: str) -> str:
    cut = shortened(text, LONGEST)
    return cut if cut.isprintable() else visible(cut)
