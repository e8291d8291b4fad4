"""Conditions that a change of a configuration may have broken, so that a formula is wrong there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations
from math import lcm

from bertviewer.core.counting.moves import Change
from bertviewer.core.counting.observations import Observations
from bertviewer.core.expressions.domains import is_met, letters_in
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.expressions.symbols import Symbol, is_width, place_of, quantity_of
from bertviewer.core.frozen import frozen

_DOUBLINGS = 7
"""So many times a step is doubled to find the multiple that a model rounds a number to."""

_OTHERS = 6
"""So many other values are tried of what may divide a number."""


@frozen
class _Division:
    """A number that something has to divide: a part, what is written with it, or a plain number.

    ``needed`` has to be met for the divisor to be a whole number.
    """

    whole: str
    part: str
    divisor: str
    needed: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.whole} % {self.divisor} == 0"


@frozen
class Candidates:
    """Finds what a change that contradicts formulas may have broken, by further models.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: by letter.
        divisors: the letters that divide others, by the letters that they divide.
        steps: gives what a letter has to be a multiple of anyway, for other parts than one.
        verdict: tells whether the formulas are right for a model with other values, if it can.
    """

    observed: Observations
    symbols: Mapping[str, Symbol]
    divisors: Mapping[str, frozenset[str]]
    steps: Callable[[str, str], int]
    verdict: Callable[[Change], bool | None]

    def all(self, change: Change, used: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Yield what may be needed, the likeliest first; the change may not have broken it.

        What divided evenly, was equal, or different, or a multiple may have to stay so; or a number
        may have to be as large as it was, at the least.

        Args:
            change: what was changed.
            used: the letters of the formulas.
        """
        yield from self._divisions(change, used)
        for letter in change:
            yield from ((text,) for text in self._equalities(letter, change))
        yield from ((text,) for text in self._unconfirmed(change))
        for letter, value in change.items():
            seen = [point for point, _ in self.observed.seen.get(letter, ())]
            start = self.observed.values[letter]
            if value < start and any(point > start for point in seen):
                yield (f"{letter} >= {start}",)

    def _divisions(self, change: Change, used: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Yield the divisions that make the formulas right again once they come out even.

        What cannot be told apart is needed together.
        """
        found = [*self._confirmed(change, used), *self._multiples(change)]
        wrong: set[_Division] = set()
        for one, other in permutations(found, 2):
            verdicts = set(self._told_apart(one, other))
            wrong |= {one} if False in verdicts else set()
            wrong |= {other} if True in verdicts else set()
        left = [division for division in found if division not in wrong]
        if left:
            yield tuple(text for division in left for text in (*division.needed, division.text))

    def _confirmed(self, change: Change, used: Iterable[str]) -> Iterator[_Division]:
        values = {**self.observed.values, **change}
        for whole, part in self._pairs(used):
            for divisor, needed in self._divisors_of(part):
                division = _Division(whole, part, divisor, needed)
                if (
                    not change.keys().isdisjoint(letters_in(division.text))
                    and not is_met(division.text, values)
                    and all(is_met(text, values) for text in needed)
                    and self.verdict({**change, whole: self._multiple(division, values)})
                    and self._matters(division)
                ):
                    yield division

    def _multiple(self, division: _Division, values: Mapping[str, int]) -> int:
        """Return a value that divides evenly: an odd multiple, so that it is not one of more."""
        step = lcm(self.steps(division.whole, division.part), evaluate(division.divisor, values))
        return (values[division.whole] // step // 2 * 2 + 1) * step

    def _matters(self, division: _Division) -> bool:
        """Tell whether formulas are wrong, or nothing is known, where the part alone breaks it.

        A model may refuse it for other wholes' sake, so several are tried.
        """
        values, part = self.observed.values, division.part
        others = [
            new
            for new in range(2, 2 * values[part] + _OTHERS)
            if not is_met(division.text, {**values, part: new})
            and all(is_met(text, {**values, part: new}) for text in division.needed)
        ]
        near = sorted(others, key=lambda new: abs(new - values[part]))[:_OTHERS]
        return not any(self.verdict({part: new}) for new in near)

    def _told_apart(self, one: _Division, other: _Division) -> Iterator[bool | None]:
        """Tell whether formulas are right where one division comes out even, and another not."""
        values = self.observed.values
        moved: list[Change] = [
            {},
            *({x: new} for x in letters_in(other.text) for new in (1, 2 * values[x])),
        ]
        for change in moved:
            if one.whole in change or not all(
                is_met(text, {**values, **change}) for text in (*one.needed, *other.needed)
            ):
                continue
            even = {**change, one.whole: self._multiple(one, {**values, **change})}
            if not is_met(other.text, {**values, **even}):
                yield self.verdict(even)

    def _divisors_of(self, part: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield what may divide a number: the part, or what is left of it, or twice that.

        Rotary positions turn the two halves of a head.
        """
        yield part, ()
        yield f"(2*{part})", ()
        for other in sorted(self.divisors.get(part, ())):
            needed = (f"{part} % {other} == 0",)
            yield f"({part}//{other})", needed
            yield f"(2*{part}//{other})", needed

    def _pairs(self, used: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield what may have to be divisible by what."""
        values = self.observed.values
        parts = frozenset[str]().union(*self.divisors.values())
        heads = {
            letter for letter, symbol in self.symbols.items() if quantity_of(symbol) == "heads"
        }
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
        yield from sorted(dict.fromkeys((*ours, *known)), key=lambda pair: pair not in known)

    def _unconfirmed(self, change: Change) -> Iterator[str]:
        """Yield the divisions that no model without them could be built to judge."""
        for whole, parts in self.divisors.items():
            for part in sorted(parts) if whole in change else sorted(parts & change.keys()):
                yield f"{whole} % {part} == 0"
                yield f"{whole} % (2*{part}) == 0"

    def _multiples(self, change: Change) -> Iterator[_Division]:
        """Yield what numbers have to be multiples of, as models round to powers of two."""
        for letter in change:
            start, step = self.observed.values[letter], self.steps(letter, "")
            for multiple in (step << doubling for doubling in range(_DOUBLINGS + 1)):
                if start % multiple or not change[letter] % multiple:
                    continue
                # Not doubled ones alone: a power of two may be needed.
                near = [start + times * multiple for times in (1, -1, 2, 3, 5)]
                if all(value < 1 or self.verdict({**change, letter: value}) for value in near):
                    uneven = {start + multiple // 2, start + 3 * multiple // 2} - {change[letter]}
                    if not any(self.verdict({**change, letter: value}) for value in uneven):
                        yield _Division(letter, "", str(multiple), ())
                    break

    def _equalities(self, letter: str, change: Change) -> Iterator[str]:
        base, value = self.observed.values, change[letter]
        alike = sorted(
            (other for other in self.symbols if other != letter and self._are_alike(letter, other)),
            key=lambda other: not is_width(self.symbols[other]),
        )
        for other in alike:
            if base[other] == base[letter] and self.verdict({**change, other: value}):
                yield ratio(other, letter, base)
        for other in alike:
            is_equal = change.get(other, base[other]) == value
            if (
                is_equal
                and base[other] != base[letter]
                and self.verdict({**change, other: 2 * value})
            ):
                yield f"{letter} != {other}"

    def _are_alike(self, one: str, other: str) -> bool:
        ours, theirs = self.symbols[one], self.symbols[other]
        return quantity_of(ours) == quantity_of(theirs) and place_of(ours) == place_of(theirs)


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
