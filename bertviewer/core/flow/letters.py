"""The shapes in a flow in letters: found on models with other numbers, and proven on them.

The same model is traced with all its sizes changed at once, each by a factor of its own, and with
other lengths of sentences. A dimension is written by the simplest expression that gives it in the
model itself and in each of those.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from torch import nn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Letters
from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.symbols import Symbol, quantity_of
from bertviewer.core.flow.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.flow.macs import innermost_calls
from bertviewer.core.flow.meta_trace import meta_trace
from bertviewer.core.flow.trace import Shape, Trace
from bertviewer.core.frozen import frozen
from bertviewer.core.progress import Progress
from bertviewer.core.symbolic.models import Build, ModelBuilder, ModelSizes, Values

ENOUGH = 2
"""So many changed models have to agree."""

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_HEADS = (2, 1, 4, 1, 2, 1)
"""What attempts multiply heads by; widths grow by as much again, so that heads share them out."""
_LENGTHS = ((2, 22, 15), (3, 26, 14), (2, 25, 18))
_FEW_FACTORS = (2, 3, 4)


@frozen
class _Steps(ModelSizes):
    """The shapes of all values of a trace by what they are: names that a changed model has too."""

    @classmethod
    def read(cls, model: nn.Module, values: Values) -> "_Steps":
        """Trace a model.

        Raises:
            ValueError: it does not come to its end.
        """
        trace = meta_trace(model, values)
        if trace.stopped is not None:
            raise ValueError(trace.stopped[1])
        shapes = {name: trace.values[value].shape for value, name in _named(trace).items()}
        return cls(shapes, {}, (), {}, {}, frozenset())


def derive_letters(
    trace: Trace,
    architecture: Architecture,
    lengths: Mapping[str, int],
    build: Build,
    progress: Progress,
) -> Mapping[int, Letters]:
    """Return the shapes of a trace's values in letters, those that have some.

    Args:
        trace: of the model, on the meta device.
        architecture: the model, with its formulas: they say which numbers move together.
        lengths: of the sentence that was traced, by the letters B, S and S_d.
        build: gives the model on the meta device for a changed configuration.
        progress: called before each build; what it raises comes through.
    """
    sentence = tuple(Symbol(letter, "", size, "", letter) for letter, size in lengths.items())
    symbols = (*sentence, *architecture.symbols)
    variants = ModelBuilder(
        architecture.config, symbols, build, _Steps.read, progress, ENOUGH + len(_HEADS)
    )
    own = {symbol.letter: symbol.value for symbol in symbols}
    tried: list[tuple[Mapping[str, Shape], Values]] = []
    for values in _changed(symbols, own):
        model = variants.variant(values)
        if model is not None:
            tried.append((model.shapes, values))
        if len(tried) == ENOUGH:
            break
    if len(tried) < ENOUGH:
        return {}
    known = _expressions(architecture, [own, *(values for _, values in tried)])
    found: dict[int, Letters] = {}
    for value, name in _named(trace).items():
        shape = trace.values[value].shape
        others = [shapes.get(name) for shapes, _ in tried]
        if any(other is None or len(other) != len(shape) for other in others):
            continue
        columns = zip(shape, *cast(list[Shape], others), strict=True)
        letters = tuple(_written(column, known) for column in columns)
        if None not in letters:
            found[value] = cast(Letters, letters)
    return found


def _named(trace: Trace) -> dict[int, str]:
    """Return a name for each value: the call that makes it, and its place in there."""
    places: dict[int | None, int] = {}
    found: dict[int, str] = {}
    for number, operation in zip(innermost_calls(trace), trace.operations, strict=True):
        place = places.get(number, 0)
        places[number] = place + 1
        call = None if number is None else trace.calls[number]
        where = "" if call is None else f"{call.path}:{call.number}"
        for order, value in enumerate(operation.makes):
            found[value] = f"{where}:{operation.function}:{place}:{order}"
    for value, stored in enumerate(trace.values):
        if stored.kind in ("parameter", "buffer", "input"):
            found[value] = f"{stored.kind}:{stored.name}"
    return found


def _changed(symbols: Sequence[Symbol], own: Values) -> Iterator[dict[str, int]]:
    """Yield new values for all letters: each variable has a factor of its own."""
    variables = [symbol for symbol in symbols if symbol.variable == symbol.letter and symbol.key]
    for attempt, heads in enumerate(_HEADS):
        factors: dict[str, int] = {}
        for place, symbol in enumerate(variables):
            quantity = quantity_of(symbol)
            if quantity == "layers":
                factors[symbol.letter] = 1
            elif quantity == "heads":
                factors[symbol.letter] = heads
            else:
                factors[symbol.letter] = heads * _PRIMES[(place + attempt) % len(_PRIMES)]
        values = dict(own)
        for symbol in symbols:
            values[symbol.letter] *= factors.get(symbol.variable, 1)
        sizes = zip((SENTENCES, TOKENS, TARGET_TOKENS), _LENGTHS[attempt % 3], strict=True)
        yield values | {letter: size for letter, size in sizes if letter in own}


def _expressions(
    architecture: Architecture, points: Sequence[Values]
) -> Mapping[tuple[int, ...], str]:
    """Return what each row of values is written by, one for each model, the simplest first."""
    found: dict[tuple[int, ...], str] = {}

    def note(expression: str) -> None:
        try:
            row = tuple(evaluate(expression, values) for values in points)
        except FormulaError:
            return
        found.setdefault(row, expression)

    letters = [letter for letter in points[0] if len({values[letter] for values in points}) > 1]
    for letter in letters:
        note(letter)
    sizes = dict.fromkeys(
        size
        for tensor in architecture.parameters
        for size in tensor.symbolic_shape or ()
        if not size.isdecimal()
    )
    ends = {
        size: None
        for module in (architecture.costs.modules.values() if architecture.costs else ())
        for size in (*(module.input_shape or ()), *(module.output_shape or ()))
        if not size.isdecimal()
    }
    atoms = list(dict.fromkeys((*letters, *sizes, *ends)))
    for atom in atoms:
        note(atom)
    for text in _composed(atoms):
        note(text)
    return found


def _composed(atoms: Sequence[str]) -> Iterable[str]:
    """Yield expressions of one or two sizes, simple ones first."""
    whole = [atom if atom.isidentifier() else f"({atom})" for atom in atoms]
    for one in whole:
        for factor in _FEW_FACTORS:
            yield f"{factor}*{one}"
            yield f"{one}//{factor}"
        for few in (1, 2):
            yield f"{one} + {few}"
            yield f"{one} - {few}"
    pairs = [(one, other) for one in whole for other in whole if one != other]
    for one, other in pairs:
        yield f"{one}//{other}"
    for one, other in pairs:
        yield f"{one}*{other}"
    for one, other in pairs:
        yield f"{one} + {other}"
        yield f"{one} - {other}"
    for one, other in pairs:
        for factor in _FEW_FACTORS:
            yield f"{factor}*{one}*{other}"
    simple = [atom for atom in whole if atom.isidentifier()]
    for one, other in pairs:
        for third in simple:
            yield f"{one}*{other}*{third}"


def _written(column: tuple[int, ...], known: Mapping[tuple[int, ...], str]) -> str | None:
    if len(set(column)) == 1:
        return str(column[0])
    return known.get(column)
