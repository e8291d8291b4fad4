"""What fills the texts on an attention: the numbers and names of the module at hand."""

from math import prod

from bertviewer.core.formulas.facts import has_angle_table, has_contact_head, has_head_size
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.steps.origins import ROLES
from bertviewer.core.formulas.templates.attention_maths import rotated_size
from bertviewer.core.formulas.templates.heads import Heads, reads_text
from bertviewer.core.formulas.templates.norm import NORMS
from bertviewer.core.formulas.templates.template import Values
from bertviewer.core.graph.module_graph import graph_of
from bertviewer.core.text.numerals import count_text

_MANNERS = {"": "Multi-head", "Multi-query": "Multi-query", "Grouped": "Grouped-query"}


def values_of(heads: Heads, bias: Values, window: int | None = None) -> dict[str, object]:
    """Return what fills the texts on an attention, also on its bias and sliding window."""
    query, count = heads.query, heads.count
    later = prod(change.number or 0.0 for change in heads.scores.of("scale"))
    scale = heads.unless_usual((heads.scores.factor or 0.0) * later)
    is_one = scale is not None and abs(scale - 1) < 1e-6
    is_t5 = heads.view.integer("relative_attention_num_buckets") is not None
    cap, sinks = (next(iter(heads.scores.of(kind)), None) for kind in ("cap", "sinks"))
    clip, first = query.step("clamp"), heads.first_scale
    sharing = None
    if heads.key_heads == 1 < count:
        sharing = f"Multi-query attention: all {count} query heads share one head of keys and "
        sharing += "values"
    elif heads.shared > 1:
        sharing = f"Grouped queries: {heads.shared} consecutive query heads share one key/value "
        sharing += "head"
    scaling = "scales the scores by a factor other than 1/√d_k"
    scaling = "does not divide the scores by √d_k" if is_one else scaling
    crossing = "one input, keys and values from another one"
    if heads.reads_encoder:
        crossing = "the decoder, keys and values from the encoder’s output: this is where the "
        crossing += "decoder reads the source"
    return {
        **vars(heads),
        "manner": _MANNERS[(sharing or "").partition(" ")[0]],
        "is_convolution": query.layer.convolution,
        "kind": "cross-attention" if heads.is_cross else "self-attention",
        "is_causal": heads.is_causal,
        "unit": "rows" if query.layer.transposed else "columns",
        "what_it_counts": "number of source tokens" if heads.reads_encoder else "its positions",
        "heads": count_text(count, "1 head", "{0} heads"),
        "in_heads": count_text(count, "in one head", "in {0} heads in parallel"),
        "groups": count_text(heads.key_heads, "1 head", "{0} heads"),
        "same_columns": None if sharing else "Q, K and V",
        "query_columns": "Q" if sharing else None,
        "is_usual": scale is None,
        "t5_size": heads.size if is_one and is_t5 else None,
        "scaling": None if scale is None or (is_one and is_t5) else scaling,
        "factor": None if first is None else f"{first:g}",
        "where": _where(heads, has_table="table" in bias),
        "mixing": _mixing(heads.view) if heads.output is None else None,
        "sharing": sharing,
        "norms": _norms(heads),
        "shared": heads.shared,
        "cap": f"{cap.number:g}" if cap else None,
        "sinks": sinks.operand.parameter.rpartition(".")[2] if sinks else None,
        "rows_sum": "with the sink’s, each row sums to" if sinks else "each row sums to",
        "size_name": "head size" if heads.size == heads.value_size else "size of a query and a key",
        "window": window,
        "crossing": crossing if heads.is_cross else None,
        "adds_residual": heads.residual and not heads.norm,
        "has_buckets": is_t5,
        "limits": clip and " to ".join(o.plain.replace("-", "−") for o in clip.operands if o.plain),
        **landmarks_of(heads.view),
        **_visible(heads, window),
        **_rotation(heads),
        **bias,
    }


def landmarks_of(view: ModuleView) -> Values:
    """Return what fills the texts on landmarks (Nyströmformer)."""
    landmarks = view.integer("num_landmarks")
    return {"landmarks": landmarks, "is_full": landmarks == view.integer("seq_len")}


def _visible(heads: Heads, window: int | None) -> Values:
    """Return what a position attends to, and what the mask hides."""
    graph, flows = heads.view.graph, heads.view.architecture.flows
    shape = graph.given[heads.query.source].shape if graph and heads.query.source else ()
    batch = 1 if flows is None else flows.lengths.get("B", 1)
    # An image may be split into windows whose positions attend to each other.
    windows = shape[0] if len(shape) == 3 and not reads_text(heads.view) else 0
    windows = windows if windows > batch else 0
    reach, hidden = "all positions of the same sequence", "padding"
    if heads.is_causal:
        reach, hidden = "itself and all earlier positions", "padding and all later positions"
    elif heads.is_causal is None:
        hidden = "padding and, in a decoder, all later positions"
    hidden = hidden if heads.is_text or heads.is_causal is None else "those that must not be seen"
    if heads.step.node.details.get("projections"):
        later = "" if heads.is_cross else "; in a decoder, later positions"
        hidden = f"chosen by the caller{later}"
    elif window:
        hidden += f", and positions {window} or more away"
    if heads.is_cross:
        other = "the encoder’s output" if heads.reads_encoder else "another input"
        reach = f"the positions of {other}"
    elif windows:
        reach = "all positions of the same window"
    elif window or heads.is_causal is None:
        reach = "positions of the same sequence"
    return {"reach": reach, "hidden": hidden, "windows": windows or None}


def _norms(heads: Heads) -> str:
    """Say how queries and keys are normalised, up to the names of the norms."""
    norms = [step for part in (heads.query, heads.key) if (step := part.step(*NORMS))]
    named = ", ".join(dict.fromkeys((step.node.path or "").rpartition(".")[2] for step in norms))
    if not norms or norms[0].node.shape[-1] != heads.size:
        over = "Queries and keys are first normalised over all their features"
        return f"{over} ({named}" if norms else ""
    shared = f"; all heads share the {heads.size} scales of each" if norms[0].node.reads else ""
    return f"Each head’s queries and keys are first normalised ({named}{shared}"


def _rotation(heads: Heads) -> Values:
    """Return what fills the texts on a rotation of queries and keys."""
    step = heads.query.step("rotary")
    if step is None:
        return {}
    size, angles = rotated_size(step, heads.size), _angles(heads.view)
    rotated = "also rotated." if heads.value.step("rotary") else "not rotated."
    rotated += f" The model’s “{angles}” computes the angles." if angles else ""
    partial = size if size < heads.size else None
    return {"rotated_values": rotated, "rotated": partial, "rotated_size": size}


def _angles(view: ModuleView) -> str:
    """Return the name of the module that computes a rotation's angles, "" if not known."""
    flows, path = view.architecture.flows, view.node.path
    fixed = {t.owner for t in view.architecture.parameters if not t.trainable}
    while path and flows is not None:
        path = path.rpartition(".")[0]
        for child in view.architecture.children(path):
            flow = flows.flow(child.path)
            graph = None if flow is None else graph_of(flow)
            given = () if graph is None or graph.steps else graph.given.values()
            if child.path in fixed or any(node.name == "sines and cosines" for node in given):
                return child.name
    return ""


def _where(heads: Heads, *, has_table: bool) -> str:
    """Say where each head finds its part of the weights, "" if that is not known."""
    count, size, query = heads.count, heads.size, heads.query
    if query.layer.convolution or len({part.layout for part in heads.parts.values()}) > 1:
        return ""
    unit = "rows" if query.layer.transposed else "columns"
    rows = f"{unit} {size}h to {size}h+{size - 1}"
    first = f"so the first head has {unit} 0 to {size - 1}."
    within = f"Within each, head h has {rows}, {first}"
    is_even = heads.shared == 1 and size == heads.value_size
    if query.layout:
        where = _stacked(heads, unit, within)
    elif is_even:
        where = count_text(
            count,
            f"The single head uses all {unit} of W_Q, W_K and W_V.",
            f"All {{0}} heads are stacked in the same three weights: head h has {rows} of W_Q, W_K "
            f"and W_V, {first}",
        )
    else:
        values = heads.value_size
        other = "" if values == size else f" {values}g to {values}g+{values - 1} of"
        where = (
            f"The heads are stacked: query head h (0 to {count - 1}) has {rows} of W_Q, and "
            f"key/value head g (0 to {heads.key_heads - 1}) has {unit} {size}g to "
            f"{size}g+{size - 1} of W_K and{other} W_V."
        )
    return f"{where} {_split(heads, has_table=has_table)}" if is_even and where else where


def _stacked(heads: Heads, unit: str, within: str) -> str:
    """Say how one weight holds those of queries, keys and values."""
    parts = dict(sorted(heads.parts.items(), key=lambda each: each[1].place))
    outputs = [part.layer.outputs for part in parts.values()]
    *before, last = parts
    names = f"{', '.join(before)} and {last}"
    holder = heads.query.holder
    if heads.query.layout == "interleaved" and heads.shared == 1:
        one, two, three = (f"W_{ROLES[role]}" for role in parts)
        return (
            f"{holder} stacks the heads, {3 * heads.size} {unit} each: the first {heads.size} are "
            f"the head’s {unit} of {one}, the next those of {two}, the last those of {three}."
        )
    if heads.query.layout != "stacked":
        return f"{holder} holds the weights of {names} together."
    if len(set(outputs)) > 1:
        *counts, end = (f"{part.layer.outputs} of the {role}" for role, part in parts.items())
        listed = f"{', '.join(counts)} and {end}"
        return f"{holder} stacks the weights of {names}: {listed}, in this order ({unit}). {within}"
    verb, side = ("stacks", "") if unit == "rows" else ("holds", " side by side")
    return f"{holder} {verb} the weights of {names}{side}, {outputs[0]} {unit} each. {within}"


def _split(heads: Heads, *, has_table: bool) -> str:
    """Say how the features are split into heads, and whether their number changes anything."""
    view = heads.view
    exceptions = {
        ", except for the table of angles": heads.query.step("rotary") and has_angle_table(view),
        ", except for the contact head": has_contact_head(view),
        ", except for the distance biases": has_table,
    }
    ending = next((text for text, is_true in exceptions.items() if is_true), "")
    ending = f": the number of heads does not change the parameter count{ending}"
    if has_head_size(view):
        ending = (
            ". The configuration sets the head size separately, so more heads mean more features "
            "and larger weights"
        )
    elif heads.scores.of("sinks"):
        ending = ""
    features, sizes = heads.count * heads.size, f"[{heads.count}, {heads.size}]"
    return f"The {features} features are split as {sizes}{ending}."


def _mixing(view: ModuleView) -> str:
    """Say where the linear layer is that mixes the heads, if this module has none."""
    for place in places(view):
        for user in place.graph.users(place.steps[-1]):
            inner = view.at(user.node.path or "") if user.operation == "" else None
            linears = () if inner is None or inner.graph is None else inner.graph.of("linear")
            layer = next(iter(linears), user)
            *_, holder, name = ("", "", *(layer.node.path or "").split("."))
            if layer.operation == "linear" and name:
                where = "sibling module" if place.view.node.path == view.node.parent else "module"
                return f". The linear layer that mixes them is “{name}” in the {where} “{holder}”"
    return "; this module does not mix them"
