"""Domains: the conditions under which a formula holds, as ``D % A == 0 and E != D``.

A domain is a Python expression, so that other programs can evaluate what is exported.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from bertviewer.core.expressions.evaluation import (
    COMPARISONS,
    FormulaError,
    UnevenDivision,
    evaluate,
    letters_of,
    program,
)

_AND: Final = " and "
_VALUE = re.compile(r"(\w+) == (\d+)")
_MULTIPLE = re.compile(r"(\w+) % (\d+) == 0")
_RATIO = re.compile(r"(\w+) == (\d+)\*\w+")


def conditions_of(domain: str | None) -> tuple[str, ...]:
    """Return the conditions of a domain, all of which have to be met; none for everywhere."""
    return tuple(domain.split(_AND)) if domain else ()


def joined(conditions: Iterable[str]) -> str | None:
    """Return the domain in which all conditions are met; ``None`` for none.

    Each is named once, and not where another says more: ``I % 384 == 0`` and not ``I % 3 == 0``.
    """
    texts = tuple(dict.fromkeys(conditions))
    implied = {text for text in texts for known in texts if text != known and _implies(known, text)}
    return _AND.join(text for text in texts if text not in implied) or None


@lru_cache(maxsize=65_536)
def _implies(known: str, text: str) -> bool:
    """Return whether a letter's value, or what it is a multiple of, meets another condition."""
    if value := _VALUE.fullmatch(known):
        return letters_of(text) == {value[1]} and is_met(text, {value[1]: int(value[2])})
    theirs = _MULTIPLE.fullmatch(known) or _RATIO.fullmatch(known)
    if theirs is None or (ours := _MULTIPLE.fullmatch(text)) is None or ours[1] != theirs[1]:
        return False
    return int(theirs[2]) % int(ours[2]) == 0


def is_met(condition: str, values: Mapping[str, int]) -> bool:
    """Return whether values meet one condition, as ``D % A == 0``, ``E != D`` or ``L >= 3``.

    Where a division leaves a remainder, or divides by 0, it is not met.

    Raises:
        FormulaError: the text is no condition, or a letter in it has no value.
    """
    if program(condition)[-1] not in COMPARISONS.values():
        raise FormulaError(f"not a condition: {condition!r}")
    try:
        return bool(evaluate(condition, values))
    except UnevenDivision:
        return False


def holds_in(domain: str | None, values: Mapping[str, int]) -> bool:
    """Return whether values are inside of a domain.

    Raises:
        FormulaError: the text is no domain, or a letter in it has no value.
    """
    return all(is_met(condition, values) for condition in conditions_of(domain))


def letters_in(domain: str | None) -> frozenset[str]:
    """Return the letters that a domain is about.

    Raises:
        FormulaError: the text is no domain.
    """
    return frozenset[str]().union(*map(letters_of, conditions_of(domain)))
