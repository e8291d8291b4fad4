"""Sizes that are looked up: expressions that give a size in a model and in changed ones.

All numbers of a configuration are changed at once, each by another factor, so that two or three
models tell nearly all expressions apart. Expressions are made of the configuration's symbols and
of the formulas that are verified already, the simplest first.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.symbols import Symbol, quantity_of
from bertviewer.core.flow.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.symbolic.models import ModelBuilder, ModelSizes, Values

ENOUGH = 2
"""The number of changed models that have to agree."""
ATTEMPTS = 6

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_HEADS = (2, 1, 4, 1, 2, 1)
"""What attempts multiply heads by; widths are multiplied by as much, so that heads divide them."""
_LENGTHS = ((2, 22, 15), (3, 26, 14), (2, 25, 18))
_FEW_FACTORS = (2, 3, 4)


def changed_models(
    builder: ModelBuilder,
    values: Values,
    names: frozenset[str] = frozenset(),
    *,
    partly: bool = False,
) -> list[tuple[ModelSizes, Values]]:
    """Return models with all sizes changed, ``ENOUGH`` of them or fewer if the model refuses.

    Args:
        builder: builds the models.
        values: what changes start from.
        names: the tensors that a model must have.
        partly: whether models are returned in which some numbers are not changed, or equal ones
            alike, if there are no others; see ``conditions_of``.
    """
    found: list[tuple[ModelSizes, Values]] = []

    def build(change: Values) -> ModelSizes | None:
        model = builder.variant({**values, **change})
        return model if model is not None and names <= model.shapes.keys() else None

    for attempt in range(ATTEMPTS):
        change = _changed(builder.symbols, values, attempt)
        if (model := build(change)) is not None:
            found.append((model, {**values, **change}))
        if len(found) == ENOUGH:
            return found
    for attempt in range(ENOUGH - len(found) if partly else 0):
        taken: dict[str, int] = {}
        for change in _parts(_changed(builder.symbols, values, attempt), values):
            if change.keys().isdisjoint(taken) and build({**taken, **change}) is not None:
                taken |= change
        if (model := build(taken)) is not None:
            found.append((model, {**values, **taken}))
    return found


def _parts(change: dict[str, int], values: Values) -> Iterator[dict[str, int]]:
    """Yield smaller and smaller parts of a change, then pairs of equal numbers that stay equal."""
    waiting = [list(change)]
    while waiting:
        some = waiting.pop(0)
        yield {letter: change[letter] for letter in some}
        if len(some) > 1:
            middle = len(some) // 2
            waiting += [some[:middle], some[middle:]]
    by_value: dict[int, list[str]] = {}
    for letter in change:
        by_value.setdefault(values[letter], []).append(letter)
    for letters in by_value.values():
        for pair in combinations(letters, 2):
            yield dict.fromkeys(pair, change[pair[0]])


def conditions_of(
    builder: ModelBuilder, used: Iterable[str], points: Sequence[Values]
) -> tuple[str, ...]:
    """Return what formulas of these symbols need: what never changed, or only with an equal one.

    Args:
        builder: built the models.
        used: the symbols in the formulas.
        points: the symbols' values in each model, those of the real one first.
    """
    free = [s for s in builder.symbols if s.variable and s.key and quantity_of(s) != "layers"]
    rows = {symbol.letter: tuple(values[symbol.letter] for values in points) for symbol in free}
    fixed = [f"{letter} == {row[0]}" for letter, row in rows.items() if len(set(row)) == 1]
    tied = [
        f"{other} == {letter}"
        for letter in sorted(set(used) & rows.keys())
        for other, row in rows.items()
        if other != letter and row == rows[letter] and f"{letter} == {row[0]}" not in fixed
    ]
    return (*fixed, *tied)


def _changed(symbols: Sequence[Symbol], own: Values, attempt: int) -> dict[str, int]:
    """Return new values; each variable is multiplied by another factor."""
    heads = _HEADS[attempt]
    variables = [symbol for symbol in symbols if symbol.variable == symbol.letter and symbol.key]
    factors: dict[str, int] = {}
    for place, symbol in enumerate(variables):
        quantity = quantity_of(symbol)
        prime = _PRIMES[(place + attempt) % len(_PRIMES)]
        factors[symbol.letter] = (
            1 if quantity == "layers" else heads if quantity == "heads" else heads * prime
        )
    values = {s.letter: own[s.letter] * factors.get(s.variable, 1) for s in symbols}
    sizes = zip((SENTENCES, TOKENS, TARGET_TOKENS), _LENGTHS[attempt % 3], strict=True)
    values |= {letter: size for letter, size in sizes if letter in own}
    return {letter: value for letter, value in values.items() if value != own[letter]}


class Expressions:
    """The expressions that may be a size, by the numbers that they give in some models."""

    def __init__(self, architecture: Architecture, points: Sequence[Values]) -> None:
        """Evaluate expressions of one and two symbols or known formulas.

        Args:
            architecture: its tensors' and modules' formulas are parts of expressions.
            points: the symbols' values in each model.
        """
        self._known: dict[tuple[int, ...], str] = {}
        letters = [letter for letter in points[0] if len({values[letter] for values in points}) > 1]
        modules = architecture.costs.modules.values() if architecture.costs else ()
        shapes = [tensor.symbolic_shape or () for tensor in architecture.parameters]
        for module in modules:
            shapes += [module.input_shape or (), module.output_shape or ()]
        sizes = (size for shape in shapes for size in shape if not size.isdecimal())
        atoms = list(dict.fromkeys((*letters, *sizes)))
        for expression in (*atoms, *_composed(atoms)):
            try:
                row = tuple(evaluate(expression, values) for values in points)
            except FormulaError:
                continue
            self._known.setdefault(row, expression)

    def shape(self, shapes: Sequence[tuple[int, ...] | None]) -> tuple[str, ...] | None:
        """Return a tensor's shape as expressions, given its shapes in all models.

        ``None`` where a dimension has none, or a model has no such tensor.
        """
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes) or len({len(shape) for shape in known}) > 1:
            return None
        found = [
            str(column[0]) if len(set(column)) == 1 else self._known.get(column)
            for column in zip(*known, strict=True)
        ]
        sizes = tuple(size for size in found if size is not None)
        return sizes if len(sizes) == len(found) else None


def _composed(atoms: Sequence[str]) -> Iterable[str]:
    """Yield expressions of one, two or three sizes, simple ones first."""
    whole = [atom if atom.isidentifier() else f"({atom})" for atom in atoms]
    for one in whole:
        for factor in _FEW_FACTORS:
            yield f"{factor}*{one}"
            yield f"{one}//{factor}"
        for few in (1, 2):
            yield f"{one} + {few}"
            yield f"{one} - {few}"
    pairs = [(one, other) for one in whole for other in whole if one != other]
    yield from (f"{one}//{other}" for one, other in pairs)
    yield from (f"{one}*{other}" for one, other in pairs)
    for one, other in pairs:
        yield f"{one} + {other}"
        yield f"{one} - {other}"
    for one, other in pairs:
        yield from (f"{factor}*{one}*{other}" for factor in _FEW_FACTORS)
    simple = [atom for atom in whole if atom.isidentifier()]
    for one, other in pairs:
        yield from (f"{one}*{other}*{third}" for third in simple)
