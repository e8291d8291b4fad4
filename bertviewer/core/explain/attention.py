"""Questions about attention: heads, scale, masks, distances, and what heads attend to."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_modules import attention_tokens, is_causal
from bertviewer.core.analysis.heads import HeadLayout, head_layout
from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.module_view import has_head_size, has_positions, has_windows
from bertviewer.core.sources.families import is_cross_attention
from bertviewer.core.util.numbers import count_text, number_text, percent_text

if TYPE_CHECKING:  # numpy
    from bertviewer.core.analysis.attention_maps import Floats

_ATTENTION = ("self-attention",)
MULTIPLE = 2
"""How many times the share of uniform attention a head gives the tokens that it is focused on.

Uniform attention, as of random weights, gives them once that share. Where they are more than half
of the tokens, no head is called focused on them.
"""
LEAST_SHARE = 0.25
"""The least such share: in a long text, twice the uniform share is hardly noticeable."""
MOST_HEADS = 0.5
"""The fraction of a layer's heads that "most heads" exceed."""
UNIFORM = 0.95
"""The fraction of the maximum entropy from which attention is called nearly uniform."""


def _keys(context: Context, layer: AttentionLayer) -> tuple[int, ...]:
    """Return the positions of an attention's keys, none where they belong to another text."""
    if context.run is None or is_cross_attention(layer.path):
        return ()
    return attention_tokens(context.run, layer.path, context.architecture.is_encoder_decoder)[1]


class _Focus(Struct, frozen=True, eq=False):
    """The share of attention that the heads of a layer give some tokens, [A].

    ``uniform`` is the share of uniform attention.
    """

    layer: AttentionLayer
    shares: "Floats"
    uniform: float

    @property
    def mean(self) -> float:
        """The mean of the heads."""
        return float(self.shares.mean())

    @property
    def holds(self) -> bool:
        """Whether most heads are focused on these tokens."""
        limit = max(MULTIPLE * self.uniform, LEAST_SHARE)
        is_most = (self.shares >= limit).mean() > MOST_HEADS
        return len(self.shares) > 1 and math.isfinite(self.mean) and bool(is_most)

    @property
    def numbers(self) -> dict[str, str]:
        """The layer, its mean share, and the head with the largest one."""
        return {
            "layer": self.layer.name,
            "share": percent_text(self.mean),
            "head": str(int(self.shares.argmax())),
            "most": percent_text(float(self.shares.max())),
            "uniform": percent_text(self.uniform),
        }


def _strongest(context: Context, found: Iterable[_Focus]) -> _Focus | None:
    """Return the layer with the largest mean share, of trained weights; others have no focus."""
    focused = (focus for focus in found if context.is_trained and focus.holds)
    return max(focused, key=lambda focus: focus.mean, default=None)


def _special_keys(context: Context, layer: AttentionLayer) -> tuple[int, ...]:
    special = {*context.positions("cls"), *context.positions("sep")}
    return tuple(key for key in _keys(context, layer) if key in special)


def _focus_on_special(context: Context) -> Iterator[_Focus]:
    """Yield the attention to special tokens in each layer of an encoder."""
    for layer, measures in context.heads.items():
        keys, special = _keys(context, layer), _special_keys(context, layer)
        known = [measures[name] for name in ("cls", "sep") if name in measures]
        if known and special and is_causal(context.architecture, layer.path) is False:
            shares = known[0] + known[1] if len(known) > 1 else known[0]
            yield _Focus(layer, shares, len(special) / len(keys))


def _attends_to_special(context: Context) -> Numbers | None:
    focus = _strongest(context, _focus_on_special(context))
    if focus is None:
        return None
    special = _special_keys(context, focus.layer)
    labels = dict.fromkeys(context.tokens[position].text for position in special)
    return {
        **focus.numbers,
        "labels": " and ".join(labels),
        "count": count_text(len(special), "is 1", "are {0}"),
        "tokens": str(len(_keys(context, focus.layer))),
    }


def _focus_on_first(context: Context) -> Iterator[_Focus]:
    """Yield the later tokens' attention to the first token in each layer of a decoder."""
    for layer, measures in context.heads.items():
        keys = _keys(context, layer)
        is_alone = set(context.positions("cls")).intersection(keys) == set(keys[:1])
        first = measures.get("cls") if is_alone else measures.get("first")
        if first is not None and len(keys) > 1 and is_causal(context.architecture, layer.path):
            count = len(keys)
            # The first query has no other key; query n has n + 1.
            later = (first * count - 1) / (count - 1)
            yield _Focus(layer, later, sum(1 / n for n in range(2, count + 1)) / (count - 1))


def _attends_to_first(context: Context) -> Numbers | None:
    # Through a sliding window, not all tokens see the first one.
    if has_windows(context.view):
        return None
    focus = _strongest(context, _focus_on_first(context))
    return None if focus is None else focus.numbers


def _uniform_entropy(context: Context) -> Numbers | None:
    """Return the lowest entropy if every head of a random model attends almost uniformly."""
    if not context.is_random or not context.heads:
        return None
    entropies, sizes = [], set()
    for layer, measures in context.heads.items():
        # The maximum is not ln S where a mask hides keys.
        if is_causal(context.architecture, layer.path) is not False or "entropy" not in measures:
            return None
        entropies.append(float(measures["entropy"].min()))
        sizes.add(len(_keys(context, layer)))
    tokens = min(sizes)
    # A head without finite rows has the entropy NaN.
    if len(sizes) > 1 or tokens < 2 or not min(entropies) >= UNIFORM * math.log(tokens):
        return None
    return {
        "entropy": number_text(min(entropies), 4),
        "tokens": str(tokens),
        "most": number_text(math.log(tokens), 4),
    }


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
    if context.run is None or has_windows(context.view):
        return None
    count = len(_keys(context, AttentionLayer(context.node.path)))
    if count < 2:
        return None
    return {"hidden": f"{count * (count - 1) // 2:,}", "every": f"{count * count:,}"}


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
        "Why do most heads of {layer} attend so much to {labels}?",
        "A head’s weights sum to 1 even when no key matches its query. In BERT, attention to "
        "[SEP] was found to have little effect on the output. This suggests that a head attends "
        "to such a token when there is nothing else to attend to.",
        "Clark et al. 2019, section 3.2; Kovaleva et al. 2019, section 4.1",
        _attends_to_special,
        views=("Attention",),
        section="attention",
        measured_text="In this run, {labels} {count} of {tokens} tokens ({uniform}), but receive "
        "{share} of the attention of {layer} and {most} of that of its head {head}.",
    ),
    Explanation(
        "first-token",
        "Why do most heads of {layer} attend so much to the first token?",
        "A head’s weights sum to 1 even when no key matches its query, and the first token is "
        "the only one that every query can attend to. In trained decoders it acts as an attention "
        "sink: it receives the attention that no other token should get.",
        "Xiao et al. 2024, section 3.1",
        _attends_to_first,
        views=("Attention",),
        section="attention",
        measured_text="In this run, the later tokens give it {share} of their attention in "
        "{layer}, and {most} in its head {head}; with uniform attention it would be {uniform}.",
    ),
    Explanation(
        "even-attention",
        "Why is the attention of every head nearly uniform?",
        "The weights are random and small, so that the scores of a query hardly differ, and the "
        "softmax of equal scores is uniform. The differences between heads are learned in "
        "training.",
        "Clark et al. 2019, section 3.3",
        _uniform_entropy,
        views=("Attention",),
        section="attention",
        measured_text="In this run, the lowest entropy of a head is {entropy} nats; the maximum "
        "for {tokens} tokens is ln {tokens} = {most}.",
    ),
    Explanation(
        "heads",
        "Why {heads} heads of size {size} rather than one of size {features}?",
        "Each head has its own softmax, so {heads} heads form {heads} different weighted means, "
        "whereas a single head would form only one. The heads share the {features} features, "
        "{size} each, so the number of heads does not change the number of parameters.",
        "Vaswani et al. 2017, section 3.2.2",
        _split_heads,
        _ATTENTION,
        ("query", "key", "value", "c_attn", "Wqkv"),
        views=("Attention",),
        section="attention",
    ),
    Explanation(
        "heads-of-own-size",
        "Why {heads} heads of size {size} rather than one of size {features}?",
        "Each head has its own softmax, so {heads} heads form {heads} different weighted means, "
        "whereas a single head would form only one. The configuration sets the size of a head "
        "independently of their number, so more heads would need more parameters.",
        "Vaswani et al. 2017, section 3.2.2",
        _heads_of_own_size,
        _ATTENTION,
        views=("Attention",),
        section="attention",
    ),
    Explanation(
        "shared-keys",
        "Why {heads} query heads but only {keys}?",
        "Every {shared} query heads share one head of keys and values (grouped-query attention). "
        "When a decoder generates text, the cache of keys and values is {shared} times smaller, "
        "at little loss of quality.",
        "Ainslie et al. 2023",
        _shared_keys,
        _ATTENTION,
        views=("Attention",),
    ),
    Explanation(
        "scale",
        "Why divide by √{size}?",
        "If the components of a query and a key are independent with mean 0 and variance 1, "
        "their dot product has variance d_k = {size}. Division by √{size} = {root} restores "
        "variance 1. This keeps the softmax out of regions with very small gradients.",
        "Vaswani et al. 2017, section 3.2.1",
        _scale,
        _ATTENTION,
    ),
    Explanation(
        "unscaled",
        "Why are the scores not divided by √{size}?",
        "T5’s code draws the initial W_Q with a standard deviation that is smaller by a factor of "
        "√d_k = √{size}. The scores therefore start as small as with the division.",
        "transformers’ code",
        _unscaled,
        _ATTENTION,
    ),
    Explanation(
        "mask",
        "What does the attention mask do?",
        "The sentences of a batch are padded to the same length. The mask lowers the scores of "
        "padding to −∞ or to a very large negative number, so that the softmax gives padding a "
        "weight of 0 and no token attends to it.",
        "Vaswani et al. 2017, section 3.2.3",
        _masks_padding_only,
        _ATTENTION,
        views=("Attention", "Sentence"),
        section="mask",
        measured_text="This run has a single sequence of {tokens} tokens, which needs no padding.",
        measured=_nothing_padded,
    ),
    Explanation(
        "causal-mask",
        "Why can no token attend to later ones?",
        "A model that generates text is trained to predict each token from those before it. The "
        "mask lowers the scores of later tokens to −∞ or to a very large negative number, so that "
        "the softmax gives them a weight of 0.",
        "Vaswani et al. 2017, section 3.2.3; Radford et al. 2018",
        _masks_later,
        _ATTENTION,
        views=("Attention",),
        section="attention",
        measured_text="In this run, {hidden} of {every} scores per head are masked.",
        measured=_masked_scores,
    ),
    Explanation(
        "distances",
        "How does the order of the tokens enter the model?",
        "{order} position embeddings, each head adds learned biases to its scores, which depend "
        "on the distance between two tokens. The table has {buckets} × {heads} = {count} numbers, "
        "one for each range of distances and each head, and all layers of the stack share it.",
        "Raffel et al. 2020, section 2.1",
        _distances,
        _ATTENTION,
        names=("relative_attention_bias",),
        section="formulas",
    ),
)
