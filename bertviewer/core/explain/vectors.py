"""Questions about hidden states: similarity, outlier features, sentence vectors, logit lens."""

from bertviewer.core.analysis.layers import layer_paths
from bertviewer.core.explain.explanation import Context, Explanation, Numbers
from bertviewer.core.explain.tokens import start_of_encoder
from bertviewer.core.formulas.module_view import has_windows
from bertviewer.core.util.numbers import count_text, number_text, percent_text

HIGH = 0.5
"""The mean cosine of different tokens from which cosines are called high.

It is half that of parallel vectors; that of unrelated random ones is near 0.
"""
FEW = 0.05
"""The largest fraction of the features that "a few" of them are."""
DOMINANT = 0.25
"""The fraction of the mean cosine from which a few features are named as its cause."""
PERSISTENT = 0.5
"""The fraction of hidden states of which an outlier "in many layers" is one."""
_MAX_LISTED = 3
"""Features whose share of the mean cosine is listed."""


def _high_cosines(context: Context) -> Numbers | None:
    """Return the numbers of the visible hidden state, or of the one with the highest mean."""
    states, state = context.hidden_states, context.state
    if not states or not context.is_trained:
        return None
    from bertviewer.core.analysis.similarity import anisotropy  # imports numpy

    shown = range(len(states)) if state is None else range(len(states))[state : state + 1]
    found = [(each, number) for number in shown if (each := anisotropy(states[number]))]
    highest = max(found, key=lambda one: one[0].mean, default=None)
    if highest is None or highest[0].mean < HIGH:
        return None
    each, number = highest
    features, width = each.largest(_MAX_LISTED), len(each.parts)
    part, names = each.share(features), ", ".join(map(str, features))
    cause = (
        f"; {len(features)} of {width:,} features ({names}) account for {percent_text(part)} of it"
    )
    is_notable = part >= DOMINANT and len(features) <= FEW * width
    return {
        "state": _state_name(number, len(states)),
        "mean": f"{each.mean:.2f}",
        "cause": cause if is_notable else "",
    }


def _state_name(number: int, count: int) -> str:
    if number == count - 1:  # in GPT-2 after the norm that follows the last layer
        return "the last hidden state"
    return f"the output of layer {number - 1}" if number else "the output of the embeddings"


def _outliers(context: Context) -> Numbers | None:
    """Return the numbers if a few features are outliers, one of them in many hidden states."""
    run, states = context.run, context.hidden_states
    if run is None or not states or not context.is_trained:
        return None
    from bertviewer.core.analysis.outliers import outlier_features  # imports numpy
    from bertviewer.core.statistics.accumulators import DEVIATIONS

    found, width = outlier_features(run), states[0].shape[1]
    if not found or len(found) > max(FEW * width, 1):
        return None
    first = found[0]
    if len(first.states) < max(PERSISTENT * len(states), 2):
        return None
    one, many = "1 of {1} features deviates", "{0} of {1} features deviate"
    largest = first.largest.deviation
    return {
        "count": count_text(len(found), one, many, f"{width:,}"),
        "limit": f"{DEVIATIONS:g}",
        "feature": str(first.index),
        "states": str(len(first.states)),
        "every": str(len(states)),
        "deviation": f"{number_text(abs(largest), 3)} standard deviations "
        f"{'above' if largest > 0 else 'below'}",
    }


def _which_layer(context: Context) -> Numbers | None:
    return start_of_encoder(context) if len(layer_paths(context.architecture)) > 1 else None


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


def _late_prediction(context: Context) -> Numbers | None:
    """Return where the head first and finally predicts the model's token from a layer's output.

    ``None`` if it does so from the output of the first layer on. Of several predictions, the one
    that is final last.
    """
    latest = None
    for each in context.predictions if context.is_trained else ():
        tops = [guess.top[0].id for guess in each.layers if guess.top]
        if each.random_tensors or len(tops) < max(len(each.layers), 3) or tops[1] == tops[-1]:
            continue
        final = next(n for n in range(len(tops)) if set(tops[n:]) == {tops[-1]})
        if latest is None or final > latest[0]:
            latest = final, each
    if latest is None:
        return None
    final, each = latest
    return {
        "position": str(each.position),
        "token": each.layers[-1].top[0].text,
        "layer": str(final - 1),
    }


EXPLANATIONS = (
    Explanation(
        "alike-vectors",
        "Why are the cosines between different tokens so high?",
        "The hidden states of trained models tend to lie in a narrow cone, and tokens of one text "
        "share its context. A few features with large values can also dominate the cosine. "
        "Cosines should therefore be compared with one another, not with 0.",
        "Ethayarajh 2019, section 4; Timkey & van Schijndel 2021, section 3",
        _high_cosines,
        views=("Similarity", "Sentence"),
        section="similarity",
        measured_text="In {state} of this run, the mean cosine of two different tokens is "
        "{mean}{cause}.",
    ),
    Explanation(
        "outlier-features",
        "Why do a few features stand out?",
        "Trained Transformers tend to have a few features with extreme values, at the same index "
        "in many layers. In BERT they go back to unusual γ and β of the last norm of each layer. "
        "They are not an error: the model is severely degraded if they are removed.",
        "Kovaleva et al. 2021; Bondarenko et al. 2021",
        _outliers,
        views=("Layers",),
        section="outliers",
        measured_text="In this run, {count} by more than {limit} standard deviations from the mean "
        "of at least one hidden state. Feature {feature} does so in {states} of {every} hidden "
        "states; its largest deviation is {deviation} the mean.",
    ),
    Explanation(
        "sentence-vector",
        "Which vector represents the sentence?",
        "A model can be trained to represent texts by the vector of {start} or by the mean of all "
        "vectors. Without such training, neither is suited to comparing sentences: with plain "
        "BERT, both did worse than the mean of GloVe word vectors. With it, the mean did best.",
        "Reimers & Gurevych 2019, sections 4.1 and 6",
        start_of_encoder,
        ("pooler",),
        of_model=True,
        views=("Similarity", "Sentence"),
        section="sentence vectors",
    ),
    Explanation(
        "which-layer",
        "Which layer should I use?",
        "No layer is best for every task. In named-entity recognition with fixed features, BERT’s "
        "second-to-last layer did better than its last (F1 of 95.6 and 94.9), and the "
        "concatenation of the last four did best (96.1). In higher layers, a token’s vector "
        "depends more on its context.",
        "Devlin et al. 2019, section 5.3; Ethayarajh 2019, section 4",
        _which_layer,
        of_model=True,
        views=("Token", "Similarity"),
        section="similarity",
    ),
    Explanation(
        "last-token",
        "Which vector represents the sentence?",
        "That of the last token: in a decoder, no other vector depends on the whole text. GPT’s "
        "classifiers read it.",
        "Radford et al. 2018, section 3.2",
        _last_token,
        of_model=True,
        views=("Similarity", "Sentence"),
        section="sentence vectors",
    ),
    Explanation(
        "pooler",
        "What is the pooler for?",
        "It maps an input of any length to one vector of {width} numbers: the vector of {start} "
        "passes through a linear layer and an activation function. BERT’s pooler was trained with "
        "next-sentence prediction. Tasks on single tokens do not need it.",
        "Devlin et al. 2019, section 3.1",
        _pooler,
        ("pooler",),
        ("pooler",),
        section="formulas",
    ),
    Explanation(
        "early-layers",
        "Why do early layers predict other tokens?",
        "The head was trained on the output of the last layer. Here it is also applied to the "
        "hidden states of earlier layers (logit lens), which need not have the form that it was "
        "trained on.",
        "nostalgebraist 2020",
        _late_prediction,
        views=("Predictions",),
        section="predictions",
        measured_text="In this run, the head predicts the model’s final choice at "
        "position {position}, “{token}”, from the output of layer {layer} on.",
    ),
)
