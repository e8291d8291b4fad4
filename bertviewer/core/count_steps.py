"""A counting formula as a person reads it: in symbols, with numbers put in, the result."""

import re
from dataclasses import dataclass

from bertviewer.core.architecture import Architecture, ModuleNode

_NAME = re.compile(r"[A-Za-z_]\w*")
_EXPRESSION = re.compile(r"[\w\s+*/()-]*")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class CountSteps:
    """The three lines of a count; ``result`` is equal to the real number of elements."""

    symbols: str
    numbers: str
    result: int


def count_steps(node: ModuleNode, architecture: Architecture) -> CountSteps | None:
    """Return the steps of a node's count, ``None`` where no formula with symbols is known.

    The formula is evaluated here once more: one that does not give the real count is not shown.
    """
    formula = node.count_formula
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    names = set(_NAME.findall(formula))
    if not names or not names <= values.keys() or not _EXPRESSION.fullmatch(formula):
        return None
    # Nothing but integers, known letters and arithmetic is left in the expression.
    result = eval(formula, {"__builtins__": {}}, values)
    if result != node.parameters:
        return None
    numbers = _NAME.sub(lambda match: str(values[match.group()]), formula)
    return CountSteps(readable(formula), readable(numbers), result)


def readable(formula: str) -> str:
    """Return ``12·D² + 13·D`` for ``12*D**2 + 13*D``."""
    powers = re.sub(r"\*\*(\d+)", lambda match: match.group(1).translate(_SUPERSCRIPTS), formula)
    return powers.replace("//", " / ").replace("*", "·")
