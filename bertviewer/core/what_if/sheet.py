"""All formulas of one architecture, parsed once, and the rules for other values."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from bertviewer.core.expressions.evaluation import (
    UnevenDivision,
    evaluate,
    is_met,
    names_in,
    names_in_conditions,
    split_conditions,
)
from bertviewer.core.expressions.polynomials import Relation, relations
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.length_limits import position_table_length

_HEADS = ("A", "A_e", "A_d")
# With one of these keys the size of a head is independent, not D/A.
_HEAD_SIZE = re.compile(r"head_dim|head_size|d_head|d_kv|kv_channels")
_FEED_FORWARD = ("I", "I_e", "I_d")

Rule = Literal["positive", "divides", "domain", "even", "size", "positions"]


class Problem(Struct, frozen=True):
    """A rule that values break.

    Attributes:
        rule: ``positive``: a symbol is below 1. ``divides``: the first symbol does not divide the
            second. ``domain``: the condition ``formula`` of formulas is not met. ``even``: a ``//``
            of ``formula`` leaves a remainder. ``size``: ``formula`` gives a dimension below 1.
            ``positions``: more tokens than the model has positions for.
        names: the symbols in it, wrong ones first.
        numbers: their values; for ``positions`` also the limit, for ``size`` the dimension.
        formula: the formula or condition, if any.
    """

    rule: Rule
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    formula: str = ""

    @classmethod
    def of(cls, rule: Rule, formula: str, values: Mapping[str, int], *outcome: int) -> "Problem":
        """Return the problem of a formula or condition, with its symbols' values."""
        names = tuple(sorted(names_in(formula)))
        return cls(rule, names, outcome or tuple(values[x] for x in names), formula)

    @property
    def is_warning(self) -> bool:
        """Whether figures are still right."""
        return self.rule == "positions"


class ScenarioError(ValueError):
    """There is no model with these values, for the reasons in ``problems``."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(", ".join(f"{problem.rule} {problem.names}" for problem in problems))
        self.problems = problems


class Sheet(Struct, frozen=True):
    """An architecture's distinct formulas, with their values for the real model.

    Attributes:
        architecture: the model.
        symbols: those of the configuration, then those of the inputs.
        values: their values in the real model and for the default inputs.
        free: the symbols that can be changed, as a formula or condition contains them.
        numbers: the value of each formula at ``values``.
        sizes: the formulas that are dimensions.
        stacks: the symbol of the length of each list of layers, by path.
        conditions: all conditions that must be met for the figures to be right.
        divisions: pairs of symbols of which the first must divide the second.
        multiples: the feed-forward widths that are multiples of the hidden state's.
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
        """Collect an architecture's formulas; some milliseconds for hundreds of modules.

        Raises:
            FormulaError: a symbol in a formula has no value.
        """
        costs, cache = architecture.costs, architecture.kv_cache
        # Without costs, no figure depends on the symbols of the inputs.
        symbols = (*architecture.symbols, *(costs.symbols if costs and not costs.reason else ()))
        values = {symbol.name: symbol.value for symbol in symbols}
        modules = costs.modules.values() if costs else ()
        formulas = {node.count_formula for node in architecture.modules}
        formulas |= {it.macs for it in modules if it.macs}
        shapes = [tensor.symbolic_shape for tensor in architecture.parameters]
        shapes += (shape for it in modules for shape in (it.input_shape, it.output_shape))
        sizes = frozenset(size for shape in shapes for size in shape or ())
        domains = (node.domain for node in architecture.modules)
        conditions = tuple(dict.fromkeys(text for it in domains for text in split_conditions(it)))
        known = frozenset(cache.names if cache else ()).union(*map(names_in_conditions, conditions))
        return cls(
            architecture,
            symbols,
            values,
            frozenset(s.name for s in symbols if not s.key or s.variable or s.name in known),
            {formula: evaluate(formula, values) for formula in formulas | sizes},
            sizes,
            dict(_stacks(architecture, values)),
            conditions,
            tuple(_divisions(architecture, values)),
            tuple(_multiples(symbols)),
        )

    @property
    def has_formulas(self) -> bool:
        """Whether any formula contains a symbol of the configuration."""
        return any(symbol.key and symbol.name in self.free for symbol in self.symbols)

    def broken_rules(self, values: Mapping[str, int]) -> tuple[Problem, ...]:
        """Return the rules that values break, without evaluating formulas."""
        # A number that is 0 in the real model may stay 0.
        below = [x for x, value in values.items() if value < min(1, self.values.get(x, 1))]
        if below:
            return tuple(Problem("positive", (name,), (values[name],)) for name in below)
        problems = [
            Problem("divides", (part, whole), (values[part], values[whole]))
            for part, whole in self.divisions
            if values[whole] % values[part]
        ]
        divisions = {f"{whole} % {part} == 0" for part, whole in self.divisions}
        problems += (
            Problem.of("domain", condition, values)
            for condition in self.conditions
            if condition not in divisions and not is_met(condition, values)
        )
        room = position_table_length(self.architecture)
        if room is not None and "L" in values:
            room += values["L"] - self.values["L"]
            problems += (
                Problem("positions", (name, "L"), (values[name], room))
                for name in ("S", "S_d")
                if values.get(name, 0) > room
            )
        return tuple(problems)


def _stacks(architecture: Architecture, values: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the lists to which a symbol that grows by 1 adds one block like the last."""
    for parent in architecture.modules:
        children = architecture.children(parent.path)
        if not children or any(child.name != str(i) for i, child in enumerate(children)):
            continue
        block, count = children[-1], parent.count_formula
        for name in names_in(count) - names_in(block.count_formula):
            try:
                sizes = [evaluate(count, {**values, name: values[name] + i}) for i in range(3)]
            except UnevenDivision:
                continue
            grown = [size - sizes[0] for size in sizes]
            if block.parameters and grown == [0, block.parameters, 2 * block.parameters]:
                yield parent.path, name


def _divisions(architecture: Architecture, values: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield which symbols must divide which, as in the real model: heads their width."""
    pairs = [("A_kv", "A")]
    config = architecture.config.items()
    if not any(_HEAD_SIZE.search(key) and isinstance(value, int) for key, value in config):
        pairs += [(heads, "D") for heads in _HEADS]
    for part, whole in pairs:
        if part in values and whole in values and values[whole] % values[part] == 0:
            yield part, whole


def _multiples(symbols: tuple[Symbol, ...]) -> Iterator[Relation]:
    """Yield the relations that a scenario can keep, such as I = 4*D, between variables."""
    own = {symbol.name for symbol in symbols if symbol.variable == symbol.name}
    for relation in relations(symbols):
        if relation.name in own.intersection(_FEED_FORWARD) and "D" in own:
            yield relation
