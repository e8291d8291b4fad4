"""Formulas and conditions as Python expressions: parsed and evaluated exactly.

A formula has integers, symbols, ``+ - * // **`` and brackets. A condition compares two formulas,
the first perhaps with ``%``. Both are parsed, not run: they cannot call or access anything. A
validity condition of a formula joins conditions with ``and``: ``D % A == 0 and E != D``.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

MAX_POWER: Final = 99
MAX_BITS: Final = 4096
"""Limits of powers: a power of a power could fill the memory."""

_CACHED: Final = 8192


class FormulaError(ValueError):
    """A text is not a formula, or a symbol in it has no value."""


class UnevenDivision(FormulaError):
    """A ``//`` leaves a remainder or divides by 0: the formula does not apply to these values."""


def evaluate(formula: str, values: Mapping[str, int]) -> int:
    """Return the exact value of a formula.

    Args:
        formula: integers, symbols, ``+``, ``-``, ``*``, ``//``, ``**`` with a constant exponent,
            and brackets, in Python syntax.
        values: a value for each symbol in it; others are ignored.

    Raises:
        UnevenDivision: a ``//`` leaves a remainder, or divides by 0.
        FormulaError: the text is not such a formula, or a symbol has no value.
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


def names_in(formula: str) -> frozenset[str]:
    """Return the symbols in a formula or a condition.

    Raises:
        FormulaError: the text is neither.
    """
    return frozenset(step for step in program(formula) if isinstance(step, str))


def terms_of(formula: str) -> tuple[str, ...]:
    """Return the terms of a sum as text, each with its sign.

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
    # Without recursion, as sums may have many terms: operator before operands, then reversed.
    reversed_steps: list[int | str | Operation] = []
    waiting: list[ast.expr] = [tree]
    while waiting:
        match waiting.pop():
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                reversed_steps.append(number)
            case ast.Name(id=name):
                reversed_steps.append(name)
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


_AND: Final = " and "
_VALUE = re.compile(r"(\w+) == (\d+)")
_MULTIPLE = re.compile(r"(\w+) % (\d+) == 0")
_RATIO = re.compile(r"(\w+) == (\d+)\*\w+")


def split_conditions(domain: str | None) -> tuple[str, ...]:
    """Return the conditions that a validity condition joins, none for ``None``."""
    return tuple(domain.split(_AND)) if domain else ()


def join_conditions(conditions: Iterable[str]) -> str | None:
    """Return the validity condition that joins all conditions; ``None`` without any.

    Duplicates and implied conditions are dropped: ``I % 3 == 0`` next to ``I % 384 == 0``.
    """
    texts = tuple(dict.fromkeys(conditions))
    implied = {text for text in texts for known in texts if text != known and _implies(known, text)}
    return _AND.join(text for text in texts if text not in implied) or None


@lru_cache(maxsize=65_536)
def _implies(known: str, text: str) -> bool:
    """Return whether a symbol's value or divisor in one condition implies another condition."""
    if value := _VALUE.fullmatch(known):
        return names_in(text) == {value[1]} and is_met(text, {value[1]: int(value[2])})
    theirs = _MULTIPLE.fullmatch(known) or _RATIO.fullmatch(known)
    if theirs is None or (ours := _MULTIPLE.fullmatch(text)) is None or ours[1] != theirs[1]:
        return False
    return int(theirs[2]) % int(ours[2]) == 0


def is_met(condition: str, values: Mapping[str, int]) -> bool:
    """Return whether values meet one condition, as ``D % A == 0``, ``E != D`` or ``L >= 3``.

    A condition whose division leaves a remainder, or divides by 0, is not met.

    Raises:
        FormulaError: the text is not a condition, or a symbol in it has no value.
    """
    if program(condition)[-1] not in COMPARISONS.values():
        raise FormulaError(f"not a condition: {condition!r}")
    try:
        return bool(evaluate(condition, values))
    except UnevenDivision:
        return False


def all_met(domain: str | None, values: Mapping[str, int]) -> bool:
    """Return whether values meet a validity condition.

    Raises:
        FormulaError: the text is not a validity condition, or a symbol in it has no value.
    """
    return all(is_met(condition, values) for condition in split_conditions(domain))


def names_in_conditions(domain: str | None) -> frozenset[str]:
    """Return the symbols in a validity condition.

    Raises:
        FormulaError: the text is not a validity condition.
    """
    return frozenset[str]().union(*map(names_in, split_conditions(domain)))
