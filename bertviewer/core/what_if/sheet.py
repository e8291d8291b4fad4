"""All formulas of one architecture, read once, and the rules that other values have to obey.

No figure is shown for a model that cannot be.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from bertviewer.core.expressions.domains import conditions_of, is_met, letters_in
from bertviewer.core.expressions.evaluation import UnevenDivision, evaluate, letters_of
from bertviewer.core.expressions.grouping import Relation, relations
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.length_limits import table_room

_HEADS = ("A", "A_e", "A_d")
# With one of these the size of a head is a number of its own, and not D/A.
_HEAD_SIZE = re.compile(r"head_dim|head_size|d_head|d_kv|kv_channels")
_FEED_FORWARD = ("I", "I_e", "I_d")

Rule = Literal["positive", "divides", "domain", "even", "size", "positions"]


class Problem(Struct, frozen=True):
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


class Sheet(Struct, frozen=True):
    """An architecture's formulas, each text once, with what they give for the real model.

    Attributes:
        architecture: whose formulas they are.
        symbols: the letters that have a value: the configuration's, then a sentence's.
        values: their values in the real model, and in the sentence that figures start from.
        free: the letters that can be given another value: a formula or a condition has them.
        numbers: each formula, and what it gives at ``values``.
        sizes: those of the formulas that are the size of something in one direction.
        stacks: by path, the letter with which a list of layers becomes longer and shorter.
        conditions: those of all domains, of which each has to be met for the figures to be right.
        divisions: pairs of letters of which the first has to divide the second.
        multiples: the feed-forward widths that are whole multiples of the hidden state's.
    """

    architecture: Architecture
    symbols: tuple[Symbol, ...]
    values: Mapping[str, int]
    free: frozenset[str]
    numbers: Mapping[str, int]
    sizes: frozenset[str]
    stacks: Mapping[str, str]
    conditions: tuple[str, ...]
    divisions: tuple[tuple[str, str], ...]
    multiples: tuple[Relation, ...]

    @classmethod
    def of(cls, architecture: Architecture) -> "Sheet":
        """Read an architecture's formulas; some milliseconds for hundreds of modules.

        Raises:
            FormulaError: a formula names a letter that has no value.
        """
        costs, cache = architecture.costs, architecture.kv_cache
        # Where nothing is known of a forward pass, no figure follows a sentence's letters.
        symbols = (*architecture.symbols, *(costs.symbols if costs and not costs.reason else ()))
        values = {symbol.letter: symbol.value for symbol in symbols}
        modules = costs.modules.values() if costs else ()
        formulas = {node.count_formula for node in architecture.modules}
        formulas |= {it.macs for it in modules if it.macs}
        shapes = [tensor.symbolic_shape for tensor in architecture.parameters]
        shapes += (shape for it in modules for shape in (it.input_shape, it.output_shape))
        sizes = frozenset(size for shape in shapes for size in shape or ())
        domains = (node.domain for node in architecture.modules)
        conditions = tuple(dict.fromkeys(text for it in domains for text in conditions_of(it)))
        known = frozenset(cache.letters if cache else ()).union(*map(letters_in, conditions))
        return cls(
            architecture,
            symbols,
            values,
            frozenset(s.letter for s in symbols if not s.key or s.variable or s.letter in known),
            {formula: evaluate(formula, values) for formula in formulas | sizes},
            sizes,
            dict(_stacks(architecture, values)),
            conditions,
            tuple(_divisions(architecture, values)),
            tuple(_multiples(symbols)),
        )

    @property
    def has_formulas(self) -> bool:
        """Whether anything follows a letter of the configuration."""
        return any(symbol.key and symbol.letter in self.free for symbol in self.symbols)

    def broken_rules(self, values: Mapping[str, int]) -> tuple[Problem, ...]:
        """Return what these values break, as far as it shows without evaluating formulas."""
        # A number that is 0 in the real model may say that there is none of something.
        below = [x for x, value in values.items() if value < min(1, self.values.get(x, 1))]
        if below:
            return tuple(Problem("positive", (letter,), (values[letter],)) for letter in below)
        problems = [
            Problem("divides", (part, whole), (values[part], values[whole]))
            for part, whole in self.divisions
            if values[whole] % values[part]
        ]
        # Formulas are verified only where their conditions are met.
        divisions = {f"{whole} % {part} == 0" for part, whole in self.divisions}
        problems += (
            Problem.of("domain", condition, values)
            for condition in self.conditions
            if condition not in divisions and not is_met(condition, values)
        )
        room = table_room(self.architecture)
        if room is not None and "L" in values:
            room += values["L"] - self.values["L"]
            problems += (
                Problem("positions", (letter, "L"), (values[letter], room))
                for letter in ("S", "S_d")
                if values.get(letter, 0) > room
            )
        return tuple(problems)


def _stacks(architecture: Architecture, values: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Find the lists of which one more of a letter adds exactly one block like the last."""
    for parent in architecture.modules:
        children = architecture.children(parent.path)
        if not children or any(child.name != str(i) for i, child in enumerate(children)):
            continue
        block, count = children[-1], parent.count_formula
        for letter in letters_of(count) - letters_of(block.count_formula):
            try:
                sizes = [evaluate(count, {**values, letter: values[letter] + i}) for i in range(3)]
            except UnevenDivision:
                continue
            grown = [size - sizes[0] for size in sizes]
            if block.parameters and grown == [0, block.parameters, 2 * block.parameters]:
                yield parent.path, letter


def _divisions(architecture: Architecture, values: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield what has to divide what: the heads their width, as far as it holds in reality."""
    pairs = [("A_kv", "A")]
    config = architecture.config.items()
    if not any(_HEAD_SIZE.search(key) and isinstance(value, int) for key, value in config):
        pairs += [(heads, "D") for heads in _HEADS]
    for part, whole in pairs:
        if part in values and whole in values and values[whole] % values[part] == 0:
            yield part, whole


def _multiples(symbols: tuple[Symbol, ...]) -> Iterator[Relation]:
    """Yield what can be kept: each letter is its own variable, and the width is too."""
    own = {symbol.letter for symbol in symbols if symbol.variable == symbol.letter}
    for relation in relations(symbols):
        if relation.letter in own.intersection(_FEED_FORWARD) and "D" in own:
            yield relation
