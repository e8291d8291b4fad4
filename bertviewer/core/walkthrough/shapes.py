"""Traced shapes as the walkthrough writes them: ``[B, S, D]``, and in numbers."""

from collections.abc import Sequence
from math import prod

from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings, split_source_target
from bertviewer.core.schema.flow import Edge, Node
from bertviewer.core.walkthrough.walkthrough import StepShape


class ShapeReader:
    """Names the dimensions of traced shapes: B sentences of S tokens, S_d in a decoder.

    In a graph without symbols, lengths are recognised by their traced values and widths by the
    model's tensors.
    """

    def __init__(self, architecture: Architecture, run: ActivationRun | None) -> None:
        self.tokens, self._target = (
            split_source_target(architecture, run.tokens) if run else ((), ())
        )
        self._length = "S"
        flows = architecture.flows
        flow = None if flows is None else flows.flow("")
        inputs = [node.name for node in flow.nodes if node.kind == "input"] if flow else []
        self._has_text = any(name.endswith("ids") or "embeds" in name for name in inputs)
        self._lengths = {} if flows is None else flows.lengths
        self._values = bindings(architecture, run)
        self._widths: dict[int, str] = {}
        for tensor in architecture.parameters:
            for size, symbol in zip(tensor.shape, tensor.symbolic_shape or (), strict=False):
                if not symbol.isdecimal():
                    self._widths.setdefault(size, symbol)

    def turn_to_target(self) -> None:
        """Use the target's tokens from now on, in an encoder-decoder."""
        self.tokens, self._length = self._target, "S_d"

    def shape(
        self, found: Node | Edge, tokens: Node | Edge | None = None, part: slice = slice(None)
    ) -> StepShape | None:
        """Return a traced shape, or a part of it, in symbols and numbers.

        A shape [B*S, D] is returned as [B, S, D] if ``tokens`` has that shape.
        """
        names, whole = self.names(found)[part], () if tokens is None else tokens.shape
        if tokens and len(names) == 2 and len(whole) == 3 and found.shape[0] == prod(whole[:2]):
            last = self.names(replace(found, shape=(*whole[:2], found.shape[-1])))[-1]
            names = [*self.names(tokens)[:2], last]
        return self.of(names) if names else None

    def of(self, names: Sequence[str]) -> StepShape:
        """Return the shape of these dimensions, in symbols and numbers."""
        return StepShape(shape_text(names), shape_text(list(map(self._number, names))))

    def names(self, found: Node | Edge, lengths_at: Sequence[int] | None = None) -> list[str]:
        """Return the dimensions of a traced shape as symbols, as far as they are known.

        ``lengths_at`` are the dimensions that may count tokens.
        """
        sizes = found.shape
        if found.symbolic_shape is not None:
            return list(found.symbolic_shape)
        lengths = self._lengths if self._has_text else {}
        tokens = {lengths.get(each): each for each in ("S_d", "S", self._length)}
        if lengths_at is None:
            # Some layers have the features before the positions.
            lengths_at = (0, 2) if len(sizes) == 3 and sizes[1] not in tokens else (0, 1)
        places = [at % len(sizes) for at in lengths_at if -len(sizes) <= at < len(sizes)]
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
