"""Counts each tensor of a model once, and finds the modules that hold exactly a step's tensors."""

from collections.abc import Iterable, Sequence

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.walkthrough.pieces import compact, has_symbols, pieces_of, rewritten, value_of
from bertviewer.core.walkthrough.walkthrough import StepCount


class TensorCounter:
    """Counts tensors step by step. A tied tensor has the name under which the model stores it."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._values = {symbol.letter: symbol.value for symbol in architecture.symbols}
        self._nodes = {node.path: node for node in architecture.modules}
        self._first = {t.name: t.tied_to or t.name for t in architecture.parameters}
        self._tensors = {t.name: t for t in architecture.parameters if t.tied_to is None}
        self._left = set(self._tensors)

    def tensors(self, names: Iterable[str]) -> list[TensorInfo]:
        """Return the tensors of these names, under any of their names, in the model's order."""
        firsts = {self._first.get(name, name) for name in names}
        return [tensor for name, tensor in self._tensors.items() if name in firsts]

    def below(self, path: str) -> list[TensorInfo]:
        """Return the tensors that are stored in and below a module."""
        return [t for t in self._architecture.tensors_below(path) if t.tied_to is None]

    def left(self, path: str = "") -> list[TensorInfo]:
        """Return the tensors in and below a module that are not counted yet."""
        return [tensor for tensor in self.below(path) if tensor.name in self._left]

    def is_counted(self, name: str) -> bool:
        """Return whether a tensor is counted already."""
        return self._first.get(name, name) not in self._left

    def tied(self, path: str) -> str:
        """Return the name of a counted tensor that a module has under a second name, or ""."""
        below = self._architecture.tensors_below(path)
        return next((t.tied_to for t in below if t.tied_to and self.is_counted(t.tied_to)), "")

    def modules(self, tensors: Sequence[TensorInfo], path: str | None = None) -> tuple[str, ...]:
        """Return the modules that hold exactly these tensors, none if there are no such modules.

        Tensors that are counted already may be missing from them: they are tied.

        Args:
            tensors: those of a step that is not counted yet.
            path: the module that computes the step, preferred if it holds just these.
        """
        names = {tensor.name for tensor in tensors}
        new = names & self._left
        if path is not None and new <= self._names_below(path) <= names:
            return (path,)
        found: list[str] = []
        for tensor in tensors:
            at = tensor.owner
            if tensor.name not in new or any(f"{at}.".startswith(f"{each}.") for each in found):
                continue
            if not at or not self._names_below(at) <= names:
                return ()
            while (above := at.rpartition(".")[0]) and self._names_below(above) <= names:
                at = above
            found.append(at)
        return tuple(found)

    def unused(self, path: str = "") -> list[tuple[str, list[TensorInfo]]]:
        """Return what is not counted below a module, by the outermost modules that it is all of.

        A module that is counted in part comes with its own tensors.
        """
        found: dict[str, list[TensorInfo]] = {}
        for tensor in self.left(path):
            at = tensor.owner
            while (above := self._nodes[at].parent) and above != path and self._is_unused(above):
                at = above
            found.setdefault(at, []).append(tensor)
        return list(found.items())

    def take(self, tensors: Iterable[TensorInfo]) -> StepCount:
        """Count those of these tensors that are not counted yet."""
        owners: dict[str, list[TensorInfo]] = {}
        for tensor in tensors:
            if tensor.name in self._left:
                self._left.remove(tensor.name)
                owners.setdefault(tensor.owner, []).append(tensor)
        taken = [tensor for group in owners.values() for tensor in group]
        parameters = sum(tensor.numel for tensor in taken)
        classes = ((self._nodes[at].class_name, group) for at, group in owners.items())
        pieces = pieces_of(classes, self._values)
        if value_of(pieces, self._values) != parameters:
            pieces = ()
        numbers = rewritten(pieces, lambda dim: str(evaluate(dim, self._values)))
        return StepCount(
            parameters,
            sum(tensor.numel for tensor in taken if tensor.trainable),
            compact(pieces) if has_symbols(pieces) else "",
            compact(numbers),
            pieces,
        )

    def _names_below(self, path: str) -> set[str]:
        return {tensor.name for tensor in self.below(path)}

    def _is_unused(self, path: str) -> bool:
        return self._names_below(path) <= self._left
