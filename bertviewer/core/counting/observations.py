"""What experiments on a configuration showed: the models with one or two numbers changed."""

from collections.abc import Mapping
from dataclasses import field

from bertviewer.core.counting.variants import ModelShapes, Values
from bertviewer.core.expressions.letters import Quantity
from bertviewer.core.expressions.symbols import Symbol, quantity_of
from bertviewer.core.frozen import frozen


@frozen
class Variable:
    """A number that can be changed: one symbol, or several that only move in proportion."""

    symbols: tuple[Symbol, ...]

    @property
    def letter(self) -> str:
        """The letter that formulas use."""
        return self.symbols[0].letter

    @property
    def quantity(self) -> Quantity:
        """What it counts, which says how it may be changed."""
        return quantity_of(self.symbols[0])

    def at(self, value: int, values: Values) -> dict[str, int] | None:
        """Return all its letters' values where its own is ``value``; ``None`` for broken ones.

        Args:
            value: of the first symbol; the others change by the same factor.
            values: what they start from.
        """
        start = values[self.letter]
        if any(values[symbol.letter] * value % start for symbol in self.symbols):
            return None
        return {s.letter: values[s.letter] * value // start for s in self.symbols}


Points = tuple[tuple[int, ModelShapes], ...]
"""Values of one variable, and the model built with each."""

Pair = tuple[int, int, ModelShapes]
"""Values of two variables, and the model built with both."""


Misfit = tuple[Values, ModelShapes]
"""The letters that were changed, and a model that has other modules or tensors with them."""


@frozen
class Observations:
    """What experiments showed.

    Attributes:
        base: the model that the changes started from, the real one with few layers.
        values: the letters' values in ``base``.
        variables: what could be changed.
        seen: by a variable's letter, the models with it alone changed.
        pairs: by two variables' letters, the model with both changed, where one at a time did not
            tell enough.
        misfits: models in which one number alone makes another architecture, as the projections
            that OPT gains where its words and its hidden states differ in width.
    """

    base: ModelShapes
    values: Values
    variables: tuple[Variable, ...]
    seen: Mapping[str, Points]
    pairs: Mapping[tuple[str, str], Pair] = field(default_factory=dict)
    misfits: tuple[Misfit, ...] = ()

    def counts_modules(self, variable: Variable) -> bool:
        """Tell whether the variable was seen to change a number of modules."""
        points = self.seen[variable.letter]
        return any(model.lengths != self.base.lengths for _, model in points)

    def sizes_alone(self) -> list[str]:
        """Return the letters of sizes and widths that move alone, and no number of modules."""
        return [
            variable.letter
            for variable in self.variables
            if variable.quantity in ("width", "size")
            and len(variable.symbols) == 1
            and not self.counts_modules(variable)
        ]

    def variable_of(self, letter: str) -> str:
        """Return the letter of the variable that this one belongs to, empty if it is fixed."""
        for variable in self.variables:
            if any(symbol.letter == letter for symbol in variable.symbols):
                return variable.letter
        return ""

    def sizes(self, name: str, axis: int) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return one dimension of a tensor for each change of one variable."""
        return {
            letter: tuple((value, model.shapes[name][axis]) for value, model in points)
            for letter, points in self.seen.items()
        }

    def without_counting(self) -> "Observations":
        """Return the same without the variables that change numbers of modules."""
        kept = tuple(v for v in self.variables if not self.counts_modules(v))
        letters = {variable.letter for variable in kept}
        dropped = self.seen.keys() - letters
        return Observations(
            self.base,
            self.values,
            kept,
            {letter: points for letter, points in self.seen.items() if letter in letters},
            {two: pair for two, pair in self.pairs.items() if letters.issuperset(two)},
            tuple(misfit for misfit in self.misfits if not dropped & misfit[0].keys()),
        )
