"""Models with one or two numbers of the configuration changed, which formulas are fitted to.

A model accepts only some values (a width that its heads divide, for example), so each change is
tried with several. A number that cannot be changed stays a plain number in every formula.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.expressions.letters import Quantity
from bertviewer.core.expressions.symbols import Symbol, is_standard, is_width, quantity_of
from bertviewer.core.symbolic.fitting import symbols_to_pair
from bertviewer.core.symbolic.models import (
    Change,
    ModelBuilder,
    ModelSizes,
    Values,
    blanked,
    owners,
    refused_items,
)
from bertviewer.core.util.budget import OverBudget

FEW_LAYERS = (2, 3, 4, 6)
"""Depths of the models that are observed: enough to have every kind of layer, and fast."""
GROUP, GROUPS = 8, 16
"""Numbers that are expected to change nothing are changed so many at once, or in so many groups."""
PARTNERS = 6
"""The most other numbers that are tried as the one that has to change in proportion."""
PAIRS = 60
"""The most pairs of numbers that are changed together."""


class Variable(Struct, frozen=True):
    """A number that can be changed: one symbol, or several that only change in proportion."""

    symbols: tuple[Symbol, ...]

    @property
    def letter(self) -> str:
        """The symbol that formulas use."""
        return self.symbols[0].letter

    @property
    def quantity(self) -> Quantity:
        """What it counts, which says how it may be changed."""
        return quantity_of(self.symbols[0])

    def at(self, value: int, values: Values) -> Change | None:
        """Return all its symbols' values where the first one's is ``value``.

        ``None`` where one of them would not be a whole number in proportion to ``values``.
        """
        start = values[self.letter]
        if any(values[symbol.letter] * value % start for symbol in self.symbols):
            return None
        return {s.letter: values[s.letter] * value // start for s in self.symbols}


Points = tuple[tuple[int, ModelSizes], ...]
"""Values of one variable, and the model built with each."""


class Observations(Struct, frozen=True):
    """Models with one or two numbers changed.

    Attributes:
        base: the model that changes start from: the real one, with few layers if possible.
        values: the symbols' values in ``base``.
        variables: the numbers that could be changed.
        seen: by variable, the models with it alone changed.
        pairs: by two variables, their values and the model with both changed, where one at a time
            was not enough.
        mismatches: changes of one number that give other modules or tensors, such as the
            projections that OPT gains where its embeddings and hidden states differ in width.
    """

    base: ModelSizes
    values: Values
    variables: tuple[Variable, ...]
    seen: Mapping[str, Points] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], tuple[int, int, ModelSizes]] = field(default_factory=dict)
    mismatches: tuple[Change, ...] = ()

    def is_depth(self, symbol: Symbol) -> bool:
        """Return whether a symbol is a number of layers, or was seen to change one of modules."""
        points = self.seen.get(symbol.letter, ())
        is_seen = any(model.lengths != self.base.lengths for _, model in points)
        return is_seen or quantity_of(symbol) == "layers"

    def variable_of(self, letter: str) -> str:
        """Return the variable that a symbol belongs to, empty if it cannot be changed."""
        for variable in self.variables:
            if any(symbol.letter == letter for symbol in variable.symbols):
                return variable.letter
        return ""

    def sizes(self, name: str, axis: int) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return one dimension of a tensor for each change of one variable."""
        return {
            letter: tuple((value, model.shapes[name][axis]) for value, model in points)
            for letter, points in self.seen.items()
        }


def observe(builder: ModelBuilder, real: ModelSizes, *, every_kind: bool = False) -> Observations:
    """Change one number at a time and note the models.

    Where a number cannot be changed alone, another is changed with it in proportion: ELECTRA gains
    a projection as soon as its embeddings and hidden states differ in width.

    Args:
        builder: builds the models.
        real: the model that is to be explained.
        every_kind: whether the model with few layers must have every kind of layer of ``real``.
    """
    base, values = _base(builder, real, every_kind=every_kind)
    found: dict[Variable, Points] = {}
    mismatches: list[Change] = []
    unused = _unused(builder, base, values)
    refused: list[Symbol] = []
    for symbol in builder.symbols:
        variable = Variable((symbol,))
        if symbol.letter in unused:
            found[variable] = ((unused[symbol.letter], base),)
        elif points := _change_alone(builder, variable, base, values, mismatches):
            found[variable] = points
        else:
            refused.append(symbol)
    tied: set[Symbol] = set()
    # What is tied is written with the width of the hidden state, where that is one of them.
    for symbol in sorted(refused, key=lambda s: not is_width(s)):
        others = [s for s in refused if s not in tied and s is not symbol]
        for variable in () if symbol in tied else _ties(symbol, others, values):
            if points := _change_alone(builder, variable, base, values, mismatches):
                found[variable] = points
                tied.update(variable.symbols)
                break
    seen = {variable.letter: points for variable, points in found.items()}
    alone = Observations(base, values, tuple(found), seen, mismatches=tuple(mismatches))
    return replace(alone, pairs=_change_pairs(builder, alone))


def _base(
    builder: ModelBuilder, real: ModelSizes, *, every_kind: bool
) -> tuple[ModelSizes, dict[str, int]]:
    """Build the model that changes start from, with few layers if it is the real one but shorter.

    With ``every_kind`` it has a tensor like each of the real model's.
    """
    values = builder.values
    # No entry can be left out of a list that has a symbol for each, so its depth stays.
    entries = Counter(_part_of(s) for s in builder.symbols if s.key.rpartition(".")[2].isdigit())
    lists = {(place.rpartition(".")[0], length) for place, length in entries.items()}
    depths = {
        s.letter: s.value
        for s in builder.symbols
        if quantity_of(s) == "layers" and (_part_of(s), s.value) not in lists
    }
    kinds = _kinds(real) if every_kind else frozenset()

    def shorter(layers: Values) -> ModelSizes | None:
        model = builder.variant({**values, **layers})
        if model is None or model.pattern != real.pattern:
            return None
        return model if kinds <= _kinds(model) else None

    for few in FEW_LAYERS:
        layers = {letter: min(few, value) for letter, value in depths.items()}
        if layers == depths:
            return real, values
        if (model := shorter(layers)) is not None:
            return model, values | layers
    found, cut = real, dict[str, int]()
    for letter, value in depths.items():
        tried = {**cut, letter: min(FEW_LAYERS[0], value)}
        if value > FEW_LAYERS[0] and (model := shorter(tried)) is not None:
            found, cut = model, tried
    return found, values | cut


def _part_of(symbol: Symbol) -> str:
    return symbol.key.rpartition(".")[0]


def _kinds(model: ModelSizes) -> frozenset[object]:
    tied = model.first_names
    return frozenset((blanked(name), shape, name in tied) for name, shape in model.shapes.items())


def _unused(builder: ModelBuilder, base: ModelSizes, values: Values) -> dict[str, int]:
    """Return the numbers that change nothing even many at once, with values they were tried at."""
    found: dict[str, int] = {}

    def changes_nothing(some: Sequence[Symbol]) -> bool:
        if len(some) < 2:
            return False
        # By different factors: an image and its patches doubled would give as many patches.
        changed = {s.letter: values[s.letter] * (2 + at % 2 * 2) for at, s in enumerate(some)}
        model = builder.variant({**values, **changed})
        if model is None or (model.modules, model.shapes) != (base.modules, base.shapes):
            return False
        found.update(changed)
        return True

    candidates = [s for s in builder.symbols if quantity_of(s) == "width" and not is_standard(s)]
    size = max(GROUP, len(candidates) // GROUPS)
    for at in range(0, len(candidates), size):
        list(refused_items(candidates[at : at + size], changes_nothing))
    return found


def _ties(symbol: Symbol, others: list[Symbol], values: Values) -> Iterator[Variable]:
    """Yield the symbol with others that it may have to change in proportion to."""
    quantity = quantity_of(symbol)
    if quantity not in ("width", "layers"):
        return
    value, part = values[symbol.letter], _part_of(symbol)
    equals = [
        other
        for other in others
        if quantity_of(other) == quantity
        and (other.value, values[other.letter]) == (symbol.value, value)
    ]
    for other in equals:
        yield Variable((symbol, other))
    if len(equals) > 1:
        yield Variable((symbol, *equals))
    if quantity == "layers":
        return
    if symbol.key.rpartition(".")[2].isdigit():
        yield Variable((symbol, *(s for s in others if _part_of(s) == part)))
    near = [
        other
        for other in others
        if other.value != symbol.value
        and quantity_of(other) in ("width", "heads")
        and _part_of(other) == part
        and not max(value, values[other.letter]) % min(value, values[other.letter])
    ]
    for other in near[:PARTNERS]:
        yield Variable((symbol, other))


def _change_alone(
    builder: ModelBuilder,
    variable: Variable,
    base: ModelSizes,
    values: Values,
    mismatches: list[Change],
) -> Points:
    """Build the model with two other values of one variable; one is enough if nothing changes.

    Changes that give other modules or tensors go to ``mismatches``.
    """
    start = values[variable.letter]
    tried = _values_to_try(variable, start)

    def accepted(some: Iterable[int]) -> Iterator[tuple[int, ModelSizes]]:
        for value in some:
            changed = variable.at(value, values)
            model = builder.variant({**values, **changed}) if changed else None
            if changed and model is not None:
                if model.extends(base):
                    yield value, model
                else:
                    mismatches.append(changed)

    points: list[tuple[int, ModelSizes]] = []
    for value, model in accepted(tried):
        points.append((value, model))
        if len(points) == 2 or model.shapes == base.shapes:
            break
        # What shrinks is divided, and models round: divisors of the value are better.
        if value > start and shrinks(base, model):
            smaller = tuple(islice(accepted(part for part in tried if part < start), 2))
            return smaller or tuple(points)
    return tuple(points)


def shrinks(base: ModelSizes, model: ModelSizes, sign: int = 1) -> bool:
    """Return whether a tensor is smaller in a changed model; larger with a ``sign`` of -1."""
    return any(
        sign * size < sign * old
        for name, shape in base.shapes.items()
        for size, old in zip(model.shapes[name], shape, strict=True)
    )


def _values_to_try(variable: Variable, value: int) -> list[int]:
    """Return values to try instead of ``value``, the likeliest to be accepted first.

    Multiples keep what divided the value, parts what it divided. Powers of two come first: some
    models round instead of refusing.
    """
    multiples = [value * factor for factor in (2, 4, 3, 5)]
    parts = [value // part for part in (2, 3, 4, 5, 7) if value % part == 0]
    if variable.quantity == "layers":
        # With a list that has an entry for each layer, the model cannot be longer.
        return [value + 1, value + 2, value * 2, *range(value - 1, max(value - 3, 0), -1)]
    if variable.quantity == "heads":
        return [*parts, *multiples]
    return multiples[:2] if len(variable.symbols) > 1 else [*multiples, *parts]


def _change_pairs(
    builder: ModelBuilder, alone: Observations
) -> dict[tuple[str, str], tuple[int, int, ModelSizes]]:
    """Change two variables at a time where a size depends on both and is not their product."""
    wanted: dict[tuple[str, str], None] = {}
    known: set[object] = set()
    for name, shape in alone.base.shapes.items():
        for axis, size in enumerate(shape):
            sizes = alone.sizes(name, axis)
            moves = (size, *((k, v) for k, v in sizes.items() if any(s != size for _, s in v)))
            if len(moves) > 2 and moves not in known:
                known.add(moves)
                wanted |= dict.fromkeys(combinations(symbols_to_pair(size, alone.values, sizes), 2))
    by_letter = {variable.letter: variable for variable in alone.variables}
    pairs = {}
    for two in list(wanted)[:PAIRS]:
        # What is refused with one value may be accepted with another.
        for points in product(*(alone.seen[letter] for letter in two)):
            changed = dict(alone.values)
            for letter, (value, _) in zip(two, points, strict=True):
                changed |= by_letter[letter].at(value, alone.values) or {}
            model = builder.variant(changed)
            if model is not None and model.extends(alone.base):
                pairs[two] = (points[0][0], points[1][0], model)
                break
    return pairs


def fixed_numbers(
    builder: ModelBuilder,
    start: ModelSizes,
    numbers: Sequence[Symbol],
    values: Values = MappingProxyType({}),
) -> dict[str, dict[str, None]]:
    """Return which formulas need which of some numbers to keep their values, by name.

    These are ids, places of layers, numbers that are 0, and depths. They are changed by one, all
    of them at once, and fewer where a model differs or refuses them.

    Args:
        builder: builds the models.
        start: the model that changes start from.
        numbers: those that are changed.
        values: the values of other symbols in ``start`` that are not the real ones.

    Raises:
        OverBudget: a limit was reached, and not all numbers are among the builder's symbols.
    """
    every = replace(builder, symbols=tuple(dict.fromkeys((*builder.symbols, *numbers))))
    others = {(x, value) for x, value in values.items() if value != every.values[x]}
    wrong: list[Symbol] = []
    try:
        for by in (1, -1):

            def changes_nothing(some: Sequence[Symbol], by: int = by) -> bool:
                change = {s.letter: s.value + by for s in some}
                model = every.variant({**every.values, **values, **change})
                return model is not None and not _affected(start, model)

            wrong += refused_items((s for s in numbers if s.value + by >= 0), changes_nothing)
    except OverBudget:
        if not {*numbers} <= {*builder.symbols}:
            raise
        wrong += numbers  # the models that were built have to do
    found: dict[str, dict[str, None]] = {}
    for symbol in dict.fromkeys(wrong):
        models = [
            model
            for key, model in builder.built.items()
            if model and others <= key and dict(key - others).keys() == {symbol.letter}
        ]
        names = set[str]().union(*(_affected(start, model) for model in models))
        is_held = not models and symbol in builder.symbols
        for name in start.facts if is_held else sorted(names):
            found.setdefault(name, {})[f"{symbol.letter} == {symbol.value}"] = None
    return found


def _affected(real: ModelSizes, model: ModelSizes) -> set[str]:
    """Return the names that have another size in a changed model, and those that may in others.

    What one more changes in one layer, some more may change in another.
    """
    facts, now = real.facts, model.facts
    like = {blanked(name) for name in facts.keys() & now.keys() if now[name] != facts[name]}
    lists = {path for path, n in real.lengths.items() if model.lengths.get(path, 0) != n}
    return {
        path
        for name in facts
        if blanked(name) in like or not lists.isdisjoint((name, *owners(name)))
        for path in (name, *owners(name))
    }
