"""Which configurations formulas are tried on, beyond those that they were fitted to."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from math import lcm

from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_width,
    place_of,
    quantity_of,
    standard_letter,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.symbolic.models import Change, ModelBuilder, ModelSizes, Values
from bertviewer.core.symbolic.observations import Observations, Variable

SMALL = 16
"""A number up to this one may choose between variants of a model, and be no size."""
MOST_LAYERS = 100
PROOFS = 3
"""A formula must hold for so many models that it was not fitted to."""
FRESH_ATTEMPTS = 12
PARTLY_FRESH = (0, 3, 4, 9, 10, 11)
"""These attempts leave out what a model refuses, where it does not take all at once."""

_WITH_OLD_HEADS, _WITH_POWERS = 6, 9
"""From these attempts on heads stay as they are, or sizes are multiplied by powers of two."""

# Observations multiply one number by 2 to 5; these keep fresh values away from those.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
# Kernels and patches are squared and multiplied: they must not grow into overflow.
_SMALL_PRIMES = (3, 7, 11, 13)
_FACTORS = ((2, 2), (1, 1), (4, 2), (1, 2), (2, 1), (4, 1))
"""What attempts multiply heads by, and what widths are multiples of in addition: odd ones too."""

_CHOOSES_LAYERS = re.compile(r"layer|block|stage|depth|freq|period|interval|every|step|pattern")


@frozen
class Probes:
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
    powers: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        observed: Observations,
        symbols: tuple[Symbol, ...],
        divisibility: Iterable[str],
        steps: Mapping[str, int],
        powers: Mapping[str, int],
    ) -> "Probes":
        """Read from conditions which numbers divide which; heads divide their width."""
        parts: dict[str, set[str]] = {}
        steps = dict(steps)
        known = {s.letter: s for variable in observed.variables for s in variable.symbols}
        for condition in divisibility:
            whole, _, part = condition.removesuffix(" == 0").partition(" % ")
            if whole in known and part in known:
                parts.setdefault(whole, set()).add(part)
            elif whole in known and part.isdigit():
                steps[whole] = lcm(steps.get(whole, 1), int(part))
        values = observed.values
        for symbol in known.values():
            for other in known.values() if quantity_of(symbol) == "heads" else ():
                if (
                    is_width(other)
                    and place_of(other) == place_of(symbol)
                    and values[other.letter] % values[symbol.letter] == 0
                ):
                    parts.setdefault(other.letter, set()).add(symbol.letter)
        return cls(observed, symbols, {k: frozenset(v) for k, v in parts.items()}, steps, powers)

    def structured(self) -> Iterator[Change]:
        """Yield changes of many numbers at once, each number by a different rule in each of them.

        First sizes, whose parts stay as they are; then the parts, once alone and once with odd
        multiples of them; then what was different is made equal, what no model takes another value
        of alone is changed together, and depths grow.
        """
        values = self.observed.values
        divisors = frozenset[str]().union(*self.parts.values())
        alone = [v for v in self.observed.variables if len(v.symbols) == 1]
        yield from self._by_rules(v for v in alone if v.letter not in divisors)
        for change in self._by_rules(v for v in alone if v.letter in divisors):
            yield change
            yield {**self._odd_multiples({**values, **change}), **change}
        for variable in self.observed.variables:
            if len(variable.symbols) > 1:
                for times in (2, 3):
                    yield variable.at(values[variable.letter] * times, values) or {}
        yield from self._made_equal(alone)
        yield from self._held()
        yield from self._deeper()

    def _by_rules(self, variables: Iterable[Variable]) -> Iterator[Change]:
        values = self.observed.values
        rules = [(variable.letter, self._rules(variable)) for variable in variables]
        for number in range(max((len(rule) for _, rule in rules), default=0)):
            change = {letter: rule[number % len(rule)] for letter, rule in rules if rule}
            yield {x: value for x, value in change.items() if 0 < value != values[x]}

    def _odd_multiples(self, values: Values) -> Change:
        found = {}
        for whole, parts in self.parts.items():
            step = lcm(self.steps.get(whole, 1), *(values[part] for part in parts))
            found[whole] = (values[whole] // step // 2 * 2 + 1) * step
        return found

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
            return [value * 2, uneven, 1, *halves]
        if standard_letter(variable.symbols[0]) == "K":
            return [value + 1, 1, value + 4, value // 2]
        if value <= SMALL:
            return [1, value + 1, value - 1, value + 2, value * 3]
        step = self.step(letter)
        rules = [value + step, value - step, value * 3 // 2 // step * step]
        for part in self.parts.get(letter, ()):
            size = self.observed.values[part]
            rules += [size * (value // size + 1 | 1), size]
            if 1 < value // size < size:
                # No multiple any more, though what is rounded to whole parts would divide it.
                rules.append(value // size * (size + 1))
        return [*rules, value + 1, value - 1, value * 7 // 4]

    def step(self, letter: str) -> int:
        """Return what a number has to be a multiple of, as far as is known."""
        parts = (self.observed.values[part] for part in self.parts.get(letter, ()))
        return lcm(self.steps.get(letter, 1), *parts)

    def _made_equal(self, alone: Iterable[Variable]) -> Iterator[Change]:
        """Make all widths of a part of the configuration equal to its main one; its heads too."""
        by_place: dict[str, list[Symbol]] = {}
        for variable in alone:
            by_place.setdefault(place_of(variable.symbols[0]), []).append(variable.symbols[0])
        values = self.observed.values
        for symbols in by_place.values():
            change: Change = {}
            for wanted, like in (("D", "width"), ("A", "heads")):
                main = next((s for s in symbols if standard_letter(s) == wanted), None)
                change |= {
                    s.letter: values[main.letter]
                    for s in symbols
                    if main is not None
                    and quantity_of(s) == like
                    and values[s.letter] != values[main.letter]
                    and (standard_letter(s) or values[s.letter] > SMALL)
                    and standard_letter(s) != "K"
                }
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

    def fresh_models(self, builder: ModelBuilder) -> Iterator[tuple[Change, ModelSizes]]:
        """Yield models with all numbers changed at once, as many as a proof needs, if possible."""
        found = 0
        for attempt in range(FRESH_ATTEMPTS):
            change = joined(self.fresh(attempt).values())
            model = builder.variant({**self.observed.values, **change})
            if model is not None:
                found += 1
                yield change, model
            if found == PROOFS:
                return

    def fresh(self, attempt: int) -> dict[str, Change]:
        """Return new values for all variables at once, by the variable.

        The first attempts change the heads too, and keep every width a multiple of them; the later
        ones are for models with further demands, and multiply each value by another prime, or by
        a power of two. Depths grow by a few only: a thousand layers would take minutes to build.
        """
        values = self.observed.values
        gentle = _WITH_OLD_HEADS <= attempt < _WITH_POWERS
        factor, even = (1, 2) if gentle else _FACTORS[attempt % len(_FACTORS)]
        divisors = {v.letter for v in self.observed.variables if self._divides(v)}
        found: dict[str, Change] = {}
        for index, variable in enumerate(self.observed.variables):
            letter, value = variable.letter, values[variable.letter]
            primes = _PRIMES if value > SMALL else _SMALL_PRIMES
            prime = primes[(index + 3 * attempt) % len(primes)]
            step = self.steps.get(letter, 1)
            if self.observed.changes_depth(letter) or variable.quantity == "layers":
                new = value + 3 + (index + attempt) % 2
            elif letter in divisors:
                new = value * factor
            elif attempt >= _WITH_POWERS:
                new = value * 2 ** (3 + (index + attempt) % 4)
            elif gentle or len(variable.symbols) > 1:
                new = value * prime * factor
            elif variable.quantity == "width":
                heads, power = self._divisor(value, divisors)
                # Divisors grow by the factor: what they divided must be a multiple of that too.
                step = even * factor ** max(power, 1) * lcm(heads, step)
                new = (value // step * step if power else value) + prime * step
            else:
                new = value + prime * step
            found[letter] = variable.at(new, values) or {}
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
            (size - old) * (value - start) < 0
            for value, model in self.observed.seen[variable.letter]
            if model is not base
            for name, shape in base.shapes.items()
            for size, old in zip(model.shapes[name], shape, strict=True)
        )


def joined(changes: Iterable[Change]) -> Change:
    """Return several changes as one."""
    return {letter: value for change in changes for letter, value in change.items()}
