"""What the map's colours and figures can be of.

The values that colours and figures of the map are made of.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Literal

from msgspec import Struct, field

from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.multiply_adds import MultiplyAdds
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.schema.check import Check
from bertviewer.core.schema.flow import Node
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.util.numbers import number_text, short_count

Kind = Literal["part", "parameters", "macs", "statistic", "difference", "check", "change"]

COUNTED = ("parameters", "macs")
"""Kinds that are counts."""
SPREAD = (*COUNTED, "change")
"""Kinds of which there are many between few: their colours go by powers of ten."""
MEASURED = ("statistic", "difference")
"""Kinds that need a run."""


class MapMeasure(Struct, frozen=True):
    """What is shown.

    ``statistic`` is one of ``STATISTIC_NAMES``, ``other`` what the model is called that a change
    leads to.
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
    """Return a figure as it is written into a box, empty for none."""
    if value is None:
        return ""
    if measure.kind in COUNTED:
        # In a box nothing is broken into lines, and only plain signs are printed.
        return short_count(round(value)).replace("\N{NO-BREAK SPACE}", " ")
    if measure.kind == "check":
        return "✓" if value >= 1 else "✗"
    text = number_text(value, 3)
    if measure.kind == "difference":
        return f"+{text}" if value > 0 else text
    return text


def share_text(share: float) -> str:
    """Return a share in percent, with no more digits than say something."""
    percent = 100 * share
    if percent >= 9.95:
        return f"{percent:.0f}%"
    if percent >= 0.095 or not percent:
        return f"{percent:.1f}%" if percent else "0%"
    return "<0.1%"


class MapData(Struct, frozen=True):
    """What is known of a model: its last run, the one kept beside it, and what was checked.

    ``changes`` are how far modules are from those of a model that is compared, the ``other`` one.
    """

    run: ActivationRun | None = None
    run_a: ActivationRun | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    changes: Mapping[str, float] = field(default_factory=dict)
    other: str = ""


class MapValues:
    """Finds what a measure is for parts of a model."""

    def __init__(self, atlas: PartGraphs, known: MapData) -> None:
        self._atlas = atlas
        self.known = known
        self.macs = MultiplyAdds(atlas, known.run)
        self._b = _by_path(known.run)
        self._a = _by_path(known.run_a)
        self._sizes = {tensor.name: tensor.numel for tensor in atlas.architecture.parameters}
        of_run = () if known.run is None or known.run.check is None else (known.run.check,)
        self._steps = [step for check in (*of_run, *known.checks.values()) for step in check.steps]

    def of_node(self, measure: MapMeasure, part: Scope, node: Node) -> float | None:
        """Return the measure of a node, ``None`` where it has none; of a deck that of all in it."""
        if node.kind in ("input", "output", "constant"):
            return None
        match measure.kind:
            case "parameters":
                return self._parameters(part, node)
            case "macs":
                return self.macs.of_node(part, node)
            case "statistic" | "difference":
                found = [
                    self.of_path(measure, path, part.call if path == part.path else None)
                    for path in self._measured(part, node)
                ]
                return _mean(found)
            case "check":
                return self._checked(self._paths(part, node))
            case "change":
                return _mean(self.known.changes.get(p) for p in self._paths(part, node))
            case "part":
                return None

    def is_tied(self, path: str) -> bool:
        """Return whether a module has only tensors that are counted elsewhere."""
        module = self._atlas.module(path)
        has_none = module is not None and not module.parameters
        tied = (tensor.owner for tensor in self._atlas.architecture.parameters if tensor.tied_to)
        return has_none and any(f"{owner}.".startswith(f"{path}.") for owner in tied)

    def of_block(self, measure: MapMeasure, block: Block, calls: int = 1) -> float | None:
        """Return the measure of a block of the strip."""
        module = self._atlas.module(block.path)
        if measure.kind in ("part", "parameters") and block.part.call:
            return None  # a shared layer is stored once
        match measure.kind:
            case "part":
                return None if module is None else module.share
            case "parameters":
                return None if module is None else float(module.parameters)
            case "macs":
                return self.macs.of_module(block.path)
            case "check":
                return self._checked([block.path])
            case "change":
                return self.known.changes.get(block.path)
            case _:
                call = block.part.call if calls > 1 else None
                return self.of_path(measure, block.path, call)

    def of_module(self, measure: MapMeasure, path: str) -> float | None:
        """Return the measure of a module, wherever in the model it is."""
        return self.of_block(measure, Block("", Scope(path), "plain", ""))

    def of_path(self, measure: MapMeasure, path: str, call: int | None = None) -> float | None:
        """Return what a module's output has of a statistic; in one of its calls, or in all."""
        mine = _figure(self._b.get(path), measure.statistic, call)
        if measure.kind != "difference":
            return mine
        other = _figure(self._a.get(path), measure.statistic, call)
        return None if mine is None or other is None else mine - other

    def range_of(self, measure: MapMeasure) -> tuple[float, float] | None:
        """Return the least and the largest value of all modules, which colours go between."""
        values = [value for value in self._all(measure) if value is not None and isfinite(value)]
        return (min(values), max(values)) if values else None

    def steps_of(self, path: str) -> tuple[int, int]:
        """Return how many steps of a module and of all in it were checked, and how many hold."""
        steps = [step for step in self._steps if _is_in(step.path, path)]
        return sum(step.ok for step in steps), len(steps)

    def _all(self, measure: MapMeasure) -> Iterable[float | None]:
        modules = self._atlas.architecture.modules[1:]
        if measure.kind == "parameters":
            return [float(node.parameters) for node in modules if node.parameters]
        if measure.kind == "macs":
            return self.macs.all()
        if measure.kind == "change":
            # What did not move at all has no power of ten.
            return [self.known.changes.get(node.path) or None for node in modules]
        return [self.of_path(measure, node.path) for node in modules]

    def _parameters(self, part: Scope, node: Node) -> float | None:
        if node.kind == "module":
            modules = [self._atlas.module(path) for path in node.layers]
            return float(sum(each.parameters for each in modules if each is not None)) or None
        held = node.details.get("parameters")
        if isinstance(held, int) and not node.reads:
            return float(held) or None
        reads = node.reads or tuple(name for each in node.nodes or () for name in each.reads)
        del part
        return float(sum(self._sizes.get(name, 0) for name in dict.fromkeys(reads))) or None

    def _measured(self, part: Scope, node: Node) -> Sequence[str]:
        """Return the modules whose output is what a node gives."""
        if node.kind == "module":
            return node.layers
        if node.kind == "group" and node.path and node.path != part.path:
            flow = self._atlas.flow(Scope(node.path))
            ends = () if flow is None else flow.edges
            results = {each.id for each in flow.nodes if each.kind == "output"} if flow else set()
            last = {edge.source for edge in ends if edge.target in results}
            givers = [each for each in flow.nodes if each.id in last] if flow else []
            if any(each.operation == node.operation and each.kind == "group" for each in givers):
                return (node.path,)
        # A group that ends in a module gives what that gives.
        inner = (node.nodes or ())[-1:]
        sources = {edge.source for edge in node.edges}
        return [
            each.path
            for each in inner
            if each.kind == "module" and each.path and each.id not in sources
            and each.operation != "scaled_dot_product_attention"
        ]  # fmt: skip

    def _paths(self, part: Scope, node: Node) -> Sequence[str]:
        """Return the modules that a node stands for."""
        if node.kind == "module":
            return node.layers
        if node.path and node.path != part.path:
            return (node.path,)
        return [each.path for each in node.nodes or () if each.path and each.kind == "module"]

    def _checked(self, paths: Sequence[str]) -> float | None:
        """Return which part of the steps holds."""
        counts = [self.steps_of(path) for path in dict.fromkeys(paths) if path]
        total = sum(count for _, count in counts)
        return sum(good for good, _ in counts) / total if total else None


def _by_path(run: ActivationRun | None) -> Mapping[str, ModuleActivation]:
    return {} if run is None else {module.path: module for module in run.modules}


def _figure(module: ModuleActivation | None, name: str, call: int | None) -> float | None:
    if module is None or module.skip_reason:
        return None
    statistics: Statistics = module.statistics
    if call is not None and call < len(module.calls):
        statistics = module.calls[call]
    return statistic_value(statistics, name)


def _mean(found: Iterable[float | None]) -> float | None:
    values = [value for value in found if value is not None]
    return sum(values) / len(values) if values else None


def _is_in(path: str, around: str) -> bool:
    return path == around or path.startswith(f"{around}.")
