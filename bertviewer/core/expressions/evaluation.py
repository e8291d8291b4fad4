"""The one evaluator of formulas: integers, letters, ``+ - * // **`` and brackets, exactly.

A condition compares two formulas, the first one perhaps with a ``%`` for a remainder. Formulas and
conditions are parsed, not run: nothing in them can call or look up anything.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

MAX_POWER: Final = 99
MAX_BITS: Final = 4096
"""Formulas know squares and a few more; a power of a power could fill the memory."""

_CACHED: Final = 8192


class FormulaError(ValueError):
    """A text is no formula, or names a letter that has no value."""


class UnevenDivision(FormulaError):
    """A ``//`` does not come out even: the formula says nothing about these values."""


def evaluate(formula: str, values: Mapping[str, int]) -> int:
    """Return what a formula gives with the letters at these values, exactly.

    Args:
        formula: integers, letters, ``+``, ``-``, ``*``, ``//``, ``**`` with a plain number above,
            and brackets, as Python reads them.
        values: a value for each letter in it; more letters do no harm.

    Raises:
        UnevenDivision: a ``//`` leaves a remainder, or divides by 0.
        FormulaError: the text is not such a formula, or a letter has no value.
    """
    stack: list[int] = []
    for step in program(formula):
        if isinstance(step, int):
            stack.append(step)
        elif isinstance(step, str):
            if step not in values:
                raise FormulaError(f"{step} has no value in {formula}")
            stack.append(values[step])
        elif step is operator.neg:
            stack.append(-stack.pop())
        else:
            right = stack.pop()
            left = stack.pop()
            if step in _DIVISIONS and (not right or (step is operator.floordiv and left % right)):
                raise UnevenDivision(f"{left} is not divisible by {right} in {formula}")
            if step is operator.pow and left.bit_length() * right > MAX_BITS:
                raise FormulaError(f"a power is too large in {formula}")
            result: int = step(left, right)
            stack.append(result)
    return stack[0]


def letters_of(formula: str) -> frozenset[str]:
    """Return the letters in a formula or a condition.

    Raises:
        FormulaError: the text is neither.
    """
    return frozenset(step for step in program(formula) if isinstance(step, str))


def terms_of(formula: str) -> tuple[str, ...]:
    """Return the terms of a sum as they are written, each with the sign before it.

    ``V*D + N*(D - 1) - D`` gives ``V*D``, ``+ N*(D - 1)`` and ``- D``.

    Raises:
        FormulaError: the text is not a formula.
    """
    program(formula)
    tree = ast.parse(formula, mode="eval").body
    starts: list[int] = []
    while isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub):
        sign = "+" if isinstance(tree.op, ast.Add) else "-"
        end = tree.left.end_col_offset or 0
        starts.append(formula.index(sign, end))
        tree = tree.left
    cuts = [0, *reversed(starts), len(formula)]
    return tuple(formula[one:other].strip() for one, other in pairwise(cuts))


Operation = Callable[..., Any]

_OPERATIONS: Final[Mapping[type[ast.AST], Operation]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
COMPARISONS: Final[Mapping[type[ast.AST], Operation]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
}
_IN_CONDITIONS: Final = {**_OPERATIONS, **COMPARISONS, ast.Mod: operator.mod}
_DIVISIONS: Final = (operator.floordiv, operator.mod)


@lru_cache(maxsize=_CACHED)
def program(formula: str) -> tuple[int | str | Operation, ...]:
    """Return a formula or a condition in postfix order: ``D, 2, **`` for ``D**2``.

    Raises:
        FormulaError: the text is neither.
    """
    try:
        tree = ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"not a formula: {formula!r}") from error
    operations = _IN_CONDITIONS if isinstance(tree, ast.Compare) else _OPERATIONS
    # Read from the end, operator before operands, and turned round: sums may have many terms.
    reversed_steps: list[int | str | Operation] = []
    waiting: list[ast.expr] = [tree]
    while waiting:
        match waiting.pop():
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                reversed_steps.append(number)
            case ast.Name(id=letter):
                reversed_steps.append(letter)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                reversed_steps.append(operator.neg)
                waiting.append(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                waiting.append(operand)
            case (
                ast.BinOp(left=left, op=sign, right=right)
                | ast.Compare(left=left, ops=[sign], comparators=[right])
            ) if type(sign) in operations:
                if isinstance(sign, ast.Pow) and not _is_power(right):
                    raise FormulaError(f"only small constant powers are supported: {formula!r}")
                reversed_steps.append(operations[type(sign)])
                waiting += (left, right)
            case _:
                raise FormulaError(f"not a formula: {formula!r}")
    return tuple(reversed(reversed_steps))


def _is_power(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value in range(MAX_POWER + 1)
