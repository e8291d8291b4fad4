"""Parameter counts spelled out: ``4*(D*D+D)`` for four equal linear layers.

A tensor is the product of its dimensions, inputs first: a layer from D to I features is ``D*I+I``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.letters import letter_order
from bertviewer.core.expressions.polynomials import (
    Monomial,
    Polynomial,
    join_terms,
    polynomial_of,
    product,
    total,
)
from bertviewer.core.frozen import frozen

Dimensions = tuple[str, ...]
Change = Callable[[str], str]
"""What writes a dimension in another way."""

_MULTIPLE = re.compile(r"(\d+)\*([A-Za-z]\w{0,3})")
_NAME = re.compile(r"[A-Za-z_]\w*")


@frozen
class Piece:
    """``times`` equal modules; ``tensors`` are the dimensions of each tensor, symbols or numbers.

    A norm with bias is two tensors of D.
    """

    times: int
    tensors: tuple[Dimensions, ...]


def pieces_of(
    modules: Iterable[tuple[ModuleNode | None, Sequence[TensorInfo]]], values: Mapping[str, int]
) -> tuple[Piece, ...]:
    """Return the count of modules with their own tensors in pieces, equal neighbours merged.

    A dimension that does not evaluate to its size with the values of symbols stays a plain number.
    """
    pieces: list[Piece] = []
    for module, tensors in modules:
        is_linear = module is not None and module.class_name.endswith("Linear")
        dims = tuple(_dimensions(tensor, is_linear, values) for tensor in tensors)
        piece = Piece(len(dims), dims[:1]) if len(set(dims)) == 1 else Piece(1, dims)
        if pieces and pieces[-1].tensors == piece.tensors:
            piece = Piece(pieces.pop().times + piece.times, piece.tensors)
        pieces.append(piece)
    for length in range(2, len(pieces) // 2 + 1):  # equal experts, each of several modules
        times = len(pieces) // length
        if pieces == pieces[:length] * times and all(piece.times == 1 for piece in pieces):
            return (Piece(times, tuple(t for piece in pieces[:length] for t in piece.tensors)),)
    return tuple(pieces)


def compact(pieces: Sequence[Piece], change: Change = str) -> str:
    """Write the pieces as one step: ``(D*I+I)+(I*D+D)``."""
    return "+".join(_text(piece, change, in_brackets=len(pieces) > 1) for piece in pieces)


def spaced(pieces: Iterable[Piece], change: Change = str) -> str:
    """Write the pieces as one sum: ``4*(D*D+D) + 2*D + D*I + I``."""
    parts = (
        [piece] if piece.times > 1 else [Piece(1, (dims,)) for dims in piece.tensors]
        for piece in pieces
    )
    return " + ".join(_text(each, change, in_brackets=True) for part in parts for each in part)


def collected(pieces: Iterable[Piece], change: Change = str) -> str:
    """Write the pieces as one sum with like terms together: ``12*D**2 + 13*D``.

    Terms are ordered by their first symbol, V before L before D; then squares come first.
    """
    products = (
        product((Polynomial.constant(piece.times), *(polynomial_of(change(dim)) for dim in dims)))
        for piece in pieces
        for dims in piece.tensors
    )
    ordered = sorted(total(products).terms.items(), key=lambda term: _order(term[0]))
    return join_terms(str(Polynomial({symbols: value})) for symbols, value in ordered)


def names_in(text: str) -> set[str]:
    """Return the symbols in a sum."""
    return set(_NAME.findall(text))


def _dimensions(tensor: TensorInfo, is_linear: bool, values: Mapping[str, int]) -> Dimensions:
    dims = tuple(map(str, tensor.shape))
    symbols = tensor.symbolic_shape or dims
    try:
        if tuple(evaluate(dim, values) for dim in symbols) == tensor.shape:
            dims = symbols
    except FormulaError:
        pass
    # torch keeps a linear layer's weight as [out, in]; people write inputs first.
    return dims[::-1] if is_linear or tensor.name.endswith("in_proj_weight") else dims


def _text(piece: Piece, change: Change, *, in_brackets: bool) -> str:
    inner = "+".join("*".join(_factor(change(dim)) for dim in dims) for dims in piece.tensors)
    if len(piece.tensors) > 1 and (in_brackets or piece.times > 1):
        inner = f"({inner})"
    return inner if piece.times == 1 else f"{piece.times}*{inner}"


def _factor(dim: str) -> str:
    """Write ``4*D`` as ``4D``, so that it reads as one size, and a sum in brackets."""
    if multiple := _MULTIPLE.fullmatch(dim):
        return multiple.group(1) + multiple.group(2)
    return f"({dim})" if " " in dim or "//" in dim else dim


def _order(symbols: Monomial) -> tuple[bool, tuple[int, str], int]:
    first = letter_order(symbols[0][0]) if symbols else (0, "")
    return not symbols, first, -sum(power for _, power in symbols)
