"""Values that are suggested: the next one, the nearest good ones, and those of the presets."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.presets import PRESETS, find_preset
from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario
from bertviewer.core.what_if.sheet import Problem, ScenarioError, Sheet

_MOST_REMEDIES = 3
_AROUND, _BEYOND = 1_500, 16
"""Values that are tried on both sides of a letter's own, and from other numbers of a problem on."""
_MOST_STEPS = 2_000


def next_value(sheet: Sheet, values: Mapping[str, int], letter: str, step: int) -> int:
    """Return the nearest value of a letter in a direction that breaks no rule about it.

    Args:
        sheet: whose rules.
        values: all letters' values now.
        letter: the letter to move.
        step: 1 upwards, -1 downwards.

    Returns:
        The next divisor for a number of heads, the next multiple of it for a width, the next
        number for everything else, or where none is near; the value itself at the bottom.
    """
    now = values[letter]
    rules = [pair for pair in sheet.divisions if letter in pair]
    for value in range(now + step, max(now + step * _MOST_STEPS, 0), step):
        tried = {**values, letter: value}
        if all(tried[whole] % tried[part] == 0 for part, whole in rules):
            return value
    return max(now + step, 1)


def remedies(scenario: Scenario, problems: Sequence[Problem]) -> dict[str, int]:
    """Return the nearest good value by letter at fault, first those that nobody has changed."""
    free = scenario.sheet.free - {relation.letter for relation in scenario.kept}
    letters = dict.fromkeys(letter for problem in problems for letter in problem.letters)
    numbers = tuple(dict.fromkeys(number for problem in problems for number in problem.numbers))
    values = scenario.values
    found = {}
    for letter in filter(free.__contains__, letters):
        for value in _near(values[letter], numbers):
            changed = {**scenario.changed, letter: value}
            is_possible = not scenario.sheet.broken_rules({**values, letter: value})
            if is_possible and _is_good(replace(scenario, changed=changed)):
                found[letter] = value
                break
    ordered = sorted(found, key=scenario.changed.__contains__)
    return {letter: found[letter] for letter in ordered[:_MOST_REMEDIES]}


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


def preset_sizes(sheet: Sheet) -> dict[str, dict[str, int]]:
    """Return by preset the letters' values that make the open model as large as it.

    Only presets of the same ``model_type`` are in it, and of these only those whose sizes the
    formulas can follow, and which differ from the open model.

    Raises:
        UserError: a preset's file cannot be read.
    """
    symbols = sheet.architecture.symbols
    found = {}
    for preset in PRESETS:
        path = find_preset(preset.name)
        config = {} if path is None else read_configuration(path)
        if config.get("model_type") != sheet.architecture.config.get("model_type"):
            continue
        theirs = {symbol.key: symbol.value for symbol in symbols_of(config)}
        wanted = {s.letter: theirs.get(s.key, s.value) for s in symbols}
        changed = {x: wanted[x] for x in wanted if x in sheet.free and wanted[x] != sheet.values[x]}
        if changed and wanted.items() <= Scenario(sheet, changed).values.items():
            found[preset.name] = changed
    return found
