"""Proof: formulas meet models that no fit has seen, and those that are wrong once are dropped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from bertviewer.core.counting.templates import template_path
from bertviewer.core.counting.variants import Values, owners
from bertviewer.core.expressions.domains import is_met
from bertviewer.core.expressions.evaluation import (
    FormulaError,
    UnevenDivision,
    evaluate,
    letters_of,
)
from bertviewer.core.frozen import frozen

PROOFS = 3
"""A formula must hold for the real model and for so many fresh ones."""

Formulas = Mapping[str, tuple[str, ...]]
"""Expressions by the name of what they describe: a tensor's dimensions, or a module's one count."""

Facts = Mapping[str, tuple[int, ...]]
"""What formulas have to give in one model, by the same names."""


Gathered = Mapping[str, frozenset[tuple[int, ...]]]
"""What one model has under each formula's name: of every block that it stands for."""


@frozen
class Trial:
    """A fresh model.

    Attributes:
        facts: what the model has.
        values: the letters' values.
        moved: the letters with values that no fit has seen.
    """

    facts: Gathered
    values: Values
    moved: frozenset[str]


@frozen
class Verdict:
    """What became of formulas: those that are proven, and why the others are not."""

    proven: Formulas
    reasons: Mapping[str, str]

    def is_open(self) -> bool:
        """Tell whether more trials might prove more."""
        return any(reason.startswith(OPEN) for reason in self.reasons.values())


OPEN = "it cannot be verified because too few models can be built with other values of "


TENSOR = "~"
"""Stands before a tensor's name where formulas of tensors and of modules are judged together."""


def judge(
    formulas: Formulas,
    trials: Sequence[Trial],
    conditions: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> Verdict:
    """Return which formulas hold wherever they say something, and do so often enough.

    A formula says nothing about a model in which a division of its own, or of a tensor below its
    module, does not come out even, or that does not meet its conditions. It must hold in
    ``PROOFS`` models that move one of its letters, and each letter must move in one.
    """
    every = [Results(trial.values) for trial in trials]
    found = [(results, results.silent(formulas)) for results in every]
    proven: dict[str, tuple[str, ...]] = {}
    reasons: dict[str, str] = {}
    for name, formula in formulas.items():
        letters = frozenset[str]().union(*map(letters_of, formula))
        support, met = 0, set[str]()
        for trial, (results, silent) in zip(trials, found, strict=True):
            facts = trial.facts.get(name)
            if not facts or name in silent or not results.meet(conditions.get(name, ())):
                continue
            result = results.of(formula)
            if result is None:
                continue
            if facts != {result}:
                reasons[name] = (
                    f"{_text(formula)} gives {_text(result)}, but a newly built model has "
                    f"{', '.join(map(_text, sorted(facts)))}"
                )
                break
            moved = letters & trial.moved
            support += bool(moved) or not letters
            met |= moved
        else:
            if support >= PROOFS and met == letters:
                proven[name] = formula
            else:
                reasons[name] = OPEN + ", ".join(sorted(letters - met) or sorted(letters))
    return Verdict(proven, reasons)


class Results:
    """What formulas give with the letters at some values, each text evaluated once."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._known: dict[str, int | None] = {}
        self._met: dict[str, bool] = {}

    def silent(self, formulas: Formulas) -> set[str]:
        """Return the names of what says nothing, as a division does not come out even."""
        found: set[str] = set()
        for name, formula in formulas.items():
            if name.startswith(TENSOR) and self.of(formula) is None:
                found.update((name, *owners(name.removeprefix(TENSOR))))
        return found

    def meet(self, conditions: Iterable[str]) -> bool:
        """Tell whether the values meet all conditions."""
        for condition in conditions:
            if condition not in self._met:
                self._met[condition] = is_met(condition, self._values)
            if not self._met[condition]:
                return False
        return True

    def of(self, formula: tuple[str, ...]) -> tuple[int, ...] | None:
        """Return the formula's values, ``None`` where a division does not come out even."""
        results = [self._part(part) for part in formula]
        known = tuple(result for result in results if result is not None)
        return known if len(known) == len(results) else None

    def _part(self, formula: str) -> int | None:
        if formula not in self._known:
            try:
                self._known[formula] = evaluate(formula, self._values)
            except UnevenDivision:
                self._known[formula] = None
        return self._known[formula]


def gathered(facts: Facts, template: Callable[[str], str]) -> Gathered:
    """Return a model's facts under the names of formulas, which ``template`` gives for its own."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for name, fact in facts.items():
        found.setdefault(template(name), set()).add(fact)
    return {name: frozenset(several) for name, several in found.items()}


def undisputed(
    formulas: Formulas, facts: Facts, lengths: Mapping[str, int], values: Values
) -> dict[str, tuple[str, ...]]:
    """Return the formulas that no fact of a fresh model contradicts.

    Args:
        formulas: by the names of a smaller model (see ``template_path``).
        facts: those of the fresh model.
        lengths: the numbers of blocks in the smaller model.
        values: the letters' values in the fresh model.
    """
    wrong = {
        template
        for name, fact in facts.items()
        if not holds(formulas.get(template := template_path(name, lengths)), fact, values)
    }
    return {name: formula for name, formula in formulas.items() if name not in wrong}


def holds(formula: tuple[str, ...] | None, fact: tuple[int, ...], values: Values) -> bool:
    """Tell whether there is a formula, and it gives the fact."""
    try:
        return formula is not None and tuple(evaluate(part, values) for part in formula) == fact
    except FormulaError:
        return False


def _text(parts: Sequence[object]) -> str:
    return str(parts[0]) if len(parts) == 1 else f"[{', '.join(map(str, parts))}]"
