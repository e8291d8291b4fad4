"""Multi-head latent attention: keys and values from one small vector (DeepSeek-AI 2024)."""

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, TOKENS, sized
from bertviewer.core.formulas.steps.origins import chain_of, projections
from bertviewer.core.formulas.templates.attention_maths import (
    output_lines,
    pair_lines,
    score_lines,
)
from bertviewer.core.formulas.templates.attention_texts import (
    CAUSAL,
    DROPOUT,
    HEAD,
    INPUT,
    PAIRS,
    PROBABILITIES,
    TURNS,
    WHY,
    legend,
    values_of,
)
from bertviewer.core.formulas.templates.heads import Heads, Part, layer_of, own_attentions
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.scores import Scores, scores_of
from bertviewer.core.formulas.templates.template import Match, Template

_Q_A, _Q_B, _KV_A, _KV_B = '"Q,a"', '"Q,b"', '"KV,a"', '"KV,b"'
"""Indices of the two layers of queries, and of keys and values."""
_KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_TERMS = (
    Term("C", "latent vectors of keys and values", "[S, {latent}]"),
    Term("K^r", "the part of all heads’ keys that is rotated", "[S, {rotated_size}]"),
    Term("Q_h^c, K_h^c", "the parts of head h that are not rotated", "[S, {content}]"),
    Term("Q_h^r", "the part of head h’s queries that is rotated", "[S, {rotated_size}]"),
    HEAD,
)


def _latent(view: ModuleView) -> Match | None:
    graph, own = view.graph, own_attentions(view)
    if graph is None or len(own) != 1 or "value" not in own[0].roles:
        return None
    # From the values back: the layer of keys and values, the norm of C, and the layer of C.
    up = graph.maker(chain_of(graph, own[0].roles["value"]).origin)
    norm, down = _before(graph, up)
    letters = projections(graph)
    queries = [graph.by_id[node] for node, found in letters.items() if found == {"Q"}]
    users, turned = graph.users(own[0]), graph.of("rotary")
    is_key = all(step and "K" in letters.get(step.node.id, ()) for step in (down, up))
    if norm is None or not turned or not is_key or (len(queries), len(users)) != (1, 1):
        return None
    query_down = layer_of(view, _before(graph, queries[0])[1])
    layers = [layer_of(view, each) for each in (down, up, queries[0], users[0])]
    below, above, query, output = layers
    count, size = (own[0].node.details.get(name) for name in ("heads", "head_size"))
    if not (
        below and above and query and output and isinstance(count, int) and isinstance(size, int)
    ):
        return None
    parts = {"query": Part(query, ""), "key": Part(above, ""), "value": Part(above, "")}
    value_size, rotated = own[0].node.shape[-1], below.outputs - above.inputs
    heads = Heads(
        *(
            view,
            own[0],
            parts,
            count,
            count,
            size,
            value_size,
            Scores(scores_of(own[0]).factor),
            output,
        )
    )
    content, operator = size - rotated, Norm.of(norm).operator
    states = sized("X", "S", below.inputs)
    compressed = f"{operator}({query_down.maths(states, _Q_A)})" if query_down else states
    index = _Q_B if query_down else "Q"
    lines = (
        f"Q = {query.maths(compressed, index)}",
        f"[{sized('C', 'S', above.inputs)}, {sized('K^r', 'S', rotated)}] = "
        f"{below.maths(states, _KV_A)}",
        f"[{sized('K^c', 'S', count * content)}, {sized('V', 'S', count * value_size)}] = "
        f"{above.maths(f'{operator}(C)', _KV_B)}",
        f"{sized('Q_h', 'S', size)} = [Q_h^c, {ROTATION}(Q_h^r)], quad "
        f"{sized('K_h', 'S', size)} = [K_h^c, {ROTATION}(K^r)]",
        *score_lines(heads),
        *output_lines(heads),
        *pair_lines(turned[-1], rotated),
    )
    names = [(step.node.path or "").rpartition(".")[2] for step in (queries[0], up) if step]
    values = values_of(heads, {}) | {
        "width": below.inputs,
        "latent": above.inputs,
        "content": content,
        "rotated_size": rotated,
        "cached": above.inputs + rotated,
        "whole": count * (size + value_size),
        "rows": content + value_size,
        "query": names[0],
        "up": names[1],
    }
    terms = (
        *(TOKENS, *legend((INPUT,), lines, values)),
        *(
            query_down.terms("the layer that compresses for the queries", _Q_A)
            if query_down
            else ()
        ),
        *query.terms("the query projection", index),
        *below.terms("the layer that compresses for keys and values", _KV_A),
        *above.terms("the projection to keys and values", _KV_B),
        *legend(_TERMS, lines, values),
        *Norm.of(norm).terms,
        *legend((TURNS, *PROBABILITIES), lines, values),
        *output.terms("the output projection", "O"),
        *legend(PAIRS, lines, values),
    )
    keys = (*(key for key in _KEYS if key in view.config), *view.keys("rotation"))
    return Match(lines, terms, values, keys)


def _before(graph: ModuleGraph, step: Step | None) -> tuple[Step | None, Step | None]:
    """Return the norm of what a layer reads and the step before it, nothing without a norm."""
    norm = graph.maker(next(iter(step.tensors), None)) if step else None
    return (norm, graph.maker(next(iter(norm.tensors), None))) if is_norm(norm) else (None, None)


LATENT = Template(
    "self-attention",
    _latent,
    title="Multi-head latent attention",
    summary="Every position attends to {reach} and forms a weighted mean of their values, "
    "{in_heads}; keys and values come from one small vector per position.",
    notes=(
        WHY,
        "Latent attention: only C and the rotated part of the key need to be cached, {cached} "
        "numbers per position; the keys and values of all heads would be {whole}.",
        "A query and a key have two parts: {content} features that compare content, and "
        "{rotated_size} features that are rotated by the position. All heads share the rotated "
        "part of the key, as a rotation cannot be applied to C.",
        "{up}.weight stacks the heads, {rows} rows each: the first {content} make the head’s "
        "keys, the others its values. {query}.weight has {size} rows for each head, of which the "
        "last {rotated_size} make the part that is rotated.",
        CAUSAL,
        DROPOUT,
    ),
    keys=("width", "heads"),
    source="DeepSeek-AI 2024 (DeepSeek-V2), section 2.1; rotation: Su et al. 2021, section 3.2",
)
