"""Counts, shapes and costs for other numbers in the configuration, and values to suggest.

Figures come from the formulas where these are verified, and are marked where there is none. For
other values they are read from a model that is built with these numbers, if possible.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import UnevenDivision, all_met, evaluate, names_in
from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.presets import PRESETS, find_preset
from bertviewer.core.what_if.sheet import Problem, ScenarioError, Sheet


class Scenario(Struct, frozen=True):
    """Other values for some symbols of an architecture.

    Attributes:
        sheet: the architecture's formulas.
        changed: the new values; other symbols keep theirs.
        kept: relations that stay true, such as I = 4*D.
    """

    sheet: Sheet
    changed: Mapping[str, int]
    kept: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        if stuck := sorted(self.changed.keys() - self.sheet.free):
            raise ValueError(f"no formula depends on {', '.join(stuck)}")

    @property
    def values(self) -> dict[str, int]:
        """The values of all symbols; proportional ones are rounded down."""
        real = self.sheet.values
        values = {**real, **self.changed}
        for multiple in self.kept:
            values[multiple.name] = evaluate(multiple.formula, values)
        for symbol in self.sheet.architecture.symbols:
            name, variable = symbol.name, symbol.variable
            # Two numbers that a model requires to be proportional.
            if name != variable and variable in real and name not in self.changed:
                values[name] = real[name] * values[variable] // real[variable]
        return values


class Figure(Struct, frozen=True):
    """A number of the real model, and its value in a scenario.

    Attributes:
        is_fixed: whether it has no formula, so that it is the real one in all scenarios.
    """

    real: int
    value: int
    is_fixed: bool = False

    @property
    def difference(self) -> int:
        """The difference to the real model."""
        return self.value - self.real

    @property
    def ratio(self) -> float | None:
        """The ratio to the real model, ``None`` if that is 0."""
        return self.value / self.real if self.real else None

    def times(self, real: int, here: int) -> "Figure":
        """Return the figure of several equal modules, ``real`` in the real model and ``here``."""
        return Figure(self.real * real, self.value * here, self.is_fixed)


class BuiltModel(Struct, frozen=True):
    """Sizes of a model built with a scenario's values: elements by module, shapes by tensor."""

    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]


class Outcome(Struct, frozen=True):
    """The figures of a scenario for every module and tensor of the real model.

    Attributes:
        scenario: the values.
        numbers: the value of each formula.
        warnings: problems that do not affect the figures.
        has_costs: whether the formulas of the forward pass hold for these values; they may be
            verified for fewer symbols than the counts.
        built: the built model that figures are read from if the formulas are not verified.
    """

    scenario: Scenario
    numbers: Mapping[str, int]
    warnings: tuple[Problem, ...]
    has_costs: bool
    built: BuiltModel | None = None

    @property
    def sheet(self) -> Sheet:
        """The formulas."""
        return self.scenario.sheet

    def parameters(self, path: str) -> Figure:
        """Return the elements in and below a module of the real model."""
        node = self.sheet.architecture.module(path)
        assert node is not None
        if self.built is not None:
            return Figure(node.parameters, self.built.sizes.get(path, 0))
        return self._figure(node.count_formula)

    def macs(self, path: str) -> Figure | None:
        """Return a module's multiply-adds, ``None`` without a formula."""
        module = self._costs(path)
        return None if module is None or module.macs is None else self._figure(module.macs)

    def peak(self) -> Figure | None:
        """Return the maximum of live elements of activations, ``None`` without a formula."""
        costs = self.sheet.architecture.costs
        if costs is None or not self.has_costs:
            return None
        real, here = (costs.peak_elements(at) for at in (self.sheet.values, self.scenario.values))
        return None if real is None or here is None else Figure(real, here)

    def kv_cache(self, dtype: str) -> Figure | None:
        """Return the bytes of the key/value cache, ``None`` without a formula."""
        cache, values = self.sheet.architecture.kv_cache, self.scenario.values
        if cache is None or not cache.names | {"B", "S"} <= values.keys():
            return None
        real, here = cache.bytes(self.sheet.values, dtype), cache.bytes(values, dtype)
        is_known = all_met(cache.domain, values) and real is not None and here is not None
        return Figure(real or 0, here or 0) if is_known else None

    def shape(self, tensor: TensorInfo) -> tuple[int, ...]:
        """Return a tensor's shape; the real one without a formula."""
        if self.built is not None:
            return self.built.shapes.get(tensor.name, tensor.shape)
        return self._sizes(tensor.symbolic_shape) or tensor.shape

    def input_shape(self, path: str) -> tuple[int, ...] | None:
        """Return the shape of a module's input, ``None`` without a formula."""
        module = self._costs(path)
        return self._sizes(module.input_shape if module else None)

    def output_shape(self, path: str) -> tuple[int, ...] | None:
        """Return the shape of a module's output, ``None`` without a formula."""
        module = self._costs(path)
        return self._sizes(module.output_shape if module else None)

    def layers(self, path: str) -> int:
        """Return the number of layers in the list at ``path``."""
        if self.built is not None:
            children = (x.rpartition(".") for x in self.built.sizes)
            return sum(parent == path and name.isdigit() for parent, _, name in children)
        real, name = self._real_layers(path), self.sheet.stacks.get(path)
        more = self.scenario.values[name] - self.sheet.values[name] if name else 0
        return max(real + more, 0)

    def exists(self, path: str) -> bool:
        """Return whether the model has a module of the real one."""
        if self.built is not None:
            return path in self.built.sizes
        while path:
            path, _, name = path.rpartition(".")
            if path in self.sheet.stacks and int(name) >= self.layers(path):
                return False
        return True

    def members(self, row: TreeRow) -> tuple[int, int]:
        """Return the number of modules in a row of the tree, in the real model and here.

        New layers are copies of the last one.
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
        return Figure(real, self.numbers[formula], bool(real) and not names_in(formula))

    def _sizes(self, shape: tuple[str, ...] | None) -> tuple[int, ...] | None:
        return None if shape is None else tuple(self.numbers[size] for size in shape)


def evaluate_scenario(scenario: Scenario) -> Outcome:
    """Evaluate all formulas for a scenario: 0.1 ms for BERT-large.

    Raises:
        ScenarioError: the values break a rule, or a division is not exact.
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
    """Return whether the costs are verified for the values of all symbols."""
    if not all_met(costs.domain, values):
        return False
    for symbol in sheet.architecture.symbols:
        name = symbol.name
        variable = costs.variables.get(name, "")
        # A symbol without a variable must keep its value.
        now, real = (values[variable], sheet.values[variable]) if variable in values else (1, 1)
        if values[name] * real != sheet.values[name] * now:
            return False
    return True


_MAX_REMEDIES = 3
_AROUND, _BEYOND = 1_500, 16
"""Range of tried values around a symbol's own, and from other numbers of a problem on."""

_MAX_STEPS = 2_000


def next_value(sheet: Sheet, values: Mapping[str, int], name: str, step: int) -> int:
    """Return the nearest value of a symbol in a direction that breaks no rule about it.

    Args:
        sheet: has the rules.
        values: the current values of all symbols.
        name: the symbol to change.
        step: 1 upwards, -1 downwards.

    Returns:
        The next divisor for a number of heads, the next multiple of it for a width, else the next
        number; at least 1.
    """
    now = values[name]
    rules = [pair for pair in sheet.divisions if name in pair]
    for value in range(now + step, max(now + step * _MAX_STEPS, 0), step):
        tried = {**values, name: value}
        if all(tried[whole] % tried[part] == 0 for part, whole in rules):
            return value
    return max(now + step, 1)


def remedies(scenario: Scenario, problems: Sequence[Problem]) -> dict[str, int]:
    """Return the nearest valid value of each symbol of the problems, unchanged symbols first."""
    free = scenario.sheet.free - {relation.name for relation in scenario.kept}
    names = dict.fromkeys(name for problem in problems for name in problem.names)
    numbers = tuple(dict.fromkeys(number for problem in problems for number in problem.numbers))
    values = scenario.values
    found = {}
    for name in filter(free.__contains__, names):
        for value in _near(values[name], numbers):
            changed = {**scenario.changed, name: value}
            is_possible = not scenario.sheet.broken_rules({**values, name: value})
            if is_possible and _is_good(replace(scenario, changed=changed)):
                found[name] = value
                break
    ordered = sorted(found, key=scenario.changed.__contains__)
    return {name: found[name] for name in ordered[:_MAX_REMEDIES]}


def _near(now: int, numbers: Sequence[int]) -> Iterator[int]:
    """Yield values by distance, then values from other numbers on."""
    for step in range(1, _AROUND):
        yield now + step
        if now > step:
            yield now - step
    for number in numbers:
        yield from range(max(number, 1), number + _BEYOND)


def _is_good(scenario: Scenario) -> bool:
    try:
        return not evaluate_scenario(scenario).warnings
    except (ScenarioError, ValueError):
        return False


def preset_sizes(sheet: Sheet) -> dict[str, dict[str, int]]:
    """Return the values of symbols for the size of each preset, by its name.

    Only presets of the same ``model_type`` that differ from the open model, and whose sizes its
    formulas cover.

    Raises:
        UserError: a preset's file cannot be read.
    """
    symbols = sheet.architecture.symbols
    found = {}
    for preset in PRESETS:
        path = find_preset(preset.name)
        config = {} if path is None else read_configuration(path)
        if config.get("model_type") != sheet.architecture.config.get("model_type"):
            continue
        theirs = {symbol.key: symbol.value for symbol in symbols_of(config)}
        wanted = {s.name: theirs.get(s.key, s.value) for s in symbols}
        changed = {x: wanted[x] for x in wanted if x in sheet.free and wanted[x] != sheet.values[x]}
        if changed and wanted.items() <= Scenario(sheet, changed).values.items():
            found[preset.name] = changed
    return found
