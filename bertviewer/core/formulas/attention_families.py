"""Attention with a twist: relative positions, rotation, shared keys, position scores."""

from dataclasses import replace

from bertviewer.core.formulas.attention import PAPER, described, scale_of, separate
from bertviewer.core.formulas.attention_maths import Distances, Heads
from bertviewer.core.formulas.distance_buckets import MPNET_BUCKETS
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, Affine, indices

_ROTARY = "Su et al. 2021, section 3.2"


def t5_attention(view: ModuleView) -> Formula:
    """T5's: no biases, no division by sqrt(d_k), a bias by distance (Raffel et al. 2020, 2.1)."""
    cross = view.node.name == "EncDecAttention"
    heads = separate(view, ("q", "k", "v"), "o")
    buckets = view.integer("relative_attention_num_buckets") or 0
    own = view.shape("relative_attention_bias.weight")
    decoder = view.attribute("is_decoder") is True
    distances = Distances(
        own or (buckets, heads.count),
        view.integer("relative_attention_max_distance") or 0,
        both_ways=not decoder,
        holder="" if own else "The first layer’s attention holds the table",
    )
    size = heads.size
    unscaled = (
        f"The scores are not divided by the square root of d_k = {size}: T5 initialises W_Q with "
        "a standard deviation smaller by this factor, which has the same effect at the start of "
        "training."
    )
    heads = replace(
        heads,
        cross=cross,
        unscaled=unscaled if heads.scale == 1.0 else "",
        distances=None if cross else distances,
    )
    return described(view, heads, f"{PAPER}; Raffel et al. 2020, section 2.1")


def mpnet_attention(view: ModuleView) -> Formula:
    """MPNet's: BERT's with its projection, and T5's bias by distance (Song et al. 2020)."""
    heads = separate(view, ("q", "k", "v"), "o")
    buckets = int(view.config["relative_attention_num_buckets"])
    distances = Distances(
        (buckets, heads.count),
        128,  # written into MPNetEncoder.relative_position_bucket, as are the buckets
        both_ways=True,
        holder="The module “encoder” holds the table, relative_attention_bias",
        buckets=MPNET_BUCKETS,
    )
    heads = replace(heads, distances=distances)
    return described(view, heads, f"{PAPER}; Song et al. 2020; bias: Raffel et al. 2020, 2.1")


def rotary_attention(view: ModuleView) -> Formula:
    """Llama's and its kin's: rotated, causal, keys shared by queries (Touvron et al. 2023)."""
    return _rotary(view, view.integer("sliding_window"))


def windowed_attention(view: ModuleView) -> Formula:
    """Mistral's: Llama's with a window, which it asks its configuration for (Jiang et al. 2023)."""
    window = view.config.get("sliding_window")
    return _rotary(view, window if isinstance(window, int) else None)


def _rotary(view: ModuleView, window: int | None) -> Formula:
    size = view.integer("head_dim")
    if size is None:
        raise LookupError("no head_dim")
    query, key, value = (view.affine(name) for name in ("q_proj", "k_proj", "v_proj"))
    count, key_heads = query.outputs // size, key.outputs // size
    rows = f"query head h (0 to {count - 1}) has rows {size}h to {size}h+{size - 1} of W_Q"
    heads = Heads(
        query=query,
        key=key,
        value=value,
        count=count,
        size=size,
        where=f"The heads are stacked: {rows}, and key/value head g (0 to {key_heads - 1}) has "
        f"rows {size}g to {size}g+{size - 1} of W_K and W_V.",
        output=view.affine("o_proj"),
        scale=scale_of(view, size),
        key_heads=key_heads,
        rotated=True,
        head_norm="q_norm" in view.children,
        window=window,
    )
    source = f"{PAPER}; rotation: {_ROTARY}"
    if heads.shared > 1:
        source += "; shared keys: Ainslie et al. 2023, section 2.2"
    return described(view, heads, source)


def modernbert_attention(view: ModuleView) -> Formula:
    """ModernBERT's: rotated, all three weights in one tensor (Warner et al. 2024, section 2.1)."""
    stored, size = view.affine("Wqkv"), view.integer("head_dim")
    if size is None:
        raise LookupError("no head_dim")
    width = stored.outputs // 3
    part = Affine((width, stored.inputs), stored.bias)
    heads = Heads(
        query=part,
        key=part,
        value=part,
        count=width // size,
        size=size,
        where=f"Wqkv.weight stacks the weights of query, key and value, {width} rows each. Within "
        f"each, head h has rows {size}h to {size}h+{size - 1}, so the first head has rows 0 "
        f"to {size - 1}.",
        output=view.affine("Wo"),
        rotated=True,
        window=view.integer("sliding_window"),
    )
    return described(view, heads, f"Warner et al. 2024, section 2.1; rotation: {_ROTARY}")


def roformer_attention(view: ModuleView) -> Formula:
    """RoFormer's: BERT's, rotated in neighbouring pairs (Su et al. 2021, section 3.2.2)."""
    heads = separate(view, ("query", "key", "value"), None)
    if heads.cross:
        return described(view, heads, PAPER)
    values = view.attribute("rotary_value") is True
    angles = "encoder.embed_positions"
    heads = replace(heads, rotated=True, rotated_values=values, angles=angles)
    found = described(view, heads, f"{PAPER}; rotation: Su et al. 2021, section 3.2.2")
    half = heads.size // 2
    lines = (
        f"{ROTATION}(x)_(2i) = x_(2i) cos(s theta_i) - x_(2i+1) sin(s theta_i)",
        f"{ROTATION}(x)_(2i+1) = x_(2i+1) cos(s theta_i) + x_(2i) sin(s theta_i)",
        f"theta_i = 10000^(-2i \\/ {heads.size}), quad i = {indices(half)}",
    )
    terms = (
        Term("x", "query or key of one head at position s", f"[{heads.size}]"),
        Term("s", "position, counted from 0"),
        Term("theta_i", "rotation angle of pair i per position"),
    )
    return replace(found, maths=(*found.maths, *lines), terms=(*found.terms, *terms))


def esm_attention(view: ModuleView) -> Formula:
    """ESM's: BERT's; queries and keys are rotated, or positions are learnt (Lin et al. 2023)."""
    # The module divides the queries itself, and tells its library not to divide the scores again.
    heads = replace(separate(view, ("query", "key", "value"), None), scale=None)
    turned = view.attribute("position_embedding_type") == "rotary"
    heads = replace(heads, rotated=turned and not heads.cross, angles="rotary_embeddings")
    return described(view, heads, f"{PAPER}; rotation: {_ROTARY}" if turned else PAPER)
