"""Models with some numbers changed, which formulas are compared with."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field

from bertviewer.core.expressions.domains import is_met
from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate
from bertviewer.core.symbolic.formulas import template_path
from bertviewer.core.symbolic.models import Change, ModelBuilder, ModelSizes, Values
from bertviewer.core.symbolic.observations import Observations


class Probe(Struct):
    """A model with some numbers changed, and what formulas give for it, each evaluated once.

    Attributes:
        changed: the symbols that are not as in the observed base.
        values: of all symbols.
        facts: what the model has under each formula's name: of every block that it describes.
        is_fitted: whether it is one of the models that formulas were fitted to.
    """

    changed: Change
    values: Values
    facts: Mapping[str, frozenset[tuple[int, ...]]]
    is_fitted: bool = False
    _results: dict[str, int | None] = field(default_factory=dict)

    def meets(self, conditions: Iterable[str]) -> bool:
        """Return whether the values meet all conditions."""
        return all(self._once(text, is_met) for text in conditions)

    def result(self, formula: tuple[str, ...]) -> tuple[int, ...] | None:
        """Return the formula's values, ``None`` where a division does not come out even."""
        found = [self._once(part, evaluate) for part in formula]
        known = tuple(result for result in found if result is not None)
        return known if len(known) == len(found) else None

    def _once(self, text: str, evaluated: Callable[[str, Values], int]) -> int | None:
        if text not in self._results:
            try:
                self._results[text] = evaluated(text, self.values)
            except UnevenDivision:
                self._results[text] = None
        return self._results[text]


class ProbePool:
    """Builds each change of an observed model once; the observed models are probes as well."""

    def __init__(
        self,
        builder: ModelBuilder,
        observed: Observations,
        lengths: Mapping[str, int],
        most_builds: int,
    ) -> None:
        """Start with the observed models, whose lists have these lengths: see ``template_path``.

        So many more may be built for experiments.
        """
        self._builder, self._base = builder, observed.values
        self._lengths = lengths
        self._left = most_builds
        self._probes: dict[frozenset[tuple[str, int]], Probe | None] = {}
        for variable in observed.variables:
            for value, model in observed.seen[variable.letter]:
                change = variable.at(value, observed.values) or {}
                self._probes[frozenset(change.items())] = self.read(change, model, is_fitted=True)

    def __iter__(self) -> Iterator[Probe]:
        """Yield what was built so far."""
        return filter(None, list(self._probes.values()))

    @property
    def has_room(self) -> bool:
        """Whether further experiments are allowed."""
        return self._left > 0

    def variant(self, change: Change) -> ModelSizes | None:
        """Return the model with this change, ``None`` where the model refuses it."""
        return self._builder.variant({**self._base, **change})

    def at(self, change: Change) -> Probe | None:
        """Return the probe with this change, ``None`` where the model refuses it."""
        change = {x: value for x, value in change.items() if value != self._base[x]}
        key = frozenset(change.items())
        if key not in self._probes:
            self._left -= 1
            self._probes[key] = None
            if (model := self.variant(change)) is not None:
                self._probes[key] = self.read(change, model)
        return self._probes[key]

    def experiment(self, change: Change) -> Probe | None:
        """Return the probe with this change, if there is room for it."""
        return self.at(change) if change and self.has_room else None

    def read(self, change: Change, model: ModelSizes, *, is_fitted: bool = False) -> Probe:
        """Return what formulas have to give for a model, by their names."""
        facts: dict[str, set[tuple[int, ...]]] = {}
        for name, fact in model.facts.items():
            facts.setdefault(template_path(name, self._lengths), set()).add(fact)
        values = {**self._base, **change}
        found = {name: frozenset(some) for name, some in facts.items()}
        return Probe(change, values, found, is_fitted)
