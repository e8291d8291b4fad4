"""What is asked of attention: its heads, its scale, its masks, and what trained heads look at."""

import math

from bertviewer.core.explanations.explanation import Asked, Explanation, Numbers
from bertviewer.core.explanations.facts import (
    is_causal,
    is_random,
    is_trained,
    role_of,
    tokens_of,
)
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.facts import has_head_size, has_positions
from bertviewer.core.tensors.heads import HeadLayout, head_layout
from bertviewer.core.text.numerals import number_text

ATTENTION = ("self-attention",)
_EVEN = 0.95
"""From which part of the largest entropy on heads look at all tokens alike."""


def _layouts(asked: Asked) -> dict[str, HeadLayout]:
    """Return how the heads lie in an attention's weights, also where one of them is asked."""
    node = asked.node
    path = node.path if role_of(node) in ATTENTION else node.parent or ""
    found: dict[str, HeadLayout] = {}
    for tensor in asked.architecture.tensors_below(path):
        if len(tensor.shape) == 2 and (layout := head_layout(asked.architecture, tensor)):
            for part in layout.parts:
                found.setdefault(part, layout)
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
        "keys": str(key.heads),
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
    if asked.view.kind is not ModuleKind.T5_ATTENTION or formula is None:
        return None
    is_plain = any(note.startswith("The scores are not divided") for note in formula.notes)
    layout = _layouts(asked).get("query")
    return None if layout is None or not is_plain else {"size": str(layout.size)}


def _sees_all(asked: Asked) -> Numbers | None:
    """Return that padding is all that the attention's mask hides of its own sequence."""
    formula = formula_of(asked.node, asked.architecture)
    mask = next((t.meaning for t in formula.terms if t.symbol == "M"), "") if formula else ""
    return {} if "(padding)" in mask and not asked.view.is_cross else None


def _hides_later(asked: Asked) -> Numbers | None:
    return {} if is_causal(asked.node, asked.architecture) else None


def _nothing_padded(asked: Asked) -> Numbers | None:
    run = asked.run
    return None if run is None or len(run.tokens) < 2 else {"tokens": str(len(run.tokens))}


def _hidden_scores(asked: Asked) -> Numbers | None:
    maps = asked.maps
    if maps is None or maps.masked is None:
        return None
    hidden, every = int(maps.masked[0].sum()), maps.masked[0].size
    return {"hidden": f"{hidden:,}", "every": f"{every:,}"}


def _special_keys(asked: Asked) -> tuple[int, ...]:
    """Return the special tokens of a run that an attention can look at."""
    run, maps = asked.run, asked.maps
    if run is None:
        return ()
    special = (*tokens_of(run, "cls"), *tokens_of(run, "sep"))
    return tuple(sorted(special if maps is None else set(special) & set(maps.key_tokens)))


def _looks_at_special(asked: Asked) -> Numbers | None:
    special = _special_keys(asked)
    if not is_trained(asked) or not special or _sees_all(asked) is None or asked.run is None:
        return None
    labels = dict.fromkeys(asked.run.tokens[place].text for place in special)
    return {"labels": " and ".join(labels)}


def _share_of_special(asked: Asked) -> Numbers | None:
    maps, special = asked.maps, _special_keys(asked)
    if maps is None or not special or asked.run is None:
        return None
    columns = [maps.key_tokens.index(place) for place in special]
    # [A]: what each head gives them, mean over the queries.
    shares = maps.probabilities[:, :, columns].sum(axis=2).mean(axis=1)
    if not math.isfinite(float(shares.sum())):
        return None
    count, every = len(special), len(maps.key_tokens)
    head = int(shares.argmax())
    return {
        "share": f"{float(shares.mean()):.0%}",
        "count": str(count),
        "tokens": str(every),
        "even": f"{count / every:.0%}",
        "head": str(head),
        "most": f"{float(shares[head]):.0%}",
    }


def _looks_at_first(asked: Asked) -> Numbers | None:
    if asked.run is None or not is_trained(asked) or _hides_later(asked) is None:
        return None
    return {"first": asked.run.tokens[0].text.strip() or "the first"}


def _share_of_first(asked: Asked) -> Numbers | None:
    maps = asked.maps
    if maps is None or maps.probabilities.shape[1] < 2:
        return None
    # The first query sees nothing else.
    shares = maps.probabilities[:, 1:, 0].mean(axis=1)
    return {"share": f"{float(shares.mean()):.0%}"} if math.isfinite(shares.sum()) else None


def _even(asked: Asked) -> Numbers | None:
    maps = asked.maps
    if not is_random(asked.run) or maps is None or maps.masked is not None:
        return None
    most = math.log(len(maps.key_tokens))
    mean = float(maps.entropies.mean())
    if not math.isfinite(mean) or mean < _EVEN * most or most == 0:
        return None
    return {
        "entropy": number_text(mean, 4),
        "most": number_text(most, 4),
        "tokens": str(len(maps.key_tokens)),
    }


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
        "order": "Beside" if has_positions(asked.view) else "In place of",
        "buckets": str(buckets),
        "heads": str(heads),
        "count": f"{buckets * heads:,}",
    }


EXPLANATIONS = (
    Explanation(
        "heads",
        "Why {heads} heads of {size} and not one of {features}?",
        "Each head has a softmax of its own, so {heads} heads look in {heads} ways at once, where "
        "one would have to settle for a single mean. The {features} features are split among them, "
        "{size} each: W_Q, W_K and W_V are as large with any number of heads, and nothing is "
        "counted {heads} times.",
        ("Vaswani et al. 2017", "Michel et al. 2019"),
        _split_heads,
        ATTENTION,
        ("query", "key", "value", "c_attn", "Wqkv"),
        views=("Attention",),
        sections=("formulas", "attention", "parameters"),
    ),
    Explanation(
        "heads-of-own-size",
        "Why {heads} heads of {size} and not one of {features}?",
        "Each head has a softmax of its own, so {heads} heads look in {heads} ways at once, where "
        "one would have to settle for a single mean. The size of a head is a number of its own "
        "here: {heads} heads of {size} make {features} features, and more heads make larger "
        "weights.",
        ("Vaswani et al. 2017", "Michel et al. 2019"),
        _free_heads,
        ATTENTION,
        views=("Attention",),
        sections=("formulas", "attention", "parameters"),
    ),
    Explanation(
        "shared-keys",
        "Why {heads} heads of queries and {keys} of keys?",
        "{shared} heads of queries share one head of keys and values. What is kept of the tokens "
        "before is {shared} times smaller so, at little loss.",
        ("Ainslie et al. 2023",),
        _shared_keys,
        ATTENTION,
        views=("Attention",),
        sections=("formulas", "attention"),
    ),
    Explanation(
        "scale",
        "Why divide by √{size}?",
        "If the numbers in a query and a key are independent with mean 0 and variance 1, their "
        "product has variance d_k = {size}. Divided by √{size} = {root} it has variance 1 again, "
        "and the softmax is not pushed to 0 and 1, where its gradient vanishes.",
        ("Vaswani et al. 2017",),
        _scale,
        ATTENTION,
        sections=("formulas",),
    ),
    Explanation(
        "unscaled",
        "Why is nothing divided by √d_k here?",
        "T5 leaves the division out, and draws W_Q smaller by √d_k = √{size} instead when training "
        "starts. The scores begin just as small.",
        ("Raffel et al. 2020",),
        _unscaled,
        ATTENTION,
        sections=("formulas",),
    ),
    Explanation(
        "special-tokens",
        "Why do so many heads look at {labels}?",
        "A head's shares have to sum to 1, also where it finds nothing of what it looks for. In "
        "BERT such heads were found to look at [SEP] then, and what they take from it changes "
        "little: it is a way of doing nothing.",
        ("Clark et al. 2019", "Kovaleva et al. 2019"),
        _looks_at_special,
        ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="Here they get {share} of what this layer's heads give, though they are "
        "{count} of {tokens} tokens, {even}; head {head} gives them {most}.",
        measured=_share_of_special,
    ),
    Explanation(
        "first-token",
        "Why do so many heads look at the first token?",
        "A head's shares have to sum to 1, also where it finds nothing of what it looks for, and "
        "the first token is the one that every other sees. Trained decoders use it as a sink for "
        "attention that is to do nothing.",
        ("Xiao et al. 2024",),
        _looks_at_first,
        ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="Here it gets {share} of what the tokens after it give in this layer.",
        measured=_share_of_first,
    ),
    Explanation(
        "even-attention",
        "Why does every head look at all tokens alike?",
        "The weights are random and small, so all scores are near 0, and the softmax of equal "
        "scores is the same share for every token. What tells heads apart is learnt.",
        ("Clark et al. 2019",),
        _even,
        ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="The mean entropy is {entropy} nats here, of at most ln {tokens} = {most}.",
        measured=_even,
    ),
    Explanation(
        "mask",
        "What does the mask do?",
        "Sentences of a batch are padded to one length; the mask adds a hugely negative number to "
        "the scores of padding, so that the softmax gives it 0. The padded rows are computed all "
        "the same and are not 0: no other row looks at them.",
        ("Vaswani et al. 2017",),
        _sees_all,
        ATTENTION,
        views=("Attention", "Sentence"),
        sections=("mask", "attention"),
        measured_text="The {tokens} tokens of this run stand alone, so nothing is masked.",
        measured=_nothing_padded,
    ),
    Explanation(
        "causal-mask",
        "Why does no token see a later one?",
        "The model is trained to predict each next token, which it must not have seen. So a mask "
        "adds −∞ to the scores of all later tokens, and the softmax gives them 0.",
        ("Vaswani et al. 2017", "Radford et al. 2018"),
        _hides_later,
        ATTENTION,
        views=("Attention",),
        sections=("mask", "attention"),
        measured_text="In this run {hidden} of {every} scores of a head are hidden.",
        measured=_hidden_scores,
    ),
    Explanation(
        "distances",
        "How does it know the order of the words?",
        "{order} position vectors each head has learnt numbers that are added to its scores, by "
        "how far apart two tokens are. These are {buckets} × {heads} = {count} numbers, one for "
        "each bucket of distances and head; they are counted once, and all layers of the stack use "
        "them.",
        ("Raffel et al. 2020",),
        _distances,
        ATTENTION,
        names=("relative_attention_bias",),
        sections=("formulas", "parameters"),
    ),
)
"""The questions about attention, the most asked first."""
