"""Attention to latent vectors (DeepSeek) and to some positions (BigBird, Longformer)."""

from msgspec.structs import replace

from bertviewer.core.formulas.formula import ROTATION, Term, sized
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norm import Norm
from bertviewer.core.formulas.steps.attention import Scores, scores_of
from bertviewer.core.formulas.steps.graph_analysis import chain_of, layer_before, projections
from bertviewer.core.formulas.templates.heads import (
    Heads,
    Projection,
    Variant,
    layer_of,
    own_attentions,
    sparse_heads,
)
from bertviewer.core.formulas.templates.rotary import pair_lines

_Q_A, _Q_B, _KV_A, _KV_B = '"Q,a"', '"Q,b"', '"KV,a"', '"KV,b"'
"""Indices of the two layers of queries, and of keys and values."""

_QUERY_ROPE, _QUERY_NOPE, _KEY_NOPE = 'Q_h^"rope"', 'Q_h^"nope"', 'K_h^"nope"'
_ROPE, _NOPE = 'K^"rope"', 'K^"nope"'
"""Parts that are rotated and not rotated, called as in DeepSeek’s configuration."""

_BLOCK = 'op("block")'
_RANKS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def latent_attention(view: ModuleView) -> tuple[Heads, Variant] | None:
    """Return an attention whose keys and values are computed from a latent vector (DeepSeek).

    All heads share the rotated part of the keys.
    """
    graph, own = view.graph, own_attentions(view)
    if len(own) != 1 or "value" not in own[0].roles:
        return None
    # From the values back: the layer of keys and values, the norm of C, and the layer of C.
    up = graph.maker(chain_of(graph, own[0].roles["value"]).origin)
    down, norms = (None, ()) if up is None else layer_before(graph, up)
    letters = projections(graph)
    queries = [graph.by_id[node] for node, found in letters.items() if found == {"Q"}]
    users, turned, scores = graph.users(own[0]), graph.of("rotary"), scores_of(own[0])
    is_key = all(step and "K" in letters.get(step.node.id, ()) for step in (down, up))
    if not (norms and scores and scores.factor and turned and is_key and len(queries) == 1):
        return None
    found = [layer_of(view, step) for step in (down, up, queries[0], *users)]
    layers = [layer for layer in found if layer is not None]
    count, size = (own[0].node.details.get(name) for name in ("heads", "head_size"))
    if not (len(found) == len(layers) == 4 and isinstance(count, int) and isinstance(size, int)):
        return None
    below, above, query, output = layers
    value_size, rotated = own[0].node.shape[-1], below.outputs - above.inputs
    parts = (Projection(query), Projection(above), Projection(above))
    factor, norm = Scores(scores.factor), Norm.of(norms[0])
    heads = Heads(view, own[0], *parts, count, count, size, value_size, factor, output)
    content, operator = size - rotated, norm.operator
    first, index = layer_of(view, layer_before(graph, queries[0])[0]), "Q"
    states = compressed = sized("X", "S", below.inputs)
    if first is not None:
        compressed, index = f"{operator}({first.maths(states, _Q_A)})", _Q_B
    lines = (
        f"Q = {query.maths(compressed, index)}",
        f"[{sized('C', 'S', above.inputs)}, {sized(_ROPE, 'S', rotated)}] = "
        f"{below.maths(states, _KV_A)}",
        f"[{sized(_NOPE, 'S', count * content)}, {sized('V', 'S', count * value_size)}] = "
        f"{above.maths(f'{operator}(C)', _KV_B)}",
        f"{sized('Q_h', 'S', size)} = [{_QUERY_NOPE}, {ROTATION}({_QUERY_ROPE})], quad "
        f"{sized('K_h', 'S', size)} = [{_KEY_NOPE}, {ROTATION}({_ROPE})]",
    )
    terms = (
        *(first.terms("the layer that compresses for the queries", _Q_A) if first else ()),
        *query.terms("the query projection", index),
        *below.terms("the layer that compresses for keys and values", _KV_A),
        *above.terms("the projection to keys and values", _KV_B),
        *norm.terms,
        Term("C", "latent vectors of keys and values", f"[S, {above.inputs}]"),
        Term(_ROPE, "the part of all heads’ keys that is rotated", f"[S, {rotated}]"),
        Term(
            f"{_QUERY_NOPE}, {_KEY_NOPE}",
            "the parts of head h that are not rotated",
            f"[S, {content}]",
        ),
        Term(_QUERY_ROPE, "the part of head h’s queries that is rotated", f"[S, {rotated}]"),
    )
    names = [step.path.rpartition(".")[2] for step in (queries[0], up) if step]
    values = {
        "manner": "Multi-head latent",
        "kind": "attention",
        "ending": "; keys and values come from one small vector per position",
        "where": None,
        "same_columns": None,
        "query": Projection(below),
        "content": content,
        "rotated_size": rotated,
        "cached": above.inputs + rotated,
        "whole": count * (size + value_size),
        "head_rows": content + value_size,
        "query_layer": names[0],
        "latent_layer": names[1],
        "sources": "DeepSeek-AI 2024 (DeepSeek-V2), section 2.1; rotation: Su et al. 2021, section "
        "3.2",
    }
    keys = (*(key for key in _RANKS if key in view.config), *view.config_keys("rotation"))
    pairs = pair_lines(turned[-1], rotated)
    return heads, Variant((), pairs, (), values, keys, projection_lines=lines, layer_terms=terms)


def sparse_attention(view: ModuleView) -> tuple[Heads, Variant] | None:
    """Return an attention to some positions, which the lines define by counts N."""
    heads = sparse_heads(view)
    if heads is None:
        return None
    variant = _blocks(view) or _windows(view)
    values = {"is_causal": False, "hidden": "padding", **variant.values}
    return heads, replace(variant, values=values, scores="{} + log N")


def _blocks(view: ModuleView) -> Variant | None:
    """Return attention to blocks of tokens (BigBird), which may be counted several times."""
    size, random = view.integer("block_size"), view.integer("num_random_blocks")
    if size is None or random is None:
        return None
    most = (5 + 2 * random) * size
    drawn = f" + {random} [{_BLOCK}(j) = 0]" if random else ""
    blocks = "1 block" if random == 1 else f"{random} blocks"
    return Variant(
        last=(
            f"n_(i j) = [{_BLOCK}(j) in {{0, {_BLOCK}(i) - 1, {_BLOCK}(i), "
            f"{_BLOCK}(i) + 1, n - 1}}]"
            f"{drawn}, quad 0 < {_BLOCK}(i) < n - 1",
            f"n_(i j) = 1, quad {_BLOCK}(i) in {{0, n - 1}}",
            f"{_BLOCK}(i) = floor(i \\/ {size}), quad n = ceil(S \\/ {size}), quad S > {most}",
        ),
        terms=(
            Term("N", "number of times that position i attends to position j, with elements n"),
            Term(_BLOCK, f"block of a position; the block size is {size}"),
            Term("n", "number of blocks; the last one is filled up with padding"),
        ),
        values={
            "manner": "Block-sparse",
            "reach": "the first and last blocks of positions, its own block and the two adjacent "
            "ones,",
            "most": most,
            "drawn": blocks if random else None,
            "times": "one more time" if random == 1 else f"{random} more times",
            "sources": "Zaheer et al. 2020, section 2",
        },
        keys=view.config_keys("blocks"),
    )


def _windows(view: ModuleView) -> Variant:
    """Return attention to near tokens and a few global ones (Beltagy et al. 2020)."""
    side = view.integer("one_sided_attn_window_size") or 0
    return Variant(
        last=(f'n_(i j) = [abs(i - j) <= {side} "or" j in cal(G)], quad i in.not cal(G)',),
        terms=(
            Term("N", "1 where position i attends to position j, 0 elsewhere, with elements n"),
            Term("cal(G)", "set of global positions, chosen by the caller (global_attention_mask)"),
        ),
        values={
            "manner": "Sliding-window",
            "after": " with global positions",
            "reach": f"the {side} positions on each side of it, and to a few global positions,",
            "side": side,
            "positions": 2 * side + 1,
            "multiple": 2 * side,
            "global_layers": ", ".join(n for n in view.children if n.endswith("_global")),
            "sources": "Beltagy et al. 2020 (Longformer), section 3.1; Vaswani et al. 2017, "
            "section 3.2",
        },
        keys=tuple(key for key in ("attention_window",) if key in view.config),
    )
