"""A count as a person writes it: one sum, in which repeated blocks keep their brackets."""

import ast
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from bertviewer.core.expressions.evaluation import terms_of
from bertviewer.core.expressions.polynomials import (
    Polynomial,
    bracketed,
    join_terms,
    polynomial_of,
    total,
)
from bertviewer.core.frozen import frozen

ONE: Final = Polynomial.constant(1)


@frozen
class Count:
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
