"""What if the configuration had other numbers: counts, shapes and costs.

They come from the formulas where these are verified, and are marked where they have none.
Elsewhere they are read from a model that was built with the numbers, if that is possible.
"""

from collections.abc import Mapping

from msgspec import Struct

from bertviewer.core.expressions.domains import holds_in
from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.expressions.grouping import Relation
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.what_if.sheet import Problem, ScenarioError, Sheet


class Scenario(Struct, frozen=True):
    """Other values for some letters of an architecture.

    Attributes:
        sheet: the architecture's formulas.
        changed: the new values; other letters keep theirs.
        kept: multiples that follow what they are multiples of.
    """

    sheet: Sheet
    changed: Mapping[str, int]
    kept: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        if stuck := sorted(self.changed.keys() - self.sheet.free):
            raise ValueError(f"no formula depends on {', '.join(stuck)}")

    @property
    def values(self) -> dict[str, int]:
        """The value of every letter; one that cannot be in proportion is cut to a whole number."""
        real = self.sheet.values
        values = {**real, **self.changed}
        for multiple in self.kept:
            values[multiple.letter] = evaluate(multiple.formula, values)
        for symbol in self.sheet.architecture.symbols:
            letter, variable = symbol.letter, symbol.variable
            # Two numbers that a model wants in proportion: one letter stands for both.
            if letter != variable and variable in real and letter not in self.changed:
                values[letter] = real[letter] * values[variable] // real[variable]
        return values


class Figure(Struct, frozen=True):
    """A number of the real model and what becomes of it.

    Attributes:
        is_fixed: whether it has no formula, so that it is the real one whatever is changed.
    """

    real: int
    value: int
    is_fixed: bool = False

    @property
    def difference(self) -> int:
        """How much more it is than in the real model."""
        return self.value - self.real

    @property
    def ratio(self) -> float | None:
        """How many times the real one it is, ``None`` where that is 0."""
        return self.value / self.real if self.real else None

    def times(self, real: int, here: int) -> "Figure":
        """Return the figure of so many equal modules in the real model, and so many here."""
        return Figure(self.real * real, self.value * here, self.is_fixed)


class BuiltModel(Struct, frozen=True):
    """A model that was built with a scenario's values: elements by module, shapes by tensor."""

    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]


class Outcome(Struct, frozen=True):
    """What a scenario gives, for every module and every tensor of the real model.

    Attributes:
        scenario: the values.
        numbers: what each formula gives with them.
        warnings: what should be known about the values; no figure is wrong for them.
        has_costs: whether the formulas of the forward pass hold for these values; they may be
            proven for fewer letters than the counts.
        built: the model that figures are read from instead, where the formulas are not verified.
    """

    scenario: Scenario
    numbers: Mapping[str, int]
    warnings: tuple[Problem, ...]
    has_costs: bool
    built: BuiltModel | None = None

    @property
    def sheet(self) -> Sheet:
        """The formulas that the figures come from."""
        return self.scenario.sheet

    def parameters(self, path: str) -> Figure:
        """Return the elements in and below a module of the real model."""
        node = self.sheet.architecture.module(path)
        assert node is not None
        if self.built is not None:
            return Figure(node.parameters, self.built.sizes.get(path, 0))
        return self._figure(node.count_formula)

    def macs(self, path: str) -> Figure | None:
        """Return a module's multiply-adds, ``None`` where no formula says them."""
        module = self._costs(path)
        return None if module is None or module.macs is None else self._figure(module.macs)

    def peak(self) -> Figure | None:
        """Return the most elements of activations alive at one time, ``None`` without formula."""
        costs = self.sheet.architecture.costs
        if costs is None or not self.has_costs:
            return None
        real, here = (costs.peak_elements(at) for at in (self.sheet.values, self.scenario.values))
        return None if real is None or here is None else Figure(real, here)

    def kv_cache(self, dtype: str) -> Figure | None:
        """Return the bytes of the key/value cache, ``None`` where no formula says it."""
        cache, values = self.sheet.architecture.kv_cache, self.scenario.values
        if cache is None or not cache.letters | {"B", "S"} <= values.keys():
            return None
        real, here = cache.bytes(self.sheet.values, dtype), cache.bytes(values, dtype)
        is_known = holds_in(cache.domain, values) and real is not None and here is not None
        return Figure(real or 0, here or 0) if is_known else None

    def shape(self, tensor: TensorInfo) -> tuple[int, ...]:
        """Return a tensor's shape; the real one where no formula is known."""
        if self.built is not None:
            return self.built.shapes.get(tensor.name, tensor.shape)
        return self._sizes(tensor.symbolic_shape) or tensor.shape

    def input_shape(self, path: str) -> tuple[int, ...] | None:
        """Return the shape of a module's input, ``None`` where no formula says it."""
        module = self._costs(path)
        return self._sizes(module.input_shape if module else None)

    def output_shape(self, path: str) -> tuple[int, ...] | None:
        """Return the shape of a module's output, ``None`` where no formula says it."""
        module = self._costs(path)
        return self._sizes(module.output_shape if module else None)

    def layers(self, path: str) -> int:
        """Return how many numbered modules there are in the list at ``path``."""
        if self.built is not None:
            children = (x.rpartition(".") for x in self.built.sizes)
            return sum(parent == path and name.isdigit() for parent, _, name in children)
        letter, real = self.sheet.stacks.get(path), self._real_layers(path)
        grown = self.scenario.values[letter] - self.sheet.values[letter] if letter else 0
        return max(real + grown, 0)

    def exists(self, path: str) -> bool:
        """Return whether the model has a module of the real one: fewer layers lack the last."""
        if self.built is not None:
            return path in self.built.sizes
        while path:
            path, _, name = path.rpartition(".")
            if path in self.sheet.stacks and int(name) >= self.layers(path):
                return False
        return True

    def members(self, row: TreeRow) -> tuple[int, int]:
        """Return how many modules a row of the tree stands for, in the real model and here.

        New layers come after the last one and are like it.
        """
        if not row.is_folded:
            return 1, int(self.exists(row.node.path))
        first, real, parent = int(row.node.name), len(row.members), row.node.parent or ""
        end = self.layers(parent) if self.exists(parent) else 0
        if first + real < self._real_layers(parent):
            end = min(end, first + real)
        return real, max(end - first, 0)

    def row_parameters(self, row: TreeRow) -> Figure:
        """Return the elements of a row of the tree, all of its layers together."""
        return self.parameters(row.node.path).times(*self.members(row))

    def row_macs(self, row: TreeRow) -> Figure | None:
        """Return the multiply-adds of a row of the tree, all of its layers together."""
        macs = self.macs(row.node.path)
        return None if macs is None else macs.times(*self.members(row))

    def _real_layers(self, path: str) -> int:
        return sum(child.name.isdigit() for child in self.sheet.architecture.children(path))

    def _costs(self, path: str) -> ModuleCosts | None:
        costs = self.sheet.architecture.costs
        return None if costs is None or not self.has_costs else costs.modules.get(path)

    def _figure(self, formula: str) -> Figure:
        real = self.sheet.numbers[formula]
        return Figure(real, self.numbers[formula], bool(real) and not letters_of(formula))

    def _sizes(self, shape: tuple[str, ...] | None) -> tuple[int, ...] | None:
        return None if shape is None else tuple(self.numbers[size] for size in shape)


def evaluate_scenario(scenario: Scenario) -> Outcome:
    """Put a scenario's values into all formulas: 0.1 ms for BERT-large.

    Raises:
        ScenarioError: the values break a rule, or a formula says nothing about them.
    """
    sheet, values = scenario.sheet, scenario.values
    problems = list(sheet.broken_rules(values))
    numbers: dict[str, int] = {}
    for formula in sheet.numbers if all(problem.is_warning for problem in problems) else ():
        try:
            numbers[formula] = evaluate(formula, values)
        except UnevenDivision:
            problems.append(Problem.of("even", formula, values))
            continue
        if formula in sheet.sizes and numbers[formula] < 1:
            problems.append(Problem.of("size", formula, values, numbers[formula]))
    errors = tuple(problem for problem in problems if not problem.is_warning)
    if errors:
        raise ScenarioError(errors)
    costs = sheet.architecture.costs
    has_costs = costs is not None and _costs_hold(costs, sheet, values)
    return Outcome(scenario, numbers, tuple(problems), has_costs)


def _costs_hold(costs: Costs, sheet: Sheet, values: Mapping[str, int]) -> bool:
    """Tell whether all letters have values for which the costs were verified."""
    if not holds_in(costs.domain, values):
        return False
    for symbol in sheet.architecture.symbols:
        letter = symbol.letter
        variable = costs.variables.get(letter, "")
        # A number that no formula follows keeps its value.
        now, real = (values[variable], sheet.values[variable]) if variable in values else (1, 1)
        if values[letter] * real != sheet.values[letter] * now:
            return False
    return True
