"""Parameters counted once each, and spelled out: ``4*(D*D+D)`` for four equal linear layers.

A tensor is the product of its dimensions, inputs first: a layer from D to I features is ``D*I+I``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.expressions.letters import letter_order
from bertviewer.core.expressions.polynomials import (
    Monomial,
    Polynomial,
    join_terms,
    polynomial_of,
    product,
    total,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors

_MULTIPLE = re.compile(r"^(\d+)\*([A-Za-z]\w{0,3})$")
_NAME = re.compile(r"[A-Za-z_]\w*")


class Piece(Struct, frozen=True):
    """``times`` equal modules; ``tensors`` are the dimensions of each tensor, symbols or numbers.

    A norm with bias is two tensors of D.
    """

    times: int
    tensors: tuple[tuple[str, ...], ...]


class StepCount(Struct, frozen=True):
    """The parameters of a step; all zero and empty for an addition.

    Attributes:
        parameters: the number of elements; a tied tensor counts at the first step that reads it.
        trainable: how many of them are trainable.
        symbols: the count in the configuration's symbols, empty where no formula is known.
        numbers: the count with numbers put in, empty where nothing is counted.
        pieces: the count as data, empty where it is not spelled out.
    """

    parameters: int = 0
    trainable: int = 0
    symbols: str = ""
    numbers: str = ""
    pieces: tuple[Piece, ...] = ()


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


def pieces_of(modules: Iterable[tuple[ModuleNode | None, list[TensorInfo]]]) -> tuple[Piece, ...]:
    """Return the count of modules with their own tensors in pieces, equal neighbours merged."""
    found: list[tuple[int, tuple[tuple[str, ...], ...]]] = []
    for module, tensors in modules:
        is_linear = module is not None and module.class_name.endswith("Linear")
        dims = tuple(_dimensions(tensor, is_linear) for tensor in tensors)
        found.append((len(dims), dims[:1]) if len(set(dims)) == 1 else (1, dims))
    equal = groupby(found, key=itemgetter(1))
    pieces = [Piece(sum(times for times, _ in same), tensors) for tensors, same in equal]
    for length in range(2, len(pieces) // 2 + 1):  # equal experts, each of several modules
        times = len(pieces) // length
        if pieces == pieces[:length] * times and all(piece.times == 1 for piece in pieces):
            return (Piece(times, tuple(t for piece in pieces[:length] for t in piece.tensors)),)
    return tuple(pieces)


def changed(pieces: Iterable[Piece], change: Callable[[str], str]) -> tuple[Piece, ...]:
    """Return pieces with each dimension written in another way."""
    return tuple(
        Piece(piece.times, tuple(tuple(map(change, dims)) for dims in piece.tensors))
        for piece in pieces
    )


def compact(pieces: Sequence[Piece]) -> str:
    """Write the pieces as one step: ``(D*I+I)+(I*D+D)``."""
    return "+".join(_text(piece, in_brackets=len(pieces) > 1) for piece in pieces)


def spaced(pieces: Iterable[Piece]) -> str:
    """Write the pieces as one sum: ``4*(D*D+D) + 2*D + D*I + I``."""
    parts = (
        [piece] if piece.times > 1 else [Piece(1, (dims,)) for dims in piece.tensors]
        for piece in pieces
    )
    return " + ".join(_text(each, in_brackets=True) for part in parts for each in part)


def collected(pieces: Iterable[Piece]) -> str:
    """Write the pieces as one sum with like terms together: ``12*D**2 + 13*D``.

    Terms are ordered by their first symbol, V before L before D; then squares come first.
    """
    products = (
        product((Polynomial.constant(piece.times), *map(polynomial_of, dims)))
        for piece in pieces
        for dims in piece.tensors
    )
    ordered = sorted(total(products).terms.items(), key=lambda term: _order(term[0]))
    return join_terms(str(Polynomial({symbols: value})) for symbols, value in ordered)


def names_in(text: str) -> set[str]:
    """Return the symbols in a sum."""
    return set(_NAME.findall(text))


def _dimensions(tensor: TensorInfo, is_linear: bool) -> tuple[str, ...]:
    dims = tensor.symbolic_shape or tuple(map(str, tensor.shape))
    # torch keeps a linear layer's weight as [out, in]; people write inputs first.
    return dims[::-1] if is_linear or tensor.name.endswith("in_proj_weight") else dims


def _text(piece: Piece, *, in_brackets: bool) -> str:
    inner = "+".join("*".join(map(_factor, dims)) for dims in piece.tensors)
    if len(piece.tensors) > 1 and (in_brackets or piece.times > 1):
        inner = f"({inner})"
    return inner if piece.times == 1 else f"{piece.times}*{inner}"


def _factor(dim: str) -> str:
    """Write ``4*D`` as ``4D``, so that it reads as one size, and a sum in brackets."""
    return f"({dim})" if " " in dim or "//" in dim else _MULTIPLE.sub(r"\1\2", dim)


def _order(symbols: Monomial) -> tuple[bool, tuple[int, str], int]:
    first = letter_order(symbols[0][0]) if symbols else (0, "")
    return not symbols, first, -sum(power for _, power in symbols)
