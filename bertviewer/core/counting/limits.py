"""Limits: where a formula that holds for fresh models ends, as conditions on the letters.

Each formula meets challenges. Where one is contradicted, the change is cut down to the least that
contradicts it, and the condition that is broken there becomes part of the formula's domain. A
formula for which no condition is found is dropped.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.counting.broken_conditions import BrokenConditions
from bertviewer.core.counting.challenges import Challenger
from bertviewer.core.counting.conditions import ratio
from bertviewer.core.counting.contradictions import Contradictions, halves
from bertviewer.core.counting.coverage import untried
from bertviewer.core.counting.fresh_models import Fresh
from bertviewer.core.counting.moves import Change
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import TENSOR
from bertviewer.core.counting.variants import blanked, owners
from bertviewer.core.expressions.domains import letters_in
from bertviewer.core.expressions.evaluation import letters_of

ROUNDS = 32
"""So many conditions are looked for in one challenge."""
PASSES = 2
"""So many times models that were built on the way are gone through: each may ask for more."""

Conditions = Mapping[str, tuple[str, ...]]  # by the name of the formula that they limit


@dataclass(slots=True)
class Limits:
    """Searches for the conditions under which formulas hold.

    Attributes:
        models: what the formulas are tried on; those that hold nowhere are taken out of it, and a
            module's conditions hold what those below it need.
        observed: what the formulas were fitted to.
        unlimited: letters that formulas have to hold for any value of, or not at all.
        doubtful: the names of those that fresh models have not confirmed.
        is_plain: whether numbers of layers stay as they are anyway, so that they may be conditions.
        reasons: why formulas were dropped.
        pinned: the letters that change numbers of modules in a way that no formula follows.
    """

    models: Contradictions
    observed: Observations
    unlimited: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    is_plain: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    pinned: set[str] = field(default_factory=set)
    broken: BrokenConditions = field(init=False)

    def __post_init__(self) -> None:
        self.broken = BrokenConditions(self.models, self.observed, self.unlimited, self.is_plain)

    def search(self, evenness: Conditions, fresh: Iterable[Fresh]) -> None:
        """Meet all challenges.

        Args:
            evenness: what has to divide what for tensors' shapes, by the formula's name.
            fresh: models with all numbers changed.
        """
        self._begin(evenness)
        every = frozenset(text for texts in evenness.values() for text in texts)
        challenger = Challenger.of(self.observed, self.broken.symbols, every)
        self.broken.divisors = challenger.divisors
        for change, model in self.observed.misfits:
            for letter in change:
                self._pin_lists(letter, model.lengths)
            if not self.is_plain:
                # Plain layers are those of the real model, and misfits have few.
                self.models.learn(change, model)
            self._meet(dict(change))
        if not self.is_plain:
            self._meet_longer()
        for change in challenger.all():
            self._meet(change)
        for change in challenger.stepped(self.broken.step):
            self._meet(change)
        for change in challenger.deeper(self.broken.real):
            self._meet(change)
        base = self.observed.values
        for model, values in fresh if self.doubtful else ():
            change = {letter: value for letter, value in values.items() if value != base[letter]}
            self.models.learn(change, model)
            self._meet(change)
        for _ in range(PASSES):
            # What was built to judge conditions may contradict other formulas.
            for change in self.models.changes():
                self._meet(change)
        for name, text in list(
            untried(
                self.models.formulas,
                self.models.conditions,
                self.models.trials(),
                self.observed,
                self.broken.divisors,
            )
        ):
            if self.unlimited.isdisjoint(letters_in(text)):
                self._add(name, text)

    def _meet_longer(self) -> None:
        """Meet what was seen with other numbers of modules: not each of them could be fitted."""
        values = self.observed.values
        for variable in self.observed.variables:
            for value, model in self.observed.seen[variable.letter]:
                if model.lengths != self.observed.base.lengths:
                    change = variable.at(value, values) or {}
                    self.models.learn(change, model)
                    self._meet(change)

    def _begin(self, evenness: Conditions) -> None:
        """Start with what is known: divisions come out even, what was tied keeps its ratio."""
        tied = dict(self._ratios())
        for name, formula in self.models.formulas.items():
            for text in evenness.get(name, ()):
                self._add(name, text)
            for letter in frozenset[str]().union(*map(letters_of, formula)) & tied.keys():
                for text in tied[letter]:
                    self._add(name, text)

    def _pin_lists(self, letter: str, lengths: Mapping[str, int]) -> None:
        """Leave alone what is in a list that a letter makes longer or shorter at any place.

        A number in a path stands for another module then.
        """
        base = self.observed.base.lengths.items()
        lists = {path for path, length in base if length != lengths.get(path, 0)}
        is_fixed = self.broken.real[letter] == self.observed.values[letter]
        for name in list(self.models.formulas):
            if name not in self.models.formulas or lists.isdisjoint(
                owners(name.removeprefix(TENSOR))
            ):
                continue
            if is_fixed and (self.is_plain or not self.broken.counts(letter)):
                self._add(name, f"{letter} == {self.broken.real[letter]}")
            else:
                self._drop(name, {letter: self.broken.real[letter] + 1})

    def _ratios(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        values = self.observed.values
        for variable in self.observed.variables:
            first, *others = (symbol.letter for symbol in variable.symbols)
            if others:
                yield first, tuple(ratio(first, other, values) for other in others)

    def _add(self, name: str, condition: str) -> None:
        self.models.conditions.setdefault(name, {})[condition] = None
        for owner in owners(name.removeprefix(TENSOR)):
            self.models.conditions.setdefault(owner, {})[condition] = None

    def _meet(self, change: Change) -> None:
        """Find conditions until no formula is contradicted by a model with these values."""
        for _ in range(ROUNDS):
            if not self.models.wrong(change):
                break
            self._limit(self.models.least(change))
        else:
            for name in self.models.wrong(change):
                if name in self.models.formulas:
                    self._drop(name, change)
        if self.models.facts(change) is None and len(change) > 1 and self.models.has_room(2):
            # A model may take one half of it.
            for half in halves(change):
                self._meet(half)

    def _limit(self, change: Change) -> None:
        """Find a condition for each formula that a least change contradicts, or drop it."""
        wrong: dict[tuple[str, ...], list[str]] = {}
        for name in self.models.wrong(change):
            wrong.setdefault(self.models.formulas[name], []).append(name)
        if (letter := self.broken.steering(change)) is not None:
            self._pin_alike(letter, self.models.wrong(change))
        fixed = self.broken.fixed(change, wrong)
        for formula, names in wrong.items():
            # Some are limited or dropped with a part of them by now.
            still = set(self.models.wrong(change)).intersection(names)
            condition = self.broken.condition(change, formula, still) if still else None
            is_lost = fixed is None or self.broken.uses(formula, fixed, change)
            for name in names:
                if name not in still or name not in self.models.formulas:
                    continue
                if condition is not None:
                    for text in condition:
                        self._add(name, text)
                elif fixed is None or (name in self.doubtful and is_lost):
                    self._drop(name, change)
                else:
                    self._add(name, f"{fixed} == {self.broken.real[fixed]}")

    def _pin_alike(self, letter: str, names: Iterable[str]) -> None:
        """Leave alone what says which layers are of another kind, for all that it may be said of.

        Formulas with the letter follow it themselves.
        """
        alike = {
            blanked(name)
            for name in names
            if not any(letter in letters_of(text) for text in self.models.formulas[name])
        }
        for name in [name for name in self.models.formulas if blanked(name) in alike]:
            self._add(name, f"{letter} == {self.broken.real[letter]}")

    def _drop(self, name: str, change: Change) -> None:
        formula = self.models.formulas.pop(name)
        sizes = ", ".join(map(readable, formula))
        text = sizes if len(formula) == 1 else f"[{sizes}]"
        moved = ", ".join(f"{letter} = {value}" for letter, value in change.items())
        self.reasons[name] = f"{text} is wrong for {moved}"
        self.pinned |= {letter for letter in change if self.broken.counts(letter)}
        for owner in owners(name.removeprefix(TENSOR)):
            if owner in self.models.formulas:
                del self.models.formulas[owner]
                self.reasons[owner] = self.reasons[name]
