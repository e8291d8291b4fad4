"""Experiments on a configuration: change one number at a time, and look.

A model accepts only some values (a width that its heads divide, say), so each change is tried with
several. A number that cannot be changed at all stays a plain number in every formula.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

from bertviewer.core.counting.fitting import letters_to_pair
from bertviewer.core.counting.fresh_models import fresh_models
from bertviewer.core.counting.observations import Misfit, Observations, Pair, Points, Variable
from bertviewer.core.counting.templates import resemblance
from bertviewer.core.counting.variants import ModelShapes, Values, VariantBuilder
from bertviewer.core.expressions.symbols import Symbol, is_standard, is_width, quantity_of

__all__ = ["Observations", "fresh_models", "observe"]

FEW_LAYERS = (2, 3, 4, 6)
"""Experiments use so many layers: enough to show every kind of layer, and fast."""

GROUP = 8
GROUPS = 16
"""So many numbers that seem to matter to nothing are tried at once, or in so many groups."""

PARTNERS = 6
"""So many other numbers are tried as the one that has to move in proportion."""

PAIRS = 60
"""So many pairs of numbers are changed together at most."""


def observe(variants: VariantBuilder, real: ModelShapes, every_kind: bool = False) -> Observations:
    """Change one number at a time and note the models that come out.

    Where a number cannot be changed alone, another is changed with it in proportion: ELECTRA gains
    a projection as soon as its embeddings and hidden states differ in width.

    Args:
        variants: builds the models.
        real: the model that is to be explained.
        every_kind: whether the model with few layers must have one like each layer of ``real``.
    """
    base, values = _start(variants, real, every_kind)
    variables: list[Variable] = []
    seen: dict[str, Points] = {}
    misfits: list[Misfit] = []
    idle = _idle(variants, base, values)
    refused: list[Symbol] = []
    for symbol in variants.symbols:
        variable = Variable((symbol,))
        points = (
            ((idle[symbol.letter], base),)
            if symbol.letter in idle
            else _change_alone(variants, variable, base, values, misfits)
        )
        if points:
            variables.append(variable)
            seen[variable.letter] = points
        else:
            refused.append(symbol)
    bound: set[str] = set()
    # What is tied is written with the width of the hidden state, where that is one of them.
    for symbol in sorted(refused, key=lambda s: not is_width(s)):
        others = [s for s in refused if s.letter not in bound | {symbol.letter}]
        for variable in () if symbol.letter in bound else _tied(symbol, others, values):
            points = _change_alone(variants, variable, base, values)
            if points:
                variables.append(variable)
                seen[variable.letter] = points
                bound.update(member.letter for member in variable.symbols)
                break
    alone = Observations(base, values, tuple(variables), seen, misfits=tuple(misfits))
    return replace(alone, pairs=_change_pairs(variants, alone))


def _start(
    variants: VariantBuilder, real: ModelShapes, every_kind: bool
) -> tuple[ModelShapes, dict[str, int]]:
    """Build the model that changes start from: with few layers if that only makes it shorter."""
    values = {symbol.letter: symbol.value for symbol in variants.symbols}
    depths = {
        s.letter: s.value
        for s in variants.symbols
        if quantity_of(s) == "layers" and s.value not in _lengths_of_lists(variants, s)
    }

    def shorter(layers: Values) -> ModelShapes | None:
        model = variants.variant({**values, **layers})
        if model is None or model.pattern != real.pattern:
            return None
        return model if not every_kind or resemblance(real, model) is not None else None

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


def _lengths_of_lists(variants: VariantBuilder, symbol: Symbol) -> set[int]:
    """Return the lengths of the lists beside a symbol that have a number of its own in each place.

    Each place is explained by its own letter, so none of them can be left out.
    """
    part = symbol.key.rpartition(".")[0]
    places = (
        s.key.rpartition(".")[0] for s in variants.symbols if s.key.rpartition(".")[2].isdigit()
    )
    lists = Counter(place for place in places if place.rpartition(".")[0] == part)
    return set(lists.values())


def _idle(variants: VariantBuilder, base: ModelShapes, values: Values) -> dict[str, int]:
    """Return the numbers that matter to nothing, each with a value that it was tried at.

    Many at once are made larger: where nothing moves, none of them matters. Standard letters are
    expected to matter, and tried alone.
    """
    found: dict[str, int] = {}
    candidates = [s for s in variants.symbols if quantity_of(s) == "width" and not is_standard(s)]
    size = max(GROUP, len(candidates) // GROUPS)
    waiting = [candidates[at : at + size] for at in range(0, len(candidates), size)]
    while waiting:
        group = waiting.pop()
        if len(group) < 2:
            continue
        # By different factors: an image and its patches doubled would give as many patches.
        changed = {s.letter: values[s.letter] * (2 + at % 2 * 2) for at, s in enumerate(group)}
        model = variants.variant({**values, **changed})
        if model is not None and model.modules == base.modules and model.shapes == base.shapes:
            found |= changed
        elif len(group) > 2:
            middle = len(group) // 2
            waiting += [group[:middle], group[middle:]]
    return found


def _tied(symbol: Symbol, others: list[Symbol], values: Values) -> Iterator[Variable]:
    """Yield what to try for a symbol that cannot be changed alone: with an equal one, or others."""
    quantity = quantity_of(symbol)
    if quantity not in ("width", "layers"):
        return
    equals = [
        other
        for other in others
        if quantity_of(other) == quantity
        and (other.value, values[other.letter]) == (symbol.value, values[symbol.letter])
    ]
    for other in equals:
        yield Variable((symbol, other))
    if len(equals) > 1:
        yield Variable((symbol, *equals))
    if quantity == "layers":
        return
    place = symbol.key.rpartition(".")[0]
    if symbol.key.rpartition(".")[2].isdigit():
        yield Variable((symbol, *(s for s in others if s.key.rpartition(".")[0] == place)))
    near = [
        other
        for other in others
        if other.value != symbol.value
        and quantity_of(other) in ("width", "heads")
        and other.key.rpartition(".")[0] == place
        and max(values[symbol.letter], values[other.letter])
        % min(values[symbol.letter], values[other.letter])
        == 0
    ]
    for other in near[:PARTNERS]:
        yield Variable((symbol, other))


def _change_alone(
    variants: VariantBuilder,
    variable: Variable,
    base: ModelShapes,
    values: Values,
    misfits: list[Misfit] | None = None,
) -> Points:
    """Build the model with two other values of one variable; one is enough if nothing moves.

    Models round where a divisor does not divide: if something shrinks as the number grows, its
    parts come first. Models with other modules or tensors go to ``misfits``.
    """
    start = values[variable.letter]
    points: dict[int, ModelShapes] = {}
    for value in _nearby_values(variable, start):
        if len(points) == 2:
            break
        changed = variable.at(value, values)
        model = None if changed is None else variants.variant({**values, **changed})
        if model is None or changed is None:
            continue
        if not model.extends(base):
            if misfits is not None:
                misfits.append((changed, model))
            continue
        points[value] = model
        if model.shapes == base.shapes:
            break
        if len(points) == 1 and value > start and _shrinks(model, base):
            parts = _divide_alone(variants, variable, base, values)
            if parts:
                return parts
    return tuple(points.items())


def _divide_alone(
    variants: VariantBuilder, variable: Variable, base: ModelShapes, values: Values
) -> Points:
    """Build the model with two parts of a divisor; it need not divide by multiples evenly."""
    points: list[tuple[int, ModelShapes]] = []
    start = values[variable.letter]
    for value in _nearby_values(variable, start):
        changed = variable.at(value, values) if value < start else None
        model = None if changed is None else variants.variant({**values, **changed})
        if model is not None and model.extends(base) and len(points) < 2:
            points.append((value, model))
    return tuple(points)


def _shrinks(model: ModelShapes, base: ModelShapes) -> bool:
    """Tell whether a tensor is smaller than in the model that it was changed from."""
    return any(
        size < old
        for name, shape in base.shapes.items()
        for size, old in zip(model.shapes[name], shape, strict=True)
    )


def _nearby_values(variable: Variable, value: int) -> list[int]:
    """Return values to try in place of ``value``, the likeliest to be accepted first.

    Multiples keep what divided the value, parts what it divided; layers grow by one. Powers of two
    come first, as most sizes are multiples of them and some models round instead of refusing;
    heads shrink for the same reason.
    """
    multiples = [value * factor for factor in (2, 4, 3, 5)]
    parts = [value // part for part in (2, 3, 4, 5, 7) if value % part == 0]
    if variable.quantity == "layers":
        # With lists that have an entry for each, there is no longer one.
        return [value + 1, value + 2, value * 2, *range(value - 1, max(value - 3, 0), -1)]
    if variable.quantity == "heads":
        return [*parts, *multiples]
    return multiples[:2] if len(variable.symbols) > 1 else [*multiples, *parts]


def _change_pairs(variants: VariantBuilder, alone: Observations) -> dict[tuple[str, str], Pair]:
    """Change two variables at a time where a size hangs on both and is not their product."""
    wanted: dict[tuple[str, str], None] = {}
    known: set[object] = set()
    for name, shape in alone.base.shapes.items():
        for axis, size in enumerate(shape):
            sizes = alone.sizes(name, axis)
            moves = (size, *((k, v) for k, v in sizes.items() if any(s != size for _, s in v)))
            if len(moves) > 2 and moves not in known:
                known.add(moves)
                letters = letters_to_pair(size, alone.values, sizes)
                wanted |= dict.fromkeys(combinations(letters, 2))
    by_letter = {variable.letter: variable for variable in alone.variables}
    pairs = {}
    for two in list(wanted)[:PAIRS]:
        # What is refused with one value may do with another.
        for points in product(*(alone.seen[letter] for letter in two)):
            changed = dict(alone.values)
            for letter, (value, _) in zip(two, points, strict=True):
                changed |= by_letter[letter].at(value, alone.values) or {}
            model = variants.variant(changed)
            if model is not None and model.extends(alone.base):
                pairs[two] = (points[0][0], points[1][0], model)
                break
    return pairs
