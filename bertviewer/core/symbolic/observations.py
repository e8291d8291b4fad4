"""Models with one or two numbers of the configuration changed, and formulas fitted to them.

A model accepts only some values (a width that its heads divide, for example), so several are tried.
A number that cannot be changed stays a plain number in every formula.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.expressions.polynomials import Polynomial
from bertviewer.core.expressions.symbols import (
    DimensionKind,
    Symbol,
    dimension_kind,
    is_standard,
    is_width,
)
from bertviewer.core.symbolic.fitting import fit, symbols_to_pair, varying_names
from bertviewer.core.symbolic.models import (
    Change,
    ModelBuilder,
    ModelSizes,
    Values,
    refused_items,
    without_numbers,
)

FEW_LAYERS = (2, 3, 4, 6)
"""Depths of the observed models: enough for every kind of layer, and fast."""

GROUP, GROUPS = 8, 16
"""Numbers that probably change nothing are changed in groups of this size, or in so many groups."""

PARTNERS = 6
"""Limit of other numbers that are tried in proportion to one."""

PAIRS = 60
"""Limit of pairs of numbers that are changed together."""


class Variable(Struct, frozen=True):
    """A number that can be changed: one symbol, or several that change in proportion."""

    symbols: tuple[Symbol, ...]

    @property
    def name(self) -> str:
        """The symbol that formulas use."""
        return self.symbols[0].name

    @property
    def kind(self) -> DimensionKind:
        """What it counts."""
        return dimension_kind(self.symbols[0])

    def at(self, value: int, values: Values) -> Change | None:
        """Return its symbols' values if the first symbol's is ``value``.

        ``None`` if one of them would not be an integer in proportion to ``values``.
        """
        start = values[self.name]
        if any(values[symbol.name] * value % start for symbol in self.symbols):
            return None
        return {s.name: values[s.name] * value // start for s in self.symbols}


Points = tuple[tuple[int, ModelSizes], ...]
"""Values of one variable, each with the model."""


class Observations(Struct, frozen=True):
    """Models with one or two numbers changed.

    Attributes:
        base: the unchanged model: the real one, with few layers if possible.
        values: the symbols' values in ``base``.
        variables: the numbers that can be changed.
        seen: the models with one variable changed, by variable.
        pairs: values and the model with two variables changed, where one at a time does not
            determine a size.
        mismatches: changes of one number that lead to other modules or tensors, such as OPT's
            projections between embeddings and hidden states of different widths.
    """

    base: ModelSizes
    values: Values
    variables: tuple[Variable, ...]
    seen: Mapping[str, Points] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], tuple[int, int, ModelSizes]] = field(default_factory=dict)
    mismatches: tuple[Change, ...] = ()

    def is_depth(self, symbol: Symbol) -> bool:
        """Return whether a symbol is a number of layers, or changes the length of a list."""
        points = self.seen.get(symbol.name, ())
        is_seen = any(model.lengths != self.base.lengths for _, model in points)
        return is_seen or dimension_kind(symbol) == "layers"

    def variable_of(self, name: str) -> str:
        """Return the variable that a symbol belongs to, "" if it cannot be changed."""
        for variable in self.variables:
            if any(symbol.name == name for symbol in variable.symbols):
                return variable.name
        return ""

    def sizes(self, name: str, axis: int) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return one dimension of a tensor for each change of one variable."""
        return {
            variable: tuple((value, model.shapes[name][axis]) for value, model in points)
            for variable, points in self.seen.items()
        }


def observe(builder: ModelBuilder, real: ModelSizes, *, every_kind: bool = False) -> Observations:
    """Build models with one number changed at a time.

    A number that cannot be changed alone is changed in proportion to another: ELECTRA gains a
    projection as soon as its embeddings and hidden states differ in width.

    Args:
        builder: builds the models.
        real: the model with the real values.
        every_kind: whether ``base`` must have every kind of layer of ``real``.
    """
    base, values = _base(builder, real, every_kind=every_kind)
    found: dict[Variable, Points] = {}
    mismatches: list[Change] = []
    unused = _unused(builder, base, values)
    refused: list[Symbol] = []
    for symbol in builder.symbols:
        variable = Variable((symbol,))
        if symbol.name in unused:
            found[variable] = ((unused[symbol.name], base),)
        elif points := _change_alone(builder, variable, base, values, mismatches):
            found[variable] = points
        else:
            refused.append(symbol)
    grouped: set[Symbol] = set()
    # Of proportional numbers the width of the hidden state is the variable.
    for symbol in sorted(refused, key=lambda s: not is_width(s)):
        others = [s for s in refused if s not in grouped and s is not symbol]
        for variable in () if symbol in grouped else _proportional(symbol, others, values):
            if points := _change_alone(builder, variable, base, values, mismatches):
                found[variable] = points
                grouped.update(variable.symbols)
                break
    seen = {variable.name: points for variable, points in found.items()}
    alone = Observations(base, values, tuple(found), seen, mismatches=tuple(mismatches))
    return replace(alone, pairs=_change_pairs(builder, alone))


def _base(
    builder: ModelBuilder, real: ModelSizes, *, every_kind: bool
) -> tuple[ModelSizes, dict[str, int]]:
    """Build the model with few layers, if it equals the real one except for depths.

    With ``every_kind`` it has a tensor like each of the real model's.
    """
    values = builder.values
    # A list with a symbol for each entry keeps its length, and so does its depth.
    entries = Counter(_part_of(s) for s in builder.symbols if s.key.rpartition(".")[2].isdigit())
    lists = {(place.rpartition(".")[0], length) for place, length in entries.items()}
    depths = {s.name: s.value for s in builder.depths if (_part_of(s), s.value) not in lists}
    kinds = _kinds(real) if every_kind else frozenset()

    def shorter(layers: Values) -> ModelSizes | None:
        model = builder.variant({**values, **layers})
        if model is None or model.unnumbered != real.unnumbered:
            return None
        return model if kinds <= _kinds(model) else None

    for few in FEW_LAYERS:
        layers = {name: min(few, value) for name, value in depths.items()}
        if layers == depths:
            return real, values
        if (model := shorter(layers)) is not None:
            return model, values | layers
    found, cut = real, dict[str, int]()
    for name, value in depths.items():
        tried = {**cut, name: min(FEW_LAYERS[0], value)}
        if value > FEW_LAYERS[0] and (model := shorter(tried)) is not None:
            found, cut = model, tried
    return found, values | cut


def _part_of(symbol: Symbol) -> str:
    return symbol.key.rpartition(".")[0]


def _kinds(model: ModelSizes) -> frozenset[object]:
    tied = model.first_names
    return frozenset(
        (without_numbers(name), shape, name in tied) for name, shape in model.shapes.items()
    )


def _unused(builder: ModelBuilder, base: ModelSizes, values: Values) -> dict[str, int]:
    """Return the numbers without any effect, even together, with the values that were tried."""
    found: dict[str, int] = {}

    def changes_nothing(some: Sequence[Symbol]) -> bool:
        if len(some) < 2:
            return False
        # By different factors: doubling an image and its patches keeps the number of patches.
        changed = {s.name: values[s.name] * (2 + at % 2 * 2) for at, s in enumerate(some)}
        model = builder.variant({**values, **changed})
        if model is None or (model.modules, model.shapes) != (base.modules, base.shapes):
            return False
        found.update(changed)
        return True

    candidates = [s for s in builder.symbols if dimension_kind(s) == "width" and not is_standard(s)]
    size = max(GROUP, len(candidates) // GROUPS)
    for at in range(0, len(candidates), size):
        list(refused_items(candidates[at : at + size], changes_nothing))
    return found


def _proportional(symbol: Symbol, others: list[Symbol], values: Values) -> Iterator[Variable]:
    """Yield variables of a symbol and others to which it may be proportional."""
    kind = dimension_kind(symbol)
    if kind not in ("width", "layers"):
        return
    value, part = values[symbol.name], _part_of(symbol)
    equals = [
        other
        for other in others
        if dimension_kind(other) == kind
        and (other.value, values[other.name]) == (symbol.value, value)
    ]
    for other in equals:
        yield Variable((symbol, other))
    if len(equals) > 1:
        yield Variable((symbol, *equals))
    if kind == "layers":
        return
    if symbol.key.rpartition(".")[2].isdigit():
        yield Variable((symbol, *(s for s in others if _part_of(s) == part)))
    near = [
        other
        for other in others
        if other.value != symbol.value
        and dimension_kind(other) in ("width", "heads")
        and _part_of(other) == part
        and not max(value, values[other.name]) % min(value, values[other.name])
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
    """Build models with two other values of one variable; one is enough if nothing changes.

    Changes that lead to other modules or tensors are added to ``mismatches``.
    """
    start = values[variable.name]
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
        # A size that shrinks is a quotient, which models round: divisors are better.
        if value > start and shrinks(base, model):
            smaller = tuple(islice(accepted(part for part in tried if part < start), 2))
            return smaller or tuple(points)
    return tuple(points)


def shrinks(base: ModelSizes, model: ModelSizes, sign: int = 1) -> bool:
    """Return whether a tensor is smaller in a changed model, or larger with ``sign=-1``."""
    return any(
        sign * size < sign * old
        for name, shape in base.shapes.items()
        for size, old in zip(model.shapes[name], shape, strict=True)
    )


def _values_to_try(variable: Variable, value: int) -> list[int]:
    """Return values to try instead of ``value``, those that are likely to be accepted first.

    Powers of two come first, as some models round instead of refusing.
    """
    multiples = [value * factor for factor in (2, 4, 3, 5)]
    parts = [value // part for part in (2, 3, 4, 5, 7) if value % part == 0]
    if variable.kind == "layers":
        # With a list that has an entry for each layer, the model cannot be longer.
        return [value + 1, value + 2, value * 2, *range(value - 1, max(value - 3, 0), -1)]
    if variable.kind == "heads":
        return [*parts, *multiples]
    return multiples[:2] if len(variable.symbols) > 1 else [*multiples, *parts]


def _change_pairs(
    builder: ModelBuilder, alone: Observations
) -> dict[tuple[str, str], tuple[int, int, ModelSizes]]:
    """Change two variables at a time if a size depends on both and is not their product."""
    wanted: dict[tuple[str, str], None] = {}
    known: set[object] = set()
    for name, shape in alone.base.shapes.items():
        for axis, size in enumerate(shape):
            sizes = alone.sizes(name, axis)
            moves = (size, *((k, v) for k, v in sizes.items() if any(s != size for _, s in v)))
            if len(moves) > 2 and moves not in known:
                known.add(moves)
                wanted |= dict.fromkeys(combinations(symbols_to_pair(size, alone.values, sizes), 2))
    by_name = {variable.name: variable for variable in alone.variables}
    pairs = {}
    for two in list(wanted)[:PAIRS]:
        for points in product(*(alone.seen[name] for name in two)):
            changed = dict(alone.values)
            for name, (value, _) in zip(two, points, strict=True):
                changed |= by_name[name].at(value, alone.values) or {}
            model = builder.variant(changed)
            if model is not None and model.extends(alone.base):
                pairs[two] = (points[0][0], points[1][0], model)
                break
    return pairs


Shape = tuple[Polynomial, ...]


def fit_shapes(observed: Observations) -> dict[str, Shape]:
    """Return the shapes of which every dimension has a formula."""
    shapes = {}
    # Layers change in the same way.
    fitted: dict[object, Polynomial | None] = {}
    for name, shape in observed.base.shapes.items():
        dimensions: list[Polynomial] = []
        for axis, size in enumerate(shape):
            sizes = observed.sizes(name, axis)
            pairs = {
                two: (one, other, model.shapes[name][axis])
                for two, (one, other, model) in observed.pairs.items()
            }
            key = size, tuple(sizes.items()), tuple(pairs.items())
            if key not in fitted:
                fitted[key] = fit(size, observed.values, sizes, pairs)
            if (dimension := fitted[key]) is None:
                break
            dimensions.append(dimension)
        else:
            shapes[name] = tuple(dimensions)
    return shapes


def unfitted(observed: Observations, shapes: Mapping[str, Shape]) -> dict[str, list[str]]:
    """Return the tensors without a formula, with the symbols that change their shapes."""
    found = {}
    for name, shape in observed.base.shapes.items():
        if name not in shapes:
            varying = {
                x
                for axis, size in enumerate(shape)
                for x in varying_names(size, observed.sizes(name, axis))
            }
            found[name] = [x for x in observed.seen if x in varying]
    return found


def fit_repeats(observed: Observations) -> dict[str, Polynomial]:
    """Return the formulas of the lengths of lists of blocks that depend on a symbol."""
    repeats = {}
    for path, length in observed.base.lengths.items():
        seen = {
            name: tuple((value, model.lengths.get(path, 0)) for value, model in points)
            for name, points in observed.seen.items()
        }
        times = fit(length, observed.values, seen)
        if times is not None and times.symbols:
            repeats[path] = times
    return repeats
