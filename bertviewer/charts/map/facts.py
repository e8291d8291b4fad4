"""What is told of parts and nodes of the map: names, classes, counts and shapes."""

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

_MOST_NAME = 40


class PartFacts:
    """Tells of the parts of a model; shapes are those of a run where there is one."""

    def __init__(self, atlas: PartGraphs, values: MapValues) -> None:
        self._atlas, self._values = atlas, values

    def name(self, part: Scope) -> str:
        """Return what a part is called: ``layer 3``, ``attention``, the class of the whole."""
        return shortened(printable(self._name(part)), _MOST_NAME)

    def _name(self, part: Scope) -> str:
        if part.groups:
            around = self._atlas.flow(Scope(part.path, part.groups[:-1], part.call))
            for node in () if around is None else around.nodes:
                if node.id == part.groups[-1]:
                    return node.name
        if not part.path:
            return self._atlas.architecture.root.class_name
        names = part.path.split(".")
        name = " ".join(names[-2:]) if names[-1].isdecimal() and len(names) > 1 else names[-1]
        if part.call:
            again = translate("map", "{0}, call {1}")
            return again.format(name, part.call)
        return name

    def line(self, part: Scope) -> str:
        """Return a part's class, its count and the shapes that go in and come out."""
        facts = []
        module = None if part.groups else self._atlas.module(part.path)
        if module is not None and part.path:
            facts.append(module.class_name)
        if module is not None:
            one = translate("map", "{0} parameter")
            many = translate("map", "{0} parameters")
            facts.append(count_text(module.parameters, one, many))
        flow = self._atlas.flow(part)
        shapes = [] if flow is None else list(self._ends(flow))
        if shapes:
            facts.append(" → ".join(shapes))
        return " · ".join(facts)

    def tip(self, part: Scope, node: Node) -> str:
        """Return what is told of a node: names, class, shapes in letters and numbers, costs."""
        name = node.path or node.name
        if node.path and node.path == part.path and node.name not in name:
            name = f"{node.name} ({name})"
        facts = [name]
        layers = node.layers if node.kind == "module" else ()
        if node.repeat is not None:
            facts[0] = f"{layers[0]} – {layers[-1].rpartition('.')[2]}"
        facts += dict.fromkeys(text for text in (node.class_name, node.operation) if text)
        letters, numbers = self.shapes(node.shape, node.symbolic_shape)
        facts.append(" = ".join(text for text in (letters, numbers) if text))
        parameters = self._values.of_node(PARAMETERS, part, node)
        if parameters:
            facts.append(
                count_text(
                    round(parameters),
                    translate("map", "{0} parameter"),
                    translate("map", "{0} parameters"),
                )
            )
        macs = self._values.of_node(MACS, part, node)
        if macs:
            text = translate("map", "{0} multiply-adds").format(f"{macs:,.0f}")
            facts.append(self._values.macs.sentence(text))
        return "\n".join(fact for fact in facts if fact)

    def shapes(self, shape: Shape, letters: SymbolicShape | None) -> tuple[str, str]:
        """Return a shape in letters, empty where they are not known, and in numbers."""
        if letters is None:
            return "", shape_text(shape) if shape else ""
        sizes = [self._size(letter) for letter in letters]
        return shape_text(letters), shape_text(sizes)

    def _size(self, letter: str) -> str:
        try:
            return str(evaluate(letter, self._values.macs.values))
        except FormulaError:
            return letter

    def _ends(self, flow: Flow) -> Sequence[str]:
        found = []
        for kind in ("input", "output"):
            end = next((node for node in flow.nodes if node.kind == kind), None)
            if end is None or not end.shape:
                return ()
            letters = end.symbolic_shape
            has_run = self._values.known.run is not None
            if has_run and letters is None:
                return ()  # the shape is that of the traced call, which is not the run
            if has_run and letters and len(letters) > 1 and letters[0] == "B":
                letters = letters[1:]  # a run is of one sentence
            named, numbers = self.shapes(end.shape, letters)
            found.append(numbers if has_run or not named else named)
        return found
