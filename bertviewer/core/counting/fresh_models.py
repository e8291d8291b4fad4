"""Fresh models: all numbers of a configuration changed at once, to values that no fit has seen."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from math import lcm

from bertviewer.core.counting.observations import Observations, Variable
from bertviewer.core.counting.variants import ModelShapes, Values, VariantBuilder
from bertviewer.core.frozen import frozen

ATTEMPTS = 12
"""So many sets of fresh values are tried before a model is given up as too particular."""

WITH_NEW_HEADS = 6
"""So many of the attempts change the number of heads as well."""

WITH_POWERS = 9
"""From this attempt on sizes are multiplied by powers of two, which some models demand."""

PARTLY = (0, 3, 4, 9, 10, 11)
"""These attempts leave out what a model refuses, where it does not take all at once."""

# Changing one number multiplies it by 2 to 5; these keep fresh values away from those.
_PRIMES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)

_SMALL = 16
_SMALL_PRIMES = (3, 7, 11, 13)
"""Kernels and patches are squared and multiplied: they must not grow into overflow."""

_FACTORS = ((2, 2), (1, 1), (4, 2), (1, 2), (2, 1), (4, 1))
"""What attempts multiply heads by, and of what widths are multiples beyond that: odd ones too."""

Fresh = tuple[ModelShapes, Mapping[str, int]]
"""A model, and its letters' values."""


@frozen
class Requirements:
    """What fresh models have to be like.

    Attributes:
        steps: what formulas divide a letter by, so that the division comes out even.
        powers: the powers of letters that formulas divide by, where they are not 1.
        names: the tensors that a model must have, no more and no fewer; any if this is ``None``.
    """

    steps: Values = field(default_factory=dict)
    powers: Values = field(default_factory=dict)
    names: frozenset[str] | None = None


def fresh_models(
    variants: VariantBuilder,
    observed: Observations,
    wanted: int,
    requirements: Requirements | None = None,
) -> list[Fresh]:
    """Build models with all variables at values that no observation used.

    Returns:
        As many as wanted, with their letters' values, or fewer where the model refuses too often.
    """
    maker = _Maker(variants, observed, requirements or Requirements())
    models: list[Fresh] = []
    for attempt in range(ATTEMPTS):
        if len(models) == wanted:
            break
        found = maker.build(maker.values(attempt))
        if found is not None:
            models.append(found)
    return models


def partly_fresh_models(
    variants: VariantBuilder, observed: Observations, requirements: Requirements
) -> Iterator[Fresh]:
    """Build models with as many variables at fresh values as a model takes together.

    Each attempt begins at another variable, so that none is always the one that is left out.
    """
    maker = _Maker(variants, observed, requirements)
    for number, attempt in enumerate(PARTLY):
        fresh = maker.values(attempt)
        names = list(fresh)
        start = number * len(names) // len(PARTLY)
        taken: dict[str, int] = {}
        model: Fresh | None = None
        waiting = [names[start:] + names[:start]]
        while waiting:
            some = waiting.pop()
            tried = taken | {name: fresh[name] for name in some}
            built = maker.build(tried)
            if built is not None:
                taken, model = tried, built
            elif len(some) > 1:
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
        if model is not None:
            yield model


@frozen
class _Maker:
    """Chooses fresh values and builds the models with them."""

    variants: VariantBuilder
    observed: Observations
    requirements: Requirements
    divisors: frozenset[str] = field(init=False)
    counting: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        seen, variables = self.observed, self.observed.variables
        divisors = (v.letter for v in variables if _divides(seen, v))
        counting = (v.letter for v in variables if seen.counts_modules(v) or v.quantity == "layers")
        object.__setattr__(self, "divisors", frozenset(divisors))
        object.__setattr__(self, "counting", frozenset(counting))

    def build(self, fresh: Values) -> Fresh | None:
        """Build with these variables changed, and the others as they were."""
        values = dict(self.observed.values)
        for variable in self.observed.variables:
            if variable.letter in fresh:
                values |= variable.at(fresh[variable.letter], self.observed.values) or {}
        model = self.variants.variant(values)
        names = self.requirements.names
        if model is None or (names is not None and names != model.shapes.keys()):
            return None
        return model, values

    def values(self, attempt: int) -> dict[str, int]:
        """Return new values for all variables at once.

        The first attempts move the heads too, and keep every width a multiple of them; the later
        ones are for models with further demands, and multiply what was there by different primes,
        or by powers of two.
        What was seen to multiply modules grows by a few only: a thousand layers would take minutes
        to build.
        """
        observed = self.observed
        gentle = WITH_NEW_HEADS <= attempt < WITH_POWERS
        factor, even = (1, 2) if gentle else _FACTORS[attempt % len(_FACTORS)]
        fresh = {}
        for index, variable in enumerate(observed.variables):
            letter = variable.letter
            value = observed.values[letter]
            primes = _PRIMES if value > _SMALL else _SMALL_PRIMES
            prime = primes[(index + 3 * attempt) % len(primes)]
            step = self.requirements.steps.get(letter, 1)
            if letter in self.counting:
                fresh[letter] = value + 3 + (index + attempt) % 2
            elif letter in self.divisors:
                fresh[letter] = value * factor
            elif attempt >= WITH_POWERS:
                fresh[letter] = value * 2 ** (3 + (index + attempt) % 4)
            elif gentle or len(variable.symbols) > 1:
                fresh[letter] = value * prime * factor
            elif variable.quantity == "width":
                heads, power = self._divisor(value)
                # Divisors grow by the factor: what they divided must be a multiple of that too.
                step = even * factor ** max(power, 1) * lcm(heads, step)
                start = value // step * step if power else value
                fresh[letter] = start + prime * step
            else:
                fresh[letter] = value + prime * step
        return fresh

    def _divisor(self, value: int) -> tuple[int, int]:
        """Return what all divisors of a value make together, and the highest power of one.

        A single head divides too: the fresh model has more of them. Without any the power is 0.
        """
        together, highest = 1, 0
        for letter in self.divisors:
            divisor = self.observed.values[letter]
            for power in range(self.requirements.powers.get(letter, 1), 0, -1):
                if value % divisor**power == 0:
                    together, highest = lcm(together, divisor**power), max(highest, power)
                    break
        return together, highest


def _divides(observed: Observations, variable: Variable) -> bool:
    """Tell whether something became smaller where the variable grew: it divides."""
    if variable.quantity == "heads":
        return True
    base, start = observed.base, observed.values[variable.letter]
    for value, model in observed.seen[variable.letter]:
        if model is base:
            continue
        for name, shape in base.shapes.items():
            if any(
                (size - old) * (value - start) < 0
                for size, old in zip(model.shapes[name], shape, strict=True)
            ):
                return True
    return False
