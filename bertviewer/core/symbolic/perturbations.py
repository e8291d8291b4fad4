"""Perturbations: many numbers changed at once, and the models that formulas are compared with."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import lcm

from msgspec import Struct, field

from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, is_met
from bertviewer.core.expressions.symbols import (
    Symbol,
    config_part,
    dimension_kind,
    is_width,
    standard_name,
)
from bertviewer.core.symbolic.models import (
    Change,
    Item,
    ModelBuilder,
    ModelSizes,
    Values,
    refused_items,
    template_path,
)
from bertviewer.core.symbolic.observations import Observations, Variable, shrinks

SMALL = 16
"""Smaller numbers may select a variant of a model instead of being a size."""

PROOFS = 3
"""Number of models for which a formula must hold that it was not fitted to."""

_ATTEMPTS, _MULTIPLIED = 12, 6
"""Attempts to change all numbers at once; from the second number on sizes are multiplied."""

_FACTORS = (2, 1, 4)
"""Factors of heads and other divisors, in turn."""

# Other factors than those of observations, 2 to 5.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
# Kernels and patches are squared and multiplied, and must not overflow.
_SMALL_PRIMES = (3, 7, 11, 13)


class Perturbations(Struct, frozen=True):
    """Chooses new values for many numbers at once.

    Attributes:
        observed: the models that formulas were fitted to.
        symbols: all numbers of the configuration.
        divisors: known divisors of a symbol: the heads of a width, and the symbols and numbers by
            which formulas divide it.
    """

    observed: Observations
    symbols: tuple[Symbol, ...]
    divisors: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls, observed: Observations, symbols: tuple[Symbol, ...], divisible: Iterable[str] = ()
    ) -> "Perturbations":
        """Collect divisors from divisibility conditions and from heads."""
        found: dict[str, set[str]] = {}
        known = {s.name: s for variable in observed.variables for s in variable.symbols}
        for condition in divisible:
            whole, _, part = condition.removesuffix(" == 0").partition(" % ")
            if whole in known and (part in known or part.isdigit()):
                found.setdefault(whole, set()).add(part)
        values = observed.values
        for heads in (s for s in symbols if dimension_kind(s) == "heads"):
            for other in known.values():
                is_near = is_width(other) and config_part(other) == config_part(heads)
                if is_near and values[other.name] % values[heads.name] == 0:
                    found.setdefault(other.name, set()).add(heads.name)
        return cls(observed, symbols, {name: frozenset(some) for name, some in found.items()})

    @property
    def divisor_names(self) -> frozenset[str]:
        """The symbols that are divisors of others."""
        return frozenset(text for some in self.divisors.values() for text in some) & {
            symbol.name for symbol in self.symbols
        }

    def divisor_values(self, name: str) -> list[int]:
        """Return the values of a symbol's known divisors."""
        some = sorted(self.divisors.get(name, ()))
        return [evaluate(text, self.observed.values) for text in some]

    def step(self, name: str) -> int:
        """Return the least common multiple of a symbol's known divisors."""
        return lcm(*self.divisor_values(name))

    def structured(self) -> Iterator[list[Change]]:
        """Yield changes of many numbers at once, with a different rule for each number.

        First sizes with unchanged divisors; then divisors, alone and with odd multiples of them;
        then depths that cannot be changed alone. Each has a part for every variable.
        """
        variables, divisors = self.observed.variables, self.divisor_names
        yield from self._by_rules(v for v in variables if v.name not in divisors)
        for parts in self._by_rules(v for v in variables if v.name in divisors):
            yield parts
            change = joined(parts)
            multiples = self._multiples(self.divisors, change, is_odd=True)
            yield [*({x: value} for x, value in multiples.items() if x not in change), *parts]
        free = {symbol.name for variable in variables for symbol in variable.symbols}
        depths = (s.name for s in self.symbols if dimension_kind(s) == "layers")
        yield [{x: 2 * self.observed.values[x]} for x in depths if x not in free]

    def random(self, draw: random.Random, conditions: Iterable[str]) -> list[Change]:
        """Return random values of about half of the numbers that meet divisibility conditions.

        There is a part for every variable.
        """
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
        change = {x: value for x, value in change.items() if value != base[x]}
        groups = [[s.name for s in variable.symbols] for variable in self.observed.variables]
        parts = [{x: change.pop(x) for x in group if x in change} for group in groups]
        return [*parts, *({x: value} for x, value in change.items())]

    def _by_rules(self, variables: Iterable[Variable]) -> Iterator[list[Change]]:
        rules = [(variable, self._rules(variable)) for variable in variables]
        for number in range(max((len(rule) for _, rule in rules), default=0)):
            yield [self._changed(v, rule[number % len(rule)]) for v, rule in rules]

    def _changed(self, variable: Variable, value: int) -> Change:
        change = variable.at(value, self.observed.values) if value > 0 else {}
        return change if change and value != self.observed.values[variable.name] else {}

    def _rules(self, variable: Variable) -> list[int]:
        """Return larger and smaller values of one number, some of which break a division."""
        name, value = variable.name, self.observed.values[variable.name]
        symbol = variable.symbols[0]
        if len(variable.symbols) > 1:
            # Small ones may be factors of widths, which some blocks have to keep.
            small = [1, value + 1] if value <= SMALL else []
            return [value * 2, value * 3, *small]
        if self.observed.is_depth(variable.symbols[0]):
            return [value + 1, value - 1, 2 * value + 3 if standard_name(symbol) else value + 3]
        if standard_name(symbol) == "K":
            return [value + 1, 1, value + 2, value // 2]
        main = self._main(symbol)
        if variable.kind == "heads":
            divisors, values = self.divisors.items(), self.observed.values
            wholes = [values[whole] for whole, some in divisors if name in some]
            uneven = value + 1
            while any(whole % uneven == 0 for whole in wholes) and uneven <= max(wholes):
                uneven += 1
            # With as many heads as features, each has one.
            return [main, value * 2, uneven, 1, value // 2, *wholes]
        if value <= SMALL:
            return [main, 1, value + 1, value - 1, value + 2, value * 3]
        step = self.step(name)
        rules = [main, value + step, value - step, value * 3 // 2 // step * step]
        for size in self.divisor_values(name):
            rules += [size * (value // size + 1 | 1), size]
            if 1 < value // size < size:
                # No multiple any more, but a divisor of it if rounded to whole parts.
                rules.append(value // size * (size + 1))
        return [*rules, value + 1, value - 1, value * 7 // 4]

    def _main(self, symbol: Symbol) -> int:
        """Return the value of D or A in the part of the configuration that has a symbol."""
        if self.observed.values[symbol.name] <= SMALL and not standard_name(symbol):
            return self.observed.values[symbol.name]  # maybe not a width
        main = {"width": "D", "heads": "A"}.get(dimension_kind(symbol))
        like = (s for s in self.symbols if standard_name(s) == main)
        near = (s.name for s in like if config_part(s) == config_part(symbol))
        return self.observed.values[next(near, symbol.name)]

    def _multiples(
        self, divisors: Mapping[str, Iterable[str]], change: Change, *, is_odd: bool = False
    ) -> Change:
        """Return new values of symbols that a change makes indivisible."""
        values, found = {**self.observed.values, **change}, Change()
        for whole, some in divisors.items():
            try:
                step = lcm(*(evaluate(text, values) for text in some))
            except UnevenDivision:
                continue
            if step and (is_odd or values[whole] % step):
                found[whole] = (values[whole] // step // 2 * 2 + 1) * step
        return found

    def fresh(
        self, build: Callable[[Change], Item | None], *, scaled: bool = False
    ) -> Iterator[tuple[Change, Item]]:
        """Yield models with all numbers changed at once.

        Args:
            build: builds a change, or refuses it.
            scaled: whether numbers are multiplied, which keeps all divisions exact but makes
                models larger.
        """
        for attempt in range(_ATTEMPTS):
            change = joined(self._fresh(attempt, scaled=scaled))
            if (built := build(change)) is not None:
                yield change, built

    def partly_fresh(self, build: Callable[[Change], Item | None]) -> Iterator[tuple[Change, Item]]:
        """Yield models with as many numbers changed as are accepted together.

        Each attempt begins with another number, so that none is always missing.
        """
        for attempt in range(0, _ATTEMPTS, 2):
            fresh = self._fresh(attempt)
            start = attempt * len(fresh) // _ATTEMPTS
            taken: Change = {}

            def accepts(some: Sequence[Change], taken: Change = taken) -> bool:
                is_accepted = build(taken | joined(some)) is not None
                if is_accepted:
                    taken |= joined(some)
                return is_accepted

            list(refused_items(fresh[start:] + fresh[:start], accepts))
            if taken and (built := build(taken)) is not None:
                yield taken, built

    def _fresh(self, attempt: int, *, scaled: bool = False) -> list[Change]:
        """Return new values of all variables.

        Widths stay multiples of their heads, which change too. Depths grow by 3 or 4.
        """
        factor = _FACTORS[attempt % len(_FACTORS)]
        found: list[Change] = []
        for index, variable in enumerate(self.observed.variables):
            name, value = variable.name, self.observed.values[variable.name]
            primes = _PRIMES if value > SMALL else _SMALL_PRIMES
            prime = primes[(index + 3 * attempt) % len(primes)]
            step = self.step(name)
            # Odd kernels stay odd, and heads have quarters that can be halved.
            unit = step * 8 * factor if variable.kind == "width" else step
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
        """Return whether a size becomes smaller when the variable grows."""
        base, start = self.observed.base, self.observed.values[variable.name]
        return variable.kind == "heads" or any(
            shrinks(base, model, 1 if value > start else -1)
            for value, model in self.observed.seen.get(variable.name, ())
            if model is not base
        )


def joined(changes: Iterable[Change]) -> Change:
    """Return several changes as one."""
    return {name: value for change in changes for name, value in change.items()}


class Probe(Struct):
    """A model with some numbers changed, and the memoized values of formulas for it.

    Attributes:
        changed: the symbols whose values differ from the observed base.
        values: the values of all symbols.
        facts: the sizes of the model by formula, of every block that the formula describes.
        is_fitted: whether formulas were fitted to this model.
    """

    changed: Change
    values: Values
    facts: Mapping[str, frozenset[tuple[int, ...]]]
    is_fitted: bool = False
    _results: dict[str, int | None] = field(default_factory=dict)

    def meets(self, conditions: Iterable[str]) -> bool:
        """Return whether the values meet all conditions."""
        return all(self._once(text, is_met) for text in conditions)

    def result(self, formula: tuple[str, ...]) -> tuple[int, ...] | None:
        """Return the formula's values, ``None`` if a division leaves a remainder."""
        found = [self._once(part, evaluate) for part in formula]
        known = tuple(result for result in found if result is not None)
        return known if len(known) == len(found) else None

    def _once(self, text: str, evaluated: Callable[[str, Values], int]) -> int | None:
        if text not in self._results:
            try:
                self._results[text] = evaluated(text, self.values)
            except UnevenDivision:
                self._results[text] = None
        return self._results[text]


class ProbePool:
    """Builds and memoizes changes of an observed model; the observed models are probes too."""

    def __init__(
        self,
        builder: ModelBuilder,
        observed: Observations,
        lengths: Mapping[str, int],
        most_builds: int,
    ) -> None:
        """Add the observed models.

        Args:
            builder: builds the models.
            observed: the models that formulas were fitted to.
            lengths: the lengths of their lists; see ``template_path``.
            most_builds: limit of further models.
        """
        self._builder, self._base = builder, observed.values
        self._lengths = lengths
        self._left = most_builds
        self._probes: dict[frozenset[tuple[str, int]], Probe | None] = {}
        for variable in observed.variables:
            for value, model in observed.seen[variable.name]:
                change = variable.at(value, observed.values) or {}
                self._probes[frozenset(change.items())] = self.read(change, model, is_fitted=True)

    def __iter__(self) -> Iterator[Probe]:
        """Yield all probes so far."""
        return filter(None, list(self._probes.values()))

    @property
    def has_room(self) -> bool:
        """Whether the limit of builds is not reached."""
        return self._left > 0

    def variant(self, change: Change) -> ModelSizes | None:
        """Return the model with this change, ``None`` if it is refused."""
        return self._builder.variant({**self._base, **change})

    def at(self, change: Change) -> Probe | None:
        """Return the probe with this change, ``None`` if it is refused."""
        change = {x: value for x, value in change.items() if value != self._base[x]}
        key = frozenset(change.items())
        if key not in self._probes:
            self._left -= 1
            self._probes[key] = None
            if (model := self.variant(change)) is not None:
                self._probes[key] = self.read(change, model)
        return self._probes[key]

    def at_within_limit(self, change: Change) -> Probe | None:
        """Return the probe with this change within the limit of builds."""
        return self.at(change) if change and self.has_room else None

    def read(self, change: Change, model: ModelSizes, *, is_fitted: bool = False) -> Probe:
        """Return the probe of a model."""
        facts: dict[str, set[tuple[int, ...]]] = {}
        for name, fact in model.facts.items():
            facts.setdefault(template_path(name, self._lengths), set()).add(fact)
        values = {**self._base, **change}
        found = {name: frozenset(some) for name, some in facts.items()}
        return Probe(change, values, found, is_fitted)
