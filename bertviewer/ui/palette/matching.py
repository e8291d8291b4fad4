"""How well a text fits what was typed, and which of its letters do: plain functions.

Each word that was typed has to be in the text, its letters in their order, though others may stand
between them. Letters in a row count most, then those that begin a word; ``bsa`` is found in
``BertSelfAttention`` and ``layer 3`` in ``encoder.layer.3``.
"""

import re
from functools import lru_cache

from msgspec import Struct

BEGINS, FOLLOWS = 8, 8
"""For a letter that begins a word, and for one that follows the letter before it."""
INSIDE, GAP = 1, -3
"""For any other letter, and for each gap between two."""
WHOLE = 6
"""For a word of the text and not a part of one."""
PHRASE = 6
"""For each further word where all follow one another as they were typed."""

COMMANDS, TENSORS, TOKENS, SETTINGS, HELP = ">", "#", "@", ":", "?"
"""First characters of a search that restrict it to one kind of results."""

LONGEST_QUERY = 64
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_SIZES = re.compile(r"\[?(\d+)\s*[x×,]\s*(?=\d)|(?<=\d)\]")


class Match(Struct, frozen=True):
    """How well it fits, more is better, and the places of the letters that do, in order."""

    score: int
    places: tuple[int, ...]


def folded(text: str) -> str:
    """Return a text in small letters, as many as there are letters in the text."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def words_of(query: str) -> tuple[str, ...]:
    """Return the words that were typed, in small letters; shapes are written with a cross.

    A hyphen parts two words: "self-attention" is ``attention.self`` too.
    """
    shapes = _SIZES.sub(lambda found: f"{found[1]}×" if found[1] else "", query[:LONGEST_QUERY])
    words = (word.rstrip("?!,;") or word for word in _HYPHEN.sub(" ", folded(shapes)).split())
    return tuple(dict.fromkeys(words))


def match(words: tuple[str, ...], text: str, small: str | None = None) -> Match | None:
    """Return how well a text fits all words, ``None`` if it does not.

    ``small`` is the text as ``folded`` gives it, where that is known.
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
    """Return what finds words one after the other: "layer 3" in ``encoder.layer.3``."""
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
    """Return the best place where the word stands as it is."""
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
    """Return the best places of the word's letters, one after the other."""
    levels: list[
        tuple[list[int], list[int], list[int]]
    ] = []  # places, scores, where they come from
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
    """Return the places of the next letter with their scores, each the best way to get there."""
    earlier, earlier_scores = before
    best: list[int] = []  # the best of all places up to each one
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
    """Tell whether a word, or a hump of one, begins at a place."""
    letter = text[place]
    if place == 0 or not letter.isalnum():
        return place == 0
    before = text[place - 1]
    if not before.isalnum():
        return True
    return (letter.isupper() and not before.isupper()) or letter.isdigit() != before.isdigit()


def _ends(text: str, place: int) -> bool:
    """Tell whether a name has come to its end before a place."""
    if place == len(text) or begins(text, place):
        return True
    return not text[place].isalnum() and text[place] != "_"
