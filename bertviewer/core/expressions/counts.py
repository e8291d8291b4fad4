"""A count as a person writes it: one sum, in which repeated blocks keep their brackets."""

import ast
from collections.abc import Callable, Iterable
from fractions import Fraction

from bertviewer.core.expressions.evaluation import FormulaError, parse
from bertviewer.core.expressions.polynomials import (
    Polynomial,
    bracketed,
    join_terms,
    product,
    total,
)
from bertviewer.core.frozen import frozen


@frozen
class Block:
    """A part of a count that stays in brackets: ``N*(12*D**2 + 13*D)``."""

    times: Polynomial
    inside: "Count"

    @property
    def value(self) -> Polynomial:
        """The part without brackets."""
        return self.times * self.inside.value

    def __str__(self) -> str:
        """Write it as Python reads it."""
        return f"{bracketed(str(self.times))}*{bracketed(str(self.inside))}"


@frozen
class Count:
    """A count: expanded, and in parts in reading order."""

    value: Polynomial
    parts: tuple[Polynomial | Block, ...]

    @classmethod
    def of(cls, parts: Iterable[Polynomial | Block]) -> "Count":
        """Add up; what stands side by side without a block between is one tidied sum."""
        kept: list[Polynomial | Block] = []
        for part in parts:
            if isinstance(part, Polynomial) and kept and isinstance(kept[-1], Polynomial):
                kept[-1] = kept[-1] + part
            else:
                kept.append(part)
        value = total(part.value if isinstance(part, Block) else part for part in kept)
        return cls(value, tuple(part for part in kept if isinstance(part, Block) or part))

    def times(self, factor: Polynomial) -> Polynomial | Block:
        """Return it so many times, in brackets if it is a sum."""
        if len(self.value.terms) < 2 or factor == Polynomial.constant(1):
            return factor * self.value
        return Block(factor, self)

    def __str__(self) -> str:
        """Write it as Python reads it.

        Around one stack of blocks terms stand where they are met; with several stacks the like
        terms of all of them come first, so that none is written twice.
        """
        blocks = [part for part in self.parts if isinstance(part, Block)]
        if len(blocks) < 2:
            return join_terms(map(str, self.parts))
        first = total(part for part in self.parts if isinstance(part, Polynomial))
        insides: dict[str, list[Block]] = {}
        for block in blocks:
            insides.setdefault(str(block.times), []).append(block)
        together = (
            Block(same[0].times, Count.of(part for block in same for part in block.inside.parts))
            for same in insides.values()
        )
        return join_terms([str(first)] * bool(first) + [str(block) for block in together])


def read_count(formula: str) -> Count:
    """Read a formula back as what it was written from.

    Raises:
        FormulaError: the text is not a formula, or divides by a sum.
    """
    return _count(parse(formula))


def changed(count: Count, change: Callable[[Polynomial], Polynomial]) -> Count:
    """Return a count with every sum in it changed, brackets left where they are."""
    return Count.of(
        changed(part.inside, change).times(change(part.times))
        if isinstance(part, Block)
        else change(part)
        for part in count.parts
    )


def _count(tree: ast.expr) -> Count:
    parts: list[Polynomial | Block] = []
    for term in _terms(tree):
        match term:
            case ast.BinOp(left=times, op=ast.Mult(), right=inside) if _is_sum(inside):
                parts.append(_count(inside).times(_polynomial(times)))
            case _:
                parts.append(_polynomial(term))
    return Count.of(parts)


def _terms(tree: ast.expr) -> list[ast.expr]:
    """Return the terms of a sum; what is subtracted is negated."""
    terms: list[ast.expr] = []
    while isinstance(tree, ast.BinOp) and _is_sum(tree):
        terms.append(tree.right if isinstance(tree.op, ast.Add) else _negated(tree.right))
        tree = tree.left
    return [tree, *reversed(terms)]


def _negated(tree: ast.expr) -> ast.expr:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult) and _is_sum(tree.right):
        return ast.BinOp(ast.UnaryOp(ast.USub(), tree.left), ast.Mult(), tree.right)
    return ast.UnaryOp(ast.USub(), tree)


def _is_sum(tree: ast.expr) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub)


def _polynomial(tree: ast.expr) -> Polynomial:
    match tree:
        case ast.Constant(value=int(number)):
            return Polynomial.constant(number)
        case ast.Name(id=letter):
            return Polynomial.term(Fraction(1), {letter: 1})
        case ast.UnaryOp(operand=operand):
            return Polynomial.constant(-1) * _polynomial(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _polynomial(left) + _polynomial(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _polynomial(left) - _polynomial(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _polynomial(left) * _polynomial(right)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _polynomial(left) * _polynomial(right).inverse()
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return product([_polynomial(left)] * power)
    raise FormulaError(f"not a formula: {ast.unparse(tree)}")
