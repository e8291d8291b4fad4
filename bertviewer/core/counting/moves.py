"""Moves: values that numbers can take at once, where what divides others goes on dividing them."""

import random
from collections.abc import Mapping
from math import lcm

from bertviewer.core.counting.observations import Observations, Variable
from bertviewer.core.frozen import frozen

SMALL = 16
"""A number of its own up to this one may steer, and be no size."""

Change = dict[str, int]
"""New values of some letters."""

_RATIOS = ((1, 2), (2, 3), (3, 4), (5, 4), (3, 2), (7, 3))
_STEPS = (-1, 1, 3)
_ODD = (0, 0, 0, 1)


@frozen
class Moves:
    """Moves numbers up and down, by uneven ratios and by ones.

    Attributes:
        observed: what the formulas were fitted to.
        divisors: the letters that divide others, by the letters that have to stay multiples.
        steps: numbers that formulas divide a letter by.
    """

    observed: Observations
    divisors: Mapping[str, frozenset[str]]
    steps: Mapping[str, int]

    def of(self, chosen: list[Variable], draw: random.Random) -> Change:
        """Return new values for these, at random."""
        values, change = self.observed.values, Change()
        letters = {variable.letter for variable in chosen}
        parts = frozenset[str]().union(*self.divisors.values())
        # What divides comes first, and only where what it divides can follow.
        for variable in sorted(chosen, key=lambda v: v.letter not in parts):
            letter = variable.letter
            if len(variable.symbols) > 1:
                new = values[letter] * draw.choice((2, 3))
            elif letter in parts:
                new = self._divisor(letter, letters, draw)
            elif variable.quantity == "layers" or self.observed.counts_modules(variable):
                new = values[letter] + draw.choice(_STEPS)
            elif letter in self.divisors or letter in self.steps:
                together = (
                    change.get(part, values[part]) for part in self.divisors.get(letter, ())
                )
                step = lcm(self.steps.get(letter, 1), *together)
                above, below = draw.choice(_RATIOS)
                new = max(values[letter] * above // below // step, 1) * step
            elif values[letter] <= SMALL:
                new = values[letter] + draw.choice(_STEPS)
            else:
                above, below = draw.choice(_RATIOS)
                new = values[letter] * above // below // 2 * 2 + draw.choice(_ODD)
            if new > 0:
                change |= _only_new(variable, new, values)
        return change

    def _divisor(self, letter: str, letters: set[str], draw: random.Random) -> int:
        """Return a value that divides what the letter divides, if that does not move as well."""
        values = self.observed.values
        value = values[letter]
        wholes = [values[w] for w, parts in self.divisors.items() if letter in parts]
        stay = [values[w] for w, ps in self.divisors.items() if letter in ps and w not in letters]
        free = [value * 2, value * 3, *([value // 2] if value % 2 == 0 else [])]
        fitting = [new for new in free if all(whole % new == 0 for whole in stay)]
        return draw.choice(fitting) if fitting and wholes else value


def _only_new(variable: Variable, value: int, values: Mapping[str, int]) -> Change:
    changed = variable.at(value, values) or {}
    return {letter: new for letter, new in changed.items() if new != values[letter]}
