"""Contradictions: models with some numbers changed, and the formulas that are wrong for them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from bertviewer.core.counting.moves import Change
from bertviewer.core.counting.proving import TENSOR, Gathered, Results, Trial
from bertviewer.core.counting.variants import ModelShapes, Values, VariantBuilder
from bertviewer.core.expressions.evaluation import letters_of

MOST_BUILDS = 200
LEAST_BUILDS = 120
"""So many models are built at most to find out where formulas end, small ones and large ones."""
_MODULES = 40_000  # of all of them


@dataclass(slots=True)
class Contradictions:
    """Builds each changed model once, and tells which formulas it contradicts.

    Attributes:
        variants: builds the models.
        values: what the changes start from.
        facts_of: reads off a model what formulas have to give.
        formulas: by name; who limits them may take some out.
        conditions: those that are known to limit each; who limits them adds to these.
        built: the models that were built for it, with what was changed.
    """

    variants: VariantBuilder
    values: Values
    facts_of: Callable[[ModelShapes], Gathered]
    formulas: dict[str, tuple[str, ...]]
    conditions: dict[str, dict[str, None]] = field(default_factory=dict)
    built: list[tuple[Mapping[str, int], ModelShapes]] = field(default_factory=list)
    _known: dict[frozenset[tuple[str, int]], Gathered | None] = field(default_factory=dict)
    _builds: int = 0

    def learn(self, change: Mapping[str, int], model: ModelShapes) -> None:
        """Note a model that was built before."""
        self._known[frozenset(change.items())] = self.facts_of(model)

    def changes(self) -> list[Change]:
        """Return the changes of all models that were built."""
        return [dict(key) for key, facts in self._known.items() if facts is not None]

    def trials(self) -> list[Trial]:
        """Return all models that were built, to judge formulas by."""
        return [
            Trial(facts, {**self.values, **change}, frozenset(change))
            for change, facts in ((dict(key), facts) for key, facts in self._known.items())
            if facts is not None
        ]

    def facts(self, change: Mapping[str, int]) -> Gathered | None:
        """Return what a model with these values has; ``None`` where there is no such model."""
        key = frozenset(change.items())
        if key not in self._known:
            self._builds += 1
            self._known[key] = None
            if (model := self.variants.variant({**self.values, **change})) is not None:
                self._known[key] = self.facts_of(model)
                self.built.append((change, model))
        return self._known[key]

    def has_room(self, share: int = 1) -> bool:
        """Tell whether models may still be built, of that part of all that may be."""
        modules = sum(not name.startswith(TENSOR) for name in self.formulas)
        most = max(LEAST_BUILDS, min(MOST_BUILDS, _MODULES // max(modules, 1)))
        return self._builds < most // share

    def wrong(self, change: Mapping[str, int]) -> tuple[str, ...]:
        """Return the formulas that a model with these values contradicts, inside their domains."""
        facts = self.facts(change)
        if facts is None:
            return ()
        results = Results({**self.values, **change})
        return tuple(
            name
            for name, fact in facts.items()
            if name in self.formulas
            and results.meet(self.conditions.get(name, ()))
            and fact != {results.of(self.formulas[name])}
        )

    def least(self, change: Change) -> Change:
        """Return the least part of a change that contradicts a formula.

        The letters of one that is wrong are tried first.
        """
        formula = self.formulas[self.wrong(change)[0]]
        used = frozenset[str]().union(*map(letters_of, formula))
        own = {letter: value for letter, value in change.items() if letter in used}
        if 0 < len(own) < len(change) and self._is_wrong(own):
            change = own
        while len(change) > 1:
            half = next((half for half in halves(change) if self._is_wrong(half)), None)
            if half is None:
                break
            change = half
        for letter in list(change) if len(change) > 1 else ():
            rest = {other: value for other, value in change.items() if other != letter}
            if rest and self._is_wrong(rest):
                change = rest
        return change

    def verdict(self, change: Change, names: Collection[str]) -> bool | None:
        """Tell whether formulas are right for a model with these values; ``None`` if unknown.

        They may say nothing of it, or there is no such model.
        """
        facts = self.facts(change) if self.has_room() else None
        if facts is None or not facts.keys() >= set(names):
            return None
        results = Results({**self.values, **change})
        if not all(results.meet(self.conditions.get(name, ())) for name in names):
            return None
        return all(facts[name] == {results.of(self.formulas[name])} for name in names)

    def _is_wrong(self, change: Change) -> bool:
        return self.has_room() and bool(self.wrong(change))


def halves(change: Change) -> tuple[Change, Change]:
    """Return the two halves of a change."""
    items = list(change.items())
    middle = len(items) // 2
    return dict(items[:middle]), dict(items[middle:])
