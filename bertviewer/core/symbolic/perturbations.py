"""Which other values of a configuration's numbers formulas are compared with models at."""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from math import lcm

from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.expressions.polynomials import Polynomial
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_width,
    place_of,
    quantity_of,
    standard_letter,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.symbolic.models import (
    Change,
    Item,
    Values,
    refused_items,
)
from bertviewer.core.symbolic.observations import Observations, Variable, shrinks

SMALL = 16
"""A number up to this one may choose between variants of a model, and be no size."""
MOST_LAYERS = 100
PROOFS = 3
"""A formula must hold for so many models that it was not fitted to."""

_ATTEMPTS = 12
_PARTLY = (0, 3, 4, 9, 10, 11)
"""These attempts leave out what a model refuses, where it does not take all at once."""
_PAIRS = 8
"""So many pairs of equal numbers are changed to other equal ones in each of these attempts."""
_WITH_OLD_HEADS, _WITH_POWERS = 6, 9
"""From these attempts on heads keep their number, or sizes are multiplied by powers of two."""

# Observations multiply one number by 2 to 5; these keep fresh values away from those.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
# Kernels and patches are squared and multiplied: they must not grow into overflow.
_SMALL_PRIMES = (3, 7, 11, 13)
_FACTORS = ((2, 2), (1, 1), (4, 2), (1, 2), (2, 1), (4, 1))
"""What attempts multiply heads by, and what widths are multiples of in addition: odd ones too."""

_CHOOSES_LAYERS = re.compile(r"layer|block|stage|depth|freq|period|interval|every|step|pattern")


@frozen
class Perturbations:
    """Chooses new values for many numbers at once.

    Attributes:
        observed: what the formulas were fitted to.
        symbols: all numbers of the configuration.
        parts: for a width, the symbols that have to divide it: the heads, and what formulas
            divide it by.
        steps: for each symbol, the least common multiple of the numbers that formulas divide it by.
        powers: for each symbol, the highest power of it that formulas divide by.
    """

    observed: Observations
    symbols: tuple[Symbol, ...]
    parts: Mapping[str, frozenset[str]]
    steps: Mapping[str, int]
    powers: Mapping[str, int]

    @classmethod
    def of(
        cls,
        observed: Observations,
        symbols: tuple[Symbol, ...],
        sizes: Iterable[Polynomial] = (),
        even: Iterable[str] = (),
    ) -> "Perturbations":
        """Read from fitted sizes, and the conditions for even divisions, what divides what."""
        parts: dict[str, set[str]] = {}
        steps: dict[str, int] = {}
        powers: dict[str, int] = {}
        for size in sizes:
            for letters, coefficient in size.terms.items():
                for letter, power in letters:
                    steps[letter] = lcm(steps.get(letter, 1), coefficient.denominator)
                    powers[letter] = max(powers.get(letter, 1), -power)
        known = {s.letter: s for variable in observed.variables for s in variable.symbols}
        for condition in even:
            whole, _, part = condition.removesuffix(" == 0").partition(" % ")
            if whole in known and part in known:
                parts.setdefault(whole, set()).add(part)
            elif whole in known and part.isdigit():
                steps[whole] = lcm(steps.get(whole, 1), int(part))
        values = observed.values
        for heads in (s for s in known.values() if quantity_of(s) == "heads"):
            for other in known.values():
                is_near = is_width(other) and place_of(other) == place_of(heads)
                if is_near and values[other.letter] % values[heads.letter] == 0:
                    parts.setdefault(other.letter, set()).add(heads.letter)
        return cls(observed, symbols, {k: frozenset(v) for k, v in parts.items()}, steps, powers)

    # One number after the other, or many by simple rules.

    def structured(self) -> Iterator[Change]:
        """Yield changes of many numbers at once, each number by a different rule in each of them.

        First sizes, whose parts keep their values; then the parts, once alone and once with odd
        multiples of them; then different numbers become equal, what cannot change alone changes
        together, and depths grow.
        """
        values, variables = self.observed.values, self.observed.variables
        divisors = frozenset[str]().union(*self.parts.values())
        alone = [v for v in variables if len(v.symbols) == 1]
        yield from self._by_rules(v for v in alone if v.letter not in divisors)
        for change in self._by_rules(v for v in alone if v.letter in divisors):
            yield change
            yield {**self._odd_multiples({**values, **change}), **change}
        for variable in (v for v in variables if len(v.symbols) > 1):
            for times in (2, 3):
                yield variable.at(values[variable.letter] * times, values) or {}
        yield from self._made_equal([v.symbols[0] for v in alone])
        yield from self._held()
        yield from self._deeper()

    def random(self, draw: random.Random, conditions: Iterable[str]) -> Change:
        """Return random values of about half of the numbers that meet divisibility conditions."""
        base, change = self.observed.values, Change()
        divisors: dict[str, list[str]] = {whole: sorted(some) for whole, some in self.parts.items()}
        for condition in conditions:
            whole, sign, divisor = condition.removesuffix(" == 0").partition(" % ")
            if sign and whole in base:
                divisors.setdefault(whole, []).append(divisor)
        parts = {x for some in divisors.values() for text in some for x in letters_of(text)}
        chosen = [
            v for v in self.observed.variables if draw.random() < draw.choice((0.3, 0.6, 0.9))
        ]
        # Parts come first: what they divide has to become a multiple of them.
        for variable in sorted(chosen, key=lambda v: v.letter not in parts):
            rules = self._rules(variable) if len(variable.symbols) == 1 else ()
            value = draw.choice(rules or [base[variable.letter] * 2])
            change |= (variable.at(value, base) or {}) if value > 0 else {}
        for whole, some in divisors.items():
            values = {**base, **change}
            try:
                step = lcm(*(evaluate(text, values) for text in some))
            except UnevenDivision:
                continue
            if step and values[whole] % step:
                change[whole] = (values[whole] // step + 1) * step
        return {x: value for x, value in change.items() if value != base[x]}

    def _by_rules(self, variables: Iterable[Variable]) -> Iterator[Change]:
        values = self.observed.values
        rules = [(variable.letter, self._rules(variable)) for variable in variables]
        for number in range(max((len(rule) for _, rule in rules), default=0)):
            change = {letter: rule[number % len(rule)] for letter, rule in rules if rule}
            yield {x: value for x, value in change.items() if 0 < value != values[x]}

    def _rules(self, variable: Variable) -> list[int]:
        """Return values of one number: larger and smaller, by steps that may break a division."""
        letter, value = variable.letter, self.observed.values[variable.letter]
        if variable.quantity == "layers" or self.observed.changes_depth(letter):
            return [value + 1, value - 1, value + 3]
        if variable.quantity == "heads":
            wholes = [self.observed.values[w] for w, some in self.parts.items() if letter in some]
            uneven = value + 1
            while any(whole % uneven == 0 for whole in wholes) and uneven <= max(wholes):
                uneven += 1
            halves = [value // 2] if value % 2 == 0 else []
            # With as many heads as features, each has one.
            return [value * 2, uneven, 1, *halves, *wholes]
        if standard_letter(variable.symbols[0]) == "K":
            return [value + 1, 1, value + 4, value // 2]
        if value <= SMALL:
            return [1, value + 1, value - 1, value + 2, value * 3]
        step = self.step(letter)
        rules = [value + step, value - step, value * 3 // 2 // step * step]
        for part in sorted(self.parts.get(letter, ())):
            size = self.observed.values[part]
            rules += [size * (value // size + 1 | 1), size]
            if 1 < value // size < size:
                # No multiple any more, though what is rounded to whole parts would divide it.
                rules.append(value // size * (size + 1))
        return [*rules, value + 1, value - 1, value * 7 // 4]

    def step(self, letter: str, values: Values | None = None) -> int:
        """Return what a number has to be a multiple of, as far as is known."""
        values = values or self.observed.values
        return lcm(self.steps.get(letter, 1), *(values[x] for x in self.parts.get(letter, ())))

    def _odd_multiples(self, values: Values) -> Change:
        steps = {whole: self.step(whole, values) for whole in self.parts}
        return {x: (values[x] // step // 2 * 2 + 1) * step for x, step in steps.items()}

    def _made_equal(self, alone: Sequence[Symbol]) -> Iterator[Change]:
        """Make all widths of a part of the configuration equal to its main one; its heads too."""
        values = self.observed.values
        for place in dict.fromkeys(map(place_of, alone)):
            symbols = [s for s in alone if place_of(s) == place and standard_letter(s) != "K"]
            change: Change = {}
            for wanted, like in (("D", "width"), ("A", "heads")):
                main = next((values[s.letter] for s in symbols if standard_letter(s) == wanted), 0)
                for s in symbols if main else ():
                    is_size = standard_letter(s) or values[s.letter] > SMALL
                    if quantity_of(s) == like and values[s.letter] != main and is_size:
                        change[s.letter] = main
            yield change

    def _held(self) -> Iterator[Change]:
        """Change the numbers of one kind that cannot be changed alone, all at once."""
        values = self.observed.values
        free = {s.letter for variable in self.observed.variables for s in variable.symbols}
        held = [symbol for symbol in self.symbols if symbol.letter not in free]
        for quantity in sorted(set(map(quantity_of, held))):
            letters = [symbol.letter for symbol in held if quantity_of(symbol) == quantity]
            if quantity == "layers":
                yield {letter: values[letter] + 1 for letter in letters}
            yield {letter: values[letter] * 2 for letter in letters}

    def _deeper(self) -> Iterator[Change]:
        """Make models deeper where other numbers may choose the layers of another kind."""
        symbols = [symbol for variable in self.observed.variables for symbol in variable.symbols]
        real = {symbol.letter: symbol.value for symbol in self.symbols}
        depths = [s for s in symbols if quantity_of(s) == "layers" and standard_letter(s)]
        for symbol in depths:
            if any(
                _CHOOSES_LAYERS.search(other.key) and place_of(other) == place_of(symbol)
                for other in symbols
                if other not in depths
            ):
                yield {symbol.letter: min(2 * real[symbol.letter] + 3, MOST_LAYERS)}

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
        for attempt in range(_WITH_OLD_HEADS if scaled else _ATTEMPTS):
            change = _joined(self._fresh(attempt, scaled=scaled))
            if (built := build(change)) is not None:
                yield change, built

    def partly_fresh(self, build: Callable[[Change], Item | None]) -> Iterator[tuple[Change, Item]]:
        """Yield what is built with as many numbers changed as are accepted together.

        Each attempt begins with another number, so that the same is not always left out.
        """
        for number, attempt in enumerate(_PARTLY):
            fresh = self._fresh(attempt)
            start = number * len(fresh) // len(_PARTLY)
            taken: Change = {}

            def accepts(some: Sequence[Change], taken: Change = taken) -> bool:
                is_accepted = build(taken | _joined(some)) is not None
                if is_accepted:
                    taken |= _joined(some)
                return is_accepted

            refused = list(refused_items(fresh[start:] + fresh[:start], accepts))
            # Numbers that are equal may have to stay so.
            pairs = (one | other for one, other in combinations(refused, 2))
            equal = (pair for pair in pairs if len({self.observed.values[x] for x in pair}) == 1)
            for pair in islice(equal, _PAIRS):
                accepts([dict.fromkeys(pair, max(pair.values()))])
            if taken and (built := build(taken)) is not None:
                yield taken, built

    def _fresh(self, attempt: int, *, scaled: bool = False) -> list[Change]:
        """Return new values of all variables.

        The first attempts keep every width a multiple of the heads, which change too; the later
        ones multiply each value by another prime, or by a power of two. Depths grow by a few only.
        """
        values, variables = self.observed.values, self.observed.variables
        gentle = _WITH_OLD_HEADS <= attempt < _WITH_POWERS
        factor, even = (1, 2) if gentle else _FACTORS[attempt % len(_FACTORS)]
        divisors = {v.letter for v in variables if self._divides(v)}
        found: list[Change] = []
        for index, variable in enumerate(variables):
            letter, value = variable.letter, values[variable.letter]
            primes = _PRIMES if value > SMALL else _SMALL_PRIMES
            prime = primes[(index + 3 * attempt) % len(primes)]
            step = self.steps.get(letter, 1)
            if variable.quantity == "layers" or self.observed.changes_depth(letter):
                new = value + 3 + (index + attempt) % 2
            elif letter in divisors:
                new = value * factor
            elif not variable.symbols[0].key:
                new = value + prime
            elif attempt >= _WITH_POWERS:
                new = value * 2 ** (3 + (index + attempt) % 4)
            elif gentle or scaled or len(variable.symbols) > 1:
                new = value * prime * factor
            elif variable.quantity == "width":
                heads, power = self._divisor(value, divisors)
                # Divisors grow by the factor: what they divided must be a multiple of that too.
                step = even * factor ** max(power, 1) * lcm(heads, step)
                new = (value // step * step if power else value) + prime * step
            else:
                new = value + prime * step
            found.append(variable.at(new, values) or {})
        return found

    def _divisor(self, value: int, divisors: Iterable[str]) -> tuple[int, int]:
        """Return the product of all divisors of a value, and the highest power of one.

        A single head divides too: the fresh model has more of them. Without any the power is 0.
        """
        together, highest = 1, 0
        for letter in divisors:
            divisor = self.observed.values[letter]
            for power in range(self.powers.get(letter, 1), 0, -1):
                if value % divisor**power == 0:
                    together, highest = lcm(together, divisor**power), max(highest, power)
                    break
        return together, highest

    def _divides(self, variable: Variable) -> bool:
        """Return whether something became smaller where the variable grew."""
        if variable.quantity == "heads":
            return True
        base, start = self.observed.base, self.observed.values[variable.letter]
        return any(
            shrinks(base, model, 1 if value > start else -1)
            for value, model in self.observed.seen.get(variable.letter, ())
            if model is not base
        )


def _joined(changes: Iterable[Change]) -> Change:
    """Return several changes as one."""
    return {letter: value for change in changes for letter, value in change.items()}
