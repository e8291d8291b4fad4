"""Embedding tables, and position vectors that are computed or fixed."""

import math

from msgspec.structs import replace

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import Term, indices, number_maths, sized
from bertviewer.core.formulas.module_view import ModuleView, has_angle_table, has_positions, places
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.schema.flow import Node, Operand

_WIDTHS = ("embedding width", "width")
_TOKENS = ("vocabulary", *_WIDTHS, "padding")
_HEADS = ("distances", "heads")
_KINDS = {
    "token": ("Maps each vocabulary entry to its vector.", _TOKENS),
    "position": ("Maps each position in the sequence to its vector.", ("positions", *_WIDTHS)),
    "segment": (
        "Maps each segment (first or second sentence) to its vector.",
        ("token types", *_WIDTHS),
    ),
    "bias": ("Maps each distance between two positions to its bias, one per head.", _HEADS),
    "distance": ("Maps each distance between two positions to its vector.", _HEADS),
    "": ("Maps each index to a learnt vector.", _TOKENS),
}
"""Summary and keys by the kind of indices."""


def index_kind(step: Step, view: ModuleView) -> str:
    """Return the kind of a lookup's indices: token, position, segment, or "" if unknown.

    ``view`` is the module whose graph has the step.
    """
    given = _given_index(step, view)
    name, is_input = ("", False) if given is None else (given.name, given.kind == "input")
    if "type" in name:
        return "segment"
    if given is None or (is_input and "position" in name):
        return "position"
    if name in ("input", "input ids", "decoder input ids") or (is_input and "ids" in name):
        return "token"
    # With several tables of computed indices, constants may be hashes or boxes.
    read = [_given_index(each, view) for each in view.graph.of("embedding")]
    computed = [i for i in read if i is None or (i.kind == "constant" and "ids" not in i.name)]
    is_counted = given.kind == "constant" and len(computed) < 2
    return "position" if is_counted and not _is_read_whole(step, view) else ""


def _is_read_whole(step: Step, view: ModuleView) -> bool:
    """Return whether layers read all rows of a table, as additional positions (PegasusX)."""
    rows = [view.parameter_shape(o.parameter)[:1] for o in step.operands if o.parameter]
    users = view.graph.users(step)
    own = view.node.path.count(".") + 1 if view.node.path else 0
    paths = [user.path.split(".")[own:] for user in users]
    are_layers = all(any(name.isdecimal() for name in path) for path in paths)
    return step.node.shape[-2:-1] in rows and bool(users) and are_layers


def _given_index(step: Step, view: ModuleView) -> Node | None:
    """Return the input or constant with a lookup's indices, ``None`` if computed."""
    index = next((o for o in step.operands if o.is_tensor and not o.parameter), Operand())
    return view.graph.given.get(index.node)


def _kind(view: ModuleView) -> str:
    """Return the kind of a table's indices, from lookups around it."""
    for place in places(view):
        step, shape = place.steps[0], place.steps[0].node.shape
        is_pairwise = len(shape) == 3 and shape[0] == shape[1]
        if is_pairwise or any("bias" in user.roles for user in place.graph.users(step)):
            return "bias"
        if kind := index_kind(step, place.view):
            return kind
    table = view.tensors["weight"]
    if table.shape[0] == view.config.get("vocab_size"):
        return "token"
    # An attention may read the whole table (DeBERTa).
    readers = {node.operation for node in view.all_nodes() if table.name in node.reads}
    return "" if not readers or readers & {"embedding", "look-up"} else "distance"


def constant_factor(step: Step, view: ModuleView) -> float | None:
    """Return the constant by which a step multiplies, ``None`` for other steps.

    ``view`` is the table's module, as Gemma's factor is a buffer and an attribute.
    """
    numbers = [each.plain for each in step.operands if each.plain]
    if step.operation != "mul" or len(numbers) > 1:
        return None
    return float(numbers[0]) if numbers else _stored_factor(view)


def _stored_factor(view: ModuleView) -> float | None:
    stored = view.attribute("scalar_embed_scale", "embed_scale")
    return float(stored) if isinstance(stored, float | int) else None


def _scores_with_table(view: ModuleView) -> bool:
    """Return whether a linear layer shares a table's weight."""
    table = view.tensors["weight"]
    first = table.tied_to or table.name
    names = {t.name for t in view.architecture.parameters if first in (t.name, t.tied_to)}
    return any(node.operation == "linear" and names & {*node.reads} for node in view.all_nodes())


def _table(view: ModuleView) -> Match | None:
    """A lookup, perhaps scaled (Vaswani et al. 2017, 3.4), with an offset, or of sinusoids."""
    shape, steps = view.shape("weight") or (), view.graph.steps
    if len(shape) != 2 or len(view.tensors) > 1:
        return None
    if "inusoid" in view.node.class_name and not view.tensors["weight"].trainable:
        return replace(_sinusoids(*shape), values={"learnt after": not has_angle_table(view)})
    factor = None if view.is_called else _stored_factor(view)
    factor = constant_factor(steps[1], view) if len(steps) == 2 else factor
    expected = ["embedding"] if factor is None else ["embedding", "mul"]
    is_lookup = [step.operation for step in steps] == expected
    if not (is_lookup or (not view.is_called and "Embedding" in view.node.class_name)):
        return None
    given = _given_index(steps[0], view) if steps else None
    is_counted = len(steps) == 1 and (given is None or given.kind == "constant")
    (rows, width), offset = shape, view.integer("offset") or 0 if is_counted else 0
    summary, choices = _KINDS["position" if offset else _kind(view)]
    title, times, scale, scaled, constant = "Embedding", "", "", "", []
    if factor is not None:
        is_root = abs(factor - math.sqrt(width)) < 1e-6
        root = f", the square root of the embedding size {width}" if is_root else ""
        scaled = f"{factor:g}{root}{_WHY_SCALED if has_positions(view) else '.'}"
        title, times, choices = "Scaled embedding", "alpha thick ", (*choices, "embedding scale")
        scale = f"quad alpha = {f'sqrt({width})' if is_root else number_maths(factor)}, "
        constant = [Term("alpha", "constant factor", f"{factor:g}")]
    source = "Devlin et al. 2019, section 3; Vaswani et al. 2017, section 3.4"
    entry, domain = "t_s", f"quad t_s in {{{indices(rows)}}}"
    index, each = Term("t_s", "index at position s (an integer)"), "index"
    if offset:
        title = "Position embedding with an offset"
        entry, domain = f"s + {offset}", f"quad s = {indices(rows - offset)}"
        index, each = _INDEX, "position"
        source = "Lewis et al. 2020; the offset as in transformers’ code"
    widths = view.config_keys(*_WIDTHS)
    return Match(
        maths=(
            f"{sized('y_s', width)} = {times}{sized('W', rows, width)}[{entry}], {scale}{domain}",
        ),
        terms=(
            index,
            Term("W", f"embedding table, one row per {each}", shape_text(shape)),
            *constant,
            Term("y_s", "the row: the vector of position s", shape_text((width,))),
        ),
        values={
            "title": title,
            "summary": summary,
            "tied to": view.tensors["weight"].tied_to,
            "is one": factor == 1,
            "scaled": "" if factor == 1 else scaled,
            "padding": view.integer("padding_idx"),
            "trained": _scores_with_table(view),
            "unused": offset - 1 if offset else None,
            "source": source,
            "rows": rows,
            "usable": rows - offset if offset else None,
        },
        keys=tuple(
            k for k in view.config_keys(*choices) if k not in widths or view.config[k] == width
        ),
    )


def _sinusoids(rows: int, width: int) -> Match:
    angle, half = f"s / 10000^(2i \\/ {width})", (width + 1) // 2
    return Match(
        maths=(
            f"{sized('y_s', width)} = {sized('W', rows, width)}[s]",
            f"w_(s, i) = sin({angle}), quad w_(s, {half} + i) = cos({angle}), "
            f"quad i = {indices(half)}",
        ),
        terms=(
            _INDEX,
            Term("W", "position table: fixed, not learnt", shape_text((rows, width))),
            Term("y_s", "vector of position s", shape_text((width,))),
        ),
        case="sinusoids",
    )


_INDEX = Term("s", "position, counted from 0")
_WHY_SCALED = (
    ": the table is initialised with small values, and the factor brings them to the scale of the "
    "vectors added to them."
)
EMBEDDING = Template(
    "embedding",
    _table,
    title="{title}",
    summary="{summary}",
    notes=(
        "{not usable?} The lookup selects one row of the table. The result equals the product of a "
        "one-hot vector and the table, without the multiplications by 0.",
        "The table is tied: it is the same tensor as {tied to} and is counted there.",
        "{is one?} The factor is 1 in this configuration: this is a plain lookup.",
        "Every vector is multiplied by {scaled}",
        "{not trained?} padding_idx is {padding}: row {padding} is not updated during training. "
        "The lookup treats it like any other row.",
        "{trained?} padding_idx is {padding}: the lookup does not train row {padding}, but the "
        "output layer that shares the table does.",
        "Rows 0 to {unused} are never read: the original implementation counted positions from "
        "after the padding index, and the table kept its shape. Of {rows} rows, {usable} can "
        "be used for tokens.",
        "{usable?} Padding tokens are counted like any other; the mask prevents attention to them.",
    ),
    source="{source}",
    cases={
        "sinusoids": Template(
            "embedding",
            title="Sinusoidal position embedding",
            summary="Maps each position in the sequence to a fixed vector of sines and cosines.",
            notes=(
                "The table is listed as a tensor but is not trained.",
                "The original Transformer interleaves sines and cosines; here the sines come "
                "first.",
                "{learnt after?} A subsequent linear layer can undo the order, so nothing is lost.",
            ),
            keys=("positions", "width"),
            source="Vaswani et al. 2017, section 3.5; the order as in Marian’s code",
        )
    },
)
