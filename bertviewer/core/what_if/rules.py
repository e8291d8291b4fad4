"""What values have to obey, so that no figure is shown for a model that cannot be."""

from collections.abc import Iterator, Mapping
from typing import Literal

from bertviewer.core.expressions.domains import is_met
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.frozen import frozen
from bertviewer.core.lengths.length_limits import table_room
from bertviewer.core.what_if.sheet import Sheet

Rule = Literal["positive", "divides", "domain", "even", "size", "positions"]


@frozen
class Problem:
    """A rule that values break.

    Attributes:
        rule: ``positive``: a letter is below 1. ``divides``: the first letter does not divide the
            second. ``domain``: the formulas hold only where ``formula``, a condition, is met.
            ``even``: a ``//`` of ``formula`` leaves a remainder. ``size``: ``formula`` gives a
            dimension below 1. ``positions``: more tokens than the model has positions for.
        letters: the letters that it is about, those at fault first.
        numbers: their values; the room for ``positions``, the outcome for ``size``.
        formula: the formula or condition, where there is one.
    """

    rule: Rule
    letters: tuple[str, ...]
    numbers: tuple[int, ...]
    formula: str = ""

    @classmethod
    def of(cls, rule: Rule, formula: str, values: Mapping[str, int], *outcome: int) -> "Problem":
        """Return the problem of a formula or condition, with its letters' values."""
        letters = tuple(sorted(letters_of(formula)))
        return cls(rule, letters, outcome or tuple(values[x] for x in letters), formula)

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
    # A number that is 0 in the real model may say that there is none of something.
    below = [x for x, value in values.items() if value < min(1, sheet.values.get(x, 1))]
    if below:
        return tuple(Problem("positive", (letter,), (values[letter],)) for letter in below)
    return tuple(_broken(sheet, values))


def _broken(sheet: Sheet, values: Mapping[str, int]) -> Iterator[Problem]:
    for part, whole in sheet.divisions:
        if values[whole] % values[part]:
            yield Problem("divides", (part, whole), (values[part], values[whole]))
    # Formulas are verified only where their conditions are met.
    divisions = {f"{whole} % {part} == 0" for part, whole in sheet.divisions}
    for condition in sheet.conditions:
        if condition not in divisions and not is_met(condition, values):
            yield Problem.of("domain", condition, values)
    room = table_room(sheet.architecture)
    if room is not None and "L" in values:
        room += values["L"] - sheet.values["L"]
        for letter in ("S", "S_d"):
            if values.get(letter, 0) > room:
                yield Problem("positions", (letter, "L"), (values[letter], room))
