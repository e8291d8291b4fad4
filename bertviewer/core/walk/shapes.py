"""What goes through the steps of a walk: shapes in letters, and in numbers as far as known."""

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.evaluation import FormulaError, evaluate
from bertviewer.core.letter_values import letter_values, two_sides
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.core.walk.plan_steps import PlanStep
from bertviewer.core.walk.plans import PROJECTIONS
from bertviewer.core.walk.walk import WalkShape

Pair = tuple[WalkShape | None, WalkShape | None]


class Shapes:
    """Follows the hidden state's width through a model.

    Shapes are of B sentences of S tokens, S_d in a decoder that reads one of its own. ``values``
    are those of the configuration's letters.
    """

    def __init__(self, architecture: Architecture, run: ActivationRun | None) -> None:
        self.values = {symbol.letter: symbol.value for symbol in architecture.symbols}
        self._architecture = architecture
        self._compute = architecture.compute.modules if architecture.compute else {}
        self._width: str | None = None
        self._length = "S"
        self._sizes = letter_values(architecture, run)
        self._tokens, self._target = two_sides(architecture, run.tokens) if run else ((), ())

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the last run's tokens, those that are on their way now."""
        return tuple(token.id for token in self._tokens)

    @property
    def segments(self) -> tuple[int, ...]:
        """The segments of the last run's tokens."""
        return tuple(token.segment for token in self._tokens)

    def turn_to_target(self) -> None:
        """From here on it is the target's tokens that pass, in an encoder-decoder."""
        self._tokens, self._length = self._target, "S_d"

    def enter(self, node: ModuleNode) -> None:
        """Learn the hidden state's width from a module's norm, or from its table of tokens."""
        tables = ("embed", "wte")
        for weight, name in self._weights(node):
            if len(weight) == 1 or any(table in name for table in tables):
                self._width = weight[-1]
                return

    def ids_shape(self) -> WalkShape:
        """Return the shape of token ids."""
        return self._shape(("B", self._length))

    def hidden(self) -> WalkShape | None:
        """Return the shape of the hidden states that pass now."""
        # Without a vocabulary it is no sentence of S tokens that passes.
        if self._width is None or "V" not in self.values:
            return None
        return self._shape(("B", self._length, self._width))

    def of_step(self, step: PlanStep, node: ModuleNode | None) -> Pair:
        """Return what goes into a planned step and what comes out."""
        if step.kind == "aside":
            return None, None
        if step.kind == "table" and node is not None:
            before, after = self.of_module(node)
            # A table that the decoder shares has the shapes of its last call.
            if after is not None and self._length in after.symbols:
                return before, after
        hidden = self.hidden()
        looks_up = step.kind == "table" or step.name == "Embedding-Token"
        return (self.ids_shape() if looks_up else hidden), hidden

    def of_module(self, node: ModuleNode) -> Pair:
        """Return what goes into a module and what comes out, as far as it is known."""
        found = self._compute.get(node.path)
        if found is not None:
            return self._optional(found.input_shape), self._optional(found.output_shape)
        hidden = self.hidden()
        if node.class_name.endswith("Norm"):
            return hidden, hidden
        if node.class_name.endswith("Pooler") and self._width is not None:
            return hidden, hidden and self._shape(("B", self._width))
        if node.name in PROJECTIONS:
            self._width = self._weights(node)[0][0][0]
            return hidden, self.hidden()
        return None, None

    def _weights(self, node: ModuleNode) -> list[tuple[tuple[str, ...], str]]:
        """Return the shapes and names of the weights in a module, in letters where known."""
        return [
            (tensor.symbolic_shape or tuple(map(str, tensor.shape)), tensor.name)
            for tensor in self._architecture.tensors_below(node.path)
            if tensor.name.endswith("weight")
        ]

    def _optional(self, symbols: tuple[str, ...] | None) -> WalkShape | None:
        return None if symbols is None else self._shape(symbols)

    def _shape(self, symbols: tuple[str, ...]) -> WalkShape:
        return WalkShape(symbols, tuple(map(self._size, symbols)))

    def _size(self, dimension: str) -> str:
        try:
            return str(evaluate(dimension, self._sizes))
        except FormulaError:
            return dimension
