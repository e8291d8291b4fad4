"""Which condition a change breaks that makes a formula wrong."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import lcm

from bertviewer.core.counting.conditions import Candidates
from bertviewer.core.counting.contradictions import Contradictions
from bertviewer.core.counting.moves import SMALL, Change
from bertviewer.core.counting.observations import Observations
from bertviewer.core.expressions.domains import divisors_in, is_met, letters_in
from bertviewer.core.expressions.evaluation import evaluate, letters_of
from bertviewer.core.expressions.symbols import Symbol, is_standard, quantity_of, standard_letter


@dataclass(slots=True)
class BrokenConditions:
    """Answers what a change of the configuration breaks.

    Attributes:
        models: what the formulas are tried on.
        observed: what they were fitted to.
        unlimited: letters that formulas have to hold for any value of, or not at all.
        is_plain: whether numbers of layers stay as they are anyway, so that they may be conditions.
        symbols: the configuration's numbers by their letters.
        real: their values in the real model.
        divisors: what each letter is divided by, as far as is known.
    """

    models: Contradictions
    observed: Observations
    unlimited: frozenset[str]
    is_plain: bool
    symbols: dict[str, Symbol] = field(init=False)
    real: dict[str, int] = field(init=False)
    divisors: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.symbols = {symbol.letter: symbol for symbol in self.models.variants.symbols}
        self.real = {symbol.letter: symbol.value for symbol in self.models.variants.symbols}

    def condition(
        self, change: Change, formula: tuple[str, ...], names: Collection[str]
    ) -> tuple[str, ...] | None:
        """Return what the real model meets and the change breaks, so that formulas are wrong."""
        values = {**self.observed.values, **change}

        def is_broken(texts: tuple[str, ...]) -> bool:
            return (
                all(self.unlimited.isdisjoint(letters_in(text)) for text in texts)
                and all(is_met(text, self.real) for text in texts)
                and all(is_met(text, self.observed.values) for text in texts)
                and not all(is_met(text, values) for text in texts)
            )

        known = Candidates(
            self.observed,
            self.symbols,
            self.divisors,
            self.step,
            lambda other: self.models.verdict(other, names),
        )
        used = sorted(frozenset[str]().union(*map(letters_of, formula)))
        return next(filter(is_broken, known.all(change, used)), None)

    def fixed(self, change: Change, wrong: Iterable[tuple[str, ...]]) -> str | None:
        """Return a letter that has to keep its value, one of no wrong formula if there is any."""
        used = {letter for formula in wrong for text in formula for letter in letters_of(text)}
        letters = [
            letter
            for letter in change
            if letter not in self.unlimited and (self.is_plain or not self.counts(letter))
        ]
        order = sorted(letters, key=lambda x: (x in used, is_standard(self.symbols[x])))
        return order[0] if order else None

    def uses(self, formula: tuple[str, ...], letter: str, change: Change) -> bool:
        """Tell whether a formula would say little with a letter fixed, or a depth is at fault."""
        used = frozenset[str]().union(*map(letters_of, formula))
        return letter in used or (not self.is_plain and any(map(self.counts, change)))

    def steering(self, change: Change) -> str | None:
        """Return the small number of its own that alone makes another architecture, if it does."""
        ((letter, _), *others) = change.items()
        symbol = self.symbols[letter]
        is_own = quantity_of(symbol) == "width" and not standard_letter(symbol)
        if others or not is_own or self.real[letter] > SMALL or letter in self.unlimited:
            return None
        now, before = self.models.facts(change), self.models.facts({})
        is_same = now is None or before is None or now.keys() == before.keys()
        return None if is_same or self.counts(letter) else letter

    def counts(self, letter: str) -> bool:
        """Tell whether a letter changes numbers of modules."""
        if quantity_of(self.symbols[letter]) == "layers":
            return True
        return any(
            self.observed.counts_modules(variable)
            for variable in self.observed.variables
            if variable.letter == letter
        )

    def step(self, letter: str, besides: str = "") -> int:
        """Return what a letter has to be a multiple of, as far as is known, for other parts."""
        known = {text for texts in self.models.conditions.values() for text in texts}
        divisors = {*divisors_in(known, letter), *self.divisors.get(letter, ())}
        return lcm(
            *(evaluate(x, self.observed.values) for x in divisors if besides not in letters_of(x))
        )
