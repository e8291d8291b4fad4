"""What is asked of what heads look at: at special tokens, at the first one, at all alike."""

import math

from bertviewer.core.explain.attention import ATTENTION, hides_later, sees_all_keys
from bertviewer.core.explain.explanation import Asked, Explanation, Numbers
from bertviewer.core.explain.facts import is_random, is_trained, tokens_of
from bertviewer.core.util.numbers import number_text

_EVEN = 0.95
"""From which part of the largest entropy on heads look at all tokens alike."""


def _special_keys(asked: Asked) -> tuple[int, ...]:
    """Return the special tokens of a run that an attention can look at."""
    run, maps = asked.run, asked.maps
    if run is None:
        return ()
    special = (*tokens_of(run, "cls"), *tokens_of(run, "sep"))
    return tuple(sorted(special if maps is None else set(special) & set(maps.key_tokens)))


def _looks_at_special(asked: Asked) -> Numbers | None:
    special = _special_keys(asked)
    if not is_trained(asked) or not special or sees_all_keys(asked) is None or asked.run is None:
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
    if asked.run is None or not is_trained(asked) or hides_later(asked) is None:
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


EXPLANATIONS = (
    Explanation(
        "special-tokens",
        "Why do so many heads attend to {labels}?",
        "A head’s weights must sum to 1, even when no key matches its query. BERT heads were "
        "found to attend to [SEP] in this case, which changes the output little: effectively a "
        "no-op.",
        ("Clark et al. 2019", "Kovaleva et al. 2019"),
        _looks_at_special,
        ATTENTION,
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
        ("Xiao et al. 2024",),
        _looks_at_first,
        ATTENTION,
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
        ("Clark et al. 2019",),
        _even,
        ATTENTION,
        views=("Attention",),
        sections=("attention",),
        measured_text="Here the mean entropy is {entropy} nats; the maximum is ln {tokens} = "
        "{most}.",
        measured=_even,
    ),
)
"""The questions about what is looked at."""
