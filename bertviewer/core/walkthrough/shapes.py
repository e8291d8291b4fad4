"""Shapes of the tensors of a walkthrough, in symbols and in numbers as far as known."""

from collections.abc import Iterator

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.letter_values import letter_values, two_sides
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Edge, Node, Shape
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
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

    def shape(self, found: Node | Edge, part: slice = slice(None)) -> StepShape | None:
        """Return a traced shape or a part with names, from its symbols in the graph if any."""
        sizes, symbols = found.shape[part], found.symbolic_shape
        if not sizes:
            return None
        names = tuple(self._names(sizes)) if symbols is None else symbols[part]
        return StepShape(f"[{', '.join(names)}]", f"[{', '.join(map(self._number, names))}]")

    def _names(self, sizes: Shape) -> Iterator[str]:
        tokens = {self._lengths.get(each): each for each in ("S_d", "S", self._length)}
        # Some layers have the features before the positions.
        places = (0, 2) if len(sizes) == 3 and sizes[1] not in tokens else (0, 1)
        for place, size in enumerate(sizes):
            if place == 0 and len(sizes) > 1 and size == self._lengths.get("B"):
                yield "B"
            elif place in places and self._has_text and size in tokens:
                yield tokens[size]
            else:
                is_last = place == len(sizes) - 1 > 0
                yield self._widths.get(size, str(size)) if is_last else str(size)

    def _number(self, symbol: str) -> str:
        try:
            return str(evaluate(symbol, self._values))
        except FormulaError:
            return symbol
