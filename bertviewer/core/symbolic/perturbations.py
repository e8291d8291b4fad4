"""Which other values of a configuration's numbers formulas are compared with models at."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import lcm

from msgspec import Struct

from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_width,
    place_of,
    quantity_of,
    standard_letter,
)
from bertviewer.core.symbolic.models import Change, Item, refused_items
from bertviewer.core.symbolic.observations import Observations, Variable, shrinks

SMALL = 16
"""A number up to this one may choose between variants of a model, and be no size."""
PROOFS = 3
"""A formula must hold for so many models that it was not fitted to."""

_ATTEMPTS, _MULTIPLIED = 12, 6
"""How often all numbers are changed at once; from the second number on sizes are multiplied."""
_FACTORS = (2, 1, 4)
"""What heads and other divisors are multiplied by, in turn."""
# Observations multiply one number by 2 to 5; these keep fresh values away from those.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
# Kernels and patches are squared and multiplied: they must not grow into overflow.
_SMALL_PRIMES = (3, 7, 11, 13)


class Perturbations(Struct, frozen=True):
    """Chooses new values for many numbers at once.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: all numbers of the configuration.
        divisors: for a symbol, what is known to have to divide it: the heads of a width, and the
            symbols and numbers that formulas divide it by.
    """

    observed: Observations
    symbols: tuple[Symbol, ...]
    divisors: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls, observed: Observations, symbols: tuple[Symbol, ...], even: Iterable[str] = ()
    ) -> "Perturbations":
        """Read what divides what from the conditions for even divisions, and from the heads."""
        found: dict[str, set[str]] = {}
        known = {s.letter: s for variable in observed.variables for s in variable.symbols}
        for condition in even:
            whole, _, part = condition.removesuffix(" == 0").partition(" % ")
            if whole in known and (part in known or part.isdigit()):
                found.setdefault(whole, set()).add(part)
        values = observed.values
        for heads in (s for s in symbols if quantity_of(s) == "heads"):
            for other in known.values():
                is_near = is_width(other) and place_of(other) == place_of(heads)
                if is_near and values[other.letter] % values[heads.letter] == 0:
                    found.setdefault(other.letter, set()).add(heads.letter)
        return cls(observed, symbols, {letter: frozenset(some) for letter, some in found.items()})

    @property
    def parts(self) -> frozenset[str]:
        """The symbols that have to divide another."""
        return frozenset(text for some in self.divisors.values() for text in some) & {
            symbol.letter for symbol in self.symbols
        }

    def sizes_of_parts(self, letter: str) -> list[int]:
        """Return the numbers that have to divide a symbol's, as far as is known."""
        some = sorted(self.divisors.get(letter, ()))
        return [evaluate(text, self.observed.values) for text in some]

    def step(self, letter: str) -> int:
        """Return what a number has to be a multiple of, as far as is known."""
        return lcm(*self.sizes_of_parts(letter))

    # One number after the other, or many by simple rules.

    def structured(self) -> Iterator[Change]:
        """Yield changes of many numbers at once, each number by a different rule in each of them.

        First sizes, whose parts keep their values; then the parts, once alone and once with odd
        multiples of them; then depths that no model takes another value of alone.
        """
        variables, parts = self.observed.variables, self.parts
        yield from self._by_rules(v for v in variables if v.letter not in parts)
        for change in self._by_rules(v for v in variables if v.letter in parts):
            yield change
            yield {**self._multiples(self.divisors, change, is_odd=True), **change}
        free = {symbol.letter for variable in variables for symbol in variable.symbols}
        depths = (s.letter for s in self.symbols if quantity_of(s) == "layers")
        yield {x: 2 * self.observed.values[x] for x in depths if x not in free}

    def random(self, draw: random.Random, conditions: Iterable[str]) -> Change:
        """Return random values of about half of the numbers that meet divisibility conditions."""
        base, change = self.observed.values, Change()
        divisors = {whole: sorted(some) for whole, some in self.divisors.items()}
        for condition in conditions:
            whole, sign, divisor = condition.removesuffix(" == 0").partition(" % ")
            if sign and whole in base:
                divisors.setdefault(whole, []).append(divisor)
        for variable in self.observed.variables:
            if draw.random() < draw.choice((0.3, 0.6, 0.9)):
                change |= self._changed(variable, draw.choice(self._rules(variable)))
        change |= self._multiples(divisors, change)
        return {x: value for x, value in change.items() if value != base[x]}

    def _by_rules(self, variables: Iterable[Variable]) -> Iterator[Change]:
        rules = [(variable, self._rules(variable)) for variable in variables]
        for number in range(max((len(rule) for _, rule in rules), default=0)):
            yield _joined(self._changed(v, rule[number % len(rule)]) for v, rule in rules)

    def _changed(self, variable: Variable, value: int) -> Change:
        change = variable.at(value, self.observed.values) if value > 0 else {}
        return change if change and value != self.observed.values[variable.letter] else {}

    def _rules(self, variable: Variable) -> list[int]:
        """Return values of one number: larger and smaller, by steps that may break a division."""
        letter, value = variable.letter, self.observed.values[variable.letter]
        symbol = variable.symbols[0]
        if len(variable.symbols) > 1:
            return [value * 2, value * 3]
        if self.observed.is_depth(variable.symbols[0]):
            return [value + 1, value - 1, 2 * value + 3 if standard_letter(symbol) else value + 3]
        if standard_letter(symbol) == "K":
            return [value + 1, 1, value + 2, value // 2]
        main = self._main(symbol)
        if variable.quantity == "heads":
            divisors, values = self.divisors.items(), self.observed.values
            wholes = [values[whole] for whole, some in divisors if letter in some]
            uneven = value + 1
            while any(whole % uneven == 0 for whole in wholes) and uneven <= max(wholes):
                uneven += 1
            # With as many heads as features, each has one.
            return [main, value * 2, uneven, 1, value // 2, *wholes]
        if value <= SMALL:
            return [main, 1, value + 1, value - 1, value + 2, value * 3]
        step = self.step(letter)
        rules = [main, value + step, value - step, value * 3 // 2 // step * step]
        for size in self.sizes_of_parts(letter):
            rules += [size * (value // size + 1 | 1), size]
            if 1 < value // size < size:
                # No multiple any more, though what is rounded to whole parts would divide it.
                rules.append(value // size * (size + 1))
        return [*rules, value + 1, value - 1, value * 7 // 4]

    def _main(self, symbol: Symbol) -> int:
        """Return the width, or the heads, of the hidden state in a symbol's part of the model."""
        if self.observed.values[symbol.letter] <= SMALL and not standard_letter(symbol):
            return self.observed.values[symbol.letter]  # it may be no width
        main = {"width": "D", "heads": "A"}.get(quantity_of(symbol))
        like = (s for s in self.symbols if standard_letter(s) == main)
        near = (s.letter for s in like if place_of(s) == place_of(symbol))
        return self.observed.values[next(near, symbol.letter)]

    def _multiples(
        self, divisors: Mapping[str, Iterable[str]], change: Change, *, is_odd: bool = False
    ) -> Change:
        """Return new values of what a change makes indivisible by its divisors."""
        values, found = {**self.observed.values, **change}, Change()
        for whole, some in divisors.items():
            try:
                step = lcm(*(evaluate(text, values) for text in some))
            except UnevenDivision:
                continue
            if step and (is_odd or values[whole] % step):
                found[whole] = (values[whole] // step // 2 * 2 + 1) * step
        return found

    # All numbers.

    def fresh(
        self, build: Callable[[Change], Item | None], *, scaled: bool = False
    ) -> Iterator[tuple[Change, Item]]:
        """Yield what is built with all numbers changed at once, in some different ways.

        Args:
            build: builds a change, or refuses it.
            scaled: whether numbers become multiples of what they are, which keeps all divisions
                even but makes large models.
        """
        for attempt in range(_ATTEMPTS):
            change = _joined(self._fresh(attempt, scaled=scaled))
            if (built := build(change)) is not None:
                yield change, built

    def partly_fresh(self, build: Callable[[Change], Item | None]) -> Iterator[tuple[Change, Item]]:
        """Yield what is built with as many numbers changed as are accepted together.

        Each attempt begins with another number, so that the same is not always left out.
        """
        for attempt in range(0, _ATTEMPTS, 2):
            fresh = self._fresh(attempt)
            start = attempt * len(fresh) // _ATTEMPTS
            taken: Change = {}

            def accepts(some: Sequence[Change], taken: Change = taken) -> bool:
                is_accepted = build(taken | _joined(some)) is not None
                if is_accepted:
                    taken |= _joined(some)
                return is_accepted

            list(refused_items(fresh[start:] + fresh[:start], accepts))
            if taken and (built := build(taken)) is not None:
                yield taken, built

    def _fresh(self, attempt: int, *, scaled: bool = False) -> list[Change]:
        """Return new values of all variables.

        Every width stays a multiple of its heads, which change too. Depths grow by a few only.
        """
        factor = _FACTORS[attempt % len(_FACTORS)]
        found: list[Change] = []
        for index, variable in enumerate(self.observed.variables):
            letter, value = variable.letter, self.observed.values[variable.letter]
            primes = _PRIMES if value > SMALL else _SMALL_PRIMES
            prime = primes[(index + 3 * attempt) % len(primes)]
            step = self.step(letter)
            # Odd kernels stay odd, and heads have quarters that can be halved.
            unit = step * 8 * factor if variable.quantity == "width" else step
            if self.observed.is_depth(variable.symbols[0]):
                new = value + 3 + (index + attempt) % 2
            elif self._divides(variable):
                new = value * factor
            elif not variable.symbols[0].key:
                new = value + prime
            elif scaled or attempt >= _MULTIPLIED or len(variable.symbols) > 1:
                new = value * prime * factor
            else:
                new = (value // unit * unit if step > 1 else value) + prime * unit
            found.append(variable.at(new, self.observed.values) or {})
        return found

    def _divides(self, variable: Variable) -> bool:
        """Return whether something became smaller where the variable grew."""
        base, start = self.observed.base, self.observed.values[variable.letter]
        return variable.quantity == "heads" or any(
            shrinks(base, model, 1 if value > start else -1)
            for value, model in self.observed.seen.get(variable.letter, ())
            if model is not base
        )


def _joined(changes: Iterable[Change]) -> Change:
    """Return several changes as one."""
    return {letter: value for change in changes for letter, value in change.items()}
