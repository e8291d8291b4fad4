"""Finds the conditions under which formulas hold, by counterexamples.

Models with many numbers changed are built, and each formula is compared with each of them. Where
one is wrong, the change is reduced to the least part for which it still is, and the numbers that
are left are tried at further values. Of the conditions that the least change breaks (a division
comes out even, two numbers are equal or different, a number keeps its value) the formula gets the
one that excludes the fewest models for which it is right. This goes on until no formula is wrong
for any model that meets its conditions; one for which there is no condition is dropped.
"""

import random
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import chain, islice
from math import gcd

from bertviewer.core.expressions.domains import letters_in
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.polynomials import Polynomial
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.symbolic.conditions import (
    Candidates,
    Conditions,
    even_conditions,
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
from bertviewer.core.symbolic.perturbations import PROOFS, Perturbations
from bertviewer.core.symbolic.probes import Probe, ProbePool
from bertviewer.core.util.budget import OverBudget

Formulas = Mapping[str, tuple[str, ...]]
"""Expressions by the name of what they describe: a tensor's dimensions, or a module's one count."""

_MOST_BUILDS, _LEAST_BUILDS, _MODULES = 200, 120, 40_000
"""The most models that are built, for small models and large ones; modules of all of them."""
_RANDOM = 8
"""The number of models with random values that meet the conditions found so far."""


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
        self._unlimited = frozenset(unlimited)
        self._counterexamples: list[Probe] = []
        modules = sum(not name.startswith(TENSOR) for name in formulas)
        most_builds = max(_LEAST_BUILDS, min(_MOST_BUILDS, _MODULES // max(modules, 1)))
        self._probes = ProbePool(builder, observed, lengths, most_builds)
        symbols = {symbol.letter: symbol for symbol in builder.symbols}
        even = {
            name: [text for size in some for text in even_conditions(size, builder.values, symbols)]
            for name, some in sizes.items()
        }
        if unlimited:
            every = dict.fromkeys(text for texts in even.values() for text in texts)
            even = {name: [*every] for name in formulas}
        divisions = (text for texts in even.values() for text in texts)
        self._perturbations = Perturbations.of(observed, builder.symbols, divisions)
        self._candidates = Candidates(observed, symbols, self._perturbations)
        tied = {
            x.letter: [ratio(x.letter, y.letter, observed.values) for y in x.symbols[1:]]
            for x in observed.variables
        }
        self._given = {
            name: [
                *even.get(name, ()),
                *(
                    text
                    for x in sorted(_letters(formulas.get(name, ())))
                    for text in tied.get(x, ())
                ),
            ]
            for name in (*even, *formulas)
        }
        self._start()

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

    def search(self) -> None:
        """Compare formulas with models until none is wrong under its conditions.

        At a limit of time or memory what was found so far is kept, if all kinds of changes have
        been tried.
        """
        fresh = islice(self._perturbations.fresh(self._probes.variant), PROOFS)
        changes = chain(self._observed.mismatches, self._perturbations.structured())
        for change in filter(None, chain(changes, (change for change, _ in fresh))):
            self._compare(change)
        with suppress(OverBudget):
            for seed in range(_RANDOM):
                known = {text for texts in self.conditions.values() for text in texts}
                self._compare(self._perturbations.random(random.Random(seed), sorted(known)))
            self._choose_again()
        self._limit_to_tried_multiples()
        for probe in self._probes:
            for name in self._wrong(probe):
                if name in self.formulas:  # it was not dropped with a part of it
                    self._drop(name, probe)  # there was no time to find a condition

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
            self._compare(change)
            proven = self._proven()
        return proven

    def _proven(self) -> Formulas:
        trials = [probe for probe in self._probes if probe.changed and not probe.is_fitted]
        proven: dict[str, tuple[str, ...]] = {}
        for name, formula in self.formulas.items():
            letters = _letters(formula)
            right = [letters & x.changed.keys() for x in trials if self._verdict(name, x)]
            support = [moved for moved in right if moved or not letters]
            known = self.conditions.get(name, ())
            fixed = {x for x in letters if f"{x} == {self._observed.values[x]}" in known}
            if len(support) >= PROOFS and letters == fixed.union(*support):
                proven[name] = formula
        return proven

    # Counterexamples.

    def _verdict(self, name: str, probe: Probe) -> bool | None:
        """Return whether a formula is right for a model; ``None`` where it says nothing of it."""
        facts = probe.facts.get(name)
        if not facts or name not in self.formulas or not probe.meets(self.conditions.get(name, ())):
            return None
        result = probe.result(self.formulas[name])
        return None if result is None else facts == {result}

    def _wrong(self, probe: Probe) -> list[str]:
        return [name for name in probe.facts if self._verdict(name, probe) is False]

    def _compare(self, change: Change) -> None:
        """Find conditions until no formula is wrong for a model, or for parts of a refused one."""
        probe = self._probes.at(change)
        if probe is None:
            if len(change) > 1 and self._probes.has_room:
                middle = len(change) // 2
                self._compare(dict(islice(change.items(), middle)))
                self._compare(dict(islice(change.items(), middle, None)))
            return
        while wrong := self._wrong(probe):
            least = self._least(probe, wrong[0])
            self._counterexamples.append(least)
            self._try_further_values(least.changed, least.changed)
            self._limit(least)

    def _try_further_values(self, letters: Iterable[str], change: Change) -> None:
        for letter in letters:
            for value in self._candidates.multiples_near(letter):
                self._probes.experiment({**change, letter: value})

    def _least(self, probe: Probe, name: str) -> Probe:
        """Return the model with the least part of a change for which some formula is wrong."""

        def wrong(change: Change) -> Probe | None:
            tried = self._probes.experiment(change)
            return tried if tried is not None and self._wrong(tried) else None

        used = _letters(self.formulas[name])
        own = {letter: value for letter, value in probe.changed.items() if letter in used}
        if len(own) < len(probe.changed):
            probe = wrong(own) or probe
        size = len(probe.changed)
        while size > 1:
            size = (size + 1) // 2
            letters = list(probe.changed)
            for start in range(0, len(letters), size):
                without = letters[start : start + size]
                left = {x: value for x, value in probe.changed.items() if x not in without}
                probe = wrong(left) or probe
            size = min(size, len(probe.changed))
        return probe

    def _limit(self, probe: Probe) -> None:
        """Find a condition for each formula that is wrong for a model, or drop it."""
        chosen: dict[object, Conditions | None] = {}
        # Parts come first, as their conditions are those of the whole as well.
        for name in sorted(self._wrong(probe), key=_depth, reverse=True):
            if self._verdict(name, probe) is not False:
                continue
            letters = _letters(self.formulas[name])
            verdicts = tuple(self._verdict(name, other) for other in self._probes)
            key = letters, verdicts
            if key not in chosen:
                chosen[key] = self._condition(probe, letters, verdicts)
            if (conditions := chosen[key]) is None:
                self._drop(name, probe)
                continue
            self._learn(name, conditions)
            self._try_further_values(sorted(letters_in(conditions[-1]) - probe.changed.keys()), {})
            letter, _, fixed = conditions[-1].partition(" == ")
            if fixed.isdigit() and letter in probe.changed and letter not in letters:
                # What chooses which blocks have a part may choose any of them in other models.
                pattern = blanked(name)
                for other in self.formulas:
                    if blanked(other) == pattern:
                        self._learn(other, conditions)

    def _condition(
        self, probe: Probe, letters: Collection[str], verdicts: Iterable[bool | None]
    ) -> Conditions | None:
        """Return what a change breaks, and as few models as possible with a right formula do.

        Of several, the one that most models with a wrong formula break, of those that change as
        little: others may be wrong for other reasons as well.
        """
        tried = list(zip(self._probes, verdicts, strict=True))
        right = [other for other, verdict in tried if verdict]
        wrong = [other for other, verdict in tried if verdict is False]
        wrong = [other for other in wrong if len(other.changed) <= len(probe.changed)]

        def cost(conditions: Conditions) -> tuple[int, int]:
            lost = sum(not other.meets(conditions) for other in right)
            return lost, sum(other.meets(conditions) for other in wrong)

        def is_allowed(conditions: Conditions) -> bool:
            if not all(self._unlimited.isdisjoint(letters_in(text)) for text in conditions):
                return False
            # A least value has to exclude all that is wrong with other values.
            same = [other for other in wrong if other.changed.keys() == probe.changed.keys()]
            return ">=" not in conditions[-1] or not any(x.meets(conditions) for x in same)

        broken = self._candidates.broken_by(probe, letters)
        return min(filter(is_allowed, broken), key=cost, default=None)

    def _choose_again(self) -> None:
        """Choose all conditions again, as early ones may be superfluous with later ones."""
        self._start()
        for probe in sorted(self._counterexamples, key=lambda probe: len(probe.changed)):
            self._limit(probe)
        for _ in range(2):
            for probe in self._probes:
                self._compare(probe.changed)

    def _limit_to_tried_multiples(self) -> None:
        """A number that was always a multiple of something, by no condition, has to stay one.

        A model rounds numbers to whole parts, and large models are tried with a few changes only.
        """
        for variable in self._observed.variables:
            letter = variable.letter
            tried = gcd(*(probe.values[letter] for probe in self._probes))
            is_size = variable.quantity in ("width", "size") and len(variable.symbols) == 1
            if not is_size or letter in self._unlimited or self._candidates.is_depth(letter):
                continue
            if self._perturbations.step(letter) % tried == 0:
                continue
            for name, formula in self.formulas.items():
                known = self.conditions.get(name, ())
                if letter in _letters(formula) and not any(letter in letters_in(x) for x in known):
                    self._learn(name, (f"{letter} % {tried} == 0",))

    def _start(self) -> None:
        self.conditions = {}
        for name, texts in self._given.items():
            self._learn(name, texts)

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


def _depth(name: str) -> tuple[bool, int]:
    return name.startswith(TENSOR), name.count(".") + bool(name)


def _text(parts: Iterable[str]) -> str:
    first, *others = parts
    return f"[{', '.join((first, *others))}]" if others else first
