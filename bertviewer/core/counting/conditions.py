"""Conditions that a change of a configuration may have broken, so that a formula is wrong there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bertviewer.core.counting.challenges import SMALL, Change
from bertviewer.core.counting.observations import Observations
from bertviewer.core.symbols import Symbol, is_width, place_of, role_of

_DIVISORS = (2, 4, 8)
"""Models halve numbers, or round them to a multiple."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Finds what a change that contradicts formulas may have broken.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: by letter.
        divisors: the letters that divide others, by the letters that they divide.
        heals: tells whether a model with other values contradicts nothing.
    """

    observed: Observations
    symbols: Mapping[str, Symbol]
    divisors: Mapping[str, frozenset[str]]
    heals: Callable[[Change], bool]

    def divisions(self, change: Change) -> Iterator[str]:
        """Yield what divided evenly, and may have to stay so; the change may not have broken it."""
        for whole, parts in self.divisors.items():
            for part in sorted(parts) if whole in change else sorted(parts & change.keys()):
                yield f"{whole} % {part} == 0"
                # Rotary positions turn the two halves of a head.
                yield f"{whole} % (2*{part}) == 0"

    def others(self, change: Change) -> Iterator[str]:
        """Yield other conditions, the likeliest first; the change may not have broken all of them.

        What was equal, or different, or a multiple may have to stay so; or a number may have to be
        as large as it was, at the least.
        """
        base = self.observed.values
        for letter, value in change.items():
            yield from self._equalities(letter, change)
            seen = [point for point, _ in self.observed.seen.get(letter, ())]
            for divisor in _DIVISORS if base[letter] > SMALL else ():
                near = (base[letter] + divisor, base[letter] - divisor)
                if (
                    not base[letter] % divisor
                    and value % divisor
                    and all(self.heals({**change, letter: new}) for new in near)
                ):
                    yield f"{letter} % {divisor} == 0"
            if value < base[letter] and any(point > base[letter] for point in seen):
                yield f"{letter} >= {base[letter]}"

    def _equalities(self, letter: str, change: Change) -> Iterator[str]:
        base, value = self.observed.values, change[letter]
        alike = sorted(
            (other for other in self.symbols if other != letter and self._are_alike(letter, other)),
            key=lambda other: not is_width(self.symbols[other]),
        )
        for other in alike:
            if base[other] == base[letter] and self.heals({**change, other: value}):
                yield ratio(other, letter, base)
        for other in alike:
            is_equal = change.get(other, base[other]) == value
            if (
                is_equal
                and base[other] != base[letter]
                and self.heals({**change, other: 2 * value})
            ):
                yield f"{letter} != {other}"

    def _are_alike(self, one: str, other: str) -> bool:
        ours, theirs = self.symbols[one], self.symbols[other]
        return role_of(ours) == role_of(theirs) and place_of(ours) == place_of(theirs)


def ratio(first: str, other: str, values: Mapping[str, int]) -> str:
    """Write that two letters keep their ratio: ``D == 32*mamba_n_heads``."""
    one, two = values[first], values[other]
    if one == two:
        return f"{other} == {first}"
    if one % two == 0:
        return f"{first} == {one // two}*{other}"
    if two % one == 0:
        return f"{other} == {two // one}*{first}"
    return f"{two}*{first} == {one}*{other}"
