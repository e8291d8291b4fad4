"""Counts as a teacher writes them: repeated blocks in brackets, and declared relations put in.

With I = 4*D declared, a layer is ``12*D**2 + 13*D``.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from bertviewer.core.expressions.evaluation import letters_of, terms_of
from bertviewer.core.expressions.polynomials import (
    Polynomial,
    bracketed,
    join_terms,
    polynomial_of,
    total,
)
from bertviewer.core.expressions.symbols import Symbol, place_of, quantity_of, standard_letter

ONE: Final = Polynomial.constant(1)
LARGEST = 8
"""A width that is more times another than this is no rule that a person would declare."""


class Count(Struct, frozen=True):
    """So many times a sum: expanded as ``value``, and in parts in reading order.

    A part that is a count stays in brackets: ``N*(12*D**2 + 13*D)``.
    """

    value: Polynomial
    parts: tuple["Polynomial | Count", ...]
    times: Polynomial = ONE

    @classmethod
    def of(cls, parts: Iterable["Polynomial | Count"], times: Polynomial = ONE) -> "Count":
        """Add up; parts that follow each other without a block between are one tidied sum."""
        kept: list[Polynomial | Count] = []
        for part in parts:
            if isinstance(part, Polynomial) and kept and isinstance(kept[-1], Polynomial):
                kept[-1] = kept[-1] + part
            else:
                kept.append(part)
        value = total(part if isinstance(part, Polynomial) else part.value for part in kept)
        return cls(times * value, tuple(filter(None, kept)), times)

    @classmethod
    def read(cls, formula: str, values: Mapping[str, Polynomial] = MappingProxyType({})) -> "Count":
        """Read a formula back as what it was written from, with polynomials for some letters.

        Raises:
            FormulaError: the text is not a formula, or divides by a sum.
        """
        parts: list[Polynomial | Count] = []
        for text in terms_of(formula):
            match ast.parse(text, mode="eval").body:
                case ast.BinOp(
                    left=ast.expr(end_col_offset=int(end)),
                    op=ast.Mult(),
                    right=ast.BinOp(op=ast.Add() | ast.Sub()),
                ):
                    inside = cls.read(text[end:].removeprefix("*(").removesuffix(")"), values)
                    parts.append(inside.repeated(polynomial_of(text[:end], values)))
                case _:
                    parts.append(polynomial_of(text, values))
        return cls.of(parts)

    def repeated(self, times: Polynomial) -> "Polynomial | Count":
        """Return it so many times, in brackets if it is a sum."""
        if len(self.value.terms) < 2 or times == ONE:
            return times * self.value
        return Count.of(self.parts, times)

    def __str__(self) -> str:
        """Write it as Python reads it.

        Around one stack of blocks terms keep their order; with several stacks the like terms of
        all of them come first, so that none is written twice.
        """
        blocks = [part for part in self.parts if isinstance(part, Count)]
        parts = list(self.parts)
        if len(blocks) > 1:
            insides: dict[str, list[Count]] = {}
            for block in blocks:
                insides.setdefault(str(block.times), []).append(block)
            first = total(part for part in self.parts if isinstance(part, Polynomial))
            parts = [first] * bool(first) + [
                Count.of((part for block in same for part in block.parts), same[0].times)
                for same in insides.values()
            ]
        text = join_terms(map(str, parts))
        return text if self.times == ONE else f"{bracketed(str(self.times))}*{bracketed(text)}"


class Relation(Struct, frozen=True):
    """Letters that are equal in one configuration.

    Attributes:
        letter: the one that is replaced.
        formula: what it is replaced by: ``4*D``, ``D//A``.
        text: the relation as a person declares it: ``I = 4*D``, ``A*K = D``.
    """

    letter: str
    formula: str
    text: str


def relations(symbols: Iterable[Symbol]) -> tuple[Relation, ...]:
    """Return the relations that hold between a configuration's letters and could be declared.

    Widths that are a few times the hidden state's (I = 4*D, E = D), heads that share it out
    (A*K = D), and as many heads for keys and values as for queries (A_kv = A). Each part of a
    configuration has its own.
    """
    by_place: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_place.setdefault(place_of(symbol), []).append(symbol)
    return tuple(found for part in by_place.values() for found in _relations_in(part))


def substituted(formula: str, declared: Iterable[Relation]) -> str:
    """Return a count with relations put in and like terms collected.

    Repeated blocks keep their brackets: ``N*(4*D**2 + 2*D*I + 9*D + I)`` becomes
    ``N*(12*D**2 + 13*D)``. A formula without any of the letters is returned unchanged.

    Raises:
        FormulaError: the text is not a formula.
    """
    values = {relation.letter: polynomial_of(relation.formula) for relation in declared}
    if letters_of(formula).isdisjoint(values):
        return formula
    return str(Count.read(formula, values))


def _relations_in(symbols: list[Symbol]) -> Iterator[Relation]:
    by_letter = {standard_letter(symbol): symbol for symbol in symbols}
    width, heads = by_letter.get("D"), by_letter.get("A")
    for symbol in symbols:
        letter = standard_letter(symbol)
        if letter == "A_kv" and heads is not None and heads.value == symbol.value:
            yield _equal(symbol, heads.letter)
        if width is None or symbol is width or quantity_of(symbol) != "width":
            continue
        if letter == "K":
            if heads is not None and heads.value * symbol.value == width.value:
                text = f"{heads.letter}*{symbol.letter} = {width.letter}"
                yield Relation(symbol.letter, f"{width.letter}//{heads.letter}", text)
        elif letter and symbol.value % width.value == 0 and symbol.value // width.value <= LARGEST:
            times = symbol.value // width.value
            yield _equal(symbol, f"{times}*{width.letter}" if times > 1 else width.letter)


def _equal(symbol: Symbol, formula: str) -> Relation:
    return Relation(symbol.letter, formula, f"{symbol.letter} = {formula}")
