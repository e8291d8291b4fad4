"""Texts of the What-if tab: violated conditions, memory sizes, differences."""

from collections.abc import Sequence

from bertviewer.core.expressions.evaluation import split_conditions
from bertviewer.core.schema.cost_texts import FEW_BYTES
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.what_if.scenario import Figure
from bertviewer.core.what_if.sheet import Problem
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

_TEXTS = {
    "positive": QT_TRANSLATE_NOOP("what_if", "{0} must be at least 1."),
    "divides": QT_TRANSLATE_NOOP(
        "what_if", "{1} must be divisible by {0}: {3} is not a multiple of {2}."
    ),
    "domain": QT_TRANSLATE_NOOP("what_if", "The formulas are valid only if {0}; here {1}."),
    "even": QT_TRANSLATE_NOOP("what_if", "{formula} is not an integer for {values}."),
    "size": QT_TRANSLATE_NOOP("what_if", "{formula} is a size and cannot be {outcome}."),
    "positions": QT_TRANSLATE_NOOP(
        "what_if", "{0} = {2} exceeds the model’s maximum of {3} tokens."
    ),
}


def problems_text(problems: Sequence[Problem]) -> str:
    """Return one sentence for each distinct problem."""
    return " ".join(dict.fromkeys(map(problem_text, problems)))


def problem_text(problem: Problem) -> str:
    """Return a sentence with the symbols and their values."""
    numbers = [f"{number:,}" for number in problem.numbers]
    text = translate("what_if", _TEXTS[problem.rule])
    pairs = zip(problem.names, numbers, strict=False)
    values = ", ".join(f"{name} = {number}" for name, number in pairs)
    if problem.rule == "domain":
        return text.format(condition_text(problem.formula), values)
    if problem.rule == "even":
        return text.format(formula=readable(problem.formula), values=values)
    if problem.rule == "size":
        return text.format(formula=readable(problem.formula), outcome=numbers[0])
    return text.format(*problem.names, *numbers)


def domain_text(domain: str) -> str:
    """Return the conditions of a domain as text."""
    both = translate("what_if", "{0} and {1}")
    first, *others = map(condition_text, split_conditions(domain))
    for other in others:
        first = both.format(first, other)
    return first


def condition_text(condition: str) -> str:
    """Return ``D is divisible by A``, ``E ≠ D``."""
    whole, sign, part = condition.removesuffix(" == 0").partition(" % ")
    if sign and condition.endswith(" == 0"):
        text = translate("what_if", "{0} is divisible by {1}")
        return text.format(readable(whole), readable(part))
    for sign, symbol in (("==", "="), ("!=", "≠"), (">=", "≥"), ("<=", "≤")):
        condition = condition.replace(f" {sign} ", f" {symbol} ")
    return readable(condition)


def bytes_text(size: int) -> str:
    """Return a size in bytes, MB (10^6 bytes), or GB from 10 GB on."""
    if size < FEW_BYTES:
        return translate("what_if", "{0} bytes").format(f"{size:,}")
    if size >= 10**10:
        return f"{size / 1e9:,.2f} GB"
    return f"{size / 1e6:,.2f} MB"


def ratio_text(figure: Figure) -> str:
    """Return ``× 3.06``, "" if nothing changes, or that no formula is known."""
    if figure.is_fixed:
        return translate("what_if", "fixed (no formula)")
    if figure.ratio is None or not figure.difference:
        return ""
    digits = ".0f" if figure.ratio >= 1000 else ".2f" if figure.ratio >= 0.01 else ".2g"
    return f"× {figure.ratio:,{digits}}"


def difference_text(figure: Figure) -> str:
    """Return ``+225,659,648``, ``−12`` or ``0``."""
    sign = "+" if figure.difference > 0 else "−" if figure.difference < 0 else ""
    return f"{sign}{abs(figure.difference):,}"
