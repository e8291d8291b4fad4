"""What values have to obey, so that no figure is shown for a model that cannot be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bertviewer.core.configuration import position_limit
from bertviewer.core.what_if.sheet import Sheet

Rule = Literal["positive", "divides", "proportion", "even", "size", "positions", "equal"]

_MOST_TRIES = 2_000
_TOKENS = ("S", "S_d")


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that values break.

    Attributes:
        rule: ``positive``: a letter is below 1. ``divides``: the first letter does not divide the
            second. ``proportion``: the first cannot stay in proportion to the second. ``even``: a
            ``//`` of ``formula`` leaves a remainder. ``size``: ``formula`` gives a dimension below
            1. ``positions``: more tokens than the model has positions for. ``equal``: two widths
            are equal that were different in all models that formulas were proven on.
        letters: the letters that it is about, those at fault first.
        numbers: their values, the real ones for ``proportion``; the room for ``positions``, the
            outcome for ``size``.
        formula: the formula, where there is one.
    """

    rule: Rule
    letters: tuple[str, ...]
    numbers: tuple[int, ...]
    formula: str = ""

    @property
    def is_warning(self) -> bool:
        """Whether figures can be given all the same."""
        return self.rule == "positions"


class ScenarioError(ValueError):
    """No model has these values; ``problems`` says why."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(", ".join(f"{problem.rule} {problem.letters}" for problem in problems))
        self.problems = problems


def broken_rules(sheet: Sheet, values: Mapping[str, int]) -> tuple[Problem, ...]:
    """Return what these values break, as far as it shows without evaluating formulas."""
    below = [letter for letter, value in values.items() if value < 1]
    if below:
        return tuple(Problem("positive", (letter,), (values[letter],)) for letter in below)
    return (
        *(
            Problem("divides", (part, whole), (values[part], values[whole]))
            for part, whole in sheet.divisions
            if values[whole] % values[part]
        ),
        *_proportions(sheet, values),
        *_equal_widths(sheet, values),
        *_long_sentences(sheet, values),
    )


def next_value(sheet: Sheet, values: Mapping[str, int], letter: str, step: int) -> int:
    """Return the nearest value of a letter in a direction that breaks no rule of its own.

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
    for value in range(now + step, max(now + step * _MOST_TRIES, 0), step):
        tried = {**values, letter: value}
        if all(tried[whole] % tried[part] == 0 for part, whole in rules):
            return value
    return max(now + step, 1)


def _proportions(sheet: Sheet, values: Mapping[str, int]) -> Iterator[Problem]:
    real = sheet.values
    for symbol in sheet.followers:
        letter, variable = symbol.letter, symbol.variable
        if values[letter] * real[variable] != real[letter] * values[variable]:
            yield Problem("proportion", (letter, variable), (real[letter], real[variable]))


def _equal_widths(sheet: Sheet, values: Mapping[str, int]) -> Iterator[Problem]:
    """Refuse embeddings as wide as the hidden states where they are not so in the model.

    ELECTRA leaves the projection between them out then; no formula knows of that.
    """
    keys = {symbol.letter: symbol.key for symbol in sheet.symbols}
    if (
        keys.get("E") == "embedding_size"
        and "D" in keys
        and sheet.values["D"] != sheet.values["E"]
        and values["D"] == values["E"]
    ):
        yield Problem("equal", ("E", "D"), (values["E"], values["D"]))


def _long_sentences(sheet: Sheet, values: Mapping[str, int]) -> Iterator[Problem]:
    longest = next((symbol for symbol in sheet.symbols if symbol.letter == "L"), None)
    if longest is None:
        return
    room = position_limit({**sheet.architecture.config, longest.key: values["L"]})
    for letter in _TOKENS:
        if letter in values and room is not None and values[letter] > room:
            yield Problem("positions", (letter, "L"), (values[letter], room))
