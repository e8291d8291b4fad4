"""Which tensors a walk has counted: each one once, at the first step that holds it."""

from collections.abc import Iterable, Iterator, Sequence

from bertviewer.core.architecture import Architecture, ModuleNode, TensorInfo
from bertviewer.core.walk.terms import has_letters, pieces_of, tight, value_of, with_numbers
from bertviewer.core.walk.walk import StepCount


class Ledger:
    """Counts tensors step by step."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._values = {symbol.letter: symbol.value for symbol in architecture.symbols}
        self._nodes = {node.path: node for node in architecture.modules}
        # A tied tensor counts at its first name; its other names may be of no module at all.
        self._left = {t.name: t for t in architecture.parameters if t.tied_to is None}

    def take(self, paths: Iterable[str]) -> StepCount:
        """Count what is left in and below these modules."""
        below = self._architecture.tensors_below
        return self._count([tensor for path in paths for tensor in below(path)])

    def take_own(self, path: str) -> StepCount:
        """Count what is left of a module's own tensors."""
        below = self._architecture.tensors_below(path)
        return self._count([tensor for tensor in below if tensor.owner == path])

    def owners_left(self, path: str = "") -> Iterator[ModuleNode]:
        """Yield the modules in and below ``path`` that hold tensors which are not counted yet."""
        below = self._architecture.tensors_below(path)
        for owner in dict.fromkeys(t.owner for t in below if t.name in self._left):
            yield self._nodes[owner]

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
