"""Tables whose rows are looked up, and position vectors that are computed or fixed."""

import math

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import has_angle_table, has_positions, scores_with_table
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import indices, number_maths, sized
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.templates.template import Template

_SOURCE = "Devlin et al. 2019, section 3; Vaswani et al. 2017, section 3.4"
_DEFAULT = "Maps each index to a learnt vector."
_PURPOSES = {
    "token": "Maps each vocabulary entry to its vector.",
    "position": "Maps each position in the sequence to its vector.",
    "segment": "Maps each segment (first or second sentence) to its vector.",
    "bias": "Maps each distance between two positions to its bias, one per head.",
    "distance": "Maps each distance between two positions to its vector.",
}
_KEYS = {
    "token": ("vocabulary", "embedding width", "width", "padding"),
    "position": ("positions", "embedding width", "width"),
    "segment": ("token types", "embedding width", "width"),
    "bias": ("distances", "heads"),
    "distance": ("distances", "heads"),
    "": ("vocabulary", "embedding width", "width", "padding"),
}


def index_kind(step: Step, view: ModuleView) -> str:
    """Return what a lookup's indices are: token, position, segment, or "" if not known.

    ``view`` is the module whose graph has the step.
    """
    graph = view.graph
    index = next((o for o in step.operands if o.is_tensor and not o.parameter), Operand())
    given = None if graph is None else graph.given.get(index.node)
    if given is not None and "type" in given.name:
        return "segment"
    if given is not None and given.kind == "input":
        if "position" in given.name:
            return "position"
        return "token" if "ids" in given.name or given.name == "input" else ""
    if given is not None and given.name in ("input ids", "decoder input ids"):
        return "token"
    if given is None:
        return "position"
    # Of several tables whose rows are computed, those of hashes or boxes have a constant.
    several = graph is not None and len(_computed(graph)) > 1
    return "position" if given.kind == "constant" and not several else ""


def _computed(graph: ModuleGraph) -> list[Step]:
    """Return the lookups whose indices are no input of the module."""
    found = []
    for step in graph.of("embedding"):
        index = next((o for o in step.operands if o.is_tensor and not o.parameter), Operand())
        given = graph.given.get(index.node)
        if given is None or (given.kind == "constant" and "ids" not in given.name):
            found.append(step)
    return found


def _embedding(view: ModuleView) -> Formula | None:
    """A table whose rows are looked up, also times a constant (Vaswani et al. 2017, 3.4)."""
    weight = view.tensors.get("weight")
    if weight is None or len(weight.shape) != 2 or len(view.tensors) > 1:
        return None
    if not weight.trainable and _is_sinusoidal(view):
        return None
    factor: float | None = None
    if view.graph is None:
        if "Embedding" not in view.node.class_name:
            return None
        stored = view.attribute("scalar_embed_scale", "embed_scale")
        factor = float(stored) if isinstance(stored, float | int) else None
    else:
        steps = view.graph.steps
        if not steps or steps[0].operation != "embedding" or len(steps) > 2:
            return None
        if _offset(view, steps[0]):
            return None
        if len(steps) == 2:
            factor = constant_factor(steps[1], view)
            if factor is None:
                return None
    return _table(view, weight.shape, factor)


def constant_factor(step: Step, view: ModuleView) -> float | None:
    """Return the constant that a step multiplies by, ``None`` if it does anything else.

    ``view`` is the table's module: Gemma keeps its factor as a tensor of one number, and as an
    attribute.
    """
    if step.operation != "mul":
        return None
    numbers = [each.plain for each in step.operands if each.plain]
    if len(numbers) == 1:
        return float(numbers[0])
    stored = view.attribute("scalar_embed_scale", "embed_scale")
    return float(stored) if isinstance(stored, float | int) and not numbers else None


def _table(view: ModuleView, shape: tuple[int, ...], factor: float | None) -> Formula:
    rows, width = shape
    kind = _kind(view)
    widths = view.keys("embedding width", "width")
    choices = _KEYS[kind] + (("embedding scale",) if factor is not None else ())
    constant = () if factor is None else (Term("c", "constant factor", f"{factor:g}"),)
    times, value = "", ""
    if factor is not None:
        times, value = "c thick ", f"quad c = {_factor_maths(factor, width)}, "
    return Formula(
        title="Embedding" if factor is None else "Scaled embedding",
        summary=_PURPOSES.get(kind, _DEFAULT),
        maths=(
            f"{sized('y_s', width)} = {times}{sized('W', rows, width)}[t_s], {value}"
            f"quad t_s in {{{indices(rows)}}}",
        ),
        terms=(
            Term("t_s", "index at position s (an integer)"),
            Term("W", "embedding table, one row per index", shape_text(shape)),
            *constant,
            Term("y_s", "the row: the vector of position s", shape_text((width,))),
        ),
        notes=(
            "A lookup, not a product: it selects row t of the table. This is equivalent to "
            "multiplying a one-hot vector by the table, without computing the zeros.",
            *_tying_note(view),
            *(() if factor is None else (_factor_note(view, factor, width),)),
            *_padding_notes(view),
        ),
        config_keys=tuple(
            k for k in view.keys(*choices) if k not in widths or view.config[k] == width
        ),
        source=_SOURCE,
    )


def _kind(view: ModuleView) -> str:
    """Return what the indices of a table are, as the modules around it look rows up."""
    for place in places(view):
        step = place.steps[0]
        shape = step.node.shape
        is_pairwise = len(shape) == 3 and shape[0] == shape[1]
        if is_pairwise or any("bias" in user.roles for user in place.graph.users(step)):
            return "bias"
        if kind := index_kind(step, place.view):
            return kind
    if view.tensors["weight"].shape[0] == view.config.get("vocab_size"):
        return "token"
    return "distance" if _is_read_as_a_whole(view) else ""


def _is_read_as_a_whole(view: ModuleView) -> bool:
    """Return whether no row is looked up: attention computes with the whole table (DeBERTa)."""
    flows = view.architecture.flows
    name = view.tensors["weight"].name
    known = () if flows is None else flows.distinct.values()
    readers = [node for flow in known for node in flow.all_nodes() if name in node.reads]
    return bool(readers) and not any(node.operation in ("embedding", "look-up") for node in readers)


def _factor_maths(factor: float, width: int) -> str:
    return f"sqrt({width})" if abs(factor - math.sqrt(width)) < 1e-6 else number_maths(factor)


def _factor_note(view: ModuleView, factor: float, width: int) -> str:
    if factor == 1:
        return "The factor is 1 in this configuration: this is a plain lookup."
    is_root = abs(factor - math.sqrt(width)) < 1e-6
    return (
        f"Every vector is multiplied by {factor:g}"
        + (f", the square root of the embedding size {width}" if is_root else "")
        + (
            ": the table is initialised with small values, and the factor brings them to the "
            "scale of the vectors added to them."
            if has_positions(view)
            else "."
        )
    )


def _tying_note(view: ModuleView) -> tuple[str, ...]:
    first = view.tensors["weight"].tied_to
    if first is None:
        return ()
    return (f"The table is tied: it is the same tensor as {first} and is counted there.",)


def _padding_notes(view: ModuleView) -> tuple[str, ...]:
    padding = view.integer("padding_idx")
    if padding is None:
        return ()
    return (
        Note(
            f"padding_idx is {padding}: row {padding} is not updated during training. The lookup "
            "treats it like any other row.",
            no(scores_with_table),
        ),
        Note(
            f"padding_idx is {padding}: the lookup does not train row {padding}, but the output "
            "layer that shares the table does.",
            scores_with_table,
        ),
    )


def _offset(view: ModuleView, step: Step) -> int | None:
    """Return what a table of positions adds to each position, ``None`` for a plain lookup."""
    offset = view.integer("offset")
    index = next((o for o in step.operands if o.is_tensor and not o.parameter), Operand())
    is_computed = view.graph is not None and (
        not index.node or view.graph.given[index.node].kind == "constant"
    )
    return offset if offset and is_computed else None


def _offset_positions(view: ModuleView) -> Formula | None:
    """BART's learnt positions: the rows before the offset stay unused (transformers' code)."""
    graph, shape = view.graph, view.shape("weight")
    if graph is None or graph.only is None or graph.only.operation != "embedding" or not shape:
        return None
    offset = _offset(view, graph.only)
    if offset is None:
        return None
    rows, width = shape
    return Formula(
        title="Position embedding with an offset",
        summary=_PURPOSES["position"],
        maths=(
            f"{sized('y_s', width)} = {sized('W', rows, width)}[s + {offset}], "
            f"quad s = {indices(rows - offset)}",
        ),
        terms=(
            Term("s", "position, counted from 0"),
            Term("W", "embedding table, one row per position", shape_text(shape)),
            Term("y_s", "the row: the vector of position s", shape_text((width,))),
        ),
        notes=(
            f"Rows 0 to {offset - 1} are never read: the original implementation counted "
            f"positions from after the padding index, and the table kept its shape. Of {rows} "
            f"rows, {rows - offset} can be used for tokens.",
            "Padding tokens are counted like any other; the mask prevents attention to them.",
        ),
        config_keys=view.keys("positions", "width"),
        source="Lewis et al. 2020; the offset as in transformers’ code",
    )


def _is_sinusoidal(view: ModuleView) -> bool:
    """Return whether a fixed table holds sines and cosines of positions, as its class says."""
    return "inusoid" in view.node.class_name


def _sinusoids(view: ModuleView) -> Formula | None:
    """Marian's fixed positions: sines in the first half, cosines in the second."""
    shape = view.shape("weight")
    if not shape or view.tensors["weight"].trainable or not _is_sinusoidal(view):
        return None
    rows, width = shape
    half = (width + 1) // 2
    angle = f"s / 10000^(2i \\/ {width})"
    return Formula(
        title="Sinusoidal position embedding",
        summary="Maps each position in the sequence to a fixed vector of sines and cosines.",
        maths=(
            f"{sized('y_s', width)} = {sized('P', rows, width)}[s]",
            f"P_(s, i) = sin({angle}), quad P_(s, {half} + i) = cos({angle}), "
            f"quad i = {indices(half)}",
        ),
        terms=(
            Term("s", "position, counted from 0"),
            Term("P", "position table: fixed, not learnt", shape_text(shape)),
            Term("y_s", "vector of position s", shape_text((width,))),
        ),
        notes=(
            "The table is listed as a tensor but is not trained.",
            "The original Transformer interleaves sines and cosines; here the sines come first.",
            Note(
                "A subsequent linear layer can undo the order, so nothing is lost.",
                no(has_angle_table),
            ),
        ),
        config_keys=view.keys("positions", "width"),
        source="Vaswani et al. 2017, section 3.5; the order as in Marian’s code",
    )


EMBEDDING = (
    Template("embedding", _embedding),
    Template("embedding", _offset_positions),
    Template("embedding", _sinusoids),
)
