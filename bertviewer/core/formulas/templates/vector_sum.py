"""Sums of table rows: the vectors that layers start from."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import rotates
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import INTO, Affine, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.embedding import constant_factor, index_kind
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.frozen import frozen

_SYMBOLS = {"token": 'W_"word"', "segment": 'W_"type"', "position": 'W_"pos"'}
_INDICES = {"token": "t_s", "segment": "g_s", "position": "s"}
_ORDER = ("token", "segment", "position", "sinusoids", "")
_ROTATED = Note(
    "There are no position vectors and no segments: attention rotates queries and keys according "
    "to their positions instead.",
    rotates,
)
_TOKEN_DROPOUT = 1 - 0.15 * 0.8


@frozen
class Lookup:
    """A row of a table as one addend of a sum.

    Attributes:
        kind: what the index is: ``token``, ``segment``, ``position``, ``sinusoids`` for fixed
            vectors that are computed, "" for others.
        rows: how many rows the table has.
        width: the size of a row.
        name: the table's module.
        factor: a constant that rows are multiplied by.
        offset: what is added to a position.
        padding: the padding row if positions are counted after it, as in RoBERTa.
        is_fixed: whether the table is not trained.
        rescales: whether masked tokens give 0 and the others are scaled up (ESM).
    """

    kind: str
    rows: int
    width: int
    name: str
    factor: float | None = None
    offset: int = 0
    padding: int | None = None
    is_fixed: bool = False
    rescales: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether the factor changes anything."""
        return self.factor is not None and self.factor != 1


@frozen
class VectorSum:
    """A sum of table rows, one vector per position, and what follows it.

    Attributes:
        lookups: the addends, those of tokens first.
        after: norms and linear layers that follow, in order.
        is_masked: whether the vectors of padding tokens are set to 0.
    """

    lookups: tuple[Lookup, ...]
    after: tuple[Norm | Affine, ...] = ()
    is_masked: bool = False

    def of(self, kind: str) -> Lookup | None:
        """Return the first addend of a kind."""
        return next((each for each in self.lookups if each.kind == kind), None)

    @property
    def norm(self) -> Norm | None:
        """The first norm."""
        return next((each for each in self.after if isinstance(each, Norm)), None)

    @property
    def width(self) -> int:
        """The size of the vectors."""
        layers = [each for each in self.after if isinstance(each, Affine)]
        return layers[-1].outputs if layers else self.lookups[0].width

    @property
    def total(self) -> str:
        """The sum as mathematics."""
        return " + ".join(_addend(each, n) for n, each in enumerate(self.lookups))

    @property
    def shift(self) -> str:
        """The line's end that says how positions are counted."""
        position = self.of("position")
        if position is None or position.padding is None:
            return ""
        return f", quad p_s = s + {position.padding + 1}"

    def finished(self, argument: str) -> str:
        """Return norms and linear layers applied to ``argument``."""
        for each in self.after:
            if isinstance(each, Norm):
                argument = f"{each.operator}({argument})"
            else:
                inner = f"({argument})" if " + " in argument else argument
                argument = each.maths(inner, INTO)
        return argument

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the sum and of what follows."""
        found: list[Term] = []
        for number, each in enumerate(self.lookups):
            found += _lookup_terms(each, number)
        for step in self.after:
            found += (
                step.terms
                if isinstance(step, Norm)
                else step.terms("the embedding projection", INTO)
            )
        return tuple(found)


def _symbol(lookup: Lookup, number: int) -> str:
    if lookup.kind == "sinusoids":
        return "P"
    return _SYMBOLS.get(lookup.kind) or f"W_{number + 1}"


def _addend(lookup: Lookup, number: int) -> str:
    if lookup.kind == "sinusoids":
        return f"{sized('P', 'S', lookup.width)}[s]"
    index = _INDICES.get(lookup.kind) or f"a_({number + 1}, s)"
    if lookup.padding is not None:
        index = "p_s"
    elif lookup.offset:
        index = f"s + {lookup.offset}"
    start = f"{_factor(lookup)} thick " if lookup.is_scaled else ""
    if lookup.rescales:
        start = "m_s (1 - 0.15 dot 0.8) / (1 - r) thick "
    return f"{start}{sized(_symbol(lookup, number), lookup.rows, lookup.width)}[{index}]"


def _factor(lookup: Lookup) -> str:
    assert lookup.factor is not None
    if abs(lookup.factor - math.sqrt(lookup.width)) < 1e-3:
        return f"sqrt({lookup.width})"
    return "c"


def _lookup_terms(lookup: Lookup, number: int) -> Iterator[Term]:
    shape = shape_text((lookup.rows, lookup.width))
    symbol = _symbol(lookup, number)
    if lookup.kind == "sinusoids":
        known = lookup.name == "sines and cosines"
        what = "encodings: fixed sinusoids" if known else "vectors: fixed"
        yield Term("P", f"position {what}, not learnt")
    elif lookup.kind == "token":
        yield Term("t_s", "token id at position s")
        yield Term(symbol, "one row per vocabulary entry", shape)
    elif lookup.kind == "segment":
        second = "0 for the first sentence, 1 for the second" if lookup.rows > 1 else "always 0"
        yield Term("g_s", f"segment id at position s: {second}")
        yield Term(symbol, "one row per segment", shape)
    elif lookup.kind == "position":
        fixed = "fixed, not learnt: " if lookup.is_fixed else ""
        yield Term(symbol, f"{fixed}one row per position", shape)
    else:
        yield Term(f"a_({number + 1}, s)", f"index for “{lookup.name}” at position s")
        yield Term(symbol, f"table “{lookup.name}”", shape)
    if lookup.is_scaled and _factor(lookup) == "c":
        yield Term("c", "factor applied to the token vectors", f"{lookup.factor:g}")
    if lookup.rescales:
        yield Term("m_s", "0 at mask tokens, 1 elsewhere")
        yield Term("r", "fraction of mask tokens")


def read_sum(view: ModuleView, operand: Operand) -> VectorSum | None:
    """Return the sum of table rows that an operand is, ``None`` if it is anything else."""
    graph = view.graph
    if graph is None:
        return None
    found = _read(view, graph, operand)
    if found is None or not any(each.kind != "sinusoids" for each in found.lookups):
        return None
    kinds: set[str] = set()
    named = []
    for each in found.lookups:
        # Of several tables of one kind only the first is the model's own (LayoutLM).
        named.append(each if each.kind not in kinds else replace(each, kind="", padding=None))
        kinds.add(each.kind)
    return replace(found, lookups=tuple(sorted(named, key=lambda one: _ORDER.index(one.kind))))


def _read(view: ModuleView, graph: ModuleGraph, operand: Operand) -> VectorSum | None:
    step = graph.maker(operand)
    if step is None:
        return _constant(graph, operand)
    lookup = read_lookup(view, step)
    if lookup is not None:
        return VectorSum((lookup,))
    reader = _READERS.get("norm" if is_norm(step) else step.operation)
    return None if reader is None else reader(view, graph, step)


def _constant(graph: ModuleGraph, operand: Operand) -> VectorSum | None:
    """Return vectors that depend on positions only."""
    node = graph.given.get(operand.node)
    if node is None or node.kind != "constant" or len(node.shape) < 2 or node.shape[-1] < 2:
        return None
    return VectorSum((Lookup("sinusoids", node.shape[-2], node.shape[-1], node.name),))


def read_lookup(view: ModuleView, step: Step) -> Lookup | None:
    """Return the table row that a step looks up."""
    child = view if step.node.path in (None, view.node.path) else view.at(step.node.path or "")
    if child is None:
        return None
    factor, found = None, step
    if not step.operation and child.graph is not None:
        steps = child.graph.steps
        if not steps or steps[0].operation != "embedding" or len(steps) > 2:
            return None
        found = steps[0]
        factor = constant_factor(steps[1], child) if len(steps) == 2 else None
        if len(steps) == 2 and factor is None:
            return None
    if found.operation not in ("embedding", "look-up"):
        return None
    names = [name for name in found.node.reads or step.node.reads if name.endswith("weight")]
    if len(names) != 1:
        return None
    tensor = next((t for t in view.architecture.parameters if t.name == names[0]), None)
    if tensor is None or len(tensor.shape) != 2:
        return None
    kind = index_kind(step, view)
    is_learnt = kind == "position" and tensor.trainable
    return Lookup(
        kind,
        *tensor.shape,
        name=names[0].rpartition(".")[0].rpartition(".")[2],
        factor=factor,
        offset=(child.integer("offset") or 0) if is_learnt else 0,
        padding=child.integer("padding_idx") if is_learnt else None,
        is_fixed=not tensor.trainable,
    )


def _read_norm(view: ModuleView, graph: ModuleGraph, step: Step) -> VectorSum | None:
    inner = _first(view, graph, step)
    return inner and replace(inner, after=(*inner.after, Norm.of(step)))


def _read_linear(view: ModuleView, graph: ModuleGraph, step: Step) -> VectorSum | None:
    inner, layer = _first(view, graph, step), view.affine_of(step)
    if inner is None or layer is None:
        return None
    return replace(inner, after=(*inner.after, layer))


def _read_product(view: ModuleView, graph: ModuleGraph, step: Step) -> VectorSum | None:
    """Read a product with a constant, or with the mask."""
    inner = _first(view, graph, step)
    if inner is None:
        return None
    numbers = [each.plain for each in step.operands if each.plain]
    if len(numbers) == 1 and len(step.tensors) == 1:
        if inner.after or inner.is_masked or len(inner.lookups) > 1:
            return None
        return replace(inner, lookups=(replace(inner.lookups[0], factor=float(numbers[0])),))
    masks = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
    if len(masks) == 1 and "mask" in masks[0].name:
        return replace(inner, is_masked=True)
    return None


def _read_add(view: ModuleView, graph: ModuleGraph, step: Step) -> VectorSum | None:
    tensors = [each for each in step.operands if each.node]
    if len(tensors) == 1 and any(each.plain == "0" for each in step.operands):
        return _read(view, graph, tensors[0])
    if len(tensors) != 2:
        return None
    one, other = (_read(view, graph, operand) for operand in tensors)
    if one is None or other is None or other.after or one.after or one.is_masked:
        return None
    return VectorSum((*one.lookups, *other.lookups))


def _read_quotient(view: ModuleView, graph: ModuleGraph, step: Step) -> VectorSum | None:
    """Read ESM's token dropout: masked tokens are 0, the others are scaled up."""
    product = graph.maker(step.tensors[0]) if len(step.tensors) == 1 else None
    filled = None if product is None else graph.maker(next(iter(product.tensors), None))
    if product is None or filled is None or filled.operation != "masked_fill":
        return None
    numbers = [float(each.plain) for each in product.operands if each.plain]
    inner = _first(view, graph, filled)
    if inner is None or len(inner.lookups) != 1 or len(numbers) != 1:
        return None
    if abs(numbers[0] - _TOKEN_DROPOUT) > 1e-6:
        return None
    return replace(inner, lookups=(replace(inner.lookups[0], rescales=True),))


def _first(view: ModuleView, graph: ModuleGraph, step: Step) -> VectorSum | None:
    """Read the first operand that is a sum."""
    for operand in step.tensors:
        found = _read(view, graph, operand)
        if found is not None:
            return found
    return None


_READERS: dict[str, Callable[[ModuleView, ModuleGraph, Step], VectorSum | None]] = {
    "norm": _read_norm,
    "linear": _read_linear,
    "mul": _read_product,
    "add": _read_add,
    "residual": _read_add,
    "div": _read_quotient,
}


def sum_notes(found: VectorSum) -> tuple[str, ...]:
    """Return the notes on a sum of table rows."""
    segments, positions = found.of("segment"), found.of("position")
    notes = ["Square brackets denote the lookup of a table row; the tables are learnt."]
    if len(found.lookups) > 1:
        notes.insert(0, "The vectors are added, not concatenated, so their size stays the same.")
    if segments:
        notes.append(
            "With a single sentence every g is 0, so the same segment vector is added at every "
            "position."
            if segments.rows > 1
            else "There is only one segment, so the same vector is added at every position; two "
            "sentences are distinguished by the separator."
        )
    if positions:
        notes.append(position_note(positions))
    if positions and not segments:
        notes.append(
            "This model has no segments: two sentences are distinguished by the separator."
        )
    if len(found.lookups) == 1:
        notes.append(_ROTATED)
    if any(each.rescales for each in found.lookups):
        notes.append(
            "A masked token gives a row of zeros. In training, 15% of the tokens were chosen and "
            "80% of those masked, which made the sums smaller; the factor compensates for this."
        )
    if found.is_masked:
        notes.append("Padding tokens give rows of zeros.")
    return tuple(notes)


def position_note(found: Lookup) -> str:
    """Return the note on how positions are counted."""
    rows = found.rows
    if found.padding is not None:
        offset = found.padding
        return (
            f"Positions are counted from padding_idx + 1 = {offset + 1}, after the padding row "
            f"{offset}: of the {rows} rows, {rows - offset - 1} can be used for tokens. "
            f"Padding tokens use row {offset} and are not counted, so a token’s position does not "
            "depend on the amount of padding before it."
        )
    if found.offset:
        return (
            f"Positions are counted from {found.offset}: the first {found.offset} rows of the "
            f"position table are never read, so {rows - found.offset} of its {rows} rows can be "
            "used for tokens."
        )
    return f"The position table has {rows} rows, which is the maximum sequence length."
