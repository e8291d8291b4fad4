"""Experiments on a configuration: change one number at a time, then all of them, and look.

A model accepts only some values (a width that its heads divide, say), so each change is tried with
several. A number that cannot be changed at all stays a plain number in every formula.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm

from bertviewer.core.dimensions import Blueprint, Laboratory, Values
from bertviewer.core.symbols import Role, Symbol, role_of

FEW_LAYERS = 2
"""Experiments use so many layers: enough to tell the first from the others, and fast."""

ATTEMPTS = 12
"""So many sets of fresh values are tried before a model is given up as too particular."""

_WITH_NEW_HEADS = 6
"""So many of the attempts change the number of heads as well."""

# Changing one number multiplies it by 2 to 5; these keep fresh values away from those.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)


@dataclass(frozen=True, slots=True)
class Variable:
    """A number that can be changed: one symbol, or several that the model wants equal."""

    symbols: tuple[Symbol, ...]

    @property
    def letter(self) -> str:
        """The letter that formulas use."""
        return self.symbols[0].letter

    @property
    def role(self) -> Role:
        """How it may be changed."""
        return role_of(self.symbols[0])


Points = tuple[tuple[int, Blueprint], ...]
"""Values of one variable, and the model built with each."""


@dataclass(frozen=True, slots=True)
class Observations:
    """What experiments showed.

    Attributes:
        base: the model that the changes started from, the real one with few layers.
        values: the letters' values in ``base``.
        variables: what could be changed.
        seen: by a variable's letter, the models with it alone changed.
    """

    base: Blueprint
    values: Values
    variables: tuple[Variable, ...]
    seen: Mapping[str, Points]

    def counts_modules(self, variable: Variable) -> bool:
        """Tell whether the variable was seen to change a number of modules."""
        points = self.seen[variable.letter]
        return any(model.lengths != self.base.lengths for _, model in points)


def observe(lab: Laboratory, real: Blueprint) -> Observations:
    """Change one number at a time and note the models that come out.

    Where a number cannot be changed alone, another of the same value is changed with it: ELECTRA
    gains a projection as soon as its embeddings and hidden states differ in width.
    """
    base, values = _start(lab, real)
    variables: list[Variable] = []
    seen: dict[str, Points] = {}
    bound: set[str] = set()
    for symbol in lab.symbols:
        if symbol.letter in bound:
            continue
        equals = [
            other
            for other in lab.symbols
            if other.letter not in bound | {symbol.letter} and _alike(symbol, other)
        ]
        for members in ((symbol,), *((symbol, other) for other in equals)):
            variable = Variable(members)
            points = _change_alone(lab, variable, base, values)
            if points:
                variables.append(variable)
                seen[variable.letter] = points
                bound.update(member.letter for member in members)
                break
    return Observations(base, values, tuple(variables), seen)


def fresh_models(
    lab: Laboratory, observed: Observations, wanted: int
) -> list[tuple[Blueprint, Values]]:
    """Build models with all variables at values that no observation used.

    Returns:
        As many as wanted, with their letters' values, or fewer where the model refuses too often.
    """
    models: list[tuple[Blueprint, Values]] = []
    for attempt in range(ATTEMPTS):
        if len(models) == wanted:
            break
        fresh = _fresh_values(observed, attempt)
        values = dict(observed.values)
        for variable in observed.variables:
            values |= _together(variable, fresh[variable.letter])
        model = lab.variant(values)
        if model is not None:
            models.append((model, values))
    return models


def _start(lab: Laboratory, real: Blueprint) -> tuple[Blueprint, dict[str, int]]:
    """Build the model that changes start from: with few layers if that only makes it shorter."""
    values = {symbol.letter: symbol.value for symbol in lab.symbols}
    layers = {s.letter: FEW_LAYERS for s in lab.symbols if role_of(s) == "layers"}
    few = lab.variant(values | layers)
    if few is not None and few.pattern == real.pattern:
        return few, values | layers
    return real, values


def _alike(symbol: Symbol, other: Symbol) -> bool:
    """Tell whether a model may want both equal: two widths, but not a width and a head count."""
    return symbol.value == other.value and role_of(symbol) == role_of(other) == "width"


def _change_alone(lab: Laboratory, variable: Variable, base: Blueprint, values: Values) -> Points:
    """Build the model with two other values of one variable; one is enough if nothing moves."""
    points: list[tuple[int, Blueprint]] = []
    for value in _nearby_values(variable, values[variable.letter]):
        model = lab.variant({**values, **_together(variable, value)})
        if model is None or not model.extends(base):
            continue
        points.append((value, model))
        if len(points) == 2 or model.shapes == base.shapes:
            break
    return tuple(points)


def _together(variable: Variable, value: int) -> dict[str, int]:
    return {symbol.letter: value for symbol in variable.symbols}


def _nearby_values(variable: Variable, value: int) -> Iterator[int]:
    """Yield values to try in place of ``value``, the likeliest to be accepted first.

    Multiples keep what divided the value, parts what it divided; layers grow by one. Heads shrink
    first: they have to divide a width, and some models round instead of refusing.
    """
    multiples = [value * factor for factor in (2, 3, 4, 5)]
    parts = [value // part for part in (2, 3, 4, 5, 7) if value % part == 0]
    if variable.role == "layers":
        yield from (value + 1, value + 2, value * 2)
    elif variable.role == "heads":
        yield from (*parts, *multiples)
    else:
        yield from (*multiples, *parts)


def _fresh_values(observed: Observations, attempt: int) -> dict[str, int]:
    """Return new values for all variables at once.

    The first attempts move the heads too, and keep every width a multiple of them; the later ones
    are for models with further demands, and multiply what was there by different primes. What was
    seen to multiply modules grows by a few only: a thousand layers would take minutes to build.
    """
    variables, values = observed.variables, observed.values
    gentle = attempt >= _WITH_NEW_HEADS
    factor = 1 if gentle else attempt % 3 + 1
    heads = lcm(*(values[v.letter] for v in variables if v.role == "heads"))  # 1 without any
    fresh = {}
    for index, variable in enumerate(variables):
        value = values[variable.letter]
        prime = _PRIMES[(index + 3 * attempt) % len(_PRIMES)]
        if observed.counts_modules(variable):
            fresh[variable.letter] = value + 3 + (index + attempt) % 4
        elif variable.role == "heads":
            fresh[variable.letter] = value * factor
        elif gentle:
            fresh[variable.letter] = value * prime
        elif variable.role == "width":
            fresh[variable.letter] = _stepped(value, heads, 2 * factor * heads, prime)
        else:
            fresh[variable.letter] = value + prime
    return fresh


def _stepped(value: int, heads: int, step: int, count: int) -> int:
    """Return a larger value, a multiple of ``step`` if the old one was a multiple of ``heads``."""
    start = value // step * step if value % heads == 0 else value
    return start + count * step
