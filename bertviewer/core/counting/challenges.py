"""Challenges: values of other kinds than fits and fresh models have, to find where formulas end.

Fits double and triple one number, fresh models move all of them upwards. Challenges move some and
leave others, up and down, by uneven ratios and by ones; what was equal becomes unequal, and what
was unequal equal.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from math import lcm

from bertviewer.core.counting.moves import SMALL, Change, Moves
from bertviewer.core.counting.observations import Observations, Variable
from bertviewer.core.expressions.symbols import (
    Symbol,
    is_width,
    place_of,
    quantity_of,
    standard_letter,
)
from bertviewer.core.frozen import frozen

HALVINGS = 2
"""So many times all numbers are shared out: one half of them is moved, and then the other."""

_STEERS = re.compile(r"layer|block|stage|depth|freq|period|interval|every|step|pattern")

MOST_LAYERS = 100


@frozen
class Challenger:
    """Chooses values that are unlike those of fits and fresh models.

    Attributes:
        observed: what the formulas were fitted to.
        held: numbers that no model takes another value of, alone or in proportion to one other.
        divisors: the letters that divide others, by the letters that have to stay multiples.
        steps: numbers that formulas divide a letter by.
    """

    observed: Observations
    held: tuple[Symbol, ...]
    divisors: Mapping[str, frozenset[str]]
    steps: Mapping[str, int]

    @classmethod
    def of(
        cls, observed: Observations, every: Mapping[str, Symbol], conditions: frozenset[str]
    ) -> "Challenger":
        """Read off which letters divide which: in formulas, and heads their width."""
        divisors: dict[str, set[str]] = {}
        steps: dict[str, int] = {}
        symbols = {s.letter: s for v in observed.variables for s in v.symbols}
        for condition in conditions:
            whole, _, part = condition.removesuffix(" == 0").partition(" % ")
            if whole in symbols and part in symbols:
                divisors.setdefault(whole, set()).add(part)
            elif whole in symbols and part.isdigit():
                steps[whole] = lcm(steps.get(whole, 1), int(part))
        values = observed.values
        for symbol in symbols.values():
            if quantity_of(symbol) != "heads":
                continue
            for other in symbols.values():
                if (
                    is_width(other)
                    and place_of(other) == place_of(symbol)
                    and values[other.letter] % values[symbol.letter] == 0
                ):
                    divisors.setdefault(other.letter, set()).add(symbol.letter)
        held = tuple(symbol for letter, symbol in every.items() if letter not in symbols)
        return cls(observed, held, {k: frozenset(v) for k, v in divisors.items()}, steps)

    def all(self) -> Iterator[Change]:
        """Yield all challenges, the broadest first."""
        moves = Moves(self.observed, self.divisors, self.steps)
        for number in range(HALVINGS):
            draw = random.Random(number)
            some = [variable for variable in self.observed.variables if draw.random() < 0.5]
            others = [variable for variable in self.observed.variables if variable not in some]
            yield from filter(None, (moves.of(half, draw) for half in (some, others)))
        yield from self._made_equal()
        yield from self._uneven()
        yield from self._smaller()
        yield from self._together()

    def _made_equal(self) -> Iterator[Change]:
        """Make all widths of a part equal to its hidden state's, and likewise its heads."""
        by_place: dict[str, list[Symbol]] = {}
        for variable in self._alone():
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
            if change:
                yield change

    def _uneven(self) -> Iterator[Change]:
        """Move each number of heads alone to one that does not divide the width.

        And each width to one that leaves an odd number to each head, and a single one; and to one
        that is no multiple any more, though what is rounded to whole parts would divide it.
        """
        values = self.observed.values
        parts = frozenset[str]().union(*self.divisors.values())
        for variable in self._alone():
            letter = variable.letter
            for part in self.divisors.get(letter, ()):
                yield {letter: values[part] * (values[letter] // values[part] + 1 | 1)}
                yield {letter: values[part]}
                parts_of_it = values[letter] // values[part]
                if 1 < parts_of_it < values[part]:
                    yield {letter: parts_of_it * (values[part] + 1)}
            if variable.quantity == "heads" and letter in parts:
                wholes = [values[w] for w, divisors in self.divisors.items() if letter in divisors]
                new = values[letter] + 1
                while any(whole % new == 0 for whole in wholes):
                    new += 1
                yield {letter: new}

    def _smaller(self) -> Iterator[Change]:
        """Make each small number of its own smaller: it may say how often something is so.

        What matters to nothing as it grows is made smaller together. The size of a head is made 1,
        which is no pair to be turned by its position.
        """
        values = self.observed.values
        matters = {variable.letter for variable in self._alone()}
        small: list[str] = []
        for variable in self.observed.variables:
            letter = standard_letter(variable.symbols[0])
            if variable.quantity != "width" or len(variable.symbols) > 1:
                continue
            if not letter and 1 < values[variable.letter] <= SMALL:
                small.append(variable.letter)
            elif letter == "K":
                yield {variable.letter: 1}
        idle = [letter for letter in small if letter not in matters]
        for some in (*([letter] for letter in small if letter in matters), idle):
            changes = (dict.fromkeys(some, 1), {x: values[x] - 1 for x in some})
            yield from (change for change in changes if change)

    def stepped(self, steps: Callable[[str], int]) -> Iterator[Change]:
        """Move all sizes by single steps at once: models round numbers to whole parts.

        Args:
            steps: gives what a letter has to be a multiple of, as far as is known by then.
        """
        values = self.observed.values
        sizes = self.observed.sizes_alone()
        large = [letter for letter in sizes if values[letter] > SMALL]
        small = [letter for letter in sizes if values[letter] <= SMALL]
        for some, ones in ((large, (1, -1, 2, 4, 8, 16)), (small, (1, 2, 4))):
            # Some formulas hold without what others need, as where a model rounds.
            for is_whole, by in (*((True, by) for by in (1, -1, 2)), *((False, by) for by in ones)):
                moved = {x: values[x] + by * (steps(x) if is_whole else 1) for x in some}
                if change := {letter: value for letter, value in moved.items() if value > 0}:
                    yield change

    def _together(self) -> Iterator[Change]:
        """Move numbers of one kind that no model takes another value of alone, all at once."""
        values = self.observed.values
        for quantity in sorted({quantity_of(symbol) for symbol in self.held}):
            letters = [symbol.letter for symbol in self.held if quantity_of(symbol) == quantity]
            if quantity == "layers":
                yield {letter: values[letter] + 1 for letter in letters}
            yield {letter: values[letter] * 2 for letter in letters}

    def deeper(self, real: Mapping[str, int]) -> Iterator[Change]:
        """Make models deeper where other numbers may say for how many layers something is so.

        Args:
            real: the letters' values in the real model.
        """
        observed = self.observed
        symbols = [symbol for variable in observed.variables for symbol in variable.symbols]
        depths = [s for s in symbols if quantity_of(s) == "layers" and standard_letter(s)]
        for symbol in depths:
            if any(
                _STEERS.search(other.key) and place_of(other) == place_of(symbol)
                for other in symbols
                if other not in depths
            ):
                yield {symbol.letter: min(2 * real[symbol.letter] + 3, MOST_LAYERS)}

    def _alone(self) -> list[Variable]:
        """Return the letters that can be changed by themselves and matter to something."""
        observed = self.observed
        return [
            variable
            for variable in observed.variables
            if len(variable.symbols) == 1
            and any(model is not observed.base for _, model in observed.seen[variable.letter])
        ]
