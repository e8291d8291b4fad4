"""Counting formulas in three readable lines: in symbols, with numbers, and the result."""

import re
from collections.abc import Mapping

from msgspec import Struct

from bertviewer.core.expressions.evaluation import FormulaError, evaluate, names_in, terms_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.util.numbers import MINUS, with_minus

_NAME = re.compile(r"[A-Za-z_]\w*")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class CountTerm(Struct, frozen=True):
    """One term of a sum with its sign: ``+ L·D`` and ``+ 512·768``.

    The first term has no plus. ``value`` is negative if the term is subtracted.
    """

    symbols: str
    numbers: str
    value: int

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The sign ("" for a first term), and symbols, numbers and value without it."""
        sign = self.symbols[0] if self.symbols[:2] in ("+ ", f"{MINUS} ") else ""
        skip = 2 if sign else 0
        return sign, self.symbols[skip:], self.numbers[skip:], f"{abs(self.value):,}"


class CountSteps(Struct, frozen=True):
    """The three lines of a count.

    ``terms`` has the same lines split into the terms of the sum; their values sum to ``result``.
    """

    symbols: str
    numbers: str
    result: int
    terms: tuple[CountTerm, ...]


def count_steps(node: ModuleNode, architecture: Architecture) -> CountSteps | None:
    """Return the steps of a module's parameter count.

    ``None`` if no formula with symbols is known, or its result is not the real count.
    """
    steps = steps_of(node.count_formula, architecture.symbol_values)
    return steps if steps is not None and steps.result == node.parameters else None


def steps_of(formula: str, values: Mapping[str, int]) -> CountSteps | None:
    """Return the steps of any formula; ``None`` for a plain number, or if it has no value."""
    try:
        letters = names_in(formula)
        if not letters or not letters <= values.keys():
            return None
        terms = tuple(
            CountTerm(readable(term), readable(_with_numbers(term, values)), evaluate(term, values))
            for term in terms_of(formula)
        )
    except FormulaError:
        return None
    numbers = readable(_with_numbers(formula, values))
    return CountSteps(readable(formula), numbers, sum(term.value for term in terms), terms)


def readable(formula: str) -> str:
    """Return ``12·D² + 13·D`` for ``12*D**2 + 13*D``, and a minus sign for ``-``."""
    powers = re.sub(r"\*\*(\d+)", lambda match: match.group(1).translate(_SUPERSCRIPTS), formula)
    return with_minus(powers.replace("//", " / ").replace("*", "·"))


def _with_numbers(formula: str, values: Mapping[str, int]) -> str:
    return _NAME.sub(lambda match: str(values[match.group()]), formula)
