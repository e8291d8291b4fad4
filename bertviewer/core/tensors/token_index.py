"""The tokens of a vocabulary by number, and found again by their text."""

from bisect import bisect_left
from collections.abc import Sequence

# What vocabularies put before a piece: of a word, after a space.
_MARKS = ("##", "Ġ", "▁")


class TokenIndex:
    """Finds tokens by their text, or by how it begins."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._numbers: dict[str, int] = {}
        keys = []
        for number, name in enumerate(self.names):
            self._numbers.setdefault(name, number)
            folded = name.casefold()
            keys.append((folded, number))
            keys += [
                (folded[len(mark) :], number)
                for mark in _MARKS
                if name.startswith(mark) and len(name) > len(mark)
            ]
        self._keys = sorted(keys)

    def __len__(self) -> int:
        return len(self.names)

    def find(self, text: str) -> int | None:
        """Return the token of that text; else the first that begins with it, marks left out."""
        exact = self._numbers.get(text)
        return exact if exact is not None else next(iter(self.starting(text, 1)), None)

    def starting(self, text: str, most: int) -> tuple[int, ...]:
        """Return some tokens that begin with a text in letters of any case, shorter ones first."""
        folded = text.casefold()
        if not folded:
            return ()
        found: dict[int, None] = {}
        for place in range(bisect_left(self._keys, (folded, -1)), len(self._keys)):
            key, number = self._keys[place]
            if not key.startswith(folded) or len(found) == most:
                break
            found[number] = None
        return tuple(found)
