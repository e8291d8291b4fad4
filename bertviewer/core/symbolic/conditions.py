"""Conditions under which formulas may hold."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from math import lcm

from msgspec import Struct

from bertviewer.core.expressions.domains import is_met, letters_in
from bertviewer.core.expressions.polynomials import Monomial, Polynomial
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_standard,
    is_width,
    place_of,
    quantity_of,
    standard_letter,
)
from bertviewer.core.symbolic.models import Values
from bertviewer.core.symbolic.observations import Observations
from bertviewer.core.symbolic.perturbations import SMALL, Perturbations
from bertviewer.core.symbolic.probes import Probe

Conditions = tuple[str, ...]
"""One condition, after what has to be met for it to mean something."""

_DOUBLINGS = 7
"""A step is doubled so many times to find the multiple that a model rounds a number to."""


class Candidates(Struct, frozen=True):
    """Names the conditions that a change may have broken.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: all numbers of the configuration.
        perturbations: what is known to have to divide what.
    """

    observed: Observations
    symbols: Mapping[str, Symbol]
    perturbations: Perturbations

    def broken_by(self, probe: Probe, used: Collection[str]) -> Iterator[Conditions]:
        """Yield conditions that a changed model breaks and the real one meets, the likeliest first.

        Args:
            probe: the model with the change.
            used: the symbols of a formula that is wrong for it.
        """
        # A number that chooses between models keeps its value rather than a size.
        order = sorted(probe.changed, key=lambda x: (x in used, is_standard(self.symbols[x])))
        fixed = ((f"{x} == {self.observed.values[x]}",) for x in order if self.is_fixable(x))
        points = (self.observed.values, {x: s.value for x, s in self.symbols.items()})
        others = () if self._is_choice(probe) else self._of_sizes(probe, used)
        for texts in (*others, *fixed):
            if not probe.meets(texts) and all(is_met(text, at) for text in texts for at in points):
                yield texts

    def _is_choice(self, probe: Probe) -> bool:
        """Return whether the change is that of a small number that chooses which parts there are.

        With other values, not all of which are tried, other blocks may have them.
        """
        (letter, *others), symbols = probe.changed, self.symbols
        is_small = symbols[letter].value <= SMALL and quantity_of(symbols[letter]) == "width"
        return (
            not others
            and is_small
            and not standard_letter(symbols[letter])
            and self.is_fixable(letter)
            and probe.facts.keys() != self.observed.base.facts.keys()
        )

    def multiples_near(self, letter: str) -> Iterator[int]:
        """Yield further values to try a number at: after a step, after twice as much, and so on.

        Small ones stay small, as they may count parts of a model.
        """
        value = self.observed.values[letter]
        step = 0 if self.is_depth(letter) else self.perturbations.step(letter)
        doublings = 1 if value <= SMALL else _DOUBLINGS
        for doubling in range(doublings + 1 if step else 0):
            yield value + (step << doubling)

    def _of_sizes(self, probe: Probe, used: Collection[str]) -> Iterator[Conditions]:
        """Yield divisions, multiples, equal and different numbers, and least values."""
        base = self.observed.values
        for texts in self._divisions(used):
            if not letters_in(texts[-1]).isdisjoint(probe.changed):
                yield texts
        changed = {x: value for x, value in probe.changed.items() if not self.is_depth(x)}
        for letter in changed:
            step = self.perturbations.step(letter)
            for doubling in range(_DOUBLINGS + 1):
                yield (f"{letter} % {step << doubling} == 0",)
        for letter in changed:
            for other in self._like(letter):
                is_equal = base[other] == base[letter]
                yield (ratio(other, letter, base) if is_equal else f"{letter} != {other}",)
        for letter, value in changed.items():
            yield from ((f"{letter} >= {least}",) for least in (value + 1, base[letter]))

    def _divisions(self, used: Collection[str]) -> Iterator[Conditions]:
        """Yield what may have to be divisible by what: by parts, twice them, or what is left.

        Rotary positions turn the two halves of a head, or of half of it.
        """
        symbols, values = self.symbols, self.observed.values
        divisors, parts = self.perturbations.divisors, self.perturbations.parts
        parts |= {letter for letter, symbol in symbols.items() if quantity_of(symbol) == "heads"}

        def is_near(whole: str, part: str) -> bool:
            is_size = whole in used and quantity_of(symbols[whole]) != "layers" and whole != part
            is_like = is_size and place_of(symbols[whole]) == place_of(symbols[part])
            return is_like and values[whole] % values[part] == 0

        for whole in dict.fromkeys((*divisors, *sorted(used))):
            known = parts & divisors.get(whole, frozenset())
            near = {part for part in parts - known if is_near(whole, part)}
            for part in (*sorted(known), *sorted(near)):
                for divisor in (part, *(f"({times}*{part})" for times in (2, 4, 8))):
                    yield (f"{whole} % {divisor} == 0",)
                for other in sorted(divisors.get(part, ())):
                    needed = f"{part} % {other} == 0"
                    yield needed, f"{whole} % ({part}//{other}) == 0"
                    yield needed, f"{whole} % (2*{part}//{other}) == 0"

    def _like(self, letter: str) -> list[str]:
        """Return the symbols of the same kind and place, widths of the hidden state first."""

        def kind(symbol: Symbol) -> tuple[str, str]:
            return quantity_of(symbol), place_of(symbol)

        ours = kind(self.symbols[letter])
        like = [x for x, other in self.symbols.items() if x != letter and kind(other) == ours]
        return sorted(like, key=lambda other: not is_width(self.symbols[other]))

    def is_depth(self, letter: str) -> bool:
        """Return whether a symbol changes a number of modules."""
        return self.observed.is_depth(self.symbols[letter])

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


def never_varied(
    symbols: Iterable[Symbol], points: Collection[Values], used: Collection[str] = ()
) -> Iterator[str]:
    """Yield conditions for what models do not show: a number that never changed keeps its value.

    Args:
        symbols: the numbers that may matter.
        points: all numbers' values in each model, those of the real one first.
        used: symbols of formulas; another number that always had the same value keeps to it.
    """
    rows = {s.letter: [values[s.letter] for values in points] for s in symbols}
    fixed = {letter for letter, row in rows.items() if len(set(row)) == 1}
    yield from (f"{letter} == {row[0]}" for letter, row in rows.items() if letter in fixed)
    for letter in sorted(set(used) & rows.keys() - fixed):
        yield from (
            f"{x} == {letter}" for x, row in rows.items() if x != letter and row == rows[letter]
        )


def even_conditions(
    size: Polynomial, values: Values, symbols: Mapping[str, Symbol]
) -> tuple[str, ...]:
    """Return what has to be divisible by what for a formula's divisions to come out even.

    A model rounds each division by itself, as ``(image_size // patch_size)**2`` patches. A formula
    says the same where nothing is left over, which is a condition on the letters that are divided.

    Args:
        size: the formula.
        values: the symbols' values in a model; what is divided is looked for among the letters
            that are divisible there, a hidden state's width first.
        symbols: by letter.
    """
    if size.terms.get((), Fraction(0)).denominator != 1:
        # A number alone does not come out even: (D - 1)//2.
        whole = lcm(*(value.denominator for value in size.terms.values()))
        above = Polynomial({letters: value * whole for letters, value in size.terms.items()})
        return (f"({above}) % {whole} == 0",)
    found = (
        condition
        for letters, coefficient in size.terms.items()
        for condition in _even_term(letters, coefficient, values, symbols)
    )
    return tuple(dict.fromkeys(found))


def _even_term(
    letters: Monomial, coefficient: Fraction, values: Values, symbols: Mapping[str, Symbol]
) -> list[str]:
    """Find a separate factor for each divisor; where there is none, the whole product."""
    above = {letter: power for letter, power in letters if power > 0}
    below = {letter: -power for letter, power in letters if power < 0}
    divisors = [(letter, values[letter]) for letter, power in below.items() for _ in range(power)]
    if coefficient.denominator != 1:
        divisors.append((str(coefficient.denominator), coefficient.denominator))
    # Conditions on the inputs of a forward pass come last, as they would be no formula's.
    order = sorted(above, key=lambda x: (not symbols[x].key, not is_width(symbols[x])))
    left, found = dict(above), list[str]()
    for name, value in divisors:
        factor = next((x for x in order if left[x] and value and not values[x] % value), None)
        if factor is None:
            product = Polynomial.term(Fraction(abs(coefficient.numerator)), above)
            divided_by = str(Polynomial.term(Fraction(coefficient.denominator), below))
            return [f"{product} % {f'({divided_by})' if '*' in divided_by else divided_by} == 0"]
        left[factor] -= 1
        found.append(f"{factor} % {name} == 0")
    return found
