"""Sizes that are found among the formulas that are known: traced shapes, and what caches hold.

All numbers of a configuration are changed at once, so that two or three models tell nearly all
expressions apart. Expressions are made of the configuration's symbols and of the formulas that are
verified already: those of standard letters first, and the simplest first.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, permutations

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.letters import STANDARD_LETTERS
from bertviewer.core.expressions.symbols import Symbol, quantity_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.symbolic.models import Change, ModelBuilder, ModelSizes, Values
from bertviewer.core.symbolic.observations import Observations, Variable
from bertviewer.core.symbolic.perturbations import Perturbations

EXPECTED = 8
"""The likely number of builds."""

_ENOUGH = 2
"""The number of changed models that have to agree."""
_OF_ONE = (
    *(form for by in (2, 3, 4) for form in (f"{by}*{{}}", f"{{}}//{by}")),
    *(form for more in (1, 2) for form in (f"{{}} + {more}", f"{{}} - {more}")),
)
_OF_TWO = ("{}//{}", "{}*{}", "{} + {}", "{} - {}", "2*{}*{}", "3*{}*{}", "4*{}*{}")


class KnownSizes:
    """The shapes in a model and in changed ones, as known expressions.

    Attributes:
        names: of the tensors.
        points: the symbols' values in each model, those that changes start from first.
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
            architecture: its formulas are parts of expressions, and say what changes together.
            start: the model that changes start from.
            values: the symbols' values in it.
            every: whether models must have every tensor of ``start``. Those in which some numbers
                keep their value will do then.
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
        """Return a tensor's shape as expressions, ``None`` where a dimension has none."""
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
    """Yield what formulas follow, with what was seen to change in proportion; no depths."""
    together = architecture.costs.variables if architecture.costs else {}
    groups: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        if symbol.variable and quantity_of(symbol) != "layers":
            groups.setdefault(together.get(symbol.letter, symbol.variable), []).append(symbol)
    yield from (Variable(tuple(some)) for some in groups.values())


def _expressions(architecture: Architecture, points: Sequence[Values]) -> Iterator[str]:
    """Yield expressions of one, two or three sizes, simple ones first."""
    letters = [letter for letter in points[0] if len({values[letter] for values in points}) > 1]
    shapes = [tensor.symbolic_shape or () for tensor in architecture.parameters]
    for module in architecture.costs.modules.values() if architecture.costs else ():
        shapes += [module.input_shape or (), module.output_shape or ()]
    sizes = (size for shape in shapes for size in shape if not size.isdecimal())
    atoms = list(dict.fromkeys((*letters, *sizes)))
    yield from atoms
    whole = [atom if atom.isidentifier() else f"({atom})" for atom in atoms]
    simple = [atom for atom in whole if atom.isidentifier()]
    standard = [atom for atom in simple if atom in STANDARD_LETTERS]
    for some in (standard, simple, whole):
        for form in _OF_ONE:
            yield from (form.format(one) for one in some)
        for form in _OF_TWO:
            yield from (form.format(one, other) for one, other in permutations(some, 2))
    pairs = permutations(whole, 2)
    yield from (f"{one}*{other}*{third}" for one, other in pairs for third in simple)
