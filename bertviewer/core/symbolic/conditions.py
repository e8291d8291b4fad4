"""Conditions under which formulas may hold, and models that formulas are compared with."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import lcm

from bertviewer.core.expressions.domains import divisors_in, is_met, letters_in
from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_standard,
    is_width,
    place_of,
    quantity_of,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.symbolic.models import Change, Values
from bertviewer.core.symbolic.observations import Observations

Conditions = tuple[str, ...]
"""One condition, after what has to be met for it to mean something."""

DIVISION, UNCONFIRMED = 0, 4
"""The order of divisions, and of those that no model could be built to confirm."""

_BREAKING = 3
"""A divisor is tried at so many values that do not divide."""
_DOUBLINGS = 7
"""A step is doubled so many times to find the multiple that a model rounds a number to."""


@dataclass(slots=True)
class Probe:
    """A model with some numbers changed, and what formulas give for it, each evaluated once.

    Attributes:
        changed: the symbols that are not as in the observed base.
        values: of all symbols.
        facts: what the model has under each formula's name: of every block that it describes.
    """

    changed: Change
    values: Values
    facts: Mapping[str, frozenset[tuple[int, ...]]]
    _results: dict[str, int | None] = field(default_factory=dict)
    _met: dict[str, bool] = field(default_factory=dict)

    def meets(self, conditions: Iterable[str]) -> bool:
        """Return whether the values meet all conditions."""
        for condition in conditions:
            if condition not in self._met:
                self._met[condition] = is_met(condition, self.values)
            if not self._met[condition]:
                return False
        return True

    def result(self, formula: tuple[str, ...]) -> tuple[int, ...] | None:
        """Return the formula's values, ``None`` where a division does not come out even."""
        found = []
        for part in formula:
            if part not in self._results:
                try:
                    self._results[part] = evaluate(part, self.values)
                except UnevenDivision:
                    self._results[part] = None
            result = self._results[part]
            if result is None:
                return None
            found.append(result)
        return tuple(found)


@frozen
class Candidates:
    """Names the conditions that a change may have broken.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: all numbers of the configuration.
        parts: for a number, the symbols that are known to have to divide it.
        known: gives the conditions that were found so far.
    """

    observed: Observations
    symbols: Mapping[str, Symbol]
    parts: Mapping[str, frozenset[str]]
    known: Callable[[], Iterable[str]]

    def broken_by(
        self, probe: Probe, used: Collection[str]
    ) -> Iterator[tuple[int, Conditions, list[Change]]]:
        """Yield conditions that a change may have broken, with changes that meet them again.

        What goes before a condition has to be met for it to mean something.
        """
        values, changed, base = probe.values, probe.changed, self.observed.values
        for whole, part in self._divisions(used):
            for divisor, needed in self._divisors(part):
                text = f"{whole} % {divisor} == 0"
                if changed.keys().isdisjoint(letters_in(text)) or not probe.meets(needed):
                    continue
                step = lcm(self.step(whole, part), evaluate(divisor, values))
                even = (values[whole] // step // 2 * 2 + 1) * step
                yield DIVISION, (*needed, text), [{**changed, whole: even}]
        for letter, value in changed.items():
            step = self.step(letter)
            for multiple in (step << doubling for doubling in range(_DOUBLINGS + 1)):
                near = [base[letter] + times * multiple for times in (1, -1, 2, 3)]
                repairs = [{**changed, letter: new} for new in near if new > 0]
                yield 1, (f"{letter} % {multiple} == 0",), repairs
            for other in self._like(letter):
                if base[other] == base[letter]:
                    yield 2, (ratio(other, letter, base),), [{**changed, other: value}]
                elif values[other] == value:
                    yield 3, (f"{letter} != {other}",), [{**changed, other: 2 * value}]
        for letter, value in changed.items():
            for least in (value + 1, base[letter]) if value < base[letter] else ():
                yield 5, (f"{letter} >= {least}",), [{letter: least}, {letter: base[letter] + 1}]
            if self.is_fixable(letter):
                order = 6 + 2 * (letter in used) + is_standard(self.symbols[letter])
                yield order, (f"{letter} == {base[letter]}",), []

    def breaking(self, texts: Conditions) -> Iterator[Change]:
        """Yield changes of a divisor alone that break a division: formulas may be right there."""
        *needed, text = texts
        values = self.observed.values
        for part in letters_of(text.removesuffix(" == 0").partition(" % ")[2]):
            near = sorted(range(2, 2 * values[part] + 6), key=lambda new: abs(new - values[part]))
            broken = (
                {part: new}
                for new in near
                if not is_met(text, {**values, part: new})
                and all(is_met(other, {**values, part: new}) for other in needed)
            )
            yield from islice(broken, _BREAKING)

    def _divisions(self, used: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield what may have to be divisible by what."""
        values, known = self.observed.values, self.parts
        parts = frozenset[str]().union(*known.values()) | {
            letter for letter, symbol in self.symbols.items() if quantity_of(symbol) == "heads"
        }
        yield from ((whole, part) for whole, some in known.items() for part in sorted(some))
        for whole in sorted(x for x in used if quantity_of(self.symbols[x]) != "layers"):
            for part in sorted(parts - known.get(whole, frozenset()) - {whole}):
                is_near = place_of(self.symbols[whole]) == place_of(self.symbols[part])
                if is_near and values[whole] % values[part] == 0:
                    yield whole, part

    def _divisors(self, part: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield what may divide a number: a part, twice it or more, or what is left of it.

        Rotary positions turn the two halves of a head, or of half of it.
        """
        yield part, ()
        yield f"(2*{part})", ()
        yield f"(4*{part})", ()
        for other in sorted(self.parts.get(part, ())):
            needed = (f"{part} % {other} == 0",)
            yield f"({part}//{other})", needed
            yield f"(2*{part}//{other})", needed

    def step(self, letter: str, except_for: str = "") -> int:
        """Return what a symbol has to be a multiple of, as far as is known, for other parts."""
        divisors = {*divisors_in(self.known(), letter), *self.parts.get(letter, ())}
        values = self.observed.values
        return lcm(*(evaluate(x, values) for x in divisors if except_for not in letters_of(x)))

    def _like(self, letter: str) -> list[str]:
        """Return the symbols of the same kind and place, widths of the hidden state first."""
        ours = self.symbols[letter]
        like = [
            other
            for other, theirs in self.symbols.items()
            if other != letter
            and (quantity_of(ours), place_of(ours)) == (quantity_of(theirs), place_of(theirs))
        ]
        return sorted(like, key=lambda other: not is_width(self.symbols[other]))

    def is_depth(self, letter: str) -> bool:
        """Return whether a symbol changes a number of modules."""
        return quantity_of(self.symbols[letter]) == "layers" or self.observed.changes_depth(letter)

    def is_fixable(self, letter: str) -> bool:
        """Return whether formulas may be limited to the real model's value of a symbol.

        Of a depth they may not: another round looks for formulas without it.
        """
        is_real = self.symbols[letter].value == self.observed.values[letter]
        return is_real and not self.is_depth(letter)


def ratio(first: str, other: str, values: Values) -> str:
    """Write that two symbols keep their ratio: ``D == 32*mamba_n_heads``."""
    one, two = values[first], values[other]
    if one == two:
        return f"{other} == {first}"
    if one % two == 0:
        return f"{first} == {one // two}*{other}"
    if two % one == 0:
        return f"{other} == {two // one}*{first}"
    return f"{two}*{first} == {one}*{other}"


def known_step(letter: str, conditions: Iterable[str], values: Values) -> int:
    """Return what a symbol has to be a multiple of; 0 where it has one value, or has to divide."""
    for text in conditions:
        _, sign, part = text.removesuffix(" == 0").partition(" % ")
        if text.startswith(f"{letter} == ") or (sign and letter in letters_of(part)):
            return 0
    return lcm(*(evaluate(divisor, values) for divisor in divisors_in(conditions, letter)))
