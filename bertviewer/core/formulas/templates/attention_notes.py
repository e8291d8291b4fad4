"""What a learner asks about attention, answered with the numbers of the module at hand."""

from bertviewer.core.formulas.facts import (
    drops_probabilities,
    has_angle_table,
    has_contact_head,
    has_head_size,
)
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.templates.attention_maths import Attention
from bertviewer.core.formulas.templates.heads import Heads, reads_encoder, reads_text
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.position_scores import bias_notes
from bertviewer.core.formulas.templates.projections import Part
from bertviewer.core.text.numerals import count_text

DROPOUT_OF_PROBABILITIES = Note(
    "During training, dropout zeroes some entries of P; in evaluation mode it has no effect.",
    drops_probabilities,
)
CAUSAL = (
    "Attention is causal: position s attends only to positions 0 to s, so that the model can be "
    "trained to predict the next token."
)


def attention_notes(attention: Attention) -> tuple[str, ...]:
    """Return the notes on an attention module, the most asked first."""
    heads, distances, window = attention.heads, attention.distances, attention.window
    notes = [scale_note(heads), *where_notes(heads, has_bias_table=distances is not None)]
    if heads.output is None and heads.query.layer is not None:
        notes.append(mixing_note(heads.view))
    if heads.shared > 1:
        notes.append(_sharing_note(heads))
    notes += _norm_notes(heads)
    notes += _rotation_notes(heads)
    if distances is not None:
        notes += bias_notes(distances)
    notes += _score_notes(heads)
    if heads.is_causal:
        notes.append(CAUSAL)
    if window:
        notes.append(
            f"Sliding window: only positions less than {window} away are visible. "
            "Information from farther away arrives over several layers, if at all."
        )
    notes += _input_notes(heads)
    if heads.residual:
        norm = f"residual connection and {heads.norm.name}" if heads.norm else "residual connection"
        notes.append(
            f"This module contains the whole sub-layer: attention, output projection, {norm}."
            if heads.norm
            else "This module also adds its residual connection."
        )
    return (*notes, *_more_notes(attention), DROPOUT_OF_PROBABILITIES)


def scale_note(heads: Heads) -> str:
    """Explain the factor on the scores."""
    if heads.scale is None:
        return (
            "Why divide by √d_k? If the entries of a query and a key are independent with mean 0 "
            f"and variance 1, their dot product has variance d_k = {heads.size}. Scores that large "
            "would push the softmax towards 0 and 1, where its gradient vanishes; the division "
            "restores a variance of 1."
        )
    if abs(heads.scale - 1) > 1e-6:
        return "This configuration scales the scores by a factor other than 1/√d_k."
    if heads.view.integer("relative_attention_num_buckets") is not None:
        return (
            f"The scores are not divided by the square root of d_k = {heads.size}: T5 initialises "
            "W_Q with a standard deviation smaller by this factor, which has the same effect at "
            "the start of training."
        )
    return "This configuration does not divide the scores by √d_k."


def where_notes(heads: Heads, *, has_bias_table: bool = False) -> list[str]:
    """Say where each head finds its part of the weights."""
    where = where_text(heads)
    if not where:
        return []
    if heads.shared > 1 or heads.size != heads.value_size:
        return [where]
    split = f"{where} The {heads.count * heads.size} features are split as "
    split += f"[{heads.count}, {heads.size}]"
    free = f"{split}: the number of heads does not change the parameter count"
    biases = ", except for the distance biases" if has_bias_table else ""
    if has_head_size(heads.view):
        return [
            f"{split}. The configuration sets the head size separately, so more heads mean more "
            "features and larger weights."
        ]
    if any(change.operand.parameter for change in heads.scores.changes):
        return [f"{split}."]
    if heads.rotation is not None and has_angle_table(heads.view):
        return [f"{free}, except for the table of angles."]
    if has_contact_head(heads.view):
        return [f"{free}, except for the contact head."]
    return [f"{free}{biases}."]


def where_text(heads: Heads) -> str:
    """Return where the heads' parts of the weights are, "" if that is not known."""
    parts = {"query": heads.query, "key": heads.key, "value": heads.value}
    if heads.projections:
        return _torch_text(heads)
    if any(each.layer is None or each.is_convolution for each in parts.values()):
        return ""
    shares = {role: part for role, part in parts.items() if part.taken[0]}
    if not shares:
        return _separate_text(heads)
    if len({part.holder for part in shares.values()}) > 1:
        return ""
    return _stacked_text(heads, shares)


def _separate_text(heads: Heads) -> str:
    size = heads.size
    assert heads.query.layer is not None
    unit = "rows" if heads.query.layer.transposed else "columns"
    if heads.shared > 1 or heads.size != heads.value_size:
        values = heads.value_size
        other = f"{unit} {size}g to {size}g+{size - 1} of W_K"
        other += (
            " and W_V" if values == size else f" and {values}g to {values}g+{values - 1} of W_V"
        )
        return (
            f"The heads are stacked: query head h (0 to {heads.count - 1}) has {unit} {size}h to "
            f"{size}h+{size - 1} of W_Q, and key/value head g (0 to {heads.key_heads - 1}) has "
            f"{other}."
        )
    return count_text(
        heads.count,
        f"The single head uses all {unit} of W_Q, W_K and W_V.",
        f"All {{0}} heads are stacked in the same three weights: head h has {unit} {size}h to "
        f"{size}h+{size - 1} of W_Q, W_K and W_V, so the first head has {unit} 0 to {size - 1}.",
    )


def _stacked_text(heads: Heads, shares: dict[str, Part]) -> str:
    size = heads.size
    order = sorted(shares, key=lambda role: shares[role].taken[1])
    names = f"{', '.join(order[:-1])} and {order[-1]}"
    holder = next(iter(shares.values())).holder
    first = next(iter(shares.values())).layer
    assert first is not None
    unit = "rows" if first.transposed else "columns"
    layouts = {part.taken[0] for part in shares.values()}
    rows = {role: part.layer.outputs for role, part in shares.items() if part.layer is not None}
    head = f"head h has {unit} {size}h to {size}h+{size - 1}, so the first head has {unit} 0 to "
    head += f"{size - 1}."
    if layouts == {"stacked"}:
        if len(set(rows.values())) > 1:
            counts = ", ".join(f"{rows[role]} of the {role}" for role in order[:-1])
            return (
                f"{holder}.weight stacks the weights of {names}: {counts} and {rows[order[-1]]} of "
                f"the {order[-1]}, in this order ({unit}). Within each, {head}"
            )
        verb = "stacks" if first.transposed else "holds"
        side = "" if first.transposed else " side by side"
        return (
            f"{holder}.weight {verb} the weights of {names}{side}, {rows[order[0]]} {unit} each. "
            f"Within each, {head}"
        )
    if layouts == {"interleaved"} and heads.shared == 1 and len(order) == 3:
        letters = [f"W_{role[0].upper()}" for role in order]
        return (
            f"{holder}.weight stacks the heads, {3 * size} {unit} each: the first {size} are the "
            f"head’s {unit} of {letters[0]}, the next those of {letters[1]}, the last those of "
            f"{letters[2]}."
        )
    if layouts == {"of the first heads", "of the last heads"} and heads.key_heads == 1:
        query, one = rows["query"], rows["key"]
        return (
            f"{holder}.weight stacks the {heads.count} query heads, {size} {unit} each ({query} in "
            f"all), then {one} {unit} for the one head of keys and {one} for that of values."
        )
    return f"{holder}.weight holds the weights of {names} together."


def _torch_text(heads: Heads) -> str:
    size, width = heads.size, heads.count * heads.size
    held = (
        f"The tensor in_proj_weight stacks the weights of query, key and value, {width} rows each"
        if heads.view.shape("in_proj_weight") is not None
        else "The weights of query, key and value are separate tensors"
    )
    return (
        f"{held}. Within each, head h has rows {size}h to {size}h+{size - 1}, so the first head "
        f"has rows 0 to {size - 1}."
    )


def mixing_note(view: ModuleView) -> str:
    """Say where the linear layer is that mixes the heads, if this module has none."""
    for place in places(view):
        for user in place.graph.users(place.steps[-1]):
            inner = view.at(user.node.path or "") if user.operation == "" else None
            linears = () if inner is None or inner.graph is None else inner.graph.of("linear")
            layer = next(iter(linears), user)
            *_, holder, name = ("", "", *(layer.node.path or "").split("."))
            if layer.operation == "linear" and name:
                where = "sibling module" if place.view.node.path == view.node.parent else "module"
                return (
                    "Concat places the heads side by side. The linear layer that mixes them is "
                    f"“{name}” in the {where} “{holder}”."
                )
    return "Concat places the heads side by side; this module does not mix them."


def _sharing_note(heads: Heads) -> str:
    if heads.key_heads == 1:
        whom = f"all {heads.count} query heads share one head of keys and values"
    else:
        whom = f"{heads.shared} consecutive query heads share one key/value head"
    rows = ""
    if heads.query.layer is not None and heads.key.layer is not None:
        unit = "rows" if heads.query.layer.transposed else "columns"
        rows = (
            f"so W_K and W_V have {heads.key.layer.outputs} {unit} instead of "
            f"{heads.query.layer.outputs}, and "
        )
    kind = "Multi-query attention" if heads.key_heads == 1 else "Grouped queries"
    return f"{kind}: {whom}, {rows}a key/value cache is {heads.shared} times smaller."


def _norm_notes(heads: Heads) -> list[str]:
    steps = [step for step in heads.query.steps if is_norm(step)]
    if not steps:
        return []
    name = (steps[0].node.path or "").rpartition(".")[2]
    other = next((step for step in heads.key.steps if is_norm(step)), None)
    names = [name] if other is None else [name, (other.node.path or "").rpartition(".")[2]]
    named = f" ({', '.join(dict.fromkeys(names))}"
    if steps[0].node.shape[-1] != heads.size:
        return [
            f"Queries and keys are first normalised over all their features{named}), which keeps "
            "the scores bounded."
        ]
    shared = f"; all heads share the {heads.size} scales of each" if steps[0].node.reads else ""
    return [
        f"Each head’s queries and keys are first normalised{named}{shared}), which keeps the "
        "scores bounded."
    ]


def _rotation_notes(heads: Heads) -> list[str]:
    rotation = heads.rotation
    if rotation is None:
        return []
    notes = [
        "The rotation encodes the order of the tokens: after it, the product of a query and a "
        "key depends on the distance between them, not on their absolute positions. "
        + ("Values are also rotated. " if rotation.rotates_values else "Values are not rotated. ")
        + (f"The model’s “{rotation.angles}” computes the angles." if rotation.angles else "")
    ]
    if rotation.size < heads.size:
        notes.append(
            f"Only {rotation.size} of the {heads.size} features of a head are rotated (partial "
            "rotary embedding); the others carry no position."
        )
    return [note.strip() for note in notes]


def _score_notes(heads: Heads) -> list[str]:
    notes = [
        f"Soft-capping keeps all scores between −{change.number:g} and {change.number:g}: "
        "small scores pass almost unchanged, large ones approach the bound."
        for change in heads.scores.of("cap")
    ]
    if heads.scores.of("sinks"):
        name = heads.scores.of("sinks")[0].operand.parameter.rpartition(".")[2]
        notes.append(
            f"Attention sinks: the softmax also includes one learnt score per head (“{name}”) "
            "that belongs to no position. Its probability is left out afterwards, so the remaining "
            "ones sum to less than 1: a head can attend to nothing."
        )
    return notes


def _input_notes(heads: Heads) -> list[str]:
    if not heads.is_cross:
        return []
    if reads_encoder(heads):
        return [
            "Queries come from the decoder, keys and values from the encoder’s output: this is "
            "where the decoder reads the source."
        ]
    return ["Queries come from one input, keys and values from another one."]


def windows_of(heads: Heads) -> int:
    """Return into how many windows an image is split whose positions attend to each other."""
    graph, flows = heads.view.graph, heads.view.architecture.flows
    shape = graph.given[heads.query.source].shape if graph and heads.query.source else ()
    batch = 1 if flows is None else flows.lengths.get("B", 1)
    return shape[0] if len(shape) == 3 and shape[0] > batch and not reads_text(heads.view) else 0


def landmark_notes(view: ModuleView) -> list[str]:
    """Explain landmarks (Nyströmformer), none for other modules."""
    landmarks, length = view.integer("num_landmarks"), view.integer("seq_len")
    if landmarks is None or length is None:
        return []
    if landmarks == length:
        return [
            f"This configuration has as many landmarks as positions in a sequence ({landmarks}), "
            "so the attention is computed in full, without the Nyström approximation."
        ]
    return [
        f"Nyström approximation: queries and keys are averaged over segments to {landmarks} "
        "landmarks each. The three softmax products with them replace the one of all pairs, so "
        "the cost grows linearly with the number of tokens. The matrix between landmarks is "
        "inverted approximately, in a few iterations (Xiong et al. 2021, section 3)."
    ]


def _more_notes(attention: Attention) -> tuple[str, ...]:
    heads, notes = attention.heads, []
    if attention.slopes:
        notes.append(
            "ALiBi: there are no position vectors. The bias falls linearly with the distance, with "
            "a fixed slope per head. The formula adds m_h j instead of −m_h (i − j): softmax does "
            "not change if all scores of a row change by the same number."
        )
    if attention.product is not None:
        notes.append(
            "Relative positions: a score is the product of a query with the key (content) plus its "
            "product with the projected vector of the distance (position). "
            "u and v replace the query’s own position, as no absolute positions exist."
        )
    if windows := windows_of(heads):
        notes.append(
            f"The input is split into {windows} windows; a position attends only to positions of "
            "its own window. Information crosses windows only in other layers."
        )
    if heads.query.is_convolution:
        notes.append(
            "The convolutions look at one position, like linear layers. The module’s tensors have "
            "one column per position; the formula has one row per position."
        )
    if any(step.operation == "clamp" for step in heads.query.steps):
        notes.append("Queries, keys and values are clipped, which bounds the scores.")
    if heads.kernel:
        notes.append(
            f"The convolution adds to each head’s output a weighted sum of the values at the "
            f"{max(heads.kernel)} nearest positions, the same for all features of the head."
        )
    return (*notes, *landmark_notes(heads.view))
