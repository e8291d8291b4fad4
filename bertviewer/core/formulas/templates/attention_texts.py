"""The symbols of an attention, and what a learner asks about it, with the module's numbers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod

from bertviewer.core.formulas.facts import (
    drops_probabilities,
    has_angle_table,
    has_contact_head,
    has_head_size,
    has_positions,
)
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import graph_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, TOKENS
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.steps.origins import ROLES
from bertviewer.core.formulas.templates.attention_maths import (
    head_norm,
    rotated_size,
)
from bertviewer.core.formulas.templates.heads import Heads, Part, reads_text
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.template import Values, filled
from bertviewer.core.text.numerals import count_text

WHY = Note(
    "Why divide by √d_k? If the entries of a query and a key are independent with mean 0 and "
    "variance 1, their dot product has variance d_k = {size}. Scores that large would push the "
    "softmax towards 0 and 1, where its gradient vanishes; the division restores a variance of 1.",
    "is_usual",
)
WHERE = "{where}"
MIXING = "Concat places the heads side by side{mixing}."
CAUSAL = Note(
    "Attention is causal: position s attends only to positions 0 to s, so that the model can be "
    "trained to predict the next token.",
    "is_causal",
)
DROPOUT = Note(
    "During training, dropout zeroes some entries of P; in evaluation mode it has no effect.",
    drops_probabilities,
)
LANDMARKS = (
    Note(
        "This configuration has as many landmarks as positions in a sequence ({landmarks}), so the "
        "attention is computed in full, without the Nyström approximation.",
        "is_full",
    ),
    Note(
        "Nyström approximation: queries and keys are averaged over segments to {landmarks} "
        "landmarks each. The three softmax products with them replace the one of all pairs, so "
        "the cost grows linearly with the number of tokens. The matrix between landmarks is "
        "inverted approximately, in a few iterations (Xiong et al. 2021, section 3).",
        "not is_full",
    ),
)
NOTES: tuple[str, ...] = (
    WHY,
    Note(
        "The scores are not divided by the square root of d_k = {size}: T5 initialises W_Q with a "
        "standard deviation smaller by this factor, which has the same effect at the start of "
        "training.",
        "is_t5",
    ),
    Note("This configuration does not divide the scores by √d_k.", "is_unscaled"),
    Note("This configuration scales the scores by a factor other than 1/√d_k.", "is_scaled"),
    WHERE,
    MIXING,
    Note(
        "Multi-query attention: all {count} query heads share one head of keys and values, "
        "{fewer}key/value cache is {shared} times smaller.",
        "is_multi_query",
    ),
    Note(
        "Grouped queries: {shared} consecutive query heads share one key/value head, "
        "{fewer}key/value cache is {shared} times smaller.",
        "is_grouped",
    ),
    "Queries and keys are first normalised over all their features ({norms}), which keeps the "
    "scores bounded.",
    "Each head’s queries and keys are first normalised ({head_norms}), which keeps the scores "
    "bounded.",
    "The rotation encodes the order of the tokens: after it, the product of a query and a key "
    "depends on the distance between them, not on their absolute positions. Values are "
    "{rotated_values}",
    "Only {rotated} of the {size} features of a head are rotated (partial rotary embedding); the "
    "others carry no position.",
    Note("There are no position vectors: token order enters as {bias}", no(has_positions)),
    Note("Token order enters as position vectors, in the embeddings, and as {bias}", has_positions),
    "{table}.",
    "Soft-capping keeps all scores between −{cap} and {cap}: small scores pass almost unchanged, "
    "large ones approach the bound.",
    "Attention sinks: the softmax also includes one learnt score per head (“{sinks}”) that "
    "belongs to no position. Its probability is left out afterwards, so the remaining ones sum to "
    "less than 1: a head can attend to nothing.",
    CAUSAL,
    "Sliding window: only positions less than {window} away are visible. Information from farther "
    "away arrives over several layers, if at all.",
    Note(
        "Queries come from the decoder, keys and values from the encoder’s output: this is where "
        "the decoder reads the source.",
        "reads_encoder",
    ),
    Note("Queries come from one input, keys and values from another one.", "reads_other"),
    "This module contains the whole sub-layer: attention, output projection, residual connection "
    "and {norm}.",
    Note("This module also adds its residual connection.", "adds_residual"),
    Note(
        "ALiBi: there are no position vectors. The bias falls linearly with the distance, with a "
        "fixed slope per head. The formula adds m_h j instead of −m_h (i − j): softmax does not "
        "change if all scores of a row change by the same number.",
        "has_slopes",
    ),
    Note(
        "Relative positions: a score is the product of a query with the key (content) plus its "
        "product with the projected vector of the distance (position). u and v replace the "
        "query’s own position, as no absolute positions exist.",
        "has_product",
    ),
    "The input is split into {windows} windows; a position attends only to positions of its own "
    "window. Information crosses windows only in other layers.",
    Note(
        "The convolutions look at one position, like linear layers. The module’s tensors have one "
        "column per position; the formula has one row per position.",
        "has_convolutions",
    ),
    Note("Queries, keys and values are clipped, which bounds the scores.", "has_clip"),
    "The convolution adds to each head’s output a weighted sum of the values at the {kernel} "
    "nearest positions, the same for all features of the head.",
    *LANDMARKS,
    DROPOUT,
)
"""What a learner asks about attention, the most asked first."""

INPUT = Term("X", "input, one row per position", "[S, {width}]")
_INPUTS = (
    INPUT,
    Term('X_"enc"', "the encoder’s output", "[S', {key_inputs}]"),
    Term("X'", "the input of keys and values", "[S', {key_inputs}]"),
    Term("S'", "{what_it_counts}"),
    Term("X_V", "input of the values", "[S, {value_inputs}]"),
)
HEAD = Term("h", "index of the head, counted from 0", "{heads}")
_HEADS = (
    HEAD,
    Term("Q_h, K_h, V_h", "the {size} columns of head h in {same_columns}", "[S, {size}]"),
    Term("Q_h", "the {size} columns of head h in {query_columns}", "[S, {size}]"),
    Term("g(h)", "key/value head that query head h uses", "{groups}"),
    Term("K_(g(h)), V_(g(h))", "the {size} columns of this head in K and V", "[S, {size}]"),
)
TURNS = Term(
    ROTATION, "rotates pairs of features by an angle that grows with the position; no parameters"
)
_CHANGES = (
    Term('op("clip")', "limits each number to the range {limits}"),
    TURNS,
    Term("u_h", "learnt vector of head h, added to all queries", "[{size}]"),
)
PROBABILITIES = (
    Term(
        "w_h",
        "kernel of head h of a convolution over positions (ast is the convolution)",
        "[{kernel}]",
    ),
    Term("A_h", "scores of head h"),
    Term("z_h", "learnt score of head h that belongs to no position", "[{count}]"),
    Term(
        "M",
        "mask: 0 at visible positions, a large negative number (in effect −∞) at masked ones "
        "({hidden}), so that softmax gives them probability 0",
    ),
    Term("P_h", "attention probabilities of head h; {rows_sum} 1"),
    Term("O_h", "output of head h", "[S, {value_size}]"),
    Term("d_k", "{size_name}; the scores are divided by its square root", "{size}"),
    Term("c", "factor applied to the scores instead of 1/√d_k", "{factor}"),
)
PAIRS = (
    Term("x", "query or key of one head at position s", "[{rotated_size}]"),
    Term("s", "position, counted from 0"),
    Term("theta_i", "rotation angle of pair i per position"),
)
_RESIDUAL = Term("R", "residual: the input of the sub-layer")


def legend(entries: Iterable[Term], lines: Iterable[str], values: Values) -> Iterator[Term]:
    """Yield the terms whose symbols the lines have, with placeholders filled with the values.

    A term is left out if a placeholder of its meaning has no value.
    """
    whole = " ".join(lines)
    for each in entries:
        symbol = re.escape(each.symbol.split(", ")[0])
        if not re.search(rf"(?<![\w\"^]){symbol}(?![\w'])", whole):
            continue
        meaning, value = (filled(text, values) for text in (each.meaning, each.value or ""))
        if meaning:
            yield Term(each.symbol, meaning, value or None)


def layer_terms(parts: Mapping[str, Part]) -> Iterator[Term]:
    """Yield the terms of the projections."""
    for role, letter in ROLES.items():
        if (layer := parts[role].layer) is not None:
            yield from layer.terms(f"the {role} projection", letter)


def attention_terms(
    heads: Heads, bias: Iterable[Term], lines: Iterable[str], values: Values
) -> tuple[Term, ...]:
    """Return the terms of an attention and of the bias on its scores, in the order of the lines."""
    norms = [Norm.of(step) for step in heads.query.steps if is_norm(step)][:1]
    if (norm := head_norm(heads.query)) is not None:
        what = norm.meaning.replace("each position’s vector", "each head’s vectors")
        norm_terms = (Term(norm.operator, what, f"[{heads.size}]"),)
    else:
        norm_terms = tuple(term for each in norms for term in each.terms)
    given = Term("Q, K, V", "queries, keys and values, one row per position: the inputs")
    return (
        TOKENS if heads.is_text else Term("S", "number of positions, without the batch"),
        *((given,) if heads.query.layer is None else legend(_INPUTS, lines, values)),
        *layer_terms(heads.parts),
        *legend(_HEADS, lines, values),
        *norm_terms,
        *legend((*_CHANGES, *bias, *PROBABILITIES), lines, values),
        *(heads.output.terms("the output projection", "O") if heads.output else ()),
        *((_RESIDUAL,) if heads.residual not in ("", heads.query.source) else ()),
        *(heads.norm.terms if heads.norm else ()),
        *legend(PAIRS, lines, values),
    )


def values_of(heads: Heads, bias: Values, window: int | None = None) -> dict[str, object]:
    """Return what fills the texts on an attention, also on its bias and sliding window."""
    query, count = heads.query, heads.count
    later = prod(change.number or 0.0 for change in heads.scores.of("scale"))
    scale = heads.unless_usual((heads.scores.factor or 0.0) * later)
    is_one = scale is not None and abs(scale - 1) < 1e-6
    is_t5 = heads.view.integer("relative_attention_num_buckets") is not None
    reads_encoder = heads.reads_encoder
    is_shared, is_multi_query = heads.shared > 1, heads.shared > 1 and heads.key_heads == 1
    caps, sinks = heads.scores.of("cap"), heads.scores.of("sinks")
    clip = query.step("clamp")
    keys, values = heads.key.layer, heads.value.layer
    unit = "rows" if query.layer is None or query.layer.transposed else "columns"
    sizes = f"so W_K and W_V have {heads.key.outputs} {unit} instead of {query.outputs}, and a "
    norm = heads.norm.name if heads.norm else None
    return {
        "size": heads.size,
        "count": count,
        "shared": heads.shared,
        "value_size": heads.value_size,
        "width": heads.width,
        "key_inputs": keys.inputs if keys else None,
        "value_inputs": values.inputs if values else None,
        "what_it_counts": "number of source tokens" if reads_encoder else "its positions",
        "heads": count_text(count, "1 head", "{0} heads"),
        "in_heads": count_text(count, "in one head", "in {0} heads in parallel"),
        "groups": count_text(heads.key_heads, "1 head", "{0} heads"),
        "same_columns": None if is_shared else "Q, K and V",
        "query_columns": "Q" if is_shared else None,
        "manner": "Multi-query"
        if is_multi_query
        else "Grouped-query"
        if is_shared
        else "Multi-head",
        "kind": "cross-attention" if heads.is_cross else "self-attention",
        "reach": _reach(heads, window),
        "is_usual": scale is None,
        "is_t5": is_one and is_t5,
        "is_unscaled": is_one and not is_t5,
        "is_scaled": not (is_one or scale is None),
        "factor": f"{heads.first_scale:g}" if heads.first_scale is not None else None,
        "where": _where(heads, has_table="table" in bias),
        "mixing": _mixing(heads.view) if heads.output is None and query.layer else None,
        "is_multi_query": is_multi_query,
        "is_grouped": is_shared and not is_multi_query,
        "fewer": sizes if keys else "a ",
        "cap": f"{caps[0].number:g}" if caps else None,
        "sinks": sinks[0].operand.parameter.rpartition(".")[2] if sinks else None,
        "rows_sum": f"{'with the sink’s, ' if sinks else ''}each row sums to",
        "size_name": "head size" if heads.size == heads.value_size else "size of a query and a key",
        "is_causal": heads.is_causal,
        "kernel": heads.kernel or None,
        "window": window,
        "windows": _windows(heads) or None,
        "hidden": _hidden(heads, window),
        "reads_encoder": reads_encoder,
        "reads_other": heads.is_cross and not reads_encoder,
        "norm": norm if heads.residual else None,
        "adds_residual": heads.residual and not heads.norm,
        "has_convolutions": has_convolutions(heads),
        "has_buckets": is_t5,
        "has_clip": clip,
        "limits": " to ".join(o.plain.replace("-", "−") for o in clip.operands if o.plain)
        if clip
        else None,
        **landmarks_of(heads.view),
        **_norm_names(heads),
        **_rotation(heads),
        **bias,
    }


def has_convolutions(heads: Heads) -> bool:
    """Return whether the projections are convolutions, whose tensors have the features first."""
    return heads.query.layer is not None and bool(heads.query.layer.convolution)


def _reach(heads: Heads, window: int | None) -> str:
    """Return what a position attends to."""
    if heads.is_cross:
        return "the positions of " + (
            "the encoder’s output" if heads.reads_encoder else "another input"
        )
    if _windows(heads):
        return "all positions of the same window"
    if window or heads.is_causal is None:
        return "positions of the same sequence"
    if heads.is_causal:
        return "itself and all earlier positions"
    return "all positions of the same sequence"


def _hidden(heads: Heads, window: int | None) -> str:
    """Return what the mask hides."""
    if heads.query.layout == "torch":
        return f"chosen by the caller{'' if heads.is_cross else '; in a decoder, later positions'}"
    hidden = "padding and all later positions" if heads.is_causal else "padding"
    if heads.is_causal is None:
        hidden = "padding and, in a decoder, all later positions"
    elif not heads.is_text:
        hidden = "those that must not be seen"
    return f"{hidden}, and positions {window} or more away" if window else hidden


def _windows(heads: Heads) -> int:
    """Return into how many windows an image is split whose positions attend to each other."""
    graph, flows = heads.view.graph, heads.view.architecture.flows
    shape = graph.given[heads.query.source].shape if graph and heads.query.source else ()
    batch = 1 if flows is None else flows.lengths.get("B", 1)
    return shape[0] if len(shape) == 3 and shape[0] > batch and not reads_text(heads.view) else 0


def landmarks_of(view: ModuleView) -> Mapping[str, object]:
    """Return what fills the texts on landmarks (Nyströmformer)."""
    landmarks = view.integer("num_landmarks")
    return {"landmarks": landmarks, "is_full": landmarks == view.integer("seq_len")}


def _norm_names(heads: Heads) -> Mapping[str, object]:
    """Return the names of the norms of queries and keys."""
    norms = [next(filter(is_norm, part.steps), None) for part in (heads.query, heads.key)]
    first = norms[0]
    if first is None:
        return {}
    names = [(step.node.path or "").rpartition(".")[2] for step in norms if step is not None]
    named = ", ".join(dict.fromkeys(names))
    if first.node.shape[-1] != heads.size:
        return {"norms": named}
    shared = f"; all heads share the {heads.size} scales of each" if first.node.reads else ""
    return {"head_norms": f"{named}{shared}"}


def _rotation(heads: Heads) -> Mapping[str, object]:
    """Return what fills the texts on a rotation of queries and keys."""
    step = heads.query.step("rotary")
    if step is None:
        return {}
    size, angles = rotated_size(step, heads.size), _angles(heads.view)
    rotated = "also rotated." if heads.value.step("rotary") else "not rotated."
    return {
        "rotated_values": f"{rotated} The model’s “{angles}” computes the angles."
        if angles
        else rotated,
        "rotated": size if size < heads.size else None,
        "rotated_size": size,
    }


def _angles(view: ModuleView) -> str:
    """Return the name of the module that computes a rotation's angles, "" if not known."""
    flows, path = view.architecture.flows, view.node.path
    fixed = {t.owner for t in view.architecture.parameters if not t.trainable}
    while path and flows is not None:
        path = path.rpartition(".")[0]
        around = view.at(path)
        if around is not None and around.graph is not None:
            paths = [step.node.path or "" for step in around.graph.of("embedding")]
            if found := next((each for each in paths if each in fixed), ""):
                return found.rpartition(".")[2]
        for child in view.architecture.children(path):
            flow = flows.flow(child.path)
            graph = None if flow is None else graph_of(flow)
            given = () if graph is None or graph.steps else graph.given.values()
            if any(node.name == "sines and cosines" for node in given):
                return child.name
    return ""


def _where(heads: Heads, *, has_table: bool) -> str:
    """Say where each head finds its part of the weights, "" if that is not known."""
    parts, count, size = tuple(heads.parts.values()), heads.count, heads.size
    layouts = {part.layout for part in parts}
    if any(part.layer is None for part in parts) or has_convolutions(heads) or len(layouts) > 1:
        return ""
    assert heads.query.layer is not None
    unit = "rows" if heads.query.layer.transposed else "columns"
    rows = f"{unit} {size}h to {size}h+{size - 1}"
    first = f"so the first head has {unit} 0 to {size - 1}."
    within = f"Within each, head h has {rows}, {first}"
    is_even = heads.shared == 1 and size == heads.value_size
    layout = layouts.pop()
    if layout == "torch":
        where = "The weights of query, key and value are separate tensors."
        if heads.view.shape("in_proj_weight") is not None:
            where = "The tensor in_proj_weight stacks the weights of query, key and value, "
            where += f"{count * size} rows each."
        where = f"{where} {within}"
    elif layout == "" and is_even:
        where = count_text(
            count,
            f"The single head uses all {unit} of W_Q, W_K and W_V.",
            f"All {{0}} heads are stacked in the same three weights: head h has {rows} of W_Q, W_K "
            f"and W_V, {first}",
        )
    elif layout == "":
        both, values = f"{unit} {size}g to {size}g+{size - 1} of W_K and", heads.value_size
        other = "" if values == size else f" {values}g to {values}g+{values - 1} of"
        where = (
            f"The heads are stacked: query head h (0 to {count - 1}) has {rows} of W_Q, and "
            f"key/value head g (0 to {heads.key_heads - 1}) has {both}{other} W_V."
        )
    else:
        where = _stacked(heads, layout, unit, within)
    return f"{where} {_split(heads, has_table=has_table)}" if is_even and where else where


def _stacked(heads: Heads, layout: str, unit: str, within: str) -> str:
    """Say how one weight holds those of queries, keys and values."""
    order = sorted(heads.parts, key=lambda role: heads.parts[role].place)
    outputs = [heads.parts[role].outputs for role in order]
    names = f"{', '.join(order[:-1])} and {order[-1]}"
    if len({part.holder for part in heads.parts.values()}) > 1:
        return ""
    holder = f"{heads.query.holder}.weight"
    if layout == "interleaved" and heads.shared == 1:
        one, two, three = (ROLES[role] for role in order)
        return (
            f"{holder} stacks the heads, {3 * heads.size} {unit} each: the first {heads.size} are "
            f"the head’s {unit} of W_{one}, the next those of W_{two}, the last those of W_{three}."
        )
    if layout != "stacked":
        return f"{holder} holds the weights of {names} together."
    if len(set(outputs)) > 1:
        counts = [f"{n} of the {role}" for role, n in zip(order, outputs, strict=True)]
        listed = f"{', '.join(counts[:-1])} and {counts[-1]}"
        return f"{holder} stacks the weights of {names}: {listed}, in this order ({unit}). {within}"
    if unit == "rows":
        return f"{holder} stacks the weights of {names}, {outputs[0]} rows each. {within}"
    return (
        f"{holder} holds the weights of {names} side by side, {outputs[0]} columns each. {within}"
    )


def _split(heads: Heads, *, has_table: bool) -> str:
    """Say how the features are split into heads, and whether their number changes anything."""
    split = f"The {heads.count * heads.size} features are split as [{heads.count}, {heads.size}]"
    view = heads.view
    if has_head_size(view):
        return (
            f"{split}. The configuration sets the head size separately, so more heads mean more "
            "features and larger weights."
        )
    if any(change.operand.parameter for change in heads.scores.changes):
        return f"{split}."
    exceptions = {
        "the table of angles": heads.query.step("rotary") and has_angle_table(view),
        "the contact head": has_contact_head(view),
        "the distance biases": has_table,
    }
    found = next((what for what, is_true in exceptions.items() if is_true), "")
    free = f"{split}: the number of heads does not change the parameter count"
    return f"{free}, except for {found}." if found else f"{free}."


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
