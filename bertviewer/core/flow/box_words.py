"""What is said of a box of a drawing: its name, what it computes, and what is told beside."""

from collections.abc import Mapping

from bertviewer.core.architecture.flow import NodeKind
from bertviewer.core.flow.boxes import Box
from bertviewer.core.flow.graph import ASIDE, Graph
from bertviewer.core.flow.groups.attentions import ATTENTION, POSITION_BIAS
from bertviewer.core.flow.groups.feed_forwards import FEED_FORWARD, GATED
from bertviewer.core.flow.groups.linears import is_linear, widths_of
from bertviewer.core.flow.groups.rotary import ROTARY
from bertviewer.core.flow.groups.routing import EXPERTS, ROUTING
from bertviewer.core.flow.groups.sums import RESIDUAL
from bertviewer.core.flow.operation_names import CONVOLUTIONS
from bertviewer.core.flow.trace import Call
from bertviewer.core.text.special_floats import Scalar

OPEN_GROUPS = (*(ATTENTION, POSITION_BIAS, FEED_FORWARD, GATED, ROUTING, EXPERTS, ROTARY),)
"""Groups whose operations are shown when one looks into them."""


class BoxWords:
    """Answers what a box is, from the operations in it. No name of a class is asked for."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._trace = graph.trace

    def kind(self, box: Box) -> NodeKind:
        """Return a node's kind: what is known as a whole and has parts to show is a group."""
        if box.group is None:
            return box.kind
        if box.group.operation in OPEN_GROUPS:
            return "group"
        return "module" if box.kind == "module" else "operation"

    def name(self, box: Box, use: str | None) -> str:
        """Return what a person calls a box; ``use`` is what a constant serves as."""
        if box.kind == "module" and box.call is not None:
            *above, name = box.call.path.split(".")
            return f"{above[-1]} {name}" if name.isdecimal() and above else name
        if box.group is not None:
            return box.group.name or box.group.operation
        if box.kind == "constant":
            return use or ("sines and cosines" if self._is_sinusoid(box) else "constant")
        single = self._single(box)
        if single is not None and is_linear(self._graph, single):
            return self._weight_name(single)
        return self.operation(box, use) or "operation"

    def operation(self, box: Box, use: str | None) -> str | None:
        """Return what a box computes, as of ``Node.operation``."""
        if box.group is not None:
            return box.group.operation
        if box.kind == "constant":
            return use or ("positions" if self._is_sinusoid(box) else None)
        single = self._single(box)
        if single is None:
            return None
        if is_linear(self._graph, single):
            return "linear"
        word = self._graph.words[single]
        if word in CONVOLUTIONS:
            return "convolution"
        return "look-up" if word == "__getitem__" else word

    def details(self, box: Box) -> Mapping[str, Scalar]:
        """Return what is told beside, as of ``Node.details``."""
        found: dict[str, Scalar] = dict(box.group.details) if box.group is not None else {}
        single = self._single(box)
        if single is None:
            return found
        if is_linear(self._graph, single):
            taken, given = widths_of(self._graph, single)
            found |= {"in_features": taken, "out_features": given}
        elif self._graph.words[single] == "embedding":
            found |= self._table(single)
        # Some residuals take the skip away.
        is_residual = box.group is not None and box.group.operation == RESIDUAL
        if box.kind != "constant" and (is_residual or self._is_bare_product(box, single)):
            found["function"] = self._graph.words[single]
        return found

    def sole_operation(self, box: Box) -> int | None:
        """Return the one operation of a box whose operands are told; a linear layer says enough."""
        single = self._single(box)
        if single is None or box.kind == "constant":
            return None
        is_layer = box.kind == "module" and is_linear(self._graph, single)
        return None if is_layer else single

    def reads(self, box: Box) -> tuple[str, ...]:
        """Return the parameters that a box computes with; of equal layers those of the first."""
        first = box.repeat is not None and box.call is not None
        numbers = box.call.operations if first and box.call else sorted(box.operations)
        reads = (value for each in numbers for value in self._trace.operations[each].reads)
        return tuple(name for name in dict.fromkeys(map(self._graph.parameter, reads)) if name)

    def holder(self, box: Box) -> Call | None:
        """Return the innermost call that all of a box is in; of a closed module its own."""
        if box.kind == "module" and box.call is not None:
            return box.call
        first, last = min(box.operations), max(box.operations)
        around = (call for call in reversed(self._trace.calls) if call.start <= first)
        return next((call for call in around if last < call.stop), None)

    def given(self, box: Box) -> int:
        """Return the first value that a box gives."""
        if box.kind == "module" and box.call is not None and box.call.outputs:
            return box.call.outputs[0][1]
        return self._graph.made(max(box.operations))

    def _single(self, box: Box) -> int | None:
        real = [
            number
            for number in box.operations
            if not self._graph.is_moving(number) and self._graph.level_of(number) != ASIDE
        ]
        return real[0] if len(real) == 1 else None

    def _is_bare_product(self, box: Box, number: int) -> bool:
        """Tell whether a product with a parameter is done outside of a module of its own."""
        return box.kind != "module" and is_linear(self._graph, number)

    def _is_sinusoid(self, box: Box) -> bool:
        """Tell whether a constant is made of sines and cosines, as of positions."""
        return {"sin", "cos"} <= {self._graph.words[number] for number in box.operations}

    def _table(self, number: int) -> Mapping[str, Scalar]:
        """Return how many rows a table has, and how wide they are."""
        reads = self._trace.operations[number].reads
        shapes = [self._graph.shape(value) for value in reads if self._graph.parameter(value)]
        return {"in_features": shapes[0][0], "out_features": shapes[0][1]} if shapes else {}

    def _weight_name(self, number: int) -> str:
        """Return what a product with a parameter of no module of its own is called."""
        names = [self._graph.parameter(value) for value in self._trace.operations[number].reads]
        last = next((name.rpartition(".")[2] for name in names if name), "")
        return last if last and last not in ("weight", "kernel") else "linear"
