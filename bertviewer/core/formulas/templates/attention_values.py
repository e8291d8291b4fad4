"""Values that fill the placeholders in ``attention_texts``."""

from math import prod

from msgspec.structs import asdict

from bertviewer.core.formulas.module_view import (
    ModuleView,
    has_angle_table,
    has_contact_head,
    has_head_size,
    places,
)
from bertviewer.core.formulas.norm import NORMS
from bertviewer.core.formulas.steps.attention import is_root
from bertviewer.core.formulas.steps.graph_analysis import ROLES
from bertviewer.core.formulas.template import Values, first_true
from bertviewer.core.formulas.templates.attention_texts import WHERE
from bertviewer.core.formulas.templates.heads import Heads, Variant
from bertviewer.core.formulas.templates.rotary import has_angles, rotated_size
from bertviewer.core.schema.modules import ancestors
from bertviewer.core.sources.families import ROTARY_ANGLES
from bertviewer.core.util.numbers import count_text


def values_of(heads: Heads, variant: Variant) -> dict[str, object]:
    """Return the values for the texts on an attention."""
    query, count, view = heads.query, heads.count, heads.view
    cap, sinks = (next(iter(heads.scores.of(kind)), None) for kind in ("cap", "sinks"))
    clip, is_multi, is_grouped = query.step("clamp"), heads.key_heads == 1 < count, heads.shared > 1
    window = _window(view)
    after = " with convolutions" if query.layer.convolution else ""
    after = " with convolution" if heads.kernel else after
    return {
        **asdict(heads),
        **landmarks_of(view),
        "kernel": heads.kernel or None,
        "manner": "Multi-query" if is_multi else "Grouped-query" if is_grouped else "Multi-head",
        "kind": "cross-attention" if heads.is_cross else "self-attention",
        "after": " with add & norm" if heads.norm else after,
        "ending": "",
        "is_multi_query": is_multi,
        "is_grouped": is_grouped and not is_multi,
        "is_convolution": query.layer.convolution,
        "is_causal": heads.is_causal,
        "reads_encoder": heads.reads_encoder,
        "reads_other": heads.is_cross and not heads.reads_encoder,
        "adds_residual": heads.residual and not heads.norm,
        "unit": "rows" if query.layer.transposed else "columns",
        "what_it_counts": "number of source tokens" if heads.reads_encoder else "its positions",
        "heads": count_text(count, "1 head", "{0} heads"),
        "in_heads": count_text(count, "in one head", "in {0} heads in parallel"),
        "groups": count_text(heads.key_heads, "1 head", "{0} heads"),
        "same_columns": None if heads.shared > 1 else "Q, K and V",
        "query_columns": "Q" if heads.shared > 1 else None,
        "where": _where(heads, has_table="table" in variant.values),
        "mixing": _mixing(view) if heads.output is None else None,
        "shared": heads.shared,
        "cap": f"{cap.number:g}" if cap else None,
        "sinks": sinks.operand.parameter.rpartition(".")[2] if sinks else None,
        "rows_sum": "with the sink’s, each row sums to" if sinks else "each row sums to",
        "size_name": "head size" if heads.size == heads.value_size else "size of a query and a key",
        "window": window,
        "limits": clip and " to ".join(o.plain.replace("-", "−") for o in clip.operands if o.plain),
        **_scale(heads),
        **_norms(heads),
        **_visible(heads, window),
        **_rotation(heads),
        **variant.values,
    }


def landmarks_of(view: ModuleView) -> Values:
    """Return the values for the texts on landmarks (Nyströmformer)."""
    landmarks = view.integer("num_landmarks")
    return {"landmarks": landmarks, "is_full": landmarks == view.integer("seq_len")}


def _window(view: ModuleView) -> int | None:
    """Return the size of a module's sliding window, ``None`` without one."""
    names: tuple[str, ...] = ("sliding_window", "attention_window_size")
    for name in names:
        if name in view.node.attributes:
            return view.integer(name)
    kinds = view.config.get("layer_types")
    if isinstance(kinds, list | tuple) and set(kinds) != {"sliding_attention"}:
        return None
    if view.config.get("use_sliding_window") is False:
        return None
    if view.attribute("attention_type") == "local":  # of a model with global layers as well
        names = ("window_size",)
    found = [view.config.get(name) for name in names]
    return next((each for each in found if isinstance(each, int)), None)


def _scale(heads: Heads) -> Values:
    """Return the values for the texts on the scale of scores."""
    factor, size = heads.scores.factor or 0.0, heads.size
    whole = factor * prod(change.number or 0.0 for change in heads.scores.of("scale"))
    is_usual, is_one = is_root(whole, size), abs(whole - 1) < 1e-6
    is_t5 = is_one and heads.view.integer("relative_attention_num_buckets") is not None
    texts = {
        "does not divide the scores by √d_k": is_one,
        "scales the scores by a factor other than 1/√d_k": True,
    }
    return {
        "is_usual": is_usual,
        "t5_size": size if is_t5 and not is_usual else None,
        "scaling": None if is_usual or is_t5 else first_true(texts),
        "factor": None if is_root(factor, size) else f"{factor:g}",
    }


def _visible(heads: Heads, window: int | None) -> Values:
    """Return the values for the texts on visible and masked positions."""
    states = heads.view.graph.given.get(heads.query.source)
    shape = () if states is None else states.shape
    batch = heads.view.flows.lengths.get("B", 1)
    # An image may be split into windows whose positions attend to each other.
    has_windows = not heads.is_text and len(shape) == 3 and shape[0] > batch
    is_causal, is_cross = heads.is_causal, heads.is_cross
    reach = {
        "the positions of the encoder’s output": heads.reads_encoder,
        "the positions of another input": is_cross,
        "all positions of the same window": has_windows,
        "positions of the same sequence": window or is_causal is None,
        "itself and all earlier positions": is_causal,
        "all positions of the same sequence": True,
    }
    by_caller = heads.step.node.details.get("projections")
    hidden = {
        "chosen by the caller": by_caller and is_cross,
        "chosen by the caller; in a decoder, later positions": by_caller,
        "padding and, in a decoder, all later positions": is_causal is None,
        "those to be ignored": not heads.is_text,
        "padding and all later positions": is_causal,
        "padding": True,
    }
    farther = f", and positions {window} or more away" if window and not by_caller else ""
    return {
        "reach": first_true(reach),
        "hidden": first_true(hidden) + farther,
        "windows": shape[0] if has_windows else None,
    }


def _norms(heads: Heads) -> Values:
    """Return the names of the norms of queries and keys."""
    norms = [step for part in (heads.query, heads.key) if (step := part.step(*NORMS))]
    names = ", ".join(dict.fromkeys(step.path.rpartition(".")[2] for step in norms))
    if not norms or norms[0].node.shape[-1] != heads.size:
        return {"norms": names}
    shared = f"; all heads share the {heads.size} scales of each" if norms[0].node.reads else ""
    return {"head_norms": names + shared}


def _rotation(heads: Heads) -> Values:
    """Return the values for the texts on rotations."""
    step = heads.query.step("rotary")
    if step is None:
        return {}
    size, angles = rotated_size(step, heads.size), _angles(heads.view)
    rotated = "also rotated." if heads.value.step("rotary") else "not rotated."
    rotated += f" The model’s “{angles}” computes the angles." if angles else ""
    partial = size if size < heads.size else None
    return {"rotated_values": rotated, "rotated": partial, "rotated_size": size}


def _angles(view: ModuleView) -> str:
    """Return the name of the module that computes a rotation's angles, "" if unknown."""
    fixed = {t.owner for t in view.architecture.parameters if t.name.endswith(ROTARY_ANGLES)}
    for path in ancestors(view.node.path):
        for child in view.architecture.children(path):
            module = view.at(child.path)
            if child.path in fixed or (module is not None and has_angles(module)):
                return child.name
    return ""


def _where(heads: Heads, *, has_table: bool) -> str:
    """Return the text on where each head's part of the weights is, "" if unknown."""
    size, query, values = heads.size, heads.query, heads.value_size
    parts = dict(sorted(heads.projections.items(), key=lambda each: each[1].index))
    if query.layer.convolution or len({part.layout for part in parts.values()}) > 1:
        return ""
    outputs = [part.layer.outputs for part in parts.values()]
    is_even = heads.shared == 1 and size == values
    layout = {
        "single": not query.layout and is_even and heads.count == 1,
        "three": not query.layout and is_even,
        "grouped": not query.layout,
        "interleaved": query.layout == "interleaved" and heads.shared == 1,
        "unknown": query.layout != "stacked",
        "unequal": len(set(outputs)) > 1,
        "equal": True,
    }
    unit = "rows" if query.layer.transposed else "columns"
    *before, last = parts
    *counts, end = (f"{part.layer.outputs} of the {role}" for role, part in parts.items())
    where = WHERE[first_true(layout)].format(
        **asdict(heads),
        unit=unit,
        rows=f"{unit} {size}h to {size}h+{size - 1}",
        first=f"so the first head has {unit} 0 to {size - 1}.",
        last_head=heads.count - 1,
        last_group=heads.key_heads - 1,
        key_rows=f"{size}g to {size}g+{size - 1}",
        value_rows="" if values == size else f" {values}g to {values}g+{values - 1} of",
        three_sizes=3 * size,
        weights=[f"W_{ROLES[role]}" for role in parts],
        names=f"{', '.join(before)} and {last}",
        listed=f"{', '.join(counts)} and {end}",
        outputs=outputs[0],
        stacks="stacks" if unit == "rows" else "holds",
        side_by_side="" if unit == "rows" else " side by side",
    )
    return f"{where} {_split(heads, has_table=has_table)}" if is_even else where


def _split(heads: Heads, *, has_table: bool) -> str:
    """Return the text on how features are split into heads, and on parameters."""
    view, free = heads.view, ": the number of heads does not change the parameter count"
    endings = {
        ". The configuration sets the head size separately, so more heads mean more features and "
        "larger weights": has_head_size(view),
        "": heads.scores.of("sinks"),
        f"{free}, except for the table of angles": heads.query.step("rotary")
        and has_angle_table(view),
        f"{free}, except for the contact head": has_contact_head(view),
        f"{free}, except for the distance biases": has_table,
        free: True,
    }
    features, sizes = heads.count * heads.size, f"[{heads.count}, {heads.size}]"
    return f"The {features} features are split as {sizes}{first_true(endings)}."


def _mixing(view: ModuleView) -> str:
    """Return the text on the linear layer outside of this module that mixes the heads."""
    for place in places(view):
        for user in place.graph.users(place.steps[-1]):
            inner = view.at(user.path) if user.operation == "" else None
            linears = () if inner is None else inner.graph.of("linear")
            layer = next(iter(linears), user)
            *_, holder, name = ("", "", *layer.path.split("."))
            if layer.operation == "linear" and name:
                where = "sibling module" if place.view.node.path == view.node.parent else "module"
                return f". The linear layer that mixes them is “{name}” in the {where} “{holder}”"
    return "; this module does not mix them"
