"""Measures of the map, and their values for nodes, blocks and modules."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Literal

from msgspec import Struct, field

from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.multiply_adds import MultiplyAdds
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.schema.check import Check
from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.util.numbers import number_text, short_count

Kind = Literal["part", "parameters", "macs", "statistic", "difference", "check", "change"]

COUNTED = ("parameters", "macs")
"""Kinds that are counts."""
SPREAD = (*COUNTED, "change")
"""Kinds with logarithmic colours."""


class MapMeasure(Struct, frozen=True):
    """What is shown by the colours and numbers of the map.

    ``statistic`` is one of ``STATISTIC_NAMES``; ``other`` is the name of a compared model.
    """

    kind: Kind = "part"
    statistic: str = ""
    other: str = ""


PART = MapMeasure("part")
PARAMETERS = MapMeasure("parameters")
MACS = MapMeasure("macs")
CHECK = MapMeasure("check")
STATISTICS = tuple(MapMeasure("statistic", name) for name in STATISTIC_NAMES)
DIFFERENCES = tuple(MapMeasure("difference", name) for name in STATISTIC_NAMES)


def figure_text(measure: MapMeasure, value: float | None) -> str:
    """Return the text of a value in a node, "" for none."""
    if value is None:
        return ""
    if measure.kind in COUNTED:
        # SVG fonts may lack the no-break space.
        return short_count(round(value)).replace("\N{NO-BREAK SPACE}", " ")
    if measure.kind == "check":
        return "✓" if value >= 1 else "✗"
    text = number_text(value, 3)
    return f"+{text}" if measure.kind == "difference" and value > 0 else text


def share_text(share: float) -> str:
    """Return a percentage with one decimal, or none from 10% on."""
    percent = 100 * share
    if not percent:
        return "0%"
    if percent < 0.095:
        return "<0.1%"
    return f"{percent:.0f}%" if percent >= 9.95 else f"{percent:.1f}%"


class MapData(Struct, frozen=True):
    """The last run, the baseline, and the checks of a model.

    ``changes`` are the differences of modules from those of the compared model ``other``.
    """

    run: ActivationRun | None = None
    baseline: ActivationRun | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    changes: Mapping[str, float] = field(default_factory=dict)
    other: str = ""


class MapValues:
    """Returns the values of measures; ``None`` where there is none."""

    def __init__(self, graphs: PartGraphs, data: MapData) -> None:
        self._graphs = graphs
        self.data = data
        self.macs = MultiplyAdds(graphs, data.run)
        self._b = _by_path(data.run)
        self._a = _by_path(data.baseline)
        self._sizes = {tensor.name: tensor.numel for tensor in graphs.architecture.parameters}
        of_run = () if data.run is None or data.run.check is None else (data.run.check,)
        self._steps = [step for check in (*of_run, *data.checks.values()) for step in check.steps]

    def of_node(self, measure: MapMeasure, part: Scope, node: Node) -> float | None:
        """Return the value of a node of a part's graph; of identical layers that of all."""
        if node.kind in ("input", "output", "constant"):
            return None
        match measure.kind:
            case "parameters":
                return self._parameters(node)
            case "macs":
                return self.macs.of_node(part, node)
            case "statistic" | "difference":
                return _mean(
                    self.of_path(measure, path, part.call if path == part.path else None)
                    for path in self._measured(part, node)
                )
            case "check":
                return self._checked(_modules_of(part, node))
            case "change":
                return _mean(self.data.changes.get(path) for path in _modules_of(part, node))
            case "part":
                return None

    def of_block(self, measure: MapMeasure, block: Block, calls: int = 1) -> float | None:
        """Return the value of a block of the strip, for its call if the module has several."""
        if measure.kind in ("part", "parameters") and block.part.call:
            return None  # a shared layer is stored once
        return self.of_module(measure, block.path, block.part.call if calls > 1 else None)

    def of_module(self, measure: MapMeasure, path: str, call: int | None = None) -> float | None:
        """Return the value of a module."""
        module = self._graphs.module(path)
        match measure.kind:
            case "part":
                return None if module is None else module.share
            case "parameters":
                return None if module is None else float(module.parameters)
            case "macs":
                return self.macs.of_module(path)
            case "check":
                return self._checked([path])
            case "change":
                return self.data.changes.get(path)
            case _:
                return self.of_path(measure, path, call)

    def of_path(self, measure: MapMeasure, path: str, call: int | None = None) -> float | None:
        """Return a statistic of a module's output in one of its calls, or in all."""
        b = _statistic(self._b.get(path), measure.statistic, call)
        if measure.kind != "difference":
            return b
        a = _statistic(self._a.get(path), measure.statistic, call)
        return None if b is None or a is None else b - a

    def range_of(self, measure: MapMeasure) -> tuple[float, float] | None:
        """Return the range of the values of all modules."""
        values = [value for value in self._all(measure) if value is not None and isfinite(value)]
        return (min(values), max(values)) if values else None

    def is_tied(self, path: str) -> bool:
        """Tell whether a module has only tensors that are counted elsewhere."""
        module = self._graphs.module(path)
        has_none = module is not None and not module.parameters
        tied = (tensor.owner for tensor in self._graphs.architecture.parameters if tensor.tied_to)
        return has_none and any(_is_in(owner, path) for owner in tied)

    def steps_of(self, path: str) -> tuple[int, int]:
        """Return how many checked steps of a module and all in it passed, and their number."""
        steps = [step for step in self._steps if _is_in(step.path, path)]
        return sum(step.ok for step in steps), len(steps)

    def _all(self, measure: MapMeasure) -> Iterable[float | None]:
        modules = self._graphs.architecture.modules[1:]
        if measure.kind == "parameters":
            return [float(node.parameters) for node in modules if node.parameters]
        if measure.kind == "macs":
            return self.macs.all()
        if measure.kind == "change":
            # Unchanged modules are not on the logarithmic scale.
            return [self.data.changes.get(node.path) or None for node in modules]
        return [self.of_path(measure, node.path) for node in modules]

    def _parameters(self, node: Node) -> float | None:
        if node.kind == "module":
            modules = map(self._graphs.module, node.layers)
            return float(sum(each.parameters for each in modules if each is not None)) or None
        held = node.details.get("parameters")
        if isinstance(held, int) and not node.reads:
            return float(held) or None
        reads = node.reads or [name for each in node.nodes or () for name in each.reads]
        return float(sum(self._sizes.get(name, 0) for name in dict.fromkeys(reads))) or None

    def _measured(self, part: Scope, node: Node) -> Sequence[str]:
        """Return the modules whose output is that of a node."""
        if node.kind == "module":
            return node.layers
        if node.kind == "group" and node.path and node.path != part.path:
            flow = self._graphs.flow(Scope(node.path))
            if flow is not None and _ends_in(flow, node):
                return (node.path,)
        # A group that ends in a module has the output of that.
        sources = {edge.source for edge in node.edges}
        return [
            each.path
            for each in (node.nodes or ())[-1:]
            if each.kind == "module"
            and each.path
            and each.id not in sources
            and each.operation != "scaled_dot_product_attention"
        ]

    def _checked(self, paths: Sequence[str]) -> float | None:
        """Return the share of steps that passed."""
        counts = [self.steps_of(path) for path in dict.fromkeys(paths) if path]
        total = sum(count for _, count in counts)
        return sum(passed for passed, _ in counts) / total if total else None


def _by_path(run: ActivationRun | None) -> Mapping[str, ModuleActivation]:
    return {} if run is None else {module.path: module for module in run.modules}


def _statistic(module: ModuleActivation | None, name: str, call: int | None) -> float | None:
    if module is None or module.skip_reason:
        return None
    statistics: Statistics = module.statistics
    if call is not None and call < len(module.calls):
        statistics = module.calls[call]
    return statistic_value(statistics, name)


def _modules_of(part: Scope, node: Node) -> Sequence[str]:
    """Return the modules that a node represents."""
    if node.kind == "module":
        return node.layers
    if node.path and node.path != part.path:
        return (node.path,)
    return [each.path for each in node.nodes or () if each.path and each.kind == "module"]


def _ends_in(flow: Flow, group: Node) -> bool:
    """Tell whether the output of a graph is that of a group with the same operation."""
    outputs = {node.id for node in flow.nodes if node.kind == "output"}
    last = {edge.source for edge in flow.edges if edge.target in outputs}
    return any(
        node.kind == "group" and node.operation == group.operation
        for node in flow.nodes
        if node.id in last
    )


def _mean(found: Iterable[float | None]) -> float | None:
    values = [value for value in found if value is not None]
    return sum(values) / len(values) if values else None


def _is_in(path: str, around: str) -> bool:
    return path == around or path.startswith(f"{around}.")
