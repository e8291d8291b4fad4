"""Counts each tensor of a model once, and finds the modules that hold exactly a step's tensors."""

from collections.abc import Iterable, Sequence

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.walkthrough.sums import changed, compact, names_in, pieces_of
from bertviewer.core.walkthrough.walkthrough import StepCount


class TensorCounter:
    """Counts tensors step by step. A tied tensor has the name under which the model stores it."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._values = {symbol.letter: symbol.value for symbol in architecture.symbols}
        self._first = {t.name: t.tied_to or t.name for t in architecture.parameters}
        self._left = set(self._first.values())

    def tensors(self, names: Iterable[str]) -> list[TensorInfo]:
        """Return the tensors of these names, under any of their names, in the model's order."""
        firsts = {self._first.get(name, name) for name in names}
        return [tensor for tensor in self.below("") if tensor.name in firsts]

    def below(self, path: str) -> list[TensorInfo]:
        """Return the tensors that are stored in and below a module."""
        return [t for t in self._architecture.tensors_below(path) if t.tied_to is None]

    def is_left(self, tensor: TensorInfo) -> bool:
        """Return whether a tensor is not counted yet."""
        return tensor.name in self._left

    def modules(self, tensors: Sequence[TensorInfo], path: str | None = None) -> tuple[str, ...]:
        """Return the modules that hold exactly these tensors, none if there are no such modules.

        Tensors that are counted already may be missing from them: they are tied. ``path`` is
        preferred if it holds just these.
        """
        names = {tensor.name for tensor in tensors}
        if path is not None and names & self._left <= self._names_below(path) <= names:
            return (path,)
        found = [self._outermost(each, names) for each in tensors if self.is_left(each)]
        return () if None in found else tuple(dict.fromkeys(filter(None, found)))

    def unused(self, path: str = "") -> dict[str, list[TensorInfo]]:
        """Return what is not counted below a module, by the outermost modules that it is all of.

        A module that is counted in part comes with its own tensors.
        """
        found: dict[str, list[TensorInfo]] = {}
        for tensor in filter(self.is_left, self.below(path)):
            module = self._outermost(tensor, self._left, path)
            found.setdefault(tensor.owner if module is None else module, []).append(tensor)
        return found

    def take(self, tensors: Iterable[TensorInfo]) -> StepCount:
        """Count those of these tensors that are not counted yet."""
        owners: dict[str, list[TensorInfo]] = {}
        taken = list(filter(self.is_left, tensors))
        for tensor in taken:
            owners.setdefault(tensor.owner, []).append(tensor)
        self._left -= {tensor.name for tensor in taken}
        pieces = pieces_of((self._architecture.module(at), own) for at, own in owners.items())
        symbols = compact(pieces)
        return StepCount(
            sum(tensor.numel for tensor in taken),
            sum(tensor.numel for tensor in taken if tensor.trainable),
            symbols if names_in(symbols) else "",
            compact(changed(pieces, lambda dim: str(evaluate(dim, self._values)))),
            pieces,
        )

    def _outermost(self, tensor: TensorInfo, names: set[str], below: str = "") -> str | None:
        """Return the outermost module below a path that has a tensor and only ones of these."""
        around = [path for path in ancestors(tensor.owner) if len(path) > len(below)]
        return next((path for path in reversed(around) if self._names_below(path) <= names), None)

    def _names_below(self, path: str) -> set[str]:
        return {tensor.name for tensor in self.below(path)}
