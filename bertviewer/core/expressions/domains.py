"""Domains: the conditions under which a formula holds, as ``D % A == 0 and E != D``.

A domain is a Python expression, so that other programs can evaluate what is exported. Here it is
parsed, and nothing in it is run.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    UnevenDivision,
    evaluate,
    letters_of,
)

_AND: Final = " and "
_CONDITION = re.compile(r"([^%=!<>]+?)(?: % ([^%=!<>]+?))? (==|!=|>=|<=) ([^%=!<>]+)")
_PLAIN = re.compile(r"(\w+) (?:% (\d+) )?(==|>=) (\d+)")
_RATIO = re.compile(r"(\w+) == (\d+)\*\w+")
_SIGNS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}


def conditions_of(domain: str | None) -> tuple[str, ...]:
    """Return the conditions of a domain, all of which have to be met; none for everywhere."""
    return tuple(domain.split(_AND)) if domain else ()


def joined(conditions: Iterable[str]) -> str | None:
    """Return the domain in which all conditions are met; ``None`` for none.

    Each is named once, and not where another says more: ``I % 384 == 0`` and not ``I % 3 == 0``.
    """
    texts = tuple(dict.fromkeys(conditions))
    plain = [(text, *found.groups()) for text in texts if (found := _PLAIN.fullmatch(text))]
    ratios = [(text, *found.groups()) for text in texts if (found := _RATIO.fullmatch(text))]
    known = [*plain, *((text, letter, step, "==", "0") for text, letter, step in ratios)]
    implied = {
        text
        for text, letter, *condition in plain
        for by, same, *other in known
        if text != by and letter == same and _implies(condition, other)
    }
    return _AND.join(text for text in texts if text not in implied) or None


def divisors_in(conditions: Iterable[str], letter: str) -> Iterator[str]:
    """Yield what has to divide a letter by conditions as ``D % A == 0``: ``A``."""
    for condition in conditions:
        whole, sign, divisor = condition.removesuffix(" == 0").partition(" % ")
        if sign and whole == letter:
            yield divisor


def is_met(condition: str, values: Mapping[str, int]) -> bool:
    """Tell whether values meet one condition.

    A remainder of a division by 0 meets none, nor of one by what does not come out even.

    Raises:
        FormulaError: the text is no condition, or a letter in it has no value.
    """
    left, divisor, sign, right = _parts(condition)
    value = evaluate(left, values)
    if divisor:
        try:
            value %= evaluate(divisor, values)
        except (UnevenDivision, ZeroDivisionError):
            return False
    return _SIGNS[sign](value, evaluate(right, values))


def holds_in(domain: str | None, values: Mapping[str, int]) -> bool:
    """Tell whether values are inside of a domain.

    Raises:
        FormulaError: the text is no domain, or a letter in it has no value.
    """
    return all(is_met(condition, values) for condition in conditions_of(domain))


def letters_in(domain: str | None) -> frozenset[str]:
    """Return the letters that a domain is about.

    Raises:
        FormulaError: the text is no domain.
    """
    parts = (
        (left, divisor or "0", right)
        for left, divisor, _, right in map(_parts, conditions_of(domain))
    )
    return frozenset[str]().union(*(letters_of(text) for some in parts for text in some))


def _implies(one: Sequence[str | None], other: Sequence[str | None]) -> bool:
    """Tell whether a letter that meets the other condition, of value or multiples, meets one."""
    divisor, sign, value = other
    number = int(value or 0)
    if divisor is None and sign == "==":
        return is_met(f"{number}{f' % {one[0]}' if one[0] else ''} {one[1]} {one[2]}", {})
    if divisor is None or one[0] is None:
        return False
    return (sign, number) == (one[1], int(one[2] or 0)) and int(divisor) % int(one[0]) == 0


def _parts(condition: str) -> tuple[str, str | None, str, str]:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise FormulaError(f"not a condition: {condition!r}")
    left, divisor, sign, right = found.groups()
    return left, divisor, sign, right
