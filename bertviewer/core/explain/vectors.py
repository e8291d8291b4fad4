"""Questions about hidden states: similarity, outlier features, sentence vectors, logit lens."""

from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.explain.tokens import start_of_encoder
from bertviewer.core.formulas.module_view import has_windows
from bertviewer.core.util.numbers import count_text, number_text

_HIGH = 0.25
"""The mean cosine of different tokens from which cosines are called high."""
_MAX_LISTED = 3
"""Features whose share of the mean cosine is listed."""


def _high_cosines(context: Context) -> Numbers | None:
    states = context.hidden_states
    state = -1 if context.state is None else context.state
    if not states or not context.is_trained or not -1 <= state < len(states):
        return None
    from bertviewer.core.analysis.similarity import anisotropy  # imports numpy

    found = anisotropy(states[state])
    if found is None or not found.mean >= _HIGH:
        return None
    features = found.largest(_MAX_LISTED)
    return {
        "mean": number_text(found.mean, 2),
        "features": ", ".join(map(str, features)),
        "most": str(len(features)),
        "width": f"{len(found.parts):,}",
        "part": f"{found.share(features):.0%}",
    }


def _outliers(context: Context) -> Numbers | None:
    run, states = context.run, context.hidden_states
    if run is None or not states or not context.is_trained:
        return None
    from bertviewer.core.analysis.outliers import outlier_features  # imports numpy
    from bertviewer.core.statistics.accumulators import DEVIATIONS

    found = outlier_features(run)
    if not found:
        return None
    first, width = found[0], f"{states[0].shape[1]:,}"
    one, many = "1 of {1} features deviates", "{0} of {1} features deviate"
    return {
        "count": count_text(len(found), one, many, width),
        "limit": f"{DEVIATIONS:g}",
        "feature": str(first.index),
        "states": str(len(first.states)),
        "every": str(len(states)),
        "deviation": number_text(first.largest.deviation, 3),
    }


def _last_token(context: Context) -> Numbers | None:
    # Through a sliding window the last token does not see all others.
    return {} if context.is_decoder and not has_windows(context.view) else None


def _pooler(context: Context) -> Numbers | None:
    tensors = context.architecture.tensors_below(context.node.path)
    # A classifier's own pooler, such as DeBERTa's, is trained with the classifier.
    is_of_head = context.node.depth == 1 and context.architecture.root.role == "task model"
    if not tensors or is_of_head or not context.is_encoder:
        return None
    return {"start": context.start_token or "the first token", "width": f"{tensors[0].shape[0]:,}"}


def _pooled(context: Context) -> Numbers | None:
    statistics = None if context.activation is None else context.activation.statistics
    if statistics is None or statistics.min is None or statistics.max is None:
        return None
    return {"low": number_text(statistics.min, 3), "high": number_text(statistics.max, 3)}


def _logit_lens(context: Context) -> Numbers | None:
    has_head = context.architecture.source.task in ("masked-lm", "pretraining")
    is_shown = has_head and context.is_trained and len(context.hidden_states) > 1
    return {} if is_shown else None


EXPLANATIONS = (
    Explanation(
        "alike-vectors",
        "Why are all cosines so high?",
        "The vectors of trained models lie in a narrow cone: any two tokens are similar, "
        "whatever their meaning. Often most of the similarity comes from a few features that are "
        "far larger than the others and similar for every token, so compare cosines with one "
        "another, not with 0.",
        "Ethayarajh 2019; Timkey & van Schijndel 2021",
        _high_cosines,
        views=("Similarity", "Sentence"),
        sections=("similarity", "sentence vectors"),
        measured_text="Here, two different tokens have a mean cosine of {mean}, and {most} of "
        "{width} features ({features}) account for {part} of it.",
        measured=_high_cosines,
    ),
    Explanation(
        "outlier-features",
        "Why do a few features stand out?",
        "Trained encoders have a few features that are far larger than all others, with the same "
        "indices in layer after layer: the last norm of each layer has an unusual γ and β there. "
        "They are not a bug: removing them severely degrades BERT.",
        "Kovaleva et al. 2021; Bondarenko et al. 2021",
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
        "Reimers & Gurevych 2019",
        start_of_encoder,
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
        "Devlin et al. 2019; Ethayarajh 2019",
        start_of_encoder,
        of_model=True,
        views=("Token", "Similarity"),
        sections=("sentence vectors", "similarity"),
    ),
    Explanation(
        "last-token",
        "Which vector represents the sentence?",
        "The last token’s: in a decoder, no other token has seen the whole text. Classifiers "
        "built on GPT read it.",
        "Radford et al. 2018",
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
        "Devlin et al. 2019",
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
        "nostalgebraist 2020",
        _logit_lens,
        views=("Predictions",),
        sections=("predictions",),
    ),
)
