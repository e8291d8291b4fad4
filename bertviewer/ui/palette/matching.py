"""Fuzzy matching: the score of a text for a query, and which characters match.

Each word of the query must be in the text with its letters in order, but not necessarily
contiguous. Contiguous letters score most, then those at the start of a word: ``bsa`` matches
``BertSelfAttention`` and ``layer 3`` matches ``encoder.layer.3``.
"""

import re
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
    levels: list[tuple[list[int], list[int], list[int]]] = []  # positions, scores, predecessors
    for number, letter in enumerate(word):
        places = _places(letter, small, levels[-1][0][0] + 1 if levels else 0)
        if not places:
            return None
        begun = [BEGINS if begins(text, place) else INSIDE for place in places]
        if number == 0:
            levels.append((places, begun, [-1] * len(places)))
            continue
        levels.append(_next_level(levels[-1][:2], places, begun))
    at = max(range(len(levels[-1][1])), key=levels[-1][1].__getitem__)
    score, found = levels[-1][1][at], []
    for places, _, before in reversed(levels):
        found.append(places[at])
        at = before[at]
    return Match(score, tuple(reversed(found)))


def _next_level(
    before: tuple[list[int], list[int]], places: list[int], begun: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return the positions of the next letter with their best scores and predecessors."""
    earlier, earlier_scores = before
    best: list[int] = []  # the best of all positions up to each one
    for number, score in enumerate(earlier_scores):
        is_better = not best or score > earlier_scores[best[-1]]
        best.append(number if is_better else best[-1])
    scores, ways, reached = [], [], -1
    for place, points in zip(places, begun, strict=True):
        while reached + 1 < len(earlier) and earlier[reached + 1] < place:
            reached += 1
        way, score = best[reached], earlier_scores[best[reached]] + GAP + points
        if earlier[reached] == place - 1 and earlier_scores[reached] + FOLLOWS >= score:
            way, score = reached, earlier_scores[reached] + FOLLOWS
        scores.append(score)
        ways.append(way)
    return places, scores, ways


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
