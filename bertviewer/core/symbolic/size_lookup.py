"""Sizes looked up among known formulas: the shapes of traced tensors, and of what caches hold.

All numbers of a configuration are changed at once, so that two or three models distinguish nearly
all expressions. Expressions consist of the configuration's symbols and of verified formulas: those
of standard symbols first, and the simplest first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, permutations

from torch import nn

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.symbols import STANDARD_NAMES, Symbol, dimension_kind
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import SymbolicShape
from bertviewer.core.symbolic.models import Build, Change, ModelBuilder, ModelSizes, Values
from bertviewer.core.symbolic.observations import Observations, Variable
from bertviewer.core.symbolic.perturbations import Perturbations
from bertviewer.core.util.progress import Progress

EXPECTED = 8
"""Estimate of the number of builds."""

_ENOUGH = 2
"""Number of changed models that must agree."""

_OF_ONE = (
    *(form for by in (2, 3, 4) for form in (f"{by}*{{}}", f"{{}}//{by}")),
    *(form for more in (1, 2) for form in (f"{{}} + {more}", f"{{}} - {more}")),
)
_OF_TWO = ("{}//{}", "{}*{}", "{} + {}", "{} - {}", "2*{}*{}", "3*{}*{}", "4*{}*{}")


class SizeLookup:
    """The shapes of a model as known expressions.

    Attributes:
        names: of the tensors.
        points: the symbols' values in each model, the unchanged one first.
    """

    def __init__(
        self,
        builder: ModelBuilder,
        architecture: Architecture,
        start: ModelSizes,
        values: Values,
        *,
        every: bool = False,
    ) -> None:
        """Build changed models, and evaluate expressions with their numbers.

        Args:
            builder: builds the models.
            architecture: its formulas are parts of expressions, and show which symbols are
                proportional.
            start: the unchanged model.
            values: the symbols' values in it.
            every: whether models must have every tensor of ``start``; models in which some numbers
                keep their values are accepted then.
        """

        def build(change: Change) -> ModelSizes | None:
            model = builder.variant({**values, **change})
            is_whole = model is not None and start.shapes.keys() <= model.shapes.keys()
            return model if is_whole or not every else None

        variables = tuple(_variables(architecture, builder.symbols))
        changes = Perturbations.of(Observations(start, values, variables), builder.symbols)
        tried = changes.fresh(build, scaled=True)
        found = list(islice(chain(tried, changes.partly_fresh(build) if every else ()), _ENOUGH))
        self.names = tuple(start.shapes)
        self.points: list[Values] = [values, *({**values, **change} for change, _ in found)]
        self._models = [start, *(model for _, model in found)]
        self._known: dict[tuple[int, ...], str] = {}
        if self:
            for expression in _expressions(architecture, self.points):
                try:
                    row = tuple(evaluate(expression, values) for values in self.points)
                except FormulaError:
                    continue
                self._known.setdefault(row, expression)

    def __bool__(self) -> bool:
        """Whether enough changed models could be built."""
        return len(self._models) > _ENOUGH

    def shape(self, name: str) -> tuple[str, ...] | None:
        """Return a tensor's shape as expressions, ``None`` if a dimension has none."""
        shapes = [model.shapes[name] for model in self._models if name in model.shapes]
        if len(shapes) < len(self._models) or len(set(map(len, shapes))) > 1:
            return None
        found = [
            str(column[0]) if len(set(column)) == 1 else self._known.get(column)
            for column in zip(*shapes, strict=True)
        ]
        sizes = tuple(size for size in found if size is not None)
        return sizes if len(sizes) == len(found) else None


def _variables(architecture: Architecture, symbols: Iterable[Symbol]) -> Iterator[Variable]:
    """Yield the symbols of formulas, grouped if they are proportional; no depths."""
    together = architecture.costs.variables if architecture.costs else {}
    groups: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        if symbol.variable and dimension_kind(symbol) != "layers":
            groups.setdefault(together.get(symbol.name, symbol.variable), []).append(symbol)
    yield from (Variable(tuple(some)) for some in groups.values())


def _expressions(architecture: Architecture, points: Sequence[Values]) -> Iterator[str]:
    """Yield expressions of one, two or three sizes, simple ones first."""
    names = [name for name in points[0] if len({values[name] for values in points}) > 1]
    shapes = [tensor.symbolic_shape or () for tensor in architecture.parameters]
    for module in architecture.costs.modules.values() if architecture.costs else ():
        shapes += [module.input_shape or (), module.output_shape or ()]
    sizes = (size for shape in shapes for size in shape if not size.isdecimal())
    atoms = list(dict.fromkeys((*names, *sizes)))
    yield from atoms
    whole = [atom if atom.isidentifier() else f"({atom})" for atom in atoms]
    simple = [atom for atom in whole if atom.isidentifier()]
    standard = [atom for atom in simple if atom in STANDARD_NAMES]
    for some in (standard, simple, whole):
        for form in _OF_ONE:
            yield from (form.format(one) for one in some)
        for form in _OF_TWO:
            yield from (form.format(one, other) for one, other in permutations(some, 2))
    pairs = permutations(whole, 2)
    yield from (f"{one}*{other}*{third}" for one, other in pairs for third in simple)


def derive_symbolic_shapes(
    trace: Trace,
    architecture: Architecture,
    lengths: Mapping[str, int],
    build: Build,
    progress: Progress,
) -> Mapping[int, SymbolicShape]:
    """Return the symbolic shapes of a trace's values that have one.

    Args:
        trace: of the model, on the meta device.
        architecture: the model with its formulas.
        lengths: of the traced sentence, by the symbols B, S and S_d.
        build: builds the model on the meta device from a changed configuration.
        progress: is called before each build; its errors are raised.
    """
    sentence = tuple(Symbol(name, "", size, "", name) for name, size in lengths.items())
    symbols = (*sentence, *architecture.symbols)
    builder = ModelBuilder(architecture.config, symbols, build, _read, progress, EXPECTED)
    known = SizeLookup(builder, architecture, _sizes(trace), builder.values)
    found = {value: known.shape(name) for value, name in _named(trace).items() if known}
    return {value: shape for value, shape in found.items() if shape is not None}


def _read(model: nn.Module, values: Values) -> ModelSizes:
    """Trace a model.

    Raises:
        ValueError: the forward pass fails.
    """
    trace = meta_trace(model, values)
    if trace.stopped is not None:
        raise ValueError(trace.stopped[1])
    return _sizes(trace)


def _sizes(trace: Trace) -> ModelSizes:
    named = _named(trace).items()
    return ModelSizes.of_shapes({name: trace.values[value].shape for value, name in named})


def _named(trace: Trace) -> dict[int, str]:
    """Return a name for each value: the call that computes it, and its index in the call."""
    places: dict[int | None, int] = {}
    found: dict[int, str] = {}
    for number, operation in zip(trace.innermost, trace.operations, strict=True):
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
