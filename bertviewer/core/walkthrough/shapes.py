"""Shapes of the tensors of a walkthrough, in symbols and in numbers as far as known."""

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
        if symbols is None:
            lengths = self._length_names(sizes)
            symbols = tuple(lengths.get(place) or str(size) for place, size in enumerate(sizes))
            last = next(
                (place for place in range(len(sizes) - 1, 0, -1) if place not in lengths), 0
            )
            if last:
                width = self._widths.get(sizes[last], str(sizes[last]))
                symbols = (*symbols[:last], width, *symbols[last + 1 :])
        else:
            symbols = symbols[part]
        return StepShape(symbols, tuple(map(self._number, symbols)))

    def _length_names(self, shape: Shape) -> dict[int, str]:
        """Return which dimensions are sentences and tokens, by their places."""
        sentences = self._lengths.get("B")
        if not shape or sentences is None:
            return {}
        found = {0: "B"} if shape[0] == sentences and len(shape) > 1 else {}
        if not self._has_text:
            return found
        names = {self._lengths.get(each): each for each in ("S_d", "S", self._length)}
        tokens = [place for place in (0, 1) if place < len(shape) and shape[place] in names]
        if found and len(shape) > 2 and 1 not in tokens and shape[-1] in names:
            tokens = [len(shape) - 1]  # features come before positions
        elif tokens == [0] and len(shape) > 1 and shape[1] == sentences:
            found[1] = "B"
        return found | {place: names[shape[place]] for place in tokens if place not in found}

    def _number(self, symbol: str) -> str:
        try:
            return str(evaluate(symbol, self._values))
        except FormulaError:
            return symbol
