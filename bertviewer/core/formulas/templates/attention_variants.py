"""Attentions that differ from the common one: DeepSeek’s, DeBERTa’s, BigBird’s and Longformer’s."""

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, SOFTMAX, indices, sized
from bertviewer.core.formulas.steps.attention import Scores, scores_of
from bertviewer.core.formulas.steps.origins import chain_of, projections
from bertviewer.core.formulas.templates.attention_maths import (
    output_lines,
    pair_lines,
    projection_lines,
    score_lines,
)
from bertviewer.core.formulas.templates.attention_texts import (
    CAUSAL,
    DROPOUT,
    KEYS,
    MIXING,
    NOTES,
    WHERE,
    WHY,
    attention_match,
    layer_terms,
)
from bertviewer.core.formulas.templates.attention_values import values_of
from bertviewer.core.formulas.templates.heads import (
    Heads,
    Part,
    layer_of,
    own_attentions,
    sole_heads,
    sparse_heads,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.position_scores import products_of
from bertviewer.core.formulas.templates.template import Match, Template, Values
from bertviewer.core.graph.module_graph import ModuleGraph, Step

_Q_A, _Q_B, _KV_A, _KV_B = '"Q,a"', '"Q,b"', '"KV,a"', '"KV,b"'
"""Indices of the two layers of queries, and of keys and values."""
_RANKS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_LATENT_TERMS = (
    Term("C", "latent vectors of keys and values", "[S, {latent}]"),
    Term("K^r", "the part of all heads’ keys that is rotated", "[S, {rotated_size}]"),
    Term("Q_h^c, K_h^c", "the parts of head h that are not rotated", "[S, {content}]"),
    Term("Q_h^r", "the part of head h’s queries that is rotated", "[S, {rotated_size}]"),
)


def _latent(view: ModuleView) -> Match | None:
    """Keys and values are made of one latent vector, with one rotated key for all heads."""
    graph, own = view.graph, own_attentions(view)
    if graph is None or len(own) != 1 or "value" not in own[0].roles:
        return None
    # From the values back: the layer of keys and values, the norm of C, and the layer of C.
    up = graph.maker(chain_of(graph, own[0].roles["value"]).origin)
    norm, down = _before(graph, up)
    letters = projections(graph)
    queries = [graph.by_id[node] for node, found in letters.items() if found == {"Q"}]
    users, turned, scores = graph.users(own[0]), graph.of("rotary"), scores_of(own[0])
    is_key = all(step and "K" in letters.get(step.node.id, ()) for step in (down, up))
    if not (norm and scores and scores.factor and turned and is_key) or (
        len(queries),
        len(users),
    ) != (1, 1):
        return None
    found = [layer_of(view, step) for step in (down, up, queries[0], users[0])]
    layers = [layer for layer in found if layer is not None]
    count, size = (own[0].node.details.get(name) for name in ("heads", "head_size"))
    if len(layers) < len(found) or not isinstance(count, int) or not isinstance(size, int):
        return None
    below, above, query, output = layers
    value_size, rotated = own[0].node.shape[-1], below.outputs - above.inputs
    parts = (Part(query), Part(above), Part(above))
    heads = Heads(
        view, own[0], *parts, count, count, size, value_size, Scores(scores.factor), output
    )
    content, operator = size - rotated, Norm.of(norm).operator
    first, index = layer_of(view, _before(graph, queries[0])[1]), "Q"
    states = compressed = sized("X", "S", below.inputs)
    if first is not None:
        compressed, index = f"{operator}({first.maths(states, _Q_A)})", _Q_B
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
        **{"query": Part(below), "latent": above.inputs, "content": content},
        **{"rotated_size": rotated, "cached": above.inputs + rotated, "same_columns": None},
        **{"whole": count * (size + value_size), "rows": content + value_size},
        **{"query_layer": names[0], "layer": names[1]},
    }
    terms = (
        *(first.terms("the layer that compresses for the queries", _Q_A) if first else ()),
        *query.terms("the query projection", index),
        *below.terms("the layer that compresses for keys and values", _KV_A),
        *above.terms("the projection to keys and values", _KV_B),
        *Norm.of(norm).terms,
        *_LATENT_TERMS,
    )
    keys = (*(key for key in _RANKS if key in view.config), *view.keys("rotation"))
    return attention_match(heads, lines, values, layers=terms, keys=keys)


def _before(graph: ModuleGraph, step: Step | None) -> tuple[Step | None, Step | None]:
    """Return the norm of what a layer reads and the step before it, nothing without a norm."""
    norm = graph.maker(next(iter(step.tensors), None)) if step else None
    return (norm, graph.maker(next(iter(norm.tensors), None))) if is_norm(norm) else (None, None)


_USES = {"query": "keys", "key": "queries"}
"""What the distances are in a product with queries or keys."""
_KINDS = {
    "query": "content to position (the token’s query with the key of the distance)",
    "key": "position to content (the other token’s key with the query of the distance)",
}
_SUMMANDS = {
    "query": "Q_(h, i) dot K^r_(h, b(i - j))",
    "key": "K_(h, j) dot Q^r_(h, b(i - j))",
}


def _disentangled(view: ModuleView) -> Match | None:
    """Content and distance are compared separately (He et al. 2021)."""
    heads = sole_heads(view)
    found = () if heads is None else products_of(heads)
    if heads is None or not any(each.is_gathered for each in found):
        return None
    products = {role: each for role in _USES for each in found if each.role == role}
    rows, width, count = found[0].rows, heads.query.layer.inputs, 1 + len(products)
    made: list[str] = []
    weights: list[str] = []
    terms = [
        *layer_terms(heads),
        Term("R", "distance vectors, from the encoder", f"[{rows}, {width}]"),
    ]
    for role, each in products.items():
        use, letter = _USES[role], _USES[role][0].upper()
        tokens = heads.key if role == "query" else heads.query
        index = f'"{letter},r"'
        if f"{each.path.rpartition('.')[2]}.weight" == tokens.holder:
            index = letter
            weights.insert(0, f"W_{letter}")
        else:
            terms += each.layer.terms(f"the projection of distances to {use}", index)
        text = each.layer.maths(sized("R", rows, width), index, sizes=False)
        made.append(f"{letter}^r = {text}")
        terms.append(
            Term(f"{letter}^r", f"{use} of the distances", f"[{rows}, {each.layer.outputs}]")
        )
    summands = ["Q_(h, i) dot K_(h, j)", *(_SUMMANDS[role] for role in products)]
    lines = (
        *projection_lines(heads),
        ", quad ".join(made),
        f"A_(h, i j) = ({' + '.join(summands)}) / sqrt({count} dot {heads.size})",
        f"{sized('P_h', 'S', 'S')} = {SOFTMAX} (A_h + M), quad "
        f"{sized('O_h', 'S', heads.size)} = P_h V_h, quad h = {indices(heads.count)}",
        *output_lines(heads),
    )
    buckets = view.integer("position_buckets") or 0
    far = f", and distances greater than {buckets // 2} may share a row with others"
    unplaced = " No position vectors are added to the token vectors."
    values = values_of(heads, {}) | {
        "rows": rows,
        "middle": rows // 2,
        "terms": count,
        "kinds": "; ".join(("content to content", *(_KINDS[role] for role in products))),
        "unplaced": f".{unplaced if view.config.get('position_biased_input') is False else ''}",
        "far": f"{far if buckets > 0 else ''}.",
        "weights": " and ".join(weights),
    }
    row = Term("b(i - j)", "row of this distance", f"0 to {rows - 1}")
    return attention_match(heads, lines, values, entries=(row,), layers=terms)


_BRACKET = (
    "A bracket is 1 where its condition is true and 0 elsewhere; the logarithm of 0 masks a "
    "position."
)


def _sparse(
    heads: Heads,
    own: tuple[str, ...],
    terms: tuple[Term, ...],
    values: Values,
    *keys: str,
) -> Match:
    """Return an attention to the positions that N counts, as its own lines define it."""
    lines = (*projection_lines(heads), *score_lines(heads, " + log N"), *output_lines(heads), *own)
    values = values_of(heads, {}) | {"is_causal": False, "hidden": "padding", **values}
    return attention_match(heads, lines, values, entries=terms, keys=keys)


def _blocks(view: ModuleView) -> Match | None:
    """A token attends to a few blocks of tokens; one that is named n times counts n times."""
    heads = sparse_heads(view)
    size, random = view.integer("block_size"), view.integer("num_random_blocks")
    if heads is None or size is None or random is None:
        return None
    most = (5 + 2 * random) * size
    drawn = f" + {random} [b(j) = 0]" if random else ""
    lines = (
        f"N_(i j) = [b(j) in {{0, b(i) - 1, b(i), b(i) + 1, n - 1}}]{drawn}, quad 0 < b(i) < n - 1",
        "N_(i j) = 1, quad b(i) in {0, n - 1}",
        f"b(i) = floor(i \\/ {size}), quad n = ceil(S \\/ {size}), quad S > {most}",
    )
    terms = (
        Term("N_(i j)", "number of times that position i attends to position j"),
        Term("b(i)", f"block of position i; the block size is {size}"),
        Term("n", "number of blocks; the last one is filled up with padding"),
    )
    blocks = "1 block" if random == 1 else f"{random} blocks"
    times = "one more time" if random == 1 else f"{random} more times"
    values = {"most": most, "drawn": blocks if random else None, "times": times}
    return _sparse(heads, lines, terms, values, *view.keys("blocks"))


def _windows(view: ModuleView) -> Match | None:
    """A token attends to those near it and to a few global ones (Beltagy et al. 2020)."""
    heads, side = sparse_heads(view), view.integer("one_sided_attn_window_size")
    if heads is None or side is None:
        return None
    lines = (f'N_(i j) = [abs(i - j) <= {side} "or" j in G], quad i in.not G',)
    terms = (
        Term("N_(i j)", "1 where position i attends to position j, 0 elsewhere"),
        Term("G", "global positions, chosen by the caller (global_attention_mask)"),
    )
    names = ", ".join(name for name in view.children if name.endswith("_global"))
    values = {"side": side, "positions": 2 * side + 1, "multiple": 2 * side, "layers": names}
    keys = [key for key in ("attention_window",) if key in view.config]
    return _sparse(heads, lines, terms, values, *keys)


SPARSE = (
    Template(
        "self-attention",
        _blocks,
        title="Block-sparse self-attention",
        summary="Every position attends to the first and last blocks of positions, its own block "
        "and the two adjacent ones, and forms a weighted mean of their values, {in_heads}.",
        notes=(
            "A sequence of {most} positions or fewer has too few blocks: every position then "
            "attends to all others, with the same parameters.",
            _BRACKET,
            "During training, each block also attends to {drawn} drawn at random. At inference, "
            "transformers draws none and attends to block 0 instead, whose positions count "
            "{times}.",
            *NOTES,
        ),
        keys=KEYS,
        source="Zaheer et al. 2020, section 2",
    ),
    Template(
        "self-attention",
        _windows,
        title="Sliding-window self-attention with global positions",
        summary="Every position attends to the {side} positions on each side of it, and to a few "
        "global positions, and forms a weighted mean of their values, {in_heads}.",
        notes=(
            "The window has {positions} positions, so the cost grows linearly with the number of "
            "tokens, not with its square. The model pads the sequence to a multiple of {multiple}.",
            "Over several layers, information travels farther: each layer extends the reach by "
            "{side} positions on each side.",
            "A global position attends to all positions, and all attend to it. Its own row is "
            "computed with separate layers ({layers}). Without global positions, only the windows "
            "remain.",
            _BRACKET,
            *NOTES,
        ),
        keys=KEYS,
        source="Beltagy et al. 2020 (Longformer), section 3.1; Vaswani et al. 2017, section 3.2",
    ),
)
"""Attention to some positions only, which a graph of the code's blocks and bands does not show."""

OTHERS = (
    Template(
        "self-attention",
        _disentangled,
        title="Disentangled self-attention",
        summary="Every position attends to all positions of the same sequence, comparing content "
        "with content and content with distance, {in_heads}.",
        notes=(
            "A score is the sum of {terms} terms: {kinds}{unplaced}",
            "Why divide by √({terms} × {size})? The dot product of two vectors of {size} entries "
            "with variance 1 has variance {size}, and {terms} such products are added.",
            "R has {rows} rows, for distances in both directions: row {middle} is for distance "
            "0{far}",
            "The distances are projected with the same {weights} as the tokens, not with separate "
            "weights.",
            WHERE,
            MIXING,
            DROPOUT,
        ),
        keys=("width", "heads", "attention dropout", "distances"),
        source="He et al. 2021 (DeBERTa), section 3.1, equation 4; Vaswani et al. 2017, section "
        "3.2",
    ),
    Template(
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
            "{rotated_size} features that are rotated by the position. All heads share the "
            "rotated part of the key, as a rotation cannot be applied to C.",
            "{layer}.weight stacks the heads, {rows} rows each: the first {content} make the "
            "head’s keys, the others its values. {query_layer}.weight has {size} rows for each "
            "head, of which the last {rotated_size} make the part that is rotated.",
            CAUSAL,
            DROPOUT,
        ),
        keys=("width", "heads"),
        source="DeepSeek-AI 2024 (DeepSeek-V2), section 2.1; rotation: Su et al. 2021, section 3.2",
    ),
)
"""Attentions whose graphs are not those of the common one."""
