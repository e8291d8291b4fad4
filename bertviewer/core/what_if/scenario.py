"""What if the configuration had other numbers: counts, shapes and costs.

They come from the formulas where these are verified, and are marked where they have none.
Elsewhere they are read from a model that was built with the numbers, if that is possible.
"""

from collections.abc import Mapping

from bertviewer.core.architecture.folding import TreeRow
from bertviewer.core.architecture.forward_costs import Costs, ModuleCosts
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.domains import holds_in
from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.frozen import frozen
from bertviewer.core.what_if.rules import Problem, ScenarioError, broken_rules
from bertviewer.core.what_if.sheet import Multiple, Sheet


@frozen
class Scenario:
    """Other values for some letters of an architecture.

    Attributes:
        sheet: the architecture's formulas.
        changed: the new values; other letters keep theirs.
        kept: multiples that follow what they are multiples of.
    """

    sheet: Sheet
    changed: Mapping[str, int]
    kept: tuple[Multiple, ...] = ()

    def __post_init__(self) -> None:
        free = {symbol.letter for symbol in self.sheet.symbols if self.sheet.is_free(symbol)}
        if stuck := sorted(self.changed.keys() - free):
            raise ValueError(f"no formula depends on {', '.join(stuck)}")

    @property
    def values(self) -> dict[str, int]:
        """The value of every letter; one that cannot be in proportion is cut to a whole number."""
        values = {**self.sheet.values, **self.changed}
        for multiple in self.kept:
            values[multiple.letter] = multiple.factor * values[multiple.of]
        real = self.sheet.values
        for symbol in self.sheet.followers:
            if symbol.letter in self.changed:
                continue
            # Two numbers that a model wants in proportion: one letter stands for both.
            moved = real[symbol.letter] * values[symbol.variable]
            values[symbol.letter] = moved // real[symbol.variable]
        return values


@frozen
class Figure:
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


@frozen
class BuiltModel:
    """A model that was built with a scenario's values.

    Attributes:
        counts: the elements in and below each module.
        shapes: each tensor's shape.
    """

    counts: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]


@frozen
class Outcome:
    """What a scenario gives, for every module and every tensor of the real model.

    Attributes:
        scenario: the values.
        numbers: what each formula gives with them.
        warnings: what should be known about the values; no figure is wrong for them.
        has_costs: whether the formulas of the forward pass hold for these values; they may be
            proven for fewer letters than the counts.
        has_peak: whether that of the activations' peak does.
        built: the model that figures are read from instead, where the formulas are not verified.
    """

    scenario: Scenario
    numbers: Mapping[str, int]
    warnings: tuple[Problem, ...]
    has_costs: bool
    has_peak: bool
    built: BuiltModel | None = None

    @property
    def sheet(self) -> Sheet:
        """The formulas that the figures come from."""
        return self.scenario.sheet

    def parameters(self, path: str) -> Figure:
        """Return the elements in and below a module."""
        if self.built is not None:
            return Figure(self.sheet.nodes[path].parameters, self.built.counts.get(path, 0))
        return self._figure(self.sheet.nodes[path].count_formula)

    def macs(self, path: str) -> Figure | None:
        """Return a module's multiply-adds, ``None`` where no formula says them."""
        module = self._costs(path)
        return None if module is None or module.macs is None else self._figure(module.macs)

    def peak(self) -> Figure | None:
        """Return the most elements of activations alive at one time, ``None`` without formula."""
        costs = self.sheet.architecture.costs
        if costs is None or not costs.peak or not self.has_peak:
            return None
        real, here = self.sheet.numbers, self.numbers
        return Figure(max(real[it] for it in costs.peak), max(here[it] for it in costs.peak))

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
        if tensor.symbolic_shape is None:
            return tensor.shape
        return tuple(self.numbers[size] for size in tensor.symbolic_shape)

    def input_shape(self, path: str) -> tuple[int, ...] | None:
        """Return the shape of a module's input, ``None`` where no formula says it."""
        module = self._costs(path)
        return self._sizes(module.input_shape if module else None)

    def output_shape(self, path: str) -> tuple[int, ...] | None:
        """Return the shape of a module's output, ``None`` where no formula says it."""
        module = self._costs(path)
        return self._sizes(module.output_shape if module else None)

    def layers(self, path: str) -> int:
        """Return how many layers there are in the list at ``path``."""
        stack = self.sheet.stacks[path]
        grown = self.scenario.values[stack.letter] - self.sheet.values[stack.letter]
        return max(stack.length + grown, 0)

    def exists(self, path: str) -> bool:
        """Return whether the model has a module of the real one: fewer layers lack the last."""
        if self.built is not None:
            return path in self.built.counts
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
        first, real = int(row.node.name), len(row.members)
        if self.built is not None:
            parent = row.node.parent or ""
            own = {member.node.path for member in row.members}
            later = (p for p in self.built.counts if p.rpartition(".")[0] == parent)
            numbered = [p for p in later if p.rpartition(".")[2].isdigit()]
            others = {node.path for node in self.sheet.architecture.children(parent)} - own
            # Further layers are like the last row's.
            is_last = all(int(p.rpartition(".")[2]) < first for p in others)
            return real, sum(p in own or (is_last and p not in others) for p in numbered)
        stack = self.sheet.stacks.get(row.node.parent or "")
        if stack is None or not self.exists(row.node.parent or ""):
            return real, real if stack is None else 0
        end = self.layers(row.node.parent or "")
        if first + real < stack.length:
            end = min(end, first + real)
        return real, max(end - first, 0)

    def row_parameters(self, row: TreeRow) -> Figure:
        """Return the elements of a row of the tree, all of its layers together."""
        return self.parameters(row.node.path).times(*self.members(row))

    def row_macs(self, row: TreeRow) -> Figure | None:
        """Return the multiply-adds of a row of the tree, all of its layers together."""
        macs = self.macs(row.node.path)
        return None if macs is None else macs.times(*self.members(row))

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
    problems = list(broken_rules(sheet, values))
    numbers: dict[str, int] = {}
    for formula in sheet.numbers if all(problem.is_warning for problem in problems) else ():
        try:
            numbers[formula] = evaluate(formula, values)
        except UnevenDivision:
            letters = tuple(sorted(letters_of(formula)))
            problems.append(Problem("even", letters, tuple(values[x] for x in letters), formula))
            continue
        if formula in sheet.dimensions and numbers[formula] < 1:
            letters = tuple(sorted(letters_of(formula)))
            problems.append(Problem("size", letters, (numbers[formula],), formula))
    errors = tuple(problem for problem in problems if not problem.is_warning)
    if errors:
        raise ScenarioError(errors)
    costs = sheet.architecture.costs
    has_costs = costs is not None and _costs_hold(costs, sheet, values)
    fixed = costs.peak_fixed.items() if costs else ()
    has_peak = has_costs and all(values.get(letter, value) == value for letter, value in fixed)
    return Outcome(scenario, numbers, tuple(problems), has_costs, has_peak)


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
