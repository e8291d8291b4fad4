"""Base models with a head: what the whole model gives for its task."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.formulas.facts import tells_classes_apart
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.heads import LOGITS, MASKED_LM, tying_notes
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.task_scores import class_scores, language_scores, rows

_HIDDEN = Term("X", "last hidden state of the base model, one row per position")
_POOLED = Term("p", "pooled output: one vector for the sequence")


def masked_language_model(view: ModuleView) -> Formula:
    """A score for every vocabulary entry at every position, from the words on both sides."""
    return _language_model(view, masked=True)


def causal_language_model(view: ModuleView) -> Formula:
    """A score for every vocabulary entry at every position, for the word that comes next."""
    return _language_model(view, masked=False)


def _language_model(view: ModuleView, *, masked: bool) -> Formula:
    both = _is_encoder_decoder(view)
    hides = is_causal(view.architecture)
    causal = both or (not masked if hides is None else hides)
    lines, terms, layer = language_scores(view)
    kind = "Encoder-decoder language model" if both else "Causal language model"
    return Formula(
        title=kind if causal else "Masked language model",
        summary="Assigns every position a score for each vocabulary entry as the next token."
        if causal
        else "Assigns every position a score for each vocabulary entry, using context on both "
        "sides.",
        maths=(_base(view), *lines),
        terms=(
            TOKENS,
            *_ids(view),
            _HIDDEN,
            *terms,
            Term("L", "logits, one per vocabulary entry"),
        ),
        notes=(*(tying_notes(view, f"{layer}.weight") if layer else ()), LOGITS),
        config_keys=view.keys("vocabulary", "width", "tying"),
        source=_language_source(both, causal),
    )


def sequence_classification(view: ModuleView) -> Formula:
    """One score per class for the whole sequence (Devlin et al. 2019, section 4.1)."""
    lines, terms = class_scores(view)
    return _task(
        view,
        "Sequence classification model",
        "Scores the classes for the whole sequence.",
        maths=(_base(view, pooled="p" in {term.symbol for term in terms}), *lines),
        terms=(*terms, Term("z", "logits, one per class")),
        source="Devlin et al. 2019, section 4.1",
        note=Note(
            "Softmax over the classes converts the scores to probabilities.", tells_classes_apart
        ),
        labels=True,
    )


def token_classification(view: ModuleView) -> Formula:
    """One score per class for every token (Devlin et al. 2019, section 5.3)."""
    layer = view.affine("classifier" if "classifier" in view.children else "score")
    lines, terms, argument = _transformed(view)
    return _task(
        view,
        "Token classification model",
        "Scores the classes for every token.",
        maths=(_base(view), *lines, rows("Z", layer, argument)),
        terms=(
            *terms,
            *layer.terms("the classifier"),
            Term("Z", "logits", f"[S, {layer.outputs}]"),
        ),
        source="Devlin et al. 2019, section 5.3",
        note="Every token is scored from its own hidden state with the same weights.",
        labels=True,
    )


def question_answering(view: ModuleView) -> Formula:
    """Where an answer starts and ends (Devlin et al. 2019, section 4.2)."""
    layer = view.affine("qa_outputs" if "qa_outputs" in view.children else "classifier")
    lines, terms, argument = _transformed(view)
    return _task(
        view,
        "Question answering model",
        "Scores every token as the start and as the end of the answer.",
        maths=(
            _base(view),
            *lines,
            rows("Z", layer, argument),
            '(z_"start", z_"end") = (Z_(:, 0), Z_(:, 1))',
        ),
        terms=(*terms, *layer.terms("the span head"), Term("Z", "logits", f"[S, {layer.outputs}]")),
        source="Devlin et al. 2019, section 4.2",
        note="Here softmax runs over the positions, once for the start and once for the end.",
        labels=True,
    )


def next_sentence(view: ModuleView) -> Formula:
    """Does sentence B follow sentence A? (Devlin et al. 2019, section 3.1, task 2)."""
    return _task(
        view,
        "Next-sentence model",
        "Scores whether sentence B follows sentence A.",
        maths=(_base(view, pooled=True), 'z = "Head"(p)'),
        terms=(_POOLED, Term("z", "two logits", "[2]")),
        source="Devlin et al. 2019, section 3.1, task 2",
        note="Entry 0 of z scores “B follows A”, entry 1 “B is random”.",
    )


def pretraining_model(view: ModuleView) -> Formula:
    """The model with the heads that it was pretrained with."""
    if "discriminator_predictions" in view.children:
        return _task(
            view,
            "Discriminator",
            "Scores for every token whether it was replaced by a generator.",
            maths=(_base(view), f'{sized("z", "S")} = "Discriminator"(X)'),
            terms=(Term("z", "one logit per token", "[S]"),),
            source="Clark et al. 2020, section 2",
            note="The sigmoid of a score is the probability that the token was replaced.",
        )
    order = "sop_classifier" in view.children
    second = '"SentenceOrder"(p)' if order else '"NextSentence"(p)'
    return _task(
        view,
        "Pretraining model",
        "Performs both pretraining tasks at once: scores every vocabulary entry at every "
        "position, and the relation of the two sentences.",
        maths=(_base(view, pooled=True), f'L = "Predictions"(X), quad z = {second}'),
        terms=(
            _POOLED,
            Term("L", "logits, one per vocabulary entry"),
            Term("z", "two logits"),
        ),
        source="Lan et al. 2020, section 3.1" if order else "Devlin et al. 2019, section 3.1",
        note=LOGITS,
    )


def _is_encoder_decoder(view: ModuleView) -> bool:
    """Tell whether the model reads two sequences: its decoder is a child, or its base model's."""
    return any(
        node.name == "decoder" and "embed_tokens" in ModuleView.of(node, view.architecture).children
        for child in (view.node, *view.children.values())
        for node in view.architecture.children(child.path)
    )


def _ids(view: ModuleView) -> tuple[Term, ...]:
    if not _is_encoder_decoder(view):
        return (Term("t", "token ids", "[S]"),)
    return (
        Term("t", "token ids of the encoder’s input"),
        Term("u", "token ids of the decoder’s input, shifted by one position", "[S]"),
    )


def _base(view: ModuleView, *, pooled: bool = False) -> str:
    """Return the line in which the base model gives its last hidden state, and a pooled one."""
    result = sized("X", "S", view.width) + (f", {sized('p', view.width)}" if pooled else "")
    if _is_encoder_decoder(view):
        return f'{result} = "Base"(t, {sized("u", "S")})'
    return f'{result} = "Base"({sized("t", "S")})'


def _transformed(view: ModuleView) -> tuple[tuple[str, ...], tuple[Term, ...], str]:
    """Return the line of ModernBERT's head before the scores, its term, and what it gives."""
    if "head" not in view.children:
        return (), (), "X"
    return ('T = "Head"(X)',), (Term("T", "output of the head’s transform"),), "T"


def _language_source(both: bool, causal: bool) -> str:
    if both:
        return "Vaswani et al. 2017, section 3.4; Lewis et al. 2020; Raffel et al. 2020"
    return "Radford et al. 2019, section 2" if causal else MASKED_LM


def _task(
    view: ModuleView,
    title: str,
    summary: str,
    *,
    maths: tuple[str, ...],
    terms: tuple[Term, ...],
    source: str,
    note: str,
    labels: bool = False,
) -> Formula:
    return Formula(
        title=title,
        summary=summary,
        maths=maths,
        terms=(TOKENS, *_ids(view), _HIDDEN, *terms),
        notes=(note,),
        config_keys=view.keys("width", *(("labels",) if labels else ())),
        source=source,
    )
