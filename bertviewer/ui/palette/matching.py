"""Fuzzy matching: the score of a text for a query, and which characters match.

Each word of the query must be in the text with its letters in order, but not necessarily
contiguous. Contiguous letters score most, then those at the start of a word: ``bsa`` matches
``BertSelfAttention`` and ``layer 3`` matches ``encoder.layer.3``.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

BEGINS, FOLLOWS = 8, 8
"""For a letter at the start of a word, and for one next to the previous match."""
INSIDE, GAP = 1, -3
"""For any other letter, and for each gap."""
WHOLE = 6
"""For a whole word of the text."""
PHRASE = 6
"""For each further word, if all are next to each other as typed."""

COMMANDS, TENSORS, TOKENS, SETTINGS, HELP = ">", "#", "@", ":", "?"
"""First characters of a search that restrict it to one kind of results."""

LONGEST_QUERY = 64
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_SIZES = re.compile(r"\[?(\d+)\s*[x×,]\s*(?=\d)|(?<=\d)\]")


class Match(Struct, frozen=True):
    """A score, the larger the better, and the positions of the matching characters in order."""

    score: int
    places: tuple[int, ...]


def folded(text: str) -> str:
    """Return a text in lower case, with the same number of characters."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def words_of(query: str) -> tuple[str, ...]:
    """Return the words of a query in lower case; shapes are written with ×.

    A hyphen separates words, so that "self-attention" matches ``attention.self``.
    """
    shapes = _SIZES.sub(lambda found: f"{found[1]}×" if found[1] else "", query[:LONGEST_QUERY])
    words = (word.rstrip("?!,;") or word for word in _HYPHEN.sub(" ", folded(shapes)).split())
    return tuple(dict.fromkeys(words))


def match(words: tuple[str, ...], text: str, small: str | None = None) -> Match | None:
    """Return the match of a text for all words, ``None`` if one is missing.

    ``small`` is ``folded(text)``, if that is known.
    """
    if small is None:
        small = folded(text)
    score, places = 0, set[int]()
    for word in words:
        found = _match_word(word, text, small)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
    if len(words) > 1 and (phrase := _phrase(words).search(small)) is not None:
        score += PHRASE * (len(words) - 1)
        places = {n for n in range(*phrase.span()) if small[n].isalnum() or small[n] == "_"}
    return Match(score, tuple(sorted(places)))


@lru_cache(maxsize=16)
def _phrase(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of words next to each other: "layer 3" in ``encoder.layer.3``."""
    between = r"[\W_]{1,3}".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_]){between}(?![^\W_])")


def _match_word(word: str, text: str, small: str) -> Match | None:
    best = _in_a_row(word, text, small)
    if best is not None and best.score >= BEGINS + FOLLOWS * (len(word) - 1):
        return best  # nothing is better
    scattered = _scattered(word, text, small)
    if best is None or (scattered is not None and scattered.score > best.score):
        return scattered
    return best


def _in_a_row(word: str, text: str, small: str) -> Match | None:
    """Return the best contiguous match."""
    best, first = None, small.find(word)
    while first >= 0:
        stop = first + len(word)
        score = FOLLOWS * (len(word) - 1)
        if begins(text, first):
            score += BEGINS
            if _ends(text, stop) and text[first - 1 : first] != "_":
                score += WHOLE
        else:
            score += INSIDE
        if best is None or score > best.score:
            best = Match(score, tuple(range(first, stop)))
        first = small.find(word, first + 1)
    return best


def _scattered(word: str, text: str, small: str) -> Match | None:
    """Return the best match of the word's letters in order, by dynamic programming."""
    ends: list[Match] = []  # the best one for each position of the last letter
    for letter in word:
        places = _places(letter, small, ends[0].places[-1] + 1 if ends else 0)
        if not places:
            return None
        ends = _extended(ends, places, text)
    return max(ends, key=lambda found: found.score)


def _extended(before: Sequence[Match], places: Sequence[int], text: str) -> list[Match]:
    """Return the best matches with a further letter at each of these positions."""
    found, best, reached = [], Match(0, ()), 0
    for place in places:
        points = BEGINS if begins(text, place) else INSIDE
        while reached < len(before) and before[reached].places[-1] < place:
            if not best.places or before[reached].score > best.score:
                best = before[reached]
            reached += 1
        way, score = best, best.score + points + (GAP if before else 0)
        if before and before[reached - 1].places[-1] == place - 1:
            following = before[reached - 1]
            if following.score + FOLLOWS >= score:
                way, score = following, following.score + FOLLOWS
        found.append(Match(score, (*way.places, place)))
    return found


def _places(letter: str, small: str, first: int) -> list[int]:
    found = []
    place = small.find(letter, first)
    while place >= 0:
        found.append(place)
        place = small.find(letter, place + 1)
    return found


def begins(text: str, place: int) -> bool:
    """Return whether a word, also in camel case, starts at a position."""
    letter = text[place]
    if place == 0 or not letter.isalnum():
        return place == 0
    before = text[place - 1]
    if not before.isalnum():
        return True
    return (letter.isupper() and not before.isupper()) or letter.isdigit() != before.isdigit()


def _ends(text: str, place: int) -> bool:
    """Return whether a name ends before a position."""
    if place == len(text) or begins(text, place):
        return True
    return not text[place].isalnum() and text[place] != "_"
