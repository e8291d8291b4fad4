"""Counts as a teacher spells them: ``4*(D*D+D)`` for four equal linear layers.

A tensor is the product of its dimensions, inputs first: a layer from D to I features is ``D*I+I``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.counts import read_count
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.grouping import Relation, substituted
from bertviewer.core.expressions.letters import letter_order
from bertviewer.core.expressions.polynomials import Monomial, Polynomial, join_terms, product, total
from bertviewer.core.frozen import frozen

Dims = tuple[str, ...]
"""A tensor's dimensions, each an expression in letters or a plain number."""

_MULTIPLE = re.compile(r"(\d+)\*([A-Za-z]\w{0,3})")


@frozen
class Piece:
    """``times`` equal modules with tensors of these dimensions; a norm is 2 tensors of D."""

    times: int
    tensors: tuple[Dims, ...]


def pieces_of(
    modules: Iterable[tuple[str, Sequence[TensorInfo]]], values: Mapping[str, int]
) -> tuple[Piece, ...]:
    """Return the count of some modules in pieces, equal neighbours taken together.

    Args:
        modules: each module's class and its own tensors.
        values: the letters' values. A dimension that does not come out is a plain number.
    """
    pieces: list[Piece] = []
    for class_name, tensors in modules:
        dims = tuple(_dims(tensor, class_name, values) for tensor in tensors)
        if not dims:
            continue
        is_one = len(set(dims)) == 1
        piece = Piece(len(dims), dims[:1]) if is_one else Piece(1, dims)
        if pieces and pieces[-1].tensors == piece.tensors:
            pieces[-1] = Piece(pieces[-1].times + piece.times, piece.tensors)
        else:
            pieces.append(piece)
    return tuple(pieces)


def related(pieces: Iterable[Piece], relations: Sequence[Relation]) -> tuple[Piece, ...]:
    """Return the pieces with letters written by others, I as ``4*D`` or T as ``2``."""
    return tuple(
        Piece(
            piece.times,
            tuple(tuple(substituted(dim, relations) for dim in dims) for dims in piece.tensors),
        )
        for piece in pieces
    )


def with_numbers(pieces: Iterable[Piece], values: Mapping[str, int]) -> tuple[Piece, ...]:
    """Return the pieces with a number for each dimension."""
    return tuple(
        Piece(
            piece.times,
            tuple(tuple(str(evaluate(dim, values)) for dim in dims) for dims in piece.tensors),
        )
        for piece in pieces
    )


def value_of(pieces: Iterable[Piece], values: Mapping[str, int]) -> int:
    """Return the number of elements that the pieces give."""
    return sum(
        piece.times * prod(evaluate(dim, values) for dim in dims)
        for piece in pieces
        for dims in piece.tensors
    )


def has_letters(pieces: Iterable[Piece]) -> bool:
    """Tell whether any dimension is more than a number."""
    return any(not dim.isdecimal() for piece in pieces for dims in piece.tensors for dim in dims)


def tight(pieces: Sequence[Piece]) -> str:
    """Write the pieces as one step of a walk: ``(D*I+I)+(I*D+D)``."""
    return "+".join(_piece_text(piece, in_brackets=len(pieces) > 1) for piece in pieces)


def spaced(pieces: Sequence[Piece]) -> str:
    """Write the pieces as one sum: ``4*(D*D+D) + 2*D + D*I + I``."""
    return " + ".join(
        text
        for piece in pieces
        for text in (
            [_piece_text(piece, in_brackets=True)]
            if piece.times > 1
            else map(_product, piece.tensors)
        )
    )


def collected(pieces: Iterable[Piece]) -> str:
    """Write the pieces as one sum with like terms together: ``12*D**2 + 13*D``.

    A term's place is that of its first letter, V before L before D; then squares come first.
    """
    products = (
        product((Polynomial.constant(piece.times), *(read_count(dim).value for dim in dims)))
        for piece in pieces
        for dims in piece.tensors
    )
    ordered = sorted(total(products).terms.items(), key=lambda term: _place(term[0]))
    return join_terms(str(Polynomial({letters: value})) for letters, value in ordered)


def _dims(tensor: TensorInfo, class_name: str, values: Mapping[str, int]) -> Dims:
    dims = tensor.symbolic_shape
    if dims is None or not _holds(dims, tensor.shape, values):
        dims = tuple(map(str, tensor.shape))
    # torch keeps a linear layer's weight as [out, in]; a person counts from in to out.
    is_out_in = class_name.endswith("Linear") or tensor.name.endswith("in_proj_weight")
    return dims[::-1] if is_out_in else dims


def _holds(dims: Dims, shape: tuple[int, ...], values: Mapping[str, int]) -> bool:
    try:
        return tuple(evaluate(dim, values) for dim in dims) == shape
    except FormulaError:
        return False


def _piece_text(piece: Piece, in_brackets: bool) -> str:
    inner = "+".join(map(_product, piece.tensors))
    if len(piece.tensors) > 1 and (in_brackets or piece.times > 1):
        inner = f"({inner})"
    return inner if piece.times == 1 else f"{piece.times}*{inner}"


def _product(dims: Dims) -> str:
    return "*".join(map(_factor, dims))


def _factor(dim: str) -> str:
    """Write ``4*D`` as ``4D``, so that it reads as one size, and a sum in brackets."""
    if multiple := _MULTIPLE.fullmatch(dim):
        return multiple.group(1) + multiple.group(2)
    return f"({dim})" if " " in dim or "//" in dim else dim


def _place(letters: Monomial) -> tuple[bool, tuple[int, str], int]:
    first = letter_order(letters[0][0]) if letters else (0, "")
    return not letters, first, -sum(power for _, power in letters)
