"""What is asked of hidden states: how alike they are, what stands out, what they stand for."""

from bertviewer.core.explain.explanation import Asked, Explanation, Numbers
from bertviewer.core.explain.facts import (
    is_decoder,
    is_trained,
    sees_all,
    start_of,
)
from bertviewer.core.formulas.facts import has_windows
from bertviewer.core.util.numbers import count_text, number_text

_HIGH = 0.25
"""From which mean cosine of different tokens on one wonders."""
_MOST = 3
"""Features whose part of the mean cosine is told."""


def _alike(asked: Asked) -> Numbers | None:
    run = asked.run
    state = -1 if asked.state is None else asked.state
    if run is None or not is_trained(asked) or not -1 <= state < len(run.hidden_states):
        return None
    from bertviewer.core.analysis.anisotropy import anisotropy  # and with it numpy

    found = anisotropy(run.hidden_states[state]) if run.hidden_states else None
    if found is None or not found.mean >= _HIGH:
        return None
    features = found.largest(_MOST)
    return {
        "mean": number_text(found.mean, 2),
        "features": ", ".join(map(str, features)),
        "most": str(len(features)),
        "width": f"{len(found.parts):,}",
        "part": f"{found.share(features):.0%}",
    }


def _outliers(asked: Asked) -> Numbers | None:
    run = asked.run
    if run is None or not is_trained(asked) or not run.hidden_states:
        return None
    from bertviewer.core.analysis.outliers import DEVIATIONS, outlier_features

    found = outlier_features(run)
    if not found:
        return None
    first = found[0]
    return {
        "count": count_text(
            len(found),
            "1 of {1} features deviates",
            "{0} of {1} features deviate",
            f"{run.hidden_states[0].shape[1]:,}",
        ),
        "limit": f"{DEVIATIONS:g}",
        "feature": str(first.index),
        "states": str(len(first.states)),
        "every": str(len(run.hidden_states)),
        "deviation": number_text(first.largest.deviation, 3),
    }


def _sentence(asked: Asked) -> Numbers | None:
    start = start_of(asked)
    return None if start is None or not sees_all(asked.architecture) else {"start": start}


def _last_token(asked: Asked) -> Numbers | None:
    """Return that the last token sees all others, which it does not through a window."""
    return {} if is_decoder(asked.architecture) and not has_windows(asked.view) else None


def _pooler(asked: Asked) -> Numbers | None:
    tensors = asked.architecture.tensors_below(asked.node.path)
    # A classifier's own pooler, such as DeBERTa's, is trained with the classifier.
    is_of_head = asked.node.depth == 1 and asked.architecture.root.role == "task model"
    if not tensors or is_of_head or not sees_all(asked.architecture):
        return None
    width = tensors[0].shape[0]
    return {"start": start_of(asked) or "the first token", "width": f"{width:,}"}


def _pooled(asked: Asked) -> Numbers | None:
    activation = None if asked.run is None else asked.run.activation(asked.node.path)
    statistics = None if activation is None else activation.statistics
    if statistics is None or statistics.min is None or statistics.max is None:
        return None
    return {"low": number_text(statistics.min, 3), "high": number_text(statistics.max, 3)}


def _lens(asked: Asked) -> Numbers | None:
    run = asked.run
    task = asked.architecture.source.task
    if run is None or not is_trained(asked) or task not in ("masked-lm", "pretraining"):
        return None
    return {"states": str(len(run.hidden_states))} if len(run.hidden_states) > 1 else None


EXPLANATIONS = (
    Explanation(
        "alike-vectors",
        "Why are all cosines so high?",
        "The vectors of trained models lie in a narrow cone: any two tokens are similar, "
        "whatever their meaning. Often most of the similarity comes from a few features that are "
        "far larger than the others and similar for every token, so compare cosines with one "
        "another, not with 0.",
        ("Ethayarajh 2019", "Timkey & van Schijndel 2021"),
        _alike,
        views=("Similarity", "Sentence"),
        sections=("similarity", "sentence vectors"),
        measured_text="Here, two different tokens have a mean cosine of {mean}, and {most} of "
        "{width} features ({features}) account for {part} of it.",
        measured=_alike,
    ),
    Explanation(
        "outlier-features",
        "Why do a few features stand out?",
        "Trained encoders have a few features that are far larger than all others, with the same "
        "indices in layer after layer: the last norm of each layer has an unusual γ and β there. "
        "They are not a bug: removing them severely degrades BERT.",
        ("Kovaleva et al. 2021", "Bondarenko et al. 2021"),
        _outliers,
        views=("Layers",),
        sections=("outliers",),
        measured_text="Here, {count} by more than {limit} standard deviations from the mean in "
        "at least one hidden state; feature {feature} is an outlier in {states} of "
        "{every} hidden states, by up to {deviation} standard deviations.",
        measured=_outliers,
    ),
    Explanation(
        "sentence-vector",
        "Which vector represents the sentence?",
        "Neither {start} nor the mean of all tokens is suited to comparing sentences unless the "
        "model was trained for it: with plain BERT, both did worse than a mean of GloVe word "
        "vectors. After such training, the mean did better than [CLS] and than the maximum.",
        ("Reimers & Gurevych 2019",),
        _sentence,
        ("pooler",),
        of_model=True,
        views=("Similarity", "Sentence"),
        sections=("sentence vectors",),
    ),
    Explanation(
        "which-layer",
        "Which layer should I use?",
        "No layer is best for everything: as features for named-entity recognition, BERT’s "
        "second-to-last layer did better than its last (95.6 against 94.9 F1), and the last four "
        "together did best (96.1). The higher the layer, the more a word’s vector reflects its "
        "context.",
        ("Devlin et al. 2019", "Ethayarajh 2019"),
        _sentence,
        of_model=True,
        views=("Token", "Similarity"),
        sections=("sentence vectors", "similarity"),
    ),
    Explanation(
        "last-token",
        "Which vector represents the sentence?",
        "The last token’s: in a decoder, no other token has seen the whole text. Classifiers "
        "built on GPT read it.",
        ("Radford et al. 2018",),
        _last_token,
        of_model=True,
        views=("Similarity", "Sentence"),
        sections=("sentence vectors",),
    ),
    Explanation(
        "pooler",
        "What is the pooler for?",
        "It maps a whole text, of any length, to one vector of {width} numbers: a linear layer "
        "and an activation applied to the vector of {start}. BERT’s pooler was trained with "
        "next-sentence prediction; token-level tasks do without it.",
        ("Devlin et al. 2019",),
        _pooler,
        ("pooler",),
        ("pooler",),
        sections=("formulas", "sentence vectors"),
        measured_text="In this run its values lie between {low} and {high}.",
        measured=_pooled,
    ),
    Explanation(
        "early-layers",
        "Why do early layers predict nonsense?",
        "The head was trained on the output of the last layer and is applied here to the hidden "
        "states of earlier layers (logit lens), which do not yet have the form that it expects.",
        ("nostalgebraist 2020",),
        _lens,
        views=("Predictions",),
        sections=("predictions",),
    ),
)
"""The questions about vectors, the most asked first."""
