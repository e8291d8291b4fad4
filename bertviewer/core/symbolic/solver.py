"""Formulas are tried on models that they were not fitted to, and limited to where they hold.

The search is a loop of counterexamples. Each probe is a model with some numbers changed. Where a
formula is wrong for it, the change is reduced to the least part for which it still is. Of the
conditions that this change breaks (a division comes out even, two numbers are equal or different,
a number is not smaller, or is what it is), models in which one of them is met again are built, and
the one is taken that excludes no model, or as few as possible, for which the formula is right.
"""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import gcd, lcm

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.budget import OverBudget
from bertviewer.core.expressions.domains import is_met, letters_in
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.symbols import (
    Symbol,
    quantity_of,
    standard_letter,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.symbolic.conditions import (
    DIVISION,
    UNCONFIRMED,
    Candidates,
    Conditions,
    Probe,
    known_step,
    ratio,
)
from bertviewer.core.symbolic.models import (
    TENSOR,
    Change,
    Facts,
    ModelBuilder,
    ModelSizes,
    blanked,
    owners,
)
from bertviewer.core.symbolic.observations import Observations
from bertviewer.core.symbolic.probes import PARTLY_FRESH, PROOFS, SMALL, Probes, joined

OPEN = "it cannot be verified because too few models can be built with other values of "

Formulas = Mapping[str, tuple[str, ...]]
"""Expressions by the name of what they describe: a tensor's dimensions, or a module's one count."""

_MOST_BUILDS, _LEAST_BUILDS, _MODULES = 200, 120, 40_000
"""The most models that are built, for small models and large ones; modules of all of them."""
_CONDITIONS = 32
"""The most conditions that are looked for with one probe."""
_RANDOM = 8
"""The number of probes with random values that meet the conditions found so far."""


@frozen
class Solution:
    """What became of formulas.

    Attributes:
        proven: those that are verified.
        conditions: by name, what has to be met for them to hold.
        reasons: why the others are not.
        unfollowed: the depths for whose other values formulas were wrong.
    """

    proven: Formulas
    conditions: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, str]
    unfollowed: frozenset[str]


@dataclass(slots=True)
class Solver:
    """Searches for the conditions under which formulas hold, and drops those without.

    Attributes:
        builder: builds the models.
        observed: what the formulas were fitted to.
        formulas: by name; those that hold nowhere are removed.
        facts_of: reads from a model what formulas have to give.
        template: gives the formula's name for a name in any model.
        unlimited: symbols that formulas have to hold for any value of.
        conditions: by name, what is known; a module's include those of everything below it.
        given: by name, those that do not come from a counterexample.
        learned: by name, those that were found with a counterexample, in order.
        reasons: why formulas were removed.
    """

    builder: ModelBuilder
    observed: Observations
    formulas: dict[str, tuple[str, ...]]
    facts_of: Callable[[ModelSizes], Facts]
    template: Callable[[str], str]
    unlimited: frozenset[str] = frozenset()
    conditions: dict[str, dict[str, None]] = field(default_factory=dict)
    given: dict[str, dict[str, None]] = field(default_factory=dict)
    learned: dict[str, list[Conditions]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    unfollowed: set[str] = field(default_factory=set)
    probes: dict[frozenset[tuple[str, int]], Probe | None] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(init=False)
    chosen: Probes = field(init=False)
    candidates: Candidates = field(init=False)
    _builds: int = 0

    def __post_init__(self) -> None:
        self.symbols = {symbol.letter: symbol for symbol in self.builder.symbols}

    def solve(
        self,
        divisibility: Mapping[str, Conditions],
        steps: Mapping[str, int],
        powers: Mapping[str, int],
    ) -> Solution:
        """Find the conditions of formulas, and verify them on models with all numbers changed.

        Args:
            divisibility: by name, what has to divide what for the formula's divisions to be even.
            steps: what formulas divide terms with each symbol by.
            powers: the highest power of each symbol that formulas divide by.
        """
        self._prepare(divisibility, steps, powers)
        self._search([change for change, _ in self.chosen.fresh_models(self.builder)])
        proven, reasons = self._verified()
        for change in self._partly_fresh():
            if not any(reason.startswith(OPEN) for reason in reasons.values()):
                break
            self._meet(change)
            proven, reasons = self._verified()
        return Solution(
            proven,
            {name: tuple(texts) for name, texts in self.conditions.items()},
            reasons,
            frozenset(self.unfollowed),
        )

    def limit(self, divisibility: Mapping[str, Conditions]) -> None:
        """Find the conditions of formulas that are verified, and drop those without."""
        self._prepare(divisibility, {}, {})
        self._search(())

    def _prepare(
        self,
        divisibility: Mapping[str, Conditions],
        steps: Mapping[str, int],
        powers: Mapping[str, int],
    ) -> None:
        """Divisions have to come out even, and what was changed in proportion stays so."""
        every = dict.fromkeys(text for texts in divisibility.values() for text in texts)
        self.chosen = Probes.of(self.observed, self.builder.symbols, every, steps, powers)
        self.candidates = Candidates(self.observed, self.symbols, self.chosen.parts, self._known)
        values = self.observed.values
        ratios = {}
        for variable in self.observed.variables:
            first, *others = (symbol.letter for symbol in variable.symbols)
            ratios[first] = [ratio(first, other, values) for other in others]
        for name, formula in self.formulas.items():
            tied = (text for letter in _letters(formula) for text in ratios.get(letter, ()))
            for text in (*divisibility.get(name, ()), *tied):
                self._add(name, text)
        # Observed models are probes as well: not every one of them could be fitted.
        for variable in self.observed.variables:
            for value, model in self.observed.seen[variable.letter]:
                self._note(variable.at(value, values) or {}, model)

    def _search(self, fresh: Iterable[Change]) -> None:
        """Compare formulas with models until none is wrong under its conditions.

        At a limit of time or memory the conditions found so far are kept, if all kinds of changes
        have been tried.
        """
        for change in (*self.observed.mismatches, *self.chosen.structured(), *fresh):
            if change:
                self._meet(change)
        with suppress(OverBudget):
            for seed in range(_RANDOM):
                self._meet(self.chosen.random(random.Random(seed), self._known()))
            self._meet_again()
            self._prune()
            self._meet_again()
        self._limit_to_tried_multiples()

    def _meet_again(self) -> None:
        """What was built to choose a condition may contradict other formulas."""
        for _ in range(2):
            for probe in list(filter(None, self.probes.values())):
                self._meet(probe.changed)

    # Models.

    def probe(self, change: Change) -> Probe | None:
        """Return the model with this change, ``None`` where the model refuses it."""
        change = {x: value for x, value in change.items() if value != self.observed.values[x]}
        key = frozenset(change.items())
        if key not in self.probes:
            self._builds += 1
            model = self.builder.variant({**self.observed.values, **change})
            self.probes[key] = None
            if model is not None:
                self._note(change, model)
        return self.probes[key]

    def _note(self, change: Change, model: ModelSizes) -> None:
        facts: dict[str, set[tuple[int, ...]]] = {}
        for name, fact in self.facts_of(model).items():
            facts.setdefault(self.template(name), set()).add(fact)
        self.probes[frozenset(change.items())] = Probe(
            change,
            {**self.observed.values, **change},
            {name: frozenset(several) for name, several in facts.items()},
        )

    def _has_room(self) -> bool:
        modules = sum(not name.startswith(TENSOR) for name in self.formulas)
        return self._builds < max(_LEAST_BUILDS, min(_MOST_BUILDS, _MODULES // max(modules, 1)))

    def _partly_fresh(self) -> Iterator[Change]:
        """Yield changes of as many numbers as a model accepts together.

        Each attempt begins with another number, so that the same is not always left out.
        """
        for number, attempt in enumerate(PARTLY_FRESH):
            fresh = list(self.chosen.fresh(attempt).values())
            start = number * len(fresh) // len(PARTLY_FRESH)
            taken: Change = {}
            waiting = [fresh[start:] + fresh[:start]]
            while waiting:
                some = waiting.pop()
                if self.probe(tried := taken | joined(some)) is not None:
                    taken = tried
                elif len(some) > 1:
                    middle = len(some) // 2
                    waiting += [some[middle:], some[:middle]]
            if taken:
                yield taken

    # Counterexamples.

    def verdict(self, name: str, probe: Probe) -> bool | None:
        """Return whether a formula is right for a model; ``None`` where it says nothing of it."""
        facts = probe.facts.get(name)
        if not facts or not probe.meets(self.conditions.get(name, ())):
            return None
        result = probe.result(self.formulas[name])
        return None if result is None else facts == {result}

    def _wrong(self, probe: Probe) -> list[str]:
        return [
            name
            for name in probe.facts
            if name in self.formulas and self.verdict(name, probe) is False
        ]

    def _meet(self, change: Change) -> None:
        """Find conditions until no formula is wrong for a model."""
        probe = self.probe(change)
        if probe is None:
            if len(change) > 1 and self._has_room():
                for half in _halves(change):
                    self._meet(half)
            return
        for _ in range(_CONDITIONS):
            if not (wrong := self._wrong(probe)):
                return
            self._limit(self._least(probe, wrong[0]))
        for name in self._wrong(probe):
            self._drop(name, probe)

    def _least(self, probe: Probe, name: str) -> Probe:
        """Return the model with the least part of a change that a formula is wrong for."""

        def wrong(change: Change) -> Probe | None:
            tried = self.probe(change) if change and self._has_room() else None
            return tried if tried is not None and self._wrong(tried) else None

        used = _letters(self.formulas[name])
        own = {letter: value for letter, value in probe.changed.items() if letter in used}
        if len(own) < len(probe.changed):
            probe = wrong(own) or probe
        while len(probe.changed) > 1:
            half = next(filter(None, map(wrong, _halves(probe.changed))), None)
            if half is None:
                break
            probe = half
        # What could not be left out at first may be later, without others.
        for letter in 2 * list(probe.changed):
            if letter in probe.changed and len(probe.changed) > 1:
                probe = wrong({x: v for x, v in probe.changed.items() if x != letter}) or probe
        return probe

    def _limit(self, probe: Probe) -> None:
        """Find a condition for each formula that a model contradicts, or drop it."""
        self._fix_structure(probe)
        groups: dict[object, list[str]] = {}
        for name in self._wrong(probe):
            known = frozenset(self.conditions.get(name, ()))
            groups.setdefault((self.formulas[name], known), []).append(name)
        for names in groups.values():
            # Some were limited or dropped with a part of them in the meantime.
            left = [n for n in names if n in self.formulas and self.verdict(n, probe) is False]
            condition = self._condition(probe, left) if left else None
            for name in left:
                if condition is not None:
                    self.learned.setdefault(name, []).append(condition)
                    self._learn(name, condition)
                    if condition[-1].partition(" == ")[0] in _letters(self.formulas[name]):
                        # It is left out if it says nothing with a fixed symbol.
                        for path in (name, *owners(name)):
                            self.reasons.setdefault(path, self._reason(name, probe))
                elif name in self.formulas:
                    self._drop(name, probe)

    def _fix_structure(self, probe: Probe) -> None:
        """Fix a small number that chooses which modules a model has, for all that are like them.

        In models with other values, not all of which are built, others of them differ.
        """
        ((letter, _), *others) = probe.changed.items()
        symbol, base = self.symbols[letter], self.probe({})
        model = self.builder.variant(probe.values)
        if (
            others
            or base is None
            or model is None
            or probe.facts.keys() == base.facts.keys()
            or quantity_of(symbol) != "width"
            or standard_letter(symbol)
            or symbol.value > SMALL
            or not self.candidates.is_fixable(letter)
        ):
            return
        lengths = self.observed.base.lengths.items()
        lists = {path for path, length in lengths if model.lengths.get(path, 0) != length}
        wrong = (n for n in self._wrong(probe) if letter not in _letters(self.formulas[n]))
        like = set(map(blanked, wrong))
        for name in self.formulas:
            if blanked(name) in like or not lists.isdisjoint(owners(name)):
                self._add(name, f"{letter} == {symbol.value}")

    def _condition(self, probe: Probe, names: Collection[str]) -> Conditions | None:
        """Return the condition that a change breaks, the one that excludes as little as it can."""
        used = frozenset[str]().union(*(_letters(self.formulas[name]) for name in names))
        candidates: dict[Conditions, int] = {}
        for order, texts, repairs in self.candidates.broken_by(probe, used):
            if texts in candidates or not self._is_broken(texts, probe):
                continue
            verdicts = [self._all_right(names, self._repaired(change)) for change in repairs]
            if not repairs or (True in verdicts and False not in verdicts):
                candidates[texts] = order
                for change in self.candidates.breaking(texts) if order == DIVISION else ():
                    self._repaired(change)
            elif order == DIVISION and False not in verdicts and self._is_known(texts[-1]):
                candidates[texts] = UNCONFIRMED
        known = [p for p in self.probes.values() if p is not None]
        right = [p for p in known if self._all_right(names, p)]
        wrong = [p for p in known if self._all_right(names, p) is False]

        def cost(texts: Conditions) -> tuple[int, int, int]:
            lost = sum(not p.meets(texts) for p in right)
            left = sum(p.meets(texts) for p in wrong)
            return lost, left, candidates[texts]

        return min(candidates, key=cost, default=None)

    def _is_broken(self, texts: Conditions, probe: Probe) -> bool:
        """Return whether the real model and the observed one meet a condition, and a probe not."""
        known = (self.builder.values, self.observed.values)
        return not probe.meets(texts) and all(
            self.unlimited.isdisjoint(letters_in(text)) and all(is_met(text, at) for at in known)
            for text in texts
        )

    def _is_known(self, text: str) -> bool:
        """Return whether a condition is that the heads divide their width, or the like."""
        whole, _, part = text.removesuffix(" == 0").partition(" % ")
        return not letters_of(part).isdisjoint(self.chosen.parts.get(whole, ()))

    def _repaired(self, change: Change) -> Probe | None:
        return self.probe(change) if self._has_room() else None

    def _all_right(self, names: Iterable[str], probe: Probe | None) -> bool | None:
        """Return whether all formulas are right that say something of a model."""
        if probe is None:
            return None
        verdicts = {self.verdict(name, probe) for name in names}
        return None if None in verdicts or not verdicts else False not in verdicts

    def _known(self) -> dict[str, None]:
        return {text: None for texts in self.conditions.values() for text in texts}

    def _prune(self) -> None:
        """Leave out conditions that later ones made superfluous, the earliest first."""
        probes = [probe for probe in self.probes.values() if probe is not None]
        for name, learned in self.learned.items():
            if name not in self.formulas or len(learned) < 2:
                continue
            for condition in list(learned):
                known = self.conditions[name]
                others = {text for other in learned if other != condition for text in other}
                left = {text: None for text in known if text in others or text not in condition}
                self.conditions[name] = left
                if any(self.verdict(name, probe) is False for probe in probes):
                    self.conditions[name] = known
                else:
                    learned.remove(condition)
        given = self.given
        self.conditions, self.given = {}, {}
        for name, texts in given.items():
            for text in texts:
                self._add(name, text)
        for name, learned in self.learned.items():
            for condition in learned:
                self._learn(name, condition)

    def _limit_to_tried_multiples(self) -> None:
        """A number that was always a multiple of something has to stay one.

        A model rounds numbers to whole parts, and large models are tried with a few changes only.
        """
        base = self.observed.values
        always = {x for found in self._always_multiples().values() for x, _ in found}
        with suppress(OverBudget):
            for letter in sorted(always):
                if self._has_room():
                    self._meet({letter: base[letter] + 1})
        for name, found in self._always_multiples().items():
            for letter, step in found:
                self._add(name, f"{letter} % {step} == 0")

    def _always_multiples(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Return by formula the symbols that were always multiples of a number, and that."""
        base, sizes = self.observed.values, set(self.observed.free_sizes())
        probes = [probe for probe in self.probes.values() if probe is not None]
        known: dict[object, tuple[tuple[str, int], ...]] = {}
        found = {}
        for name, formula in self.formulas.items():
            conditions = frozenset(self.conditions.get(name, ()))
            letters = _letters(formula) & sizes - self.unlimited
            if (letters, conditions) not in known:
                tried = [probe.values for probe in probes if probe.meets(conditions)]
                multiples = {}
                for letter in sorted(letters):
                    step = gcd(base[letter], *(values[letter] for values in tried))
                    parts = (base[part] for part in self.chosen.parts.get(letter, ()))
                    if lcm(known_step(letter, conditions, base), *parts) % step:
                        multiples[letter] = step
                known[letters, conditions] = tuple(multiples.items())
            found[name] = known[letters, conditions]
        return found

    def _add(self, name: str, condition: str) -> None:
        self.given.setdefault(name, {})[condition] = None
        self._learn(name, (condition,))

    def _learn(self, name: str, conditions: Conditions) -> None:
        """Add conditions of a formula to those of everything around it."""
        for path in (name, *owners(name)):
            self.conditions.setdefault(path, {}).update(dict.fromkeys(conditions))

    def _drop(self, name: str, probe: Probe) -> None:
        """Remove a formula, and those of the modules around it."""
        reason = self._reason(name, probe)
        self.unfollowed |= set(filter(self.candidates.is_depth, probe.changed))
        for path in (name, *owners(name)):
            if path in self.formulas:
                del self.formulas[path]
                self.reasons[path] = reason

    def _reason(self, name: str, probe: Probe) -> str:
        text = _text(tuple(map(readable, self.formulas[name])))
        moved = ", ".join(f"{letter} = {value}" for letter, value in probe.changed.items())
        return f"{text} is wrong for {moved}"

    # Verification.

    def _verified(self) -> tuple[Formulas, dict[str, str]]:
        """Return the formulas that hold often enough, and why the others are not verified.

        A formula must hold for ``PROOFS`` models that change one of its symbols, and each symbol
        must be changed in one of them, but for those that have to keep their value.
        """
        fitted = {
            frozenset((variable.at(value, self.observed.values) or {}).items())
            for variable in self.observed.variables
            for value, _ in self.observed.seen[variable.letter]
        }
        trials = [p for key, p in self.probes.items() if p and key and key not in fitted]
        proven: dict[str, tuple[str, ...]] = {}
        reasons = {name: text for name, text in self.reasons.items() if name not in self.formulas}
        for name, formula in self.formulas.items():
            letters, support, changed = _letters(formula), 0, set[str]()
            for probe in trials:
                if self.verdict(name, probe):
                    moved = letters & probe.changed.keys()
                    support += bool(moved) or not letters
                    changed |= moved
            values = self.observed.values
            free = {
                x for x in letters if f"{x} == {values[x]}" not in self.conditions.get(name, ())
            }
            if support >= PROOFS and free <= changed:
                proven[name] = formula
            else:
                unknown = ", ".join(sorted(free - changed) or sorted(letters))
                reasons[name] = self.reasons.get(name, OPEN + unknown)
        return proven, reasons


def _letters(formula: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(letters_of, formula))


def _halves(change: Change) -> tuple[Change, Change]:
    items = list(change.items())
    middle = len(items) // 2
    return dict(items[:middle]), dict(items[middle:])


def _text(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
