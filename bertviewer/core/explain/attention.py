"""Questions about attention: heads, scale, masks, distances, and what heads attend to."""

import math

from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.heads import HeadLayout, head_layout
from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.module_view import has_head_size, has_positions
from bertviewer.core.sources.families import is_cross_attention
from bertviewer.core.util.numbers import count_text, number_text

_ATTENTION = ("self-attention",)
_UNIFORM = 0.95
"""The fraction of the maximum entropy from which attention is called uniform."""


def _special_keys(context: Context) -> tuple[int, ...]:
    """Return the positions of special tokens, of the attention's keys if its maps are known."""
    special = {*context.positions("cls"), *context.positions("sep")}
    maps = context.maps
    return tuple(sorted(special if maps is None else special.intersection(maps.key_tokens)))


def _attends_to_special(context: Context) -> Numbers | None:
    special = _special_keys(context)
    if not special or not context.is_trained or _masks_padding_only(context) is None:
        return None
    labels = dict.fromkeys(context.tokens[position].text for position in special)
    return {"labels": " and ".join(labels)}


def _share_of_special(context: Context) -> Numbers | None:
    maps, special = context.maps, _special_keys(context)
    if maps is None or not special:
        return None
    columns = [maps.key_tokens.index(position) for position in special]
    # [A]: the share of each head, mean over the queries.
    shares = maps.probabilities[:, :, columns].sum(axis=2).mean(axis=1)
    if not math.isfinite(float(shares.sum())):
        return None
    count, keys, head = len(special), len(maps.key_tokens), int(shares.argmax())
    return {
        "share": f"{float(shares.mean()):.0%}",
        "count": str(count),
        "tokens": str(keys),
        "even": f"{count / keys:.0%}",
        "head": str(head),
        "most": f"{float(shares[head]):.0%}",
    }


def _attends_to_first(context: Context) -> Numbers | None:
    if not context.tokens or not context.is_trained or _masks_later(context) is None:
        return None
    return {}


def _share_of_first(context: Context) -> Numbers | None:
    maps = context.maps
    if maps is None or maps.probabilities.shape[1] < 2:
        return None
    shares = maps.probabilities[:, 1:, 0].mean(axis=1)  # the first query has no other key
    return {"share": f"{float(shares.mean()):.0%}"} if math.isfinite(shares.sum()) else None


def _uniform_entropy(context: Context) -> Numbers | None:
    maps = context.maps
    if not context.is_random or maps is None or maps.masked is not None:
        return None
    keys, mean = len(maps.key_tokens), float(maps.entropies.mean())
    most = math.log(keys)
    if not math.isfinite(mean) or mean < _UNIFORM * most or most == 0:
        return None
    return {"entropy": number_text(mean, 4), "most": number_text(most, 4), "tokens": str(keys)}


def _layouts(context: Context) -> dict[str, HeadLayout]:
    """Return the layout of heads in an attention's weights, by query, key and value.

    The module is the attention or one of its children.
    """
    node = context.node
    path = node.path if node.role in _ATTENTION else node.parent or ""
    found: dict[str, HeadLayout] = {}
    for tensor in context.architecture.tensors_below(path):
        if len(tensor.shape) == 2 and (layout := head_layout(context.architecture, tensor)):
            for number, part in enumerate(layout.parts):
                found.setdefault(part, replace(layout, heads=layout.heads_of(number)))
    return found


def _heads(context: Context) -> Numbers | None:
    layouts = _layouts(context)
    query, key = layouts.get("query"), layouts.get("key")
    if query is None or key is None or query.heads != key.heads or query.heads < 2:
        return None
    return {
        "heads": str(query.heads),
        "size": str(query.size),
        "features": f"{query.heads * query.size:,}",
    }


def _split_heads(context: Context) -> Numbers | None:
    return None if has_head_size(context.view) else _heads(context)


def _heads_of_own_size(context: Context) -> Numbers | None:
    return _heads(context) if has_head_size(context.view) else None


def _shared_keys(context: Context) -> Numbers | None:
    layouts = _layouts(context)
    query, key = layouts.get("query"), layouts.get("key")
    if query is None or key is None or key.heads >= query.heads:
        return None
    return {
        "heads": str(query.heads),
        "keys": count_text(key.heads, "1 key head", "{0} key heads"),
        "shared": str(query.heads // key.heads),
    }


def _scale(context: Context) -> Numbers | None:
    formula = formula_of(context.node, context.architecture)
    if formula is None or not any("sqrt(d_k)" in line for line in formula.maths):
        return None
    size = next((term.value for term in formula.terms if term.symbol == "d_k"), None)
    return {"size": size, "root": number_text(math.sqrt(int(size)), 3)} if size else None


def _unscaled(context: Context) -> Numbers | None:
    formula, layout = formula_of(context.node, context.architecture), _layouts(context).get("query")
    notes = () if formula is None else formula.notes
    is_unscaled = any(note.startswith("The scores are not divided") for note in notes)
    return {"size": str(layout.size)} if layout is not None and is_unscaled else None


def _masks_padding_only(context: Context) -> Numbers | None:
    formula = formula_of(context.node, context.architecture)
    mask = next((t.meaning for t in formula.terms if t.symbol == "M"), "") if formula else ""
    return {} if "(padding)" in mask and not is_cross_attention(context.node.path) else None


def _masks_later(context: Context) -> Numbers | None:
    return {} if is_causal(context.architecture, context.node.path) else None


def _nothing_padded(context: Context) -> Numbers | None:
    shape = () if context.activation is None else context.activation.output_shape
    return {"tokens": f"{shape[1]:,}"} if len(shape) == 3 and shape[1] > 1 else None


def _masked_scores(context: Context) -> Numbers | None:
    if context.maps is None or context.maps.masked is None:
        return None
    masked = context.maps.masked[0]
    return {"hidden": f"{int(masked.sum()):,}", "every": f"{masked.size:,}"}


def _distances(context: Context) -> Numbers | None:
    formula = formula_of(context.node, context.architecture)
    if formula is None or not any(term.symbol == 'W_"rel"' for term in formula.terms):
        return None
    side = context.node.path.partition(".")[0]
    tables = [
        tensor
        for tensor in context.architecture.parameters
        if tensor.name.endswith("relative_attention_bias.weight")
    ]
    table = next((t for t in tables if t.name.startswith(f"{side}.")), None) or next(
        (t for t in tables if f".{side}." in t.name or context.node.path.startswith(side)), None
    )
    if table is None:
        return None
    buckets, heads = table.shape
    return {
        "order": "In addition to" if has_positions(context.view) else "Instead of",
        "buckets": str(buckets),
        "heads": str(heads),
        "count": f"{buckets * heads:,}",
    }


EXPLANATIONS = (
    Explanation(
        "special-tokens",
        "Why do so many heads attend to {labels}?",
        "A head’s weights must sum to 1, even when no key matches its query. BERT heads were "
        "found to attend to [SEP] in this case, which changes the output little: effectively a "
        "no-op.",
        "Clark et al. 2019; Kovaleva et al. 2019",
        _attends_to_special,
        _ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="Here special tokens make up {even} of the tokens ({count} of {tokens}) "
        "and receive {share} of the attention in this layer; head {head} gives "
        "them {most}.",
        measured=_share_of_special,
    ),
    Explanation(
        "first-token",
        "Why do so many heads attend to the first token?",
        "A head’s weights must sum to 1, even when no key matches its query, and the first token "
        "is the only one that all other tokens see. Trained decoders use it as an attention "
        "sink: it receives the attention that should have no effect.",
        "Xiao et al. 2024",
        _attends_to_first,
        _ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="Here the first token receives {share} of the attention of the later "
        "tokens in this layer.",
        measured=_share_of_first,
    ),
    Explanation(
        "even-attention",
        "Why is the attention of every head nearly uniform?",
        "The weights are random and small, so all scores are near 0, and the softmax of equal "
        "scores gives every token the same weight. The differences between heads are learned in "
        "training.",
        "Clark et al. 2019",
        _uniform_entropy,
        _ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="Here the mean entropy is {entropy} nats; the maximum is ln {tokens} = "
        "{most}.",
        measured=_uniform_entropy,
    ),
    Explanation(
        "heads",
        "Why {heads} heads of size {size} rather than one of size {features}?",
        "Each head has its own softmax, so {heads} heads form {heads} different weighted means "
        "at once, whereas a single head could form only one. The {features} features are split "
        "among them, {size} each: W_Q, W_K and W_V have the same size for any number of heads, "
        "and nothing is counted {heads} times.",
        "Vaswani et al. 2017; Michel et al. 2019",
        _split_heads,
        _ATTENTION,
        ("query", "key", "value", "c_attn", "Wqkv"),
        views=("Attention",),
        sections=("formulas", "attention", "parameters"),
    ),
    Explanation(
        "heads-of-own-size",
        "Why {heads} heads of size {size} rather than one of size {features}?",
        "Each head has its own softmax, so {heads} heads form {heads} different weighted means "
        "at once, whereas a single head could form only one. The head size is set independently "
        "here: {heads} heads of size {size} give {features} features, and more heads need larger "
        "weights.",
        "Vaswani et al. 2017; Michel et al. 2019",
        _heads_of_own_size,
        _ATTENTION,
        views=("Attention",),
        sections=("formulas", "attention", "parameters"),
    ),
    Explanation(
        "shared-keys",
        "Why {heads} query heads but only {keys}?",
        "Every {shared} query heads share one head of keys and values. This makes the cache of "
        "keys and values of earlier tokens {shared} times smaller, at little loss.",
        "Ainslie et al. 2023",
        _shared_keys,
        _ATTENTION,
        views=("Attention",),
        sections=("formulas", "attention"),
    ),
    Explanation(
        "scale",
        "Why divide by √{size}?",
        "If the components of a query and a key are independent with mean 0 and variance 1, "
        "their dot product has variance d_k = {size}. Dividing it by √{size} = {root} restores "
        "variance 1, so that the softmax does not saturate at 0 and 1, where its gradient "
        "vanishes.",
        "Vaswani et al. 2017",
        _scale,
        _ATTENTION,
        sections=("formulas",),
    ),
    Explanation(
        "unscaled",
        "Why are the scores not divided by √{size}?",
        "T5 omits the division and instead initialises W_Q smaller by a factor of √d_k = "
        "√{size}, so the scores start out just as small.",
        "Raffel et al. 2020",
        _unscaled,
        _ATTENTION,
        sections=("formulas",),
    ),
    Explanation(
        "mask",
        "What does the mask do?",
        "The sentences of a batch are padded to the same length. The mask adds a large negative "
        "number to the scores of padding, so that the softmax gives it a weight of 0. The hidden "
        "states of padding positions are computed nevertheless and are not zero, but no other "
        "position attends to them.",
        "Vaswani et al. 2017",
        _masks_padding_only,
        _ATTENTION,
        views=("Attention", "Sentence"),
        sections=("mask", "attention"),
        measured_text="This run has a single sequence of {tokens} tokens, so nothing is masked.",
        measured=_nothing_padded,
    ),
    Explanation(
        "causal-mask",
        "Why can no token attend to later ones?",
        "The model is trained to predict the next token and therefore must not see it. A mask "
        "adds −∞ to the scores of all later tokens, and the softmax gives them a weight of 0.",
        "Vaswani et al. 2017; Radford et al. 2018",
        _masks_later,
        _ATTENTION,
        views=("Attention",),
        sections=("mask", "attention"),
        measured_text="In this run {hidden} of {every} scores per head are masked.",
        measured=_masked_scores,
    ),
    Explanation(
        "distances",
        "How does the model know the order of the words?",
        "{order} position embeddings, each head adds learned biases to its scores, which depend "
        "on the distance between two tokens. These are {buckets} × {heads} = {count} numbers, "
        "one for each distance bucket and head; they are counted once and used by all layers of "
        "the stack.",
        "Raffel et al. 2020",
        _distances,
        _ATTENTION,
        names=("relative_attention_bias",),
        sections=("formulas", "parameters"),
    ),
)
