"""Multiply-adds of a model's parts, for the tokens of a run or the default lengths."""

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.translation import translate
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.flow import Node, SymbolicShape

_LENGTHS = ("B", "S", "S_d")


class MultiplyAdds:
    """Returns the multiply-adds of nodes and modules for the sentence that is displayed.

    Graphs have the counts of the traced sentence. Those of a module follow from its formula or
    the run; those of an operation from its symbolic shapes, if these give the traced count, too.
    """

    def __init__(self, graphs: PartGraphs, run: ActivationRun | None = None) -> None:
        self._graphs = graphs
        architecture = graphs.architecture
        self._costs, self._flows = architecture.costs, architecture.flows
        values = bindings(architecture)
        self._traced: Mapping[str, int] = {**values, **graphs.lengths}
        self.values: Mapping[str, int] = values
        """The values of all symbols, including the sequence lengths."""
        if run is not None:
            self.values = bindings(architecture, run)
        elif self._costs is None:
            self.values = self._traced
        self._is_traced = all(self.values.get(n) == self._traced.get(n) for n in _LENGTHS)
        self._modules = {} if run is None else {each.path: each for each in run.modules}
        self._numbers: dict[tuple[str, bool], int | None] = {}

    def sentence(self, text: str) -> str:
        """Return a text with the length that it is for: "multiply-adds for 18 tokens"."""
        traced = self._graphs.lengths
        shapes = {node.shape for node in self._graphs.nodes(WHOLE) if node.kind == "input"}
        # An input of token ids has the shape [B, S].
        read = [n for n in ("S", "S_d") if (traced.get("B"), traced.get(n)) in shapes]
        lengths = [self.values.get(symbol) for symbol in read]
        if not lengths:
            return translate("map", "{0} for one input").format(text)
        if len(lengths) > 1:
            return translate("map", "{0} for {1} and {2} tokens").format(text, *lengths)
        return translate("map", "{0} for {1} tokens").format(text, *lengths)

    def of_module(self, path: str) -> float | None:
        """Return the multiply-adds of a module in one call."""
        flow = None if self._flows is None else self._flows.flow(path)
        counted = self._modules.get(path)
        if counted is not None and counted.macs is not None:
            return counted.macs / max(len(counted.calls), 1) or None
        if flow is None or not flow.macs:
            return None
        return flow.macs if self._is_traced else self._by_formula(path, flow.macs)

    def of_node(self, part: Scope, node: Node) -> float | None:
        """Return the multiply-adds of a node of a part's graph; of layers those of all calls."""
        if not node.macs:
            return None
        if self._is_traced:
            return float(node.macs)
        if node.kind == "group" and node.path and self._flows is not None:
            whole = self._flows.flow(node.path)
            if whole is not None and whole.macs == node.macs:
                return self.of_module(node.path)
        if node.operation == "attention":
            return self._of_attention(part, node)
        if node.nodes:
            inner = part.group(node.id)
            return _sum(self.of_node(inner, each) for each in node.nodes if each.macs)
        if node.kind == "module" and node.path and node.path != part.path:
            layers = node.layers
            total = _sum(map(self.of_module, layers))
            if total is None:
                return self._by_formula(layers[0], node.macs)
            calls = 1 if node.repeat is None else node.repeat.count
            return calls / len(layers) * total
        return self._of_product(part, node)

    def all(self) -> Iterator[float]:
        """Yield the multiply-adds of all distinct nodes."""
        for path, flow in ({} if self._flows is None else self._flows.distinct).items():
            values = (self.of_node(Scope(path), node) for node in flow.nodes)
            yield from filter(None, values)

    def _by_formula(self, path: str, traced: int) -> float | None:
        """Return the traced count, scaled by the formula to the displayed sentence."""
        if self._costs is None:
            return None
        before, now = (self._costs.macs(path, each) for each in (self._traced, self.values))
        return traced * now / before if before and now is not None else None

    def _of_attention(self, part: Scope, node: Node) -> float | None:
        """Return the multiply-adds of QKᵀ and PV."""
        shape, keys = node.symbolic_shape, None
        for symbols, role in self._inputs(part, node):
            if role == "key":
                keys = symbols[-2]
        return None if shape is None or keys is None else self._scaled(node, (*shape, keys, "2"))

    def _of_product(self, part: Scope, node: Node) -> float | None:
        """Return the multiply-adds of a product: each output is a sum over one dimension."""
        shape = node.symbolic_shape
        if shape is None:
            return None
        found = (self._scaled(node, (*shape, each[-1])) for each, _ in self._inputs(part, node))
        return next((each for each in found if each is not None), None)

    def _scaled(self, node: Node, symbols: SymbolicShape) -> float | None:
        """Return a product of symbols, ``None`` if it is not the traced count."""
        if self._product(symbols, is_traced=True) != node.macs:
            return None
        return self._product(symbols, is_traced=False)

    def _product(self, symbols: SymbolicShape, *, is_traced: bool) -> float | None:
        numbers = [self._number(symbol, is_traced=is_traced) for symbol in symbols]
        known = [number for number in numbers if number is not None]
        return float(prod(known)) if len(known) == len(numbers) else None

    def _number(self, symbol: str, *, is_traced: bool) -> int | None:
        key = symbol, is_traced
        if key not in self._numbers:
            try:
                found = evaluate(symbol, self._traced if is_traced else self.values)
            except FormulaError:
                found = None
            self._numbers[key] = found
        return self._numbers[key]

    def _inputs(self, part: Scope, node: Node) -> Iterator[tuple[SymbolicShape, str | None]]:
        """Yield the symbolic shapes and roles of a node's inputs."""
        flow = self._graphs.flow(part)
        for edge in () if flow is None else flow.edges:
            if edge.target == node.id and edge.symbolic_shape:
                yield edge.symbolic_shape, edge.role


def _sum(values: Iterable[float | None]) -> float | None:
    """Return a sum, ``None`` if one of the values is unknown."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
