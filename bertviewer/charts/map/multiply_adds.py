"""Multiply-adds of a model's parts, for the tokens of a run or those that costs are given for."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.translation import translate
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.flow import Edge, Node, SymbolicShape

_LENGTHS = ("B", "S", "S_d")


class MultiplyAdds:
    """Finds how many a node needs: a flow has them for the sentence that it was read off with.

    What a module needs is its formula's, or what the run counted; an operation's follow from its
    shapes in letters, where these give the number that the flow has.
    """

    def __init__(self, atlas: PartGraphs, run: ActivationRun | None = None) -> None:
        self._atlas, self._run = atlas, run
        architecture = atlas.architecture
        self._costs = architecture.costs
        values = bindings(architecture)
        self._traced: Mapping[str, int] = {**values, **atlas.lengths}
        self.values: Mapping[str, int] = values
        """What each letter of a formula is, the sentence's lengths included."""
        if run is not None:
            self.values = bindings(architecture, run)
        elif self._costs is None:
            self.values = self._traced
        lengths = [{key: each.get(key) for key in _LENGTHS} for each in (self.values, self._traced)]
        self._is_traced = lengths[0] == lengths[1]
        self._modules = {} if run is None else {each.path: each for each in run.modules}
        self._numbers: dict[tuple[str, bool], int | None] = {}

    def sentence(self, text: str) -> str:
        """Return a text with what it is for: ``multiply-adds for 18 tokens``."""
        lengths = [self.values.get(letter) for letter in self._read()]
        if not lengths:
            return translate("map", "{0} for one input").format(text)
        if len(lengths) > 1:
            return translate("map", "{0} for {1} and {2} tokens").format(text, *lengths)
        return translate("map", "{0} for {1} tokens").format(text, *lengths)

    def of_module(self, path: str) -> float | None:
        """Return those of a module in one call."""
        flows = self._atlas.architecture.flows
        flow = None if flows is None else flows.flow(path)
        counted = self._modules.get(path)
        if counted is not None and counted.macs is not None:
            return counted.macs / max(len(counted.calls), 1) or None
        if flow is None or not flow.macs:
            return None
        return flow.macs if self._is_traced else self._by_formula(path, flow.macs)

    def of_node(self, part: Scope, node: Node) -> float | None:
        """Return those of a node of a part's flow; of a deck those of all calls in it."""
        if not node.macs:
            return None
        if self._is_traced:
            return float(node.macs)
        flows = self._atlas.architecture.flows
        if node.kind == "group" and node.path and flows is not None:
            whole = flows.flow(node.path)
            if whole is not None and whole.macs == node.macs:
                return self.of_module(node.path)
        if node.operation == "attention":
            return self._of_attention(part, node)
        if node.nodes:
            inner = part.group(node.id)
            found = [self.of_node(inner, each) for each in node.nodes if each.macs]
            return None if None in found else sum(each for each in found if each is not None)
        if node.kind == "module" and node.path and node.path != part.path:
            calls = 1 if node.repeat is None else node.repeat.count
            layers = node.layers
            known = [self.of_module(path) for path in layers]
            if None in known:
                return self._by_formula(layers[0], node.macs)
            return calls / len(layers) * sum(each for each in known if each is not None)
        return self._of_product(part, node)

    def all(self) -> Iterator[float]:
        """Yield those of every kind of node that there is."""
        flows = self._atlas.architecture.flows
        for path, flow in ({} if flows is None else flows.distinct).items():
            for node in flow.nodes:
                value = self.of_node(Scope(path), node)
                if value:
                    yield value

    def _by_formula(self, path: str, traced: int) -> float | None:
        """Return those that the flow has, times what the formula says of another sentence."""
        if self._costs is None:
            return None
        before, now = (self._costs.macs(path, each) for each in (self._traced, self.values))
        return traced * now / before if before and now is not None else None

    def _of_attention(self, part: Scope, node: Node) -> float | None:
        """Return those of queries times keys, and of shares times values."""
        given, keys = node.symbolic_shape, None
        for edge in self._into(part, node):
            if edge.role == "key" and edge.symbolic_shape:
                keys = edge.symbolic_shape[-2]
        if given is None or keys is None:
            return None
        return self._scaled(node, (*given, keys, "2"))

    def _of_product(self, part: Scope, node: Node) -> float | None:
        """Return those of a matrix product: each number given is a sum over one dimension."""
        for edge in self._into(part, node):
            if edge.symbolic_shape and node.symbolic_shape is not None:
                found = self._scaled(node, (*node.symbolic_shape, edge.symbolic_shape[-1]))
                if found is not None:
                    return found
        return None

    def _scaled(self, node: Node, letters: SymbolicShape) -> float | None:
        """Return the product of letters, ``None`` where it is not what the flow has."""
        if self._product(letters, is_traced=True) != node.macs:
            return None
        return self._product(letters, is_traced=False)

    def _product(self, letters: SymbolicShape, *, is_traced: bool) -> float | None:
        numbers = [self._number(letter, is_traced=is_traced) for letter in letters]
        known = [number for number in numbers if number is not None]
        return float(prod(known)) if len(known) == len(numbers) else None

    def _number(self, letter: str, *, is_traced: bool) -> int | None:
        key = letter, is_traced
        if key not in self._numbers:
            try:
                found = evaluate(letter, self._traced if is_traced else self.values)
            except FormulaError:
                found = None
            self._numbers[key] = found
        return self._numbers[key]

    def _into(self, part: Scope, node: Node) -> Sequence[Edge]:
        flow = self._atlas.flow(part)
        return () if flow is None else [edge for edge in flow.edges if edge.target == node.id]

    def _read(self) -> list[str]:
        """Return the letters of the texts that the model reads, as it has ids of them."""
        flow, lengths = self._atlas.flow(Scope()), self._atlas.lengths
        nodes = () if flow is None else flow.nodes
        shapes = {node.shape for node in nodes if node.kind == "input"}
        return [each for each in ("S", "S_d") if (lengths.get("B"), lengths.get(each)) in shapes]
