"""Conditions that a change of a configuration may have broken, so that a formula is wrong there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import lcm

from bertviewer.core.counting.challenges import Change
from bertviewer.core.counting.observations import Observations
from bertviewer.core.symbols import Symbol, is_width, place_of, role_of

_DOUBLINGS = 7
"""So many times a step is doubled to find the multiple that a model rounds a number to."""

_OTHERS = 6
"""So many other values are tried of what may divide a number."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Finds what a change that contradicts formulas may have broken, by further models.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: by letter.
        divisors: the letters that divide others, by the letters that they divide.
        steps: gives what a letter has to be a multiple of anyway, for other parts than one.
        confirms: tells whether the formulas are right for a model with other values.
    """

    observed: Observations
    symbols: Mapping[str, Symbol]
    divisors: Mapping[str, frozenset[str]]
    steps: Callable[[str, str], int]
    confirms: Callable[[Change], bool]

    def all(self, change: Change, used: Iterable[str]) -> Iterator[str]:
        """Yield conditions, the likeliest first; the change may not have broken all of them.

        What divided evenly, was equal, or different, or a multiple may have to stay so; or a number
        may have to be as large as it was, at the least.

        Args:
            change: what was changed.
            used: the letters of the formulas.
        """
        yield from self._divisions(change, used)
        for letter in change:
            yield from self._equalities(letter, change)
            yield from self._multiples(letter, change)
        yield from self._unconfirmed(change)
        for letter, value in change.items():
            seen = [point for point, _ in self.observed.seen.get(letter, ())]
            start = self.observed.values[letter]
            if value < start and any(point > start for point in seen):
                yield f"{letter} >= {start}"

    def _divisions(self, change: Change, used: Iterable[str]) -> Iterator[str]:
        """Yield the divisions that make the formulas right again once they come out even."""
        values = {**self.observed.values, **change}
        for whole, part in self._pairs(change, used):
            # Rotary positions turn the two halves of a head.
            for times in (1, 2):
                step = times * values[part]
                if values[whole] % step == 0:
                    continue
                # An odd multiple, so that it is not one of more as well.
                others = lcm(self.steps(whole, part), step)
                even = (values[whole] // others // 2 * 2 + 1) * others
                if self.confirms({**change, whole: even}) and self._matters(part, whole):
                    text = part if times == 1 else f"({times}*{part})"
                    yield f"{whole} % {text} == 0"
                    break

    def _pairs(self, change: Change, used: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield what may have to be divisible by what, if the change is of one of the two."""
        values = self.observed.values
        parts = frozenset[str]().union(*self.divisors.values())
        heads = {letter for letter, symbol in self.symbols.items() if role_of(symbol) == "heads"}
        known = [(whole, part) for whole, some in self.divisors.items() for part in sorted(some)]
        ours = [
            (whole, part)
            for whole in used
            for part in sorted(parts | heads)
            if whole != part
            and part in values
            and place_of(self.symbols[whole]) == place_of(self.symbols[part])
            and values[whole] % values[part] == 0
        ]
        order = sorted(dict.fromkeys((*ours, *known)), key=lambda pair: pair not in known)
        yield from (pair for pair in order if not change.keys().isdisjoint(pair))

    def _matters(self, part: str, whole: str) -> bool:
        """Tell whether formulas are wrong, or nothing is known, where a divisor alone divides not.

        A model may refuse it for other wholes' sake, so several are tried.
        """
        start, value = self.observed.values[part], self.observed.values[whole]
        others = [new for new in range(2, 2 * start + _OTHERS) if value % new]
        near = sorted(others, key=lambda new: abs(new - start))[:_OTHERS]
        return not any(self.confirms({part: new}) for new in near)

    def _unconfirmed(self, change: Change) -> Iterator[str]:
        """Yield the divisions that no model without them could be built to judge."""
        for whole, parts in self.divisors.items():
            for part in sorted(parts) if whole in change else sorted(parts & change.keys()):
                yield f"{whole} % {part} == 0"
                yield f"{whole} % (2*{part}) == 0"

    def _multiples(self, letter: str, change: Change) -> Iterator[str]:
        """Yield what a number has to be a multiple of, as models round to powers of two."""
        start, step = self.observed.values[letter], self.steps(letter, "")
        for multiple in (step << doubling for doubling in range(_DOUBLINGS + 1)):
            if start % multiple or not change[letter] % multiple:
                continue
            near = (start + multiple, start - multiple, start + 3 * multiple)
            if all(new < 1 or self.confirms({**change, letter: new}) for new in near):
                yield f"{letter} % {multiple} == 0"
                return

    def _equalities(self, letter: str, change: Change) -> Iterator[str]:
        base, value = self.observed.values, change[letter]
        alike = sorted(
            (other for other in self.symbols if other != letter and self._are_alike(letter, other)),
            key=lambda other: not is_width(self.symbols[other]),
        )
        for other in alike:
            if base[other] == base[letter] and self.confirms({**change, other: value}):
                yield ratio(other, letter, base)
        for other in alike:
            is_equal = change.get(other, base[other]) == value
            if (
                is_equal
                and base[other] != base[letter]
                and self.confirms({**change, other: 2 * value})
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
