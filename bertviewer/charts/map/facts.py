"""Names and facts of the map's parts and nodes: classes, counts and shapes."""

from collections.abc import Sequence

from bertviewer.charts.labels import shortened
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.map.values import MACS, PARAMETERS, MapValues
from bertviewer.charts.translation import translate
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.flow import Flow, Node, Shape, SymbolicShape
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable

_MAX_NAME = 40


class PartFacts:
    """Returns facts of a model's parts; shapes are those of the run, if there is one."""

    def __init__(self, graphs: PartGraphs, values: MapValues) -> None:
        self._graphs, self._values = graphs, values

    def name(self, part: Scope) -> str:
        """Return the name of a part: "layer 3", "attention", or the class of the model."""
        return shortened(printable(self._name(part)), _MAX_NAME)

    def _name(self, part: Scope) -> str:
        if part.groups:
            names = (n.name for n in self._graphs.nodes(part.parent) if n.id == part.groups[-1])
            if (name := next(names, None)) is not None:
                return name
        if not part.path:
            return self._graphs.architecture.root.class_name
        components = part.path.split(".")
        is_number = components[-1].isdecimal() and len(components) > 1
        name = " ".join(components[-2:]) if is_number else components[-1]
        return translate("map", "{0}, call {1}").format(name, part.call) if part.call else name

    def line(self, part: Scope) -> str:
        """Return the class, parameter count, and input and output shapes of a part."""
        facts = []
        module = None if part.groups else self._graphs.module(part.path)
        if module is not None:
            facts += [module.class_name] if part.path else []
            facts.append(_count(module.parameters))
        flow = self._graphs.flow(part)
        if flow is not None and (shapes := self._ends(flow)):
            facts.append(" → ".join(shapes))
        return " · ".join(facts)

    def tip(self, part: Scope, node: Node) -> str:
        """Return the tooltip of a node: name, class, shapes in symbols and numbers, costs."""
        name = node.path or node.name
        if node.path and node.path == part.path and node.name not in name:
            name = f"{node.name} ({name})"
        if node.repeat is not None:
            layers = node.layers if node.kind == "module" else ()
            name = f"{layers[0]} – {layers[-1].rpartition('.')[2]}"
        facts = [name, *dict.fromkeys(text for text in (node.class_name, node.operation) if text)]
        facts.append(" = ".join(filter(None, self.shapes(node.shape, node.symbolic_shape))))
        if parameters := self._values.of_node(PARAMETERS, part, node):
            facts.append(_count(round(parameters)))
        if macs := self._values.of_node(MACS, part, node):
            text = translate("map", "{0} multiply-adds").format(f"{macs:,.0f}")
            facts.append(self._values.macs.sentence(text))
        return "\n".join(filter(None, facts))

    def shapes(self, shape: Shape, symbols: SymbolicShape | None) -> tuple[str, str]:
        """Return a shape in symbols, "" if they are unknown, and in numbers."""
        if symbols is None:
            return "", shape_text(shape) if shape else ""
        return shape_text(symbols), shape_text([self._size(symbol) for symbol in symbols])

    def _size(self, symbol: str) -> str:
        try:
            return str(evaluate(symbol, self._values.macs.values))
        except FormulaError:
            return symbol

    def _ends(self, flow: Flow) -> Sequence[str]:
        """Return the shapes of the first input and output, empty if one is unknown."""
        found = []
        has_run = self._values.data.run is not None
        for kind in ("input", "output"):
            end = next((node for node in flow.nodes if node.kind == kind), None)
            if end is None or not end.shape:
                return ()
            symbols = end.symbolic_shape
            if has_run and symbols is None:
                return ()  # the shape of the traced call is not that of the run
            if has_run and symbols and len(symbols) > 1 and symbols[0] == "B":
                symbols = symbols[1:]  # a run has one sentence
            named, numbers = self.shapes(end.shape, symbols)
            found.append(numbers if has_run or not named else named)
        return found


def _count(parameters: int) -> str:
    one, many = translate("map", "{0} parameter"), translate("map", "{0} parameters")
    return count_text(parameters, one, many)
