"""Limits: where a formula that holds for fresh models ends, as conditions on the letters.

Each formula meets challenges. Where one is contradicted, the change is cut down to the least that
contradicts it, and the condition that is broken there becomes part of the formula's domain. A
formula for which no condition is found is dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bertviewer.core.counting.challenges import Challenger, Change
from bertviewer.core.counting.conditions import Candidates, ratio
from bertviewer.core.counting.dimensions import Blueprint, Laboratory, owners
from bertviewer.core.counting.fresh_models import Fresh
from bertviewer.core.counting.observations import Observations
from bertviewer.core.counting.proving import TENSOR, Gathered, Trial
from bertviewer.core.domains import is_met, letters_in
from bertviewer.core.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.symbols import Symbol, is_standard, role_of

MOST_BUILDS = 80
"""So many models are built at most to find out where formulas end."""

ROUNDS = 12
"""So many conditions are looked for in one challenge."""

Conditions = Mapping[str, tuple[str, ...]]  # by the name of the formula that they limit


@dataclass(slots=True)
class Limits:
    """Searches for the conditions under which formulas hold.

    Attributes:
        lab: builds the challenges.
        observed: what the formulas were fitted to.
        facts_of: reads off a model what formulas have to give.
        formulas: those to be limited; the ones that hold nowhere are taken out.
        unlimited: letters that formulas have to hold for any value of, or not at all.
        doubtful: the names of those that fresh models have not confirmed.
        is_plain: whether numbers of layers stay as they are anyway, so that they may be conditions.
        conditions: what is known of their domains; a module's hold what those below it need.
        reasons: why formulas were dropped.
        pinned: the letters that change numbers of modules in a way that no formula follows.
        built: the models that were built for it, with what was changed.
    """

    lab: Laboratory
    observed: Observations
    facts_of: Callable[[Blueprint], Gathered]
    formulas: dict[str, tuple[str, ...]]
    unlimited: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    is_plain: bool = False
    conditions: dict[str, dict[str, None]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    pinned: set[str] = field(default_factory=set)
    built: list[tuple[Mapping[str, int], Blueprint]] = field(default_factory=list)
    _known: dict[frozenset[tuple[str, int]], Gathered | None] = field(default_factory=dict)
    _builds: int = 0
    _symbols: dict[str, Symbol] = field(init=False)
    _real: dict[str, int] = field(init=False)
    _divisors: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._symbols = {symbol.letter: symbol for symbol in self.lab.symbols}
        self._real = {symbol.letter: symbol.value for symbol in self.lab.symbols}

    def search(self, evenness: Conditions, fresh: Iterable[Fresh]) -> None:
        """Meet all challenges.

        Args:
            evenness: what has to divide what for tensors' shapes, by the formula's name.
            fresh: models with all numbers changed.
        """
        self._begin(evenness)
        every = frozenset(text for texts in evenness.values() for text in texts)
        challenger = Challenger.of(self.observed, every)
        self._divisors = challenger.divisors
        for change, model in self.observed.misfits:
            for letter in change:
                self._pin_lists(letter, model.lengths)
            if not self.is_plain:
                # Plain layers are those of the real model, and misfits have few.
                self._known[frozenset(change.items())] = self.facts_of(model)
            self._meet(dict(change))
        if not self.is_plain:
            self._meet_longer()
        for change in challenger.all():
            self._meet(change)
        for change in challenger.deeper(self._real):
            self._meet(change)
        base = self.observed.values
        for model, values in fresh if self.doubtful else ():
            change = {letter: value for letter, value in values.items() if value != base[letter]}
            self._known[frozenset(change.items())] = self.facts_of(model)
            self._meet(change)

    def trials(self) -> list[Trial]:
        """Return all models that were built, to judge formulas by."""
        return [
            Trial(facts, {**self.observed.values, **change}, frozenset(change))
            for change, facts in ((dict(key), facts) for key, facts in self._known.items())
            if facts is not None
        ]

    def _meet_longer(self) -> None:
        """Meet what was seen with other numbers of modules: not each of them could be fitted."""
        values = self.observed.values
        for variable in self.observed.variables:
            for value, model in self.observed.seen[variable.letter]:
                if model.lengths != self.observed.base.lengths:
                    change = variable.at(value, values) or {}
                    self._known[frozenset(change.items())] = self.facts_of(model)
                    self._meet(change)

    def _begin(self, evenness: Conditions) -> None:
        """Start with what is known: divisions come out even, what was tied keeps its ratio."""
        tied = dict(self._ratios())
        for name, formula in self.formulas.items():
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
        is_fixed = self._real[letter] == self.observed.values[letter]
        for name in list(self.formulas):
            if name not in self.formulas or lists.isdisjoint(owners(name.removeprefix(TENSOR))):
                continue
            if is_fixed and (self.is_plain or not self.counts(letter)):
                self._add(name, f"{letter} == {self._real[letter]}")
            else:
                self._drop(name, {letter: self._real[letter] + 1})

    def _ratios(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        values = self.observed.values
        for variable in self.observed.variables:
            first, *others = (symbol.letter for symbol in variable.symbols)
            if others:
                yield first, tuple(ratio(first, other, values) for other in others)

    def _add(self, name: str, condition: str) -> None:
        self.conditions.setdefault(name, {})[condition] = None
        for owner in owners(name.removeprefix(TENSOR)):
            self.conditions.setdefault(owner, {})[condition] = None

    def _meet(self, change: Change) -> None:
        """Find conditions until no formula is contradicted by a model with these values."""
        for _ in range(ROUNDS):
            if not self._wrong(change):
                break
            least = self._least(change)
            wrong = self._wrong(least)
            condition = self._condition(least)
            fixed = self._fixed(least, wrong)
            for name in wrong:
                if name not in self.formulas:
                    continue  # dropped with a part of it
                if condition is not None:
                    self._add(name, condition)
                elif fixed is None or (name in self.doubtful and self._uses(name, fixed, least)):
                    self._drop(name, least)
                else:
                    self._add(name, f"{fixed} == {self._real[fixed]}")
        else:
            for name in self._wrong(change):
                if name in self.formulas:
                    self._drop(name, change)
        if self._facts(change) is None and len(change) > 1 and self._builds < MOST_BUILDS // 2:
            # A model may take one half of it.
            for half in _halves(change):
                self._meet(half)

    def _drop(self, name: str, change: Change) -> None:
        formula = self.formulas.pop(name)
        text = formula[0] if len(formula) == 1 else f"[{', '.join(formula)}]"
        moved = ", ".join(f"{letter} = {value}" for letter, value in change.items())
        self.reasons[name] = f"{text} is wrong with {moved}"
        self.pinned |= {letter for letter in change if self.counts(letter)}
        for owner in owners(name.removeprefix(TENSOR)):
            if owner in self.formulas:
                del self.formulas[owner]
                self.reasons[owner] = self.reasons[name]

    def counts(self, letter: str) -> bool:
        """Tell whether a letter changes numbers of modules."""
        if role_of(self._symbols[letter]) == "layers":
            return True
        return any(
            self.observed.counts_modules(variable)
            for variable in self.observed.variables
            if variable.letter == letter
        )

    def _facts(self, change: Mapping[str, int]) -> Gathered | None:
        key = frozenset(change.items())
        if key not in self._known:
            self._builds += 1
            self._known[key] = None
            if (model := self.lab.variant({**self.observed.values, **change})) is not None:
                self._known[key] = self.facts_of(model)
                self.built.append((change, model))
        return self._known[key]

    def _wrong(self, change: Mapping[str, int]) -> tuple[str, ...]:
        """Return the formulas that a model with these values contradicts, inside their domains."""
        facts = self._facts(change)
        if facts is None:
            return ()
        values = {**self.observed.values, **change}
        met: dict[str, bool] = {}
        given: dict[str, int | None] = {}
        wrong = []
        for name, fact in facts.items():
            formula = self.formulas.get(name)
            if formula is None:
                continue
            for condition in self.conditions.get(name, ()):
                if condition not in met:
                    met[condition] = is_met(condition, values)
                if not met[condition]:
                    break
            else:
                result = tuple(_value(part, values, given) for part in formula)
                if fact != {result}:
                    wrong.append(name)
        return tuple(wrong)

    def _least(self, change: Change) -> Change:
        """Return the least part of a change that contradicts a formula."""
        while len(change) > 1:
            half = next((half for half in _halves(change) if self._is_wrong(half)), None)
            if half is None:
                break
            change = half
        for letter in list(change) if len(change) > 1 else ():
            rest = {other: value for other, value in change.items() if other != letter}
            if rest and self._is_wrong(rest):
                change = rest
        return change

    def _is_wrong(self, change: Change) -> bool:
        return self._builds < MOST_BUILDS and bool(self._wrong(change))

    def _condition(self, change: Change) -> str | None:
        """Return a condition that the real model meets and the change breaks."""
        values = {**self.observed.values, **change}
        known = Candidates(self.observed, self._symbols, self._divisors, self._heals)
        for text in known.of(change):
            if (
                self.unlimited.isdisjoint(letters_in(text))
                and is_met(text, self._real)
                and is_met(text, self.observed.values)
                and not is_met(text, values)
            ):
                return text
        return None

    def _fixed(self, change: Change, wrong: tuple[str, ...]) -> str | None:
        """Return a letter that has to keep its value, one of no wrong formula if there is any."""
        used = frozenset[str]().union(*(letters_of(t) for n in wrong for t in self.formulas[n]))
        letters = [
            letter
            for letter in change
            if letter not in self.unlimited and (self.is_plain or not self.counts(letter))
        ]
        order = sorted(letters, key=lambda x: (x in used, is_standard(self._symbols[x])))
        return order[0] if order else None

    def _uses(self, name: str, letter: str, change: Change) -> bool:
        """Tell whether a formula would say little with a letter fixed, or a depth is at fault."""
        used = frozenset[str]().union(*map(letters_of, self.formulas[name]))
        return letter in used or (not self.is_plain and any(map(self.counts, change)))

    def _heals(self, change: Change) -> bool:
        """Tell whether a model with these values contradicts nothing."""
        return (
            self._builds < MOST_BUILDS
            and self._facts(change) is not None
            and not self._wrong(change)
        )


def _halves(change: Change) -> tuple[Change, Change]:
    items = list(change.items())
    middle = len(items) // 2
    return dict(items[:middle]), dict(items[middle:])


def _value(formula: str, values: Mapping[str, int], known: dict[str, int | None]) -> int | None:
    if formula not in known:
        try:
            known[formula] = evaluate(formula, values)
        except UnevenDivision:
            known[formula] = None
    return known[formula]
