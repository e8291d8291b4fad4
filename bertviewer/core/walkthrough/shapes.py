"""Shapes of the tensors of a walkthrough, in symbols and in numbers as far as known."""

from math import prod

from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import letter_values, two_sides
from bertviewer.core.schema.flow import Edge, Node
from bertviewer.core.walkthrough.walkthrough import StepShape


class ShapeReader:
    """Names the dimensions of traced shapes: B sentences of S tokens, S_d in a decoder.

    Without symbols in the graph, lengths are recognised by their traced values and widths by the
    model's tensors.
    """

    def __init__(self, architecture: Architecture, run: ActivationRun | None) -> None:
        self.tokens, self._target = two_sides(architecture, run.tokens) if run else ((), ())
        self._length = "S"
        flows = architecture.flows
        flow = None if flows is None else flows.flow("")
        inputs = [node.name for node in flow.nodes if node.kind == "input"] if flow else []
        self._has_text = any(name.endswith("ids") or "embeds" in name for name in inputs)
        self._lengths = {} if flows is None else flows.lengths
        self._values = letter_values(architecture, run)
        self._widths: dict[int, str] = {}
        for tensor in architecture.parameters:
            for size, symbol in zip(tensor.shape, tensor.symbolic_shape or (), strict=False):
                if not symbol.isdecimal():
                    self._widths.setdefault(size, symbol)

    def turn_to_target(self) -> None:
        """Read shapes of the target's tokens from here on, in an encoder-decoder."""
        self.tokens, self._length = self._target, "S_d"

    def shape(
        self, found: Node | Edge, tokens: Node | Edge | None = None, part: slice = slice(None)
    ) -> StepShape | None:
        """Return a traced shape or a part with names, from its symbols in the graph if any.

        Where the vectors of all sentences are one row, [B*S, D], and ``tokens`` has them as
        [B, S, D], they are given in that form.
        """
        names, whole = self._names(found)[part], () if tokens is None else tokens.shape
        if tokens and len(names) == 2 and len(whole) == 3 and found.shape[0] == prod(whole[:2]):
            last = self._names(replace(found, shape=(*whole[:2], found.shape[-1])))[-1]
            names = [*self._names(tokens)[:2], last]
        numbers = list(map(self._number, names))
        return StepShape(shape_text(names), shape_text(numbers)) if names else None

    def _names(self, found: Node | Edge) -> list[str]:
        sizes = found.shape
        if found.symbolic_shape is not None:
            return list(found.symbolic_shape)
        lengths = self._lengths if self._has_text else {}
        tokens = {lengths.get(each): each for each in ("S_d", "S", self._length)}
        # Some layers have the features before the positions.
        places = (0, 2) if len(sizes) == 3 and sizes[1] not in tokens else (0, 1)
        names = [tokens.get(n, str(n)) if at in places else str(n) for at, n in enumerate(sizes)]
        if len(names) > 1 and names[-1].isdecimal():
            names[-1] = self._widths.get(sizes[-1], names[-1])
        has_batch = len(sizes) > 1 and sizes[0] == self._lengths.get("B")
        return ["B", *names[1:]] if has_batch else names

    def _number(self, symbol: str) -> str:
        try:
            return str(evaluate(symbol, self._values))
        except FormulaError:
            return symbol
