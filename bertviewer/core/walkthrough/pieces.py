"""Parameter counts spelled out: ``4*(D*D+D)`` for four equal linear layers.

A tensor is the product of its dimensions, inputs first: a layer from D to I features is ``D*I+I``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

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

_MULTIPLE = re.compile(r"(\d+)\*([A-Za-z]\w{0,3})")


@frozen
class Piece:
    """``times`` equal modules; ``tensors`` are the dimensions of each tensor, symbols or numbers.

    A norm with bias is two tensors of D.
    """

    times: int
    tensors: tuple[tuple[str, ...], ...]


def pieces_of(
    modules: Iterable[tuple[str, Sequence[TensorInfo]]], values: Mapping[str, int]
) -> tuple[Piece, ...]:
    """Return the count of modules in pieces, equal neighbours merged.

    Args:
        modules: each module's class and its own tensors.
        values: the values of symbols. A dimension that does not evaluate stays a plain number.
    """
    pieces: list[Piece] = []
    for class_name, tensors in modules:
        dims = tuple(_dimensions(tensor, class_name, values) for tensor in tensors)
        if not dims:
            continue
        piece = Piece(len(dims), dims[:1]) if len(set(dims)) == 1 else Piece(1, dims)
        if pieces and pieces[-1].tensors == piece.tensors:
            pieces[-1] = Piece(pieces[-1].times + piece.times, piece.tensors)
        else:
            pieces.append(piece)
    for length in range(2, len(pieces) // 2 + 1):  # equal experts, each of several modules
        times = len(pieces) // length
        if pieces == pieces[:length] * times and all(piece.times == 1 for piece in pieces):
            return (Piece(times, tuple(t for piece in pieces[:length] for t in piece.tensors)),)
    return tuple(pieces)


def rewritten(pieces: Iterable[Piece], change: Callable[[str], str]) -> tuple[Piece, ...]:
    """Return the pieces with every dimension changed."""
    return tuple(
        Piece(piece.times, tuple(tuple(map(change, dims)) for dims in piece.tensors))
        for piece in pieces
    )


def value_of(pieces: Iterable[Piece], values: Mapping[str, int]) -> int:
    """Return the number of elements of all pieces."""
    return sum(
        piece.times * prod(evaluate(dim, values) for dim in dims)
        for piece in pieces
        for dims in piece.tensors
    )


def has_symbols(pieces: Iterable[Piece]) -> bool:
    """Return whether any dimension is more than a number."""
    return any(not dim.isdecimal() for piece in pieces for dims in piece.tensors for dim in dims)


def compact(pieces: Sequence[Piece]) -> str:
    """Write the pieces as one step: ``(D*I+I)+(I*D+D)``."""
    return "+".join(_text(piece, in_brackets=len(pieces) > 1) for piece in pieces)


def spaced(pieces: Sequence[Piece]) -> str:
    """Write the pieces as one sum: ``4*(D*D+D) + 2*D + D*I + I``."""
    return " + ".join(
        text
        for piece in pieces
        for text in (
            [_text(piece, in_brackets=True)] if piece.times > 1 else map(_product, piece.tensors)
        )
    )


def collected(pieces: Iterable[Piece]) -> str:
    """Write the pieces as one sum with like terms together: ``12*D**2 + 13*D``.

    Terms are ordered by their first symbol, V before L before D; then squares come first.
    """
    products = (
        product((Polynomial.constant(piece.times), *(polynomial_of(dim) for dim in dims)))
        for piece in pieces
        for dims in piece.tensors
    )
    ordered = sorted(total(products).terms.items(), key=lambda term: _order(term[0]))
    return join_terms(str(Polynomial({symbols: value})) for symbols, value in ordered)


def _dimensions(tensor: TensorInfo, class_name: str, values: Mapping[str, int]) -> tuple[str, ...]:
    dims = tuple(map(str, tensor.shape))
    symbols = tensor.symbolic_shape or dims
    try:
        if tuple(evaluate(dim, values) for dim in symbols) == tensor.shape:
            dims = symbols
    except FormulaError:
        pass
    # torch keeps a linear layer's weight as [out, in]; people write inputs first.
    is_out_in = class_name.endswith("Linear") or tensor.name.endswith("in_proj_weight")
    return dims[::-1] if is_out_in else dims


def _text(piece: Piece, in_brackets: bool) -> str:
    inner = "+".join(map(_product, piece.tensors))
    if len(piece.tensors) > 1 and (in_brackets or piece.times > 1):
        inner = f"({inner})"
    return inner if piece.times == 1 else f"{piece.times}*{inner}"


def _product(dims: tuple[str, ...]) -> str:
    return "*".join(map(_factor, dims))


def _factor(dim: str) -> str:
    """Write ``4*D`` as ``4D``, so that it reads as one size, and a sum in brackets."""
    if multiple := _MULTIPLE.fullmatch(dim):
        return multiple.group(1) + multiple.group(2)
    return f"({dim})" if " " in dim or "//" in dim else dim


def _order(symbols: Monomial) -> tuple[bool, tuple[int, str], int]:
    first = letter_order(symbols[0][0]) if symbols else (0, "")
    return not symbols, first, -sum(power for _, power in symbols)
