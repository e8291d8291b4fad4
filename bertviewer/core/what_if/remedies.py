"""The nearest good value of each letter at fault, for values that no model can have."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bertviewer.core.frozen import frozen
from bertviewer.core.what_if.rules import Problem, ScenarioError, broken_rules
from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario

MOST = 3
_AROUND, _BEYOND = 1_500, 16
"""Values that are tried on both sides of a letter's own, and from other numbers of a problem on."""


@frozen
class Remedy:
    """A letter, and the value of it with which all is well."""

    letter: str
    value: int


def remedies(scenario: Scenario, problems: Sequence[Problem]) -> tuple[Remedy, ...]:
    """Return what mends a scenario; first the letters that nobody has changed."""
    sheet, kept = scenario.sheet, {multiple.letter for multiple in scenario.kept}
    free = {symbol.letter for symbol in sheet.symbols if sheet.is_free(symbol)} - kept
    letters = dict.fromkeys(letter for problem in problems for letter in problem.letters)
    numbers = tuple(dict.fromkeys(number for problem in problems for number in problem.numbers))
    values = scenario.values
    found = []
    for letter in sorted(free & letters.keys(), key=[*letters].index):
        for value in _near(values[letter], numbers):
            changed = {**scenario.changed, letter: value}
            is_possible = not broken_rules(sheet, {**values, letter: value})
            if is_possible and _is_good(replace(scenario, changed=changed)):
                found.append(Remedy(letter, value))
                break
    return tuple(sorted(found, key=lambda remedy: remedy.letter in scenario.changed)[:MOST])


def _near(now: int, numbers: Sequence[int]) -> Iterator[int]:
    """Yield values from the nearest on, and then those that others would have to fit."""
    for step in range(1, _AROUND):
        yield now + step
        if now > step:
            yield now - step
    for number in numbers:
        yield from range(max(number, 1), number + _BEYOND)


def _is_good(scenario: Scenario) -> bool:
    try:
        return not evaluate_scenario(scenario).warnings
    except (ScenarioError, ValueError):
        return False
