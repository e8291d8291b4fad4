"""A counting formula as a person reads it: in symbols, with numbers put in, the result."""

import re
from collections.abc import Mapping

from msgspec import Struct

from bertviewer.core.expressions.evaluation import FormulaError, evaluate, letters_of, terms_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_node import ModuleNode
from bertviewer.core.util.numerals import with_minus

_NAME = re.compile(r"[A-Za-z_]\w*")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class CountTerm(Struct, frozen=True):
    """One term of a count's sum, with the sign before it: ``+ L·D`` over ``+ 512·768``.

    ``value`` is negative where the term is subtracted. The first term of a sum shows no plus.
    """

    symbols: str
    numbers: str
    value: int


class CountSteps(Struct, frozen=True):
    """The three lines of a count; ``result`` is equal to the real number of elements.

    ``terms`` are the lines cut into columns, one for each term of the sum: set side by side they
    are ``symbols`` and ``numbers``, and their values add up to ``result``.
    """

    symbols: str
    numbers: str
    result: int
    terms: tuple[CountTerm, ...]


def count_steps(node: ModuleNode, architecture: Architecture) -> CountSteps | None:
    """Return the steps of a node's count, ``None`` where no formula with symbols is known.

    The formula is evaluated here once more: one that does not give the real count is not shown.
    """
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    steps = steps_of(node.count_formula, values)
    return steps if steps is not None and steps.result == node.parameters else None


def steps_of(formula: str, values: Mapping[str, int]) -> CountSteps | None:
    """Return the steps of any formula; ``None`` for a plain number, and where it has no value."""
    try:
        letters = letters_of(formula)
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
    """Return ``12·D² + 13·D`` for ``12*D**2 + 13*D``, and a true minus for ``-``."""
    powers = re.sub(r"\*\*(\d+)", lambda match: match.group(1).translate(_SUPERSCRIPTS), formula)
    return with_minus(powers.replace("//", " / ").replace("*", "·"))


def _with_numbers(formula: str, values: Mapping[str, int]) -> str:
    return _NAME.sub(lambda match: str(values[match.group()]), formula)
