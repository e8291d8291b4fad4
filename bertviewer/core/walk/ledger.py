"""Which tensors a walk has counted: each one once, at the first step that reads it."""

from collections.abc import Iterable, Sequence

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.walk.terms import has_letters, pieces_of, tight, value_of, with_numbers
from bertviewer.core.walk.walk import StepCount


class Ledger:
    """Counts tensors step by step."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._values = {symbol.letter: symbol.value for symbol in architecture.symbols}
        self._nodes = {node.path: node for node in architecture.modules}
        # A tied tensor counts at its first name; its other names may be of no module at all.
        self._first = {t.name: t.tied_to or t.name for t in architecture.parameters}
        self._left = {t.name: t for t in architecture.parameters if t.tied_to is None}
        self._tensors = dict(self._left)
        self._places = {name: place for place, name in enumerate(self._left)}

    def tensors(self, names: Iterable[str]) -> list[TensorInfo]:
        """Return the tensors of these names, by whichever of their names, as the tree has them."""
        firsts = {self._first.get(name, name) for name in names} & self._tensors.keys()
        return [self._tensors[first] for first in sorted(firsts, key=self._places.__getitem__)]

    def is_counted(self, name: str) -> bool:
        """Tell whether a tensor is counted already."""
        return self._first.get(name, name) not in self._left

    def take_tensors(self, names: Iterable[str]) -> StepCount:
        """Count what is left of these tensors."""
        return self._count(self.tensors(names))

    def take(self, paths: Iterable[str]) -> StepCount:
        """Count what is left in and below these modules."""
        below = self._architecture.tensors_below
        return self._count([tensor for path in paths for tensor in below(path)])

    def take_own(self, path: str) -> StepCount:
        """Count what is left of a module's own tensors."""
        return self._count([t for t in self.left(path) if t.owner == path])

    def left(self, path: str = "") -> list[TensorInfo]:
        """Return the tensors in and below a module that are not counted yet."""
        below = self._architecture.tensors_below(path)
        return [tensor for tensor in below if tensor.name in self._left]

    def unused_below(self, path: str = "") -> list[ModuleNode]:
        """Return the modules below ``path`` of which nothing is counted, the outermost of each.

        One that has some tensors counted and some not is in it for its own.
        """
        found: dict[str, ModuleNode] = {}
        for tensor in self.left(path):
            node = self._nodes[tensor.owner]
            while (above := node.parent) and above != path and self.is_free(above):
                node = self._nodes[above]
            found[node.path] = node
        return list(found.values())

    def is_free(self, path: str) -> bool:
        """Tell whether nothing of a module is counted yet."""
        below = self._architecture.tensors_below(path)
        return all(t.name in self._left for t in below if t.tied_to is None)

    def _count(self, tensors: Sequence[TensorInfo]) -> StepCount:
        owners: dict[str, list[TensorInfo]] = {}
        for tensor in tensors:
            if self._left.pop(tensor.name, None) is not None:
                owners.setdefault(tensor.owner, []).append(tensor)
        taken = [tensor for group in owners.values() for tensor in group]
        parameters = sum(tensor.numel for tensor in taken)
        pieces = pieces_of(
            ((self._nodes[path].class_name, group) for path, group in owners.items()), self._values
        )
        # Pieces are checked one dimension at a time; their sum is checked here.
        is_proven = value_of(pieces, self._values) == parameters
        return StepCount(
            parameters,
            sum(tensor.numel for tensor in taken if tensor.trainable),
            tight(pieces) if is_proven and has_letters(pieces) else "",
            tight(with_numbers(pieces, self._values)) if is_proven else "",
            pieces if is_proven else (),
        )
