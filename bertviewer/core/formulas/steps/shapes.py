"""Shapes in a formula: lengths in letters, as what is read may be of any length."""

from collections.abc import Mapping

from bertviewer.core.architecture.flow import Node
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.notation import sized
from bertviewer.core.frozen import frozen

_LETTERS = ("S", "S_d")
_BATCH = "B"

Sizes = tuple[int | str, ...]


@frozen
class Shapes:
    """Writes shapes of one sentence, for lengths of so many tokens by the letters B, S and S_d."""

    lengths: Mapping[str, int]

    def sized(self, symbol: str, node: Node, *, vectors: bool = False) -> str:
        """Return a symbol with its sizes below it, if it is one vector for each position.

        ``vectors`` shows those of a single vector as well.
        """
        found = self._of_sentence(node)
        is_plain = len(found) == 2 and found[0] in _LETTERS and isinstance(found[1], int)
        is_vector = len(found) == 1 and isinstance(found[0], int)
        return sized(symbol, *found) if is_plain or (vectors and is_vector) else symbol

    def text(self, node: Node) -> str | None:
        """Return a node's shape."""
        found = self._of_sentence(node)
        return shape_text(found) if found else None

    def _of_sentence(self, node: Node) -> Sizes:
        """Return the sizes but for the batch's; all of them where it is not known which it is."""
        if node.symbolic_shape is not None:
            told = zip(node.symbolic_shape, node.shape, strict=True)
            # Widths stay numbers, as in all formulas.
            return tuple(
                letter if letter in _LETTERS else size for letter, size in told if letter != _BATCH
            )
        if len(node.shape) == 1 and node.kind != "parameter":
            return (self._letter(node.shape[0]) or node.shape[0],)
        if len(node.shape) == 2 and node.kind != "parameter":
            # One sentence's positions, without the batch dimension.
            letters = [self._letter(size) for size in node.shape]
            if letters[0] is None and node.shape[0] == self.lengths.get(_BATCH, 1):
                return (letters[1] or node.shape[1],)
            return (letters[0] or node.shape[0], node.shape[1])
        if len(node.shape) != 3 or node.shape[0] != self.lengths.get(_BATCH, 1):
            return node.shape
        letter = self._letter(node.shape[1])
        return node.shape if letter is None else (letter, node.shape[2])

    def _letter(self, size: int) -> str | None:
        return next((it for it in _LETTERS if self.lengths.get(it) == size), None)
