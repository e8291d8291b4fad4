"""What goes through the steps of a walk: shapes in letters, and in numbers as far as known."""

from collections.abc import Mapping, Sequence

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.letter_values import letter_values, two_sides
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.walk.forms import Block, Form
from bertviewer.core.walk.naming import is_of_embeddings
from bertviewer.core.walk.walk import WalkShape


class Shapes:
    """Puts letters to the shapes of a flow.

    Shapes are of B sentences of S tokens, S_d in a decoder that reads one of its own. ``values``
    are those of the configuration's letters.
    """

    def __init__(self, architecture: Architecture, run: ActivationRun | None) -> None:
        self.values = {symbol.letter: symbol.value for symbol in architecture.symbols}
        flows = architecture.flows
        self._lengths: Mapping[str, int] = flows.lengths if flows is not None else {}
        root = flows.flow("") if flows is not None else None
        inputs = () if root is None else (node.name for node in root.nodes if node.kind == "input")
        self._has_text = any(name.endswith("ids") or "embeds" in name for name in inputs)
        self._costs = architecture.costs.modules if architecture.costs else {}
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

    def of_block(
        self, block: Block, tensors: Sequence[TensorInfo]
    ) -> tuple[WalkShape | None, WalkShape | None]:
        """Return what goes into a block, which learns ``tensors``, and what comes out."""
        found = self._costs.get(block.path or "") if block.is_whole else None
        given = None if found is None else found.output_shape
        is_table = is_of_embeddings(block.name)
        # A table that the decoder shares has the shapes of its last call.
        if found is not None and given is not None and (not is_table or self._length in given):
            if len(given) > 2:
                self._width = given[-1]
            taken = found.input_shape
            return None if taken is None else self._shape(taken), self._shape(given)
        before = None if block.taken is None else self.of_form(block.taken)
        return before, None if block.given is None else self.of_form(block.given, tensors)

    def of_form(self, form: Form, tensors: Sequence[TensorInfo] = ()) -> WalkShape:
        """Return a shape in letters; its last dimension may be that of tensors."""
        if form.letters is not None:
            return self._shape(form.letters)
        letters = list(map(str, form.shape))
        taken = self._lengths_in(form.shape)
        for place, letter in taken.items():
            letters[place] = letter
        widths = [place for place in range(len(letters)) if place not in taken]
        if widths and len(letters) > 1:
            last = widths[-1]
            letters[last] = self._letters_of(form.shape[last], tensors)
            if len(letters) > 2:
                self._width = letters[last]
        return self._shape(tuple(letters))

    def _lengths_in(self, shape: Sequence[int]) -> dict[int, str]:
        """Return which dimensions are sentences and tokens, by their places."""
        sentences = self._lengths.get("B")
        if not shape or sentences is None:
            return {}
        found = {0: "B"} if shape[0] == sentences and len(shape) > 1 else {}
        if not self._has_text:
            return found
        lengths = {self._lengths.get(each): each for each in ("S_d", "S", self._length)}
        tokens = [place for place in (0, 1) if place < len(shape) and shape[place] in lengths]
        if found and len(shape) > 2 and 1 not in tokens and shape[-1] in lengths:
            tokens = [len(shape) - 1]  # features stand before places
        elif tokens == [0] and len(shape) > 1 and shape[1] == sentences:
            found[1] = "B"
        return found | {place: lengths[shape[place]] for place in tokens if place not in found}

    def _letters_of(self, size: int, tensors: Sequence[TensorInfo]) -> str:
        """Return a width in letters: that of a tensor, or of what passed before."""
        for tensor in reversed(tensors):
            for dim in tensor.symbolic_shape or ():
                if self._is(dim, size):
                    return dim
        return self._width if self._width and self._is(self._width, size) else str(size)

    def _is(self, letters: str, size: int) -> bool:
        try:
            return not letters.isdecimal() and evaluate(letters, self.values) == size
        except FormulaError:
            return False

    def _shape(self, symbols: tuple[str, ...]) -> WalkShape:
        return WalkShape(symbols, tuple(map(self._size, symbols)))

    def _size(self, dimension: str) -> str:
        try:
            return str(evaluate(dimension, self._sizes))
        except FormulaError:
            return dimension
