"""Formulas are compared with models that they were not fitted to, and limited to where they hold.

The search is a loop of counterexamples. Each probe is a model with some numbers changed. Where a
formula is wrong for it, the change is reduced to the least part for which it still is. Of the
conditions that this change breaks (a division comes out even, two numbers are equal or different,
a number is not smaller, or is what it is), models in which one of them is met again are built, and
the one is taken that excludes no model, or as few as possible, for which the formula is right.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from math import gcd, lcm

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.budget import OverBudget
from bertviewer.core.expressions.domains import is_met, letters_in
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.polynomials import Polynomial
from bertviewer.core.expressions.symbols import quantity_of, standard_letter
from bertviewer.core.symbolic.conditions import (
    DIVISION,
    UNCONFIRMED,
    Candidates,
    Conditions,
    even_conditions,
    known_step,
    ratio,
)
from bertviewer.core.symbolic.models import (
    TENSOR,
    Change,
    ModelBuilder,
    ModelSizes,
    Values,
    blanked,
    owners,
)
from bertviewer.core.symbolic.observations import Observations
from bertviewer.core.symbolic.perturbations import PROOFS, SMALL, Perturbations
from bertviewer.core.symbolic.probes import Probe, ProbePool

Formulas = Mapping[str, tuple[str, ...]]
"""Expressions by the name of what they describe: a tensor's dimensions, or a module's one count."""

_MOST_BUILDS, _LEAST_BUILDS, _MODULES = 200, 120, 40_000
"""The most models that are built, for small models and large ones; modules of all of them."""
_CONDITIONS = 32
"""The most conditions that are looked for with one probe."""
_RANDOM = 8
"""The number of probes with random values that meet the conditions found so far."""


class Solver:
    """Searches for the conditions under which formulas hold, and drops those without.

    Attributes:
        formulas: by name; those that hold nowhere are removed.
        conditions: by name, what has to be met; a module's include those of everything below it.
        reasons: by name, why formulas were removed.
        unfollowed: the depths for whose other values formulas were wrong.
    """

    def __init__(
        self,
        builder: ModelBuilder,
        observed: Observations,
        formulas: Formulas,
        sizes: Mapping[str, Iterable[Polynomial]],
        *,
        lengths: Mapping[str, int],
        unlimited: Collection[str] = (),
    ) -> None:
        """Take formulas; their divisions have to come out even, and proportions stay.

        Args:
            builder: builds the models.
            observed: what the formulas were fitted to.
            formulas: by name.
            sizes: what was fitted for them, by names of the same modules.
            lengths: the numbers of blocks in the observed model; see ``template_path``.
            unlimited: symbols of the inputs of a forward pass: formulas have to hold for any value
                of them, and all divisions have to come out even for the pass to run.
        """
        self.formulas = dict(formulas)
        self.conditions: dict[str, dict[str, None]] = {}
        self.reasons: dict[str, str] = {}
        self.unfollowed: set[str] = set()
        self._observed = observed
        self._symbols = {symbol.letter: symbol for symbol in builder.symbols}
        self._unlimited = frozenset(unlimited)
        self._given: dict[str, dict[str, None]] = {}
        self._learned: dict[str, list[Conditions]] = {}
        modules = sum(not name.startswith(TENSOR) for name in formulas)
        most_builds = max(_LEAST_BUILDS, min(_MOST_BUILDS, _MODULES // max(modules, 1)))
        self._probes = ProbePool(builder, observed, lengths, most_builds)
        even = {
            name: [x for size in some for x in even_conditions(size, builder.values, self._symbols)]
            for name, some in sizes.items()
        }
        if unlimited:
            every = dict.fromkeys(text for texts in even.values() for text in texts)
            even = {name: [*every] for name in formulas}
        self._perturbations = Perturbations.of(
            observed,
            builder.symbols,
            (size for some in sizes.values() for size in some),
            (text for texts in even.values() for text in texts),
        )
        self._candidates = Candidates(observed, self._symbols, self._perturbations.parts)
        tied = {
            x.letter: [ratio(x.letter, y.letter, observed.values) for y in x.symbols[1:]]
            for x in observed.variables
        }
        for name in dict.fromkeys((*even, *self.formulas)):
            used = sorted(_letters(self.formulas.get(name, ())))
            ratios = (text for letter in used for text in tied.get(letter, ()))
            for text in (*even.get(name, ()), *ratios):
                self._add(name, text)

    def refute(self, trials: Iterable[tuple[ModelSizes, Values]]) -> None:
        """Remove what is wrong for a model, or not in it, without a search for conditions."""
        for model, values in trials:
            base = self._observed.values
            probe = self._probes.read({x: v for x, v in values.items() if v != base[x]}, model)
            for name, formula in list(self.formulas.items()):
                facts, result = probe.facts.get(name, frozenset()), probe.result(formula)
                if result is None or facts != {result}:
                    if facts:
                        self.reasons[name] = self._reason(name, probe)
                    del self.formulas[name]

    def search(self, *, with_fresh: bool = False) -> None:
        """Compare formulas with models until none is wrong under its conditions.

        At a limit of time or memory the conditions found so far are kept, if all kinds of changes
        have been tried.

        Args:
            with_fresh: whether models with all numbers changed at once are among them.
        """
        changes = [*self._observed.mismatches, *self._perturbations.structured()]
        if with_fresh:
            fresh = self._perturbations.fresh(self._probes.variant)
            changes += [change for change, _ in islice(fresh, PROOFS)]
        for change in filter(None, changes):
            self._meet(change)
        with suppress(OverBudget):
            for seed in range(_RANDOM):
                self._meet(self._perturbations.random(random.Random(seed), self._known()))
            self._meet_again()
            self._prune()
            self._meet_again()
        self._limit_to_tried_multiples()

    def verified(self) -> Formulas:
        """Return the formulas that hold often enough.

        A formula must hold for ``PROOFS`` models that change one of its symbols, and each symbol
        must be changed in one of them, but for those that have to keep their value. Where models
        refuse that all numbers are changed, some with as many as possible are tried.
        """
        proven = self._proven()
        for change, _ in self._perturbations.partly_fresh(self._probes.at):
            if len(proven) == len(self.formulas):
                break
            self._meet(change)
            proven = self._proven()
        return proven

    def _proven(self) -> Formulas:
        fitted, values = self._probes.fitted, self._observed.values
        trials = [
            x for x in self._probes if x.changed and frozenset(x.changed.items()) not in fitted
        ]
        proven: dict[str, tuple[str, ...]] = {}
        for name, formula in self.formulas.items():
            letters, support, changed = _letters(formula), 0, set[str]()
            for probe in trials:
                if self._verdict(name, probe):
                    moved = letters & probe.changed.keys()
                    support += bool(moved) or not letters
                    changed |= moved
            known = self.conditions.get(name, ())
            if support >= PROOFS and all(
                letter in changed or f"{letter} == {values[letter]}" in known for letter in letters
            ):
                proven[name] = formula
        return proven

    # Counterexamples.

    def _verdict(self, name: str, probe: Probe) -> bool | None:
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
            if name in self.formulas and self._verdict(name, probe) is False
        ]

    def _all_right(self, names: Iterable[str], probe: Probe | None) -> bool | None:
        """Return whether all formulas are right for a model, if all say something of it."""
        verdicts = {None} if probe is None else {self._verdict(name, probe) for name in names}
        return None if None in verdicts or not verdicts else False not in verdicts

    def _meet(self, change: Change) -> None:
        """Find conditions until no formula is wrong for a model."""
        probe = self._probes.at(change)
        if probe is None:
            if len(change) > 1 and self._probes.has_room:
                for half in _halves(change):
                    self._meet(half)
            return
        for _ in range(_CONDITIONS):
            if not (wrong := self._wrong(probe)):
                return
            self._limit(self._least(probe, wrong[0]))
        for name in self._wrong(probe):
            self._drop(name, probe)

    def _meet_again(self) -> None:
        """What was built to choose a condition may contradict other formulas."""
        for _ in range(2):
            for probe in self._probes:
                self._meet(probe.changed)

    def _least(self, probe: Probe, name: str) -> Probe:
        """Return the model with the least part of a change that a formula is wrong for."""

        def wrong(change: Change) -> Probe | None:
            tried = self._probes.experiment(change)
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
            left = [n for n in names if n in self.formulas and self._verdict(n, probe) is False]
            condition = self._condition(probe, left) if left else None
            for name in left:
                if condition is not None:
                    self._learned.setdefault(name, []).append(condition)
                    self._learn(name, condition)
                elif name in self.formulas:
                    self._drop(name, probe)

    def _fix_structure(self, probe: Probe) -> None:
        """Fix a small number that chooses which modules a model has, for all that are like them.

        In models with other values, not all of which are built, others of them differ.
        """
        ((letter, _), *others) = probe.changed.items()
        symbol, base = self._symbols[letter], self._probes.at({})
        model = self._probes.builder.variant(probe.values)
        is_choice = quantity_of(symbol) == "width" and symbol.value <= SMALL
        if others or not is_choice or standard_letter(symbol) or base is None or model is None:
            return
        if probe.facts.keys() == base.facts.keys() or not self._candidates.is_fixable(letter):
            return
        lengths = self._observed.base.lengths.items()
        lists = {path for path, length in lengths if model.lengths.get(path, 0) != length}
        wrong = (n for n in self._wrong(probe) if letter not in _letters(self.formulas[n]))
        like = set(map(blanked, wrong))
        for name in self.formulas:
            if blanked(name) in like or not lists.isdisjoint(owners(name)):
                self._add(name, f"{letter} == {symbol.value}")

    # Conditions.

    def _condition(self, probe: Probe, names: Collection[str]) -> Conditions | None:
        """Return the condition that a change breaks, the one that excludes as little as it can."""
        used = frozenset[str]().union(*(_letters(self.formulas[name]) for name in names))
        ranks: dict[Conditions, int] = {}
        for rank, texts, repairs in self._candidates.broken_by(probe, used, self._known()):
            if texts in ranks or not self._is_broken(texts, probe):
                continue
            verdicts = [
                self._all_right(names, self._probes.experiment(change)) for change in repairs
            ]
            if not repairs or (True in verdicts and False not in verdicts):
                ranks[texts] = rank
                for change in self._candidates.breaking(texts) if rank == DIVISION else ():
                    self._probes.experiment(change)
            elif rank == DIVISION and False not in verdicts and self._is_known(texts[-1]):
                ranks[texts] = UNCONFIRMED
        verdicts_of = [(p, self._all_right(names, p)) for p in self._probes]
        right = [p for p, verdict in verdicts_of if verdict]
        wrong = [p for p, verdict in verdicts_of if verdict is False]

        def cost(texts: Conditions) -> tuple[int, int, int]:
            lost = sum(not p.meets(texts) for p in right)
            left = sum(p.meets(texts) for p in wrong)
            return lost, left, ranks[texts]

        return min(ranks, key=cost, default=None)

    def _is_broken(self, texts: Conditions, probe: Probe) -> bool:
        """Return whether the real model and the observed one meet a condition, and a probe not."""
        known = (self._probes.builder.values, self._observed.values)
        return not probe.meets(texts) and all(
            self._unlimited.isdisjoint(letters_in(text)) and all(is_met(text, at) for at in known)
            for text in texts
        )

    def _is_known(self, text: str) -> bool:
        """Return whether a condition is that the heads divide their width, or the like."""
        whole, _, part = text.removesuffix(" == 0").partition(" % ")
        return not letters_of(part).isdisjoint(self._perturbations.parts.get(whole, ()))

    def _known(self) -> dict[str, None]:
        return {text: None for texts in self.conditions.values() for text in texts}

    def _prune(self) -> None:
        """Leave out conditions that later ones made superfluous, the earliest first."""
        probes = list(self._probes)
        for name, learned in self._learned.items():
            if name not in self.formulas or len(learned) < 2:
                continue
            for condition in list(learned):
                known = self.conditions[name]
                others = {text for other in learned if other != condition for text in other}
                left = {text: None for text in known if text in others or text not in condition}
                self.conditions[name] = left
                if any(self._verdict(name, probe) is False for probe in probes):
                    self.conditions[name] = known
                else:
                    learned.remove(condition)
        self.conditions = {}
        for name, texts in self._given.items():
            self._learn(name, texts)
        for name, learned in self._learned.items():
            for condition in learned:
                self._learn(name, condition)

    def _limit_to_tried_multiples(self) -> None:
        """A number that was always a multiple of something has to stay one.

        A model rounds numbers to whole parts, and large models are tried with a few changes only.
        """
        letters = {letter for letter, _, _ in self._always_multiples()}
        with suppress(OverBudget):
            for letter in sorted(letters):
                if self._probes.has_room:
                    self._meet({letter: self._observed.values[letter] + 1})
        for letter, step, names in list(self._always_multiples()):
            for name in names:
                self._add(name, f"{letter} % {step} == 0")

    def _always_multiples(self) -> Iterator[tuple[str, int, list[str]]]:
        """Yield symbols that were always multiples of a number, it, and the formulas with them."""
        base = self._observed.values
        sizes = {
            variable.letter
            for variable in self._observed.variables
            if variable.quantity in ("width", "size")
            and len(variable.symbols) == 1
            and not self._observed.changes_depth(variable.letter)
        }
        groups: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
        for name, formula in self.formulas.items():
            letters = _letters(formula) & sizes - self._unlimited
            groups.setdefault((letters, frozenset(self.conditions.get(name, ()))), []).append(name)
        for (letters, conditions), names in groups.items():
            tried = [probe.values for probe in self._probes if probe.meets(conditions)]
            for letter in sorted(letters):
                step = gcd(base[letter], *(values[letter] for values in tried))
                parts = (base[x] for x in self._perturbations.parts.get(letter, ()))
                if lcm(known_step(letter, conditions, base), *parts) % step:
                    yield letter, step, names

    def _add(self, name: str, condition: str) -> None:
        self._given.setdefault(name, {})[condition] = None
        self._learn(name, (condition,))

    def _learn(self, name: str, conditions: Iterable[str]) -> None:
        """Add conditions of a formula to those of everything around it."""
        for path in (name, *owners(name)):
            self.conditions.setdefault(path, {}).update(dict.fromkeys(conditions))

    def _drop(self, name: str, probe: Probe) -> None:
        """Remove a formula, and those of the modules around it."""
        reason = self._reason(name, probe)
        self.unfollowed |= set(filter(self._candidates.is_depth, probe.changed))
        for path in (name, *owners(name)):
            if self.formulas.pop(path, None) is not None:
                self.reasons[path] = reason

    def _reason(self, name: str, probe: Probe) -> str:
        formula = self.formulas[name]
        result, letters = probe.result(formula), _letters(formula)
        true = min(fact for fact in probe.facts[name] if fact != result)
        moved = [x for x in probe.changed if x in letters] or list(probe.changed)
        return (
            f"{_text(map(readable, formula))} gives "
            f"{'a non-integer' if result is None else _text(f'{x:,}' for x in result)} for "
            f"{', '.join(f'{x} = {probe.values[x]}' for x in moved)} in a model that was tried, "
            f"where {_text(f'{x:,}' for x in true)} is correct"
        )


def _letters(formula: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(letters_of, formula))


def _halves(change: Change) -> tuple[Change, Change]:
    items = list(change.items())
    middle = len(items) // 2
    return dict(items[:middle]), dict(items[middle:])


def _text(parts: Iterable[str]) -> str:
    first, *others = parts
    return f"[{', '.join((first, *others))}]" if others else first
