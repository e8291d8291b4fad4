"""What is asked of attention: its heads, its scale, its masks, its distances."""

import math

from msgspec.structs import replace

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.explain.explanation import Asked, Explanation, Numbers
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.facts import has_head_size, has_positions
from bertviewer.core.sources.family_names import is_cross_attention
from bertviewer.core.tensors.heads import HeadLayout, head_layout
from bertviewer.core.util.numbers import count_text, number_text

ATTENTION = ("self-attention",)


def _layouts(asked: Asked) -> dict[str, HeadLayout]:
    """Return how the heads lie in an attention's weights, also where one of them is asked."""
    node = asked.node
    path = node.path if node.role in ATTENTION else node.parent or ""
    found: dict[str, HeadLayout] = {}
    for tensor in asked.architecture.tensors_below(path):
        if len(tensor.shape) == 2 and (layout := head_layout(asked.architecture, tensor)):
            for number, part in enumerate(layout.parts):
                found.setdefault(part, replace(layout, heads=layout.heads_of(number)))
    return found


def _heads(asked: Asked) -> Numbers | None:
    layouts = _layouts(asked)
    query, key = layouts.get("query"), layouts.get("key")
    if query is None or key is None or query.heads != key.heads or query.heads < 2:
        return None
    return {
        "heads": str(query.heads),
        "size": str(query.size),
        "features": f"{query.heads * query.size:,}",
    }


def _split_heads(asked: Asked) -> Numbers | None:
    return None if has_head_size(asked.view) else _heads(asked)


def _free_heads(asked: Asked) -> Numbers | None:
    return _heads(asked) if has_head_size(asked.view) else None


def _shared_keys(asked: Asked) -> Numbers | None:
    layouts = _layouts(asked)
    query, key = layouts.get("query"), layouts.get("key")
    if query is None or key is None or key.heads >= query.heads:
        return None
    return {
        "heads": str(query.heads),
        "keys": count_text(key.heads, "1 key head", "{0} key heads"),
        "shared": str(query.heads // key.heads),
    }


def _scale(asked: Asked) -> Numbers | None:
    formula = formula_of(asked.node, asked.architecture)
    if formula is None or not any("sqrt(d_k)" in line for line in formula.maths):
        return None
    size = next((term.value for term in formula.terms if term.symbol == "d_k"), None)
    if size is None:
        return None
    return {"size": size, "root": number_text(math.sqrt(int(size)), 3)}


def _unscaled(asked: Asked) -> Numbers | None:
    formula = formula_of(asked.node, asked.architecture)
    if formula is None:
        return None
    is_plain = any(note.startswith("The scores are not divided") for note in formula.notes)
    layout = _layouts(asked).get("query")
    return None if layout is None or not is_plain else {"size": str(layout.size)}


def sees_all_keys(asked: Asked) -> Numbers | None:
    """Return that padding is all that the attention's mask hides of its own sequence."""
    formula = formula_of(asked.node, asked.architecture)
    mask = next((t.meaning for t in formula.terms if t.symbol == "M"), "") if formula else ""
    return {} if "(padding)" in mask and not is_cross_attention(asked.node.path) else None


def hides_later(asked: Asked) -> Numbers | None:
    """Return that the attention's mask hides all that comes later."""
    return {} if is_causal(asked.architecture, asked.node.path) else None


def _nothing_padded(asked: Asked) -> Numbers | None:
    activation = None if asked.run is None else asked.run.activation(asked.node.path)
    if activation is None or len(activation.output_shape) != 3 or activation.output_shape[1] < 2:
        return None
    return {"tokens": f"{activation.output_shape[1]:,}"}


def _hidden_scores(asked: Asked) -> Numbers | None:
    maps = asked.maps
    if maps is None or maps.masked is None:
        return None
    hidden, every = int(maps.masked[0].sum()), maps.masked[0].size
    return {"hidden": f"{hidden:,}", "every": f"{every:,}"}


def _distances(asked: Asked) -> Numbers | None:
    formula = formula_of(asked.node, asked.architecture)
    if formula is None or not any(term.symbol == 'W_"rel"' for term in formula.terms):
        return None
    side = asked.node.path.partition(".")[0]
    tables = [
        tensor
        for tensor in asked.architecture.parameters
        if tensor.name.endswith("relative_attention_bias.weight")
    ]
    table = next((t for t in tables if t.name.startswith(f"{side}.")), None) or next(
        (t for t in tables if f".{side}." in t.name or asked.node.path.startswith(side)), None
    )
    if table is None:
        return None
    buckets, heads = table.shape
    return {
        "order": "In addition to" if has_positions(asked.view) else "Instead of",
        "buckets": str(buckets),
        "heads": str(heads),
        "count": f"{buckets * heads:,}",
    }


EXPLANATIONS = (
    Explanation(
        "heads",
        "Why {heads} heads of size {size} rather than one of size {features}?",
        "Each head has its own softmax, so {heads} heads form {heads} different weighted means "
        "at once, whereas a single head could form only one. The {features} features are split "
        "among them, {size} each: W_Q, W_K and W_V have the same size for any number of heads, "
        "and nothing is counted {heads} times.",
        ("Vaswani et al. 2017", "Michel et al. 2019"),
        _split_heads,
        ATTENTION,
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
        ("Vaswani et al. 2017", "Michel et al. 2019"),
        _free_heads,
        ATTENTION,
        views=("Attention",),
        sections=("formulas", "attention", "parameters"),
    ),
    Explanation(
        "shared-keys",
        "Why {heads} query heads but only {keys}?",
        "Every {shared} query heads share one head of keys and values. This makes the cache of "
        "keys and values of earlier tokens {shared} times smaller, at little loss.",
        ("Ainslie et al. 2023",),
        _shared_keys,
        ATTENTION,
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
        ("Vaswani et al. 2017",),
        _scale,
        ATTENTION,
        sections=("formulas",),
    ),
    Explanation(
        "unscaled",
        "Why are the scores not divided by √{size}?",
        "T5 omits the division and instead initialises W_Q smaller by a factor of √d_k = "
        "√{size}, so the scores start out just as small.",
        ("Raffel et al. 2020",),
        _unscaled,
        ATTENTION,
        sections=("formulas",),
    ),
    Explanation(
        "mask",
        "What does the mask do?",
        "The sentences of a batch are padded to the same length. The mask adds a large negative "
        "number to the scores of padding, so that the softmax gives it a weight of 0. The hidden "
        "states of padding positions are computed nevertheless and are not zero, but no other "
        "position attends to them.",
        ("Vaswani et al. 2017",),
        sees_all_keys,
        ATTENTION,
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
        ("Vaswani et al. 2017", "Radford et al. 2018"),
        hides_later,
        ATTENTION,
        views=("Attention",),
        sections=("mask", "attention"),
        measured_text="In this run {hidden} of {every} scores per head are masked.",
        measured=_hidden_scores,
    ),
    Explanation(
        "distances",
        "How does the model know the order of the words?",
        "{order} position embeddings, each head adds learned biases to its scores, which depend "
        "on the distance between two tokens. These are {buckets} × {heads} = {count} numbers, "
        "one for each distance bucket and head; they are counted once and used by all layers of "
        "the stack.",
        ("Raffel et al. 2020",),
        _distances,
        ATTENTION,
        names=("relative_attention_bias",),
        sections=("formulas", "parameters"),
    ),
)
"""The questions about attention, the most asked first."""
