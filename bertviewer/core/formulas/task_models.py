"""Base models with a head: what the whole model gives for its task."""

from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.heads import LOGITS, MASKED_LM, tying_notes
from bertviewer.core.formulas.notation import LAYER_NORM, TOKENS, Affine, sized
from bertviewer.core.formulas.subject import Subject

_HIDDEN = Term("X", "last hidden state of the base model, one row for each position")
_IDS = Term("t", "token ids", "[S]")
_POOLED = Term("p", "pooled output: one vector for the sequence")
_FIRST = Term("x_0", "row of X for the first token")


def language_model(subject: Subject) -> Formula:
    """Masked or causal language model: a score for every vocabulary entry at every position."""
    causal = not subject.node.class_name.endswith("ForMaskedLM")
    lines, terms, layer = _language_scores(subject)
    return Formula(
        role="task model",
        title="Causal language model" if causal else "Masked language model",
        summary="Scores at each position what the next token may be."
        if causal
        else "Scores at each position what the token there may be, from its whole surroundings.",
        maths=(_base(subject), *lines),
        terms=(TOKENS, _IDS, _HIDDEN, *terms, Term("L", "logits, one for each vocabulary entry")),
        notes=(*(tying_notes(subject, f"{layer}.weight") if layer else ()), LOGITS),
        config_keys=subject.keys("vocabulary", "width", "tying"),
        source="Radford et al. 2019, section 2" if causal else MASKED_LM,
    )


def sequence_classification(subject: Subject) -> Formula:
    """One score per class for the whole sequence (Devlin et al. 2019, section 4.1)."""
    if "score" in subject.children:
        layer = subject.affine("score")
        lines: tuple[str, ...] = (_base(subject), _scores(layer, "x_e"))
        terms: tuple[Term, ...] = (Term("x_e", "row of X for the last token that is not padding"),)
        terms += layer.terms("the score layer")
    elif "pre_classifier" in subject.children:
        first, layer = subject.affine("pre_classifier"), subject.affine("classifier")
        hidden = f'op("ReLU")({first.maths(sized("x_0", first.inputs), "1")})'
        lines = (
            _base(subject),
            f"{sized('h', first.outputs)} = {hidden}",
            f"{sized('z', layer.outputs)} = {layer.maths('h', '2')}",
        )
        terms = (_FIRST, *first.terms("the first linear layer", "1"))
        terms += layer.terms("the classifier", "2")
    elif subject.class_of("classifier") == "Linear":
        layer = subject.affine("classifier")
        lines = (_base(subject, pooled=True), _scores(layer, "p"))
        terms = (_POOLED, *layer.terms("the classifier"))
    else:
        lines = (_base(subject), 'z = "Classifier"(X)')
        terms = ()
    return _task(
        subject,
        "Sequence classification model",
        "Scores the classes for the whole sequence.",
        maths=lines,
        terms=(*terms, Term("z", "logits, one for each class")),
        source="Devlin et al. 2019, section 4.1",
        note="Softmax over the classes turns the scores into probabilities.",
        labels=True,
    )


def token_classification(subject: Subject) -> Formula:
    """One score per class for every token (Devlin et al. 2019, section 5.3)."""
    layer = subject.affine("classifier")
    return _task(
        subject,
        "Token classification model",
        "Scores the classes for every token.",
        maths=(_base(subject), _rows("Z", layer)),
        terms=(*layer.terms("the classifier"), Term("Z", "logits", f"[S, {layer.outputs}]")),
        source="Devlin et al. 2019, section 5.3",
        note="Every token is scored from its own hidden state with the same weights.",
        labels=True,
    )


def question_answering(subject: Subject) -> Formula:
    """Where an answer starts and ends (Devlin et al. 2019, section 4.2)."""
    layer = subject.affine("qa_outputs")
    return _task(
        subject,
        "Question answering model",
        "Scores for every token whether the answer starts or ends there.",
        maths=(_base(subject), _rows("Z", layer), '(z_"start", z_"end") = (Z_(:, 0), Z_(:, 1))'),
        terms=(*layer.terms("the span head"), Term("Z", "logits", f"[S, {layer.outputs}]")),
        source="Devlin et al. 2019, section 4.2",
        note="Softmax runs over the positions here: where is the start, where is the end.",
        labels=True,
    )


def next_sentence(subject: Subject) -> Formula:
    """Does sentence B follow sentence A? (Devlin et al. 2019, section 3.1, task 2)."""
    return _task(
        subject,
        "Next-sentence model",
        "Scores whether sentence B follows sentence A.",
        maths=(_base(subject, pooled=True), 'z = "Head"(p)'),
        terms=(_POOLED, Term("z", "two logits", "[2]")),
        source="Devlin et al. 2019, section 3.1, task 2",
        note="Entry 0 of z scores 'B follows A', entry 1 'B is random'.",
    )


def pretraining_model(subject: Subject) -> Formula:
    """The model with the heads that it was pretrained with."""
    if "discriminator_predictions" in subject.children:
        return _task(
            subject,
            "Discriminator",
            "Scores for every token whether a generator replaced it.",
            maths=(_base(subject), f'{sized("z", "S")} = "Discriminator"(X)'),
            terms=(Term("z", "one logit for each token", "[S]"),),
            source="Clark et al. 2020, section 2",
            note="The sigmoid of a score is the probability that the token was replaced.",
        )
    order = "sop_classifier" in subject.children
    second = '"SentenceOrder"(p)' if order else '"NextSentence"(p)'
    return _task(
        subject,
        "Pretraining model",
        "Does both tasks of the pretraining at once: scores the vocabulary at every position and "
        "the relation of the two sentences.",
        maths=(_base(subject, pooled=True), f'L = "Predictions"(X), quad z = {second}'),
        terms=(
            _POOLED,
            Term("L", "logits, one for each vocabulary entry"),
            Term("z", "two logits"),
        ),
        source="Lan et al. 2020, section 3.1" if order else "Devlin et al. 2019, section 3.1",
        note=LOGITS,
    )


def _base(subject: Subject, *, pooled: bool = False) -> str:
    """Return the line in which the base model gives its last hidden state, and a pooled one."""
    result = sized("X", "S", subject.width) + (f", {sized('p', subject.width)}" if pooled else "")
    return f'{result} = "Base"({sized("t", "S")})'


def _task(
    subject: Subject,
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
        role="task model",
        title=title,
        summary=summary,
        maths=maths,
        terms=(TOKENS, _IDS, _HIDDEN, *terms),
        notes=(note,),
        config_keys=subject.keys("width", *(("labels",) if labels else ())),
        source=source,
    )


def _language_scores(subject: Subject) -> tuple[tuple[str, ...], tuple[Term, ...], str]:
    """Return lines, terms and the name of the last linear layer, where it is a child itself."""
    last = next((n for n in ("vocab_projector", "generator_lm_head") if n in subject.children), "")
    if "vocab_transform" in subject.children:
        first = subject.affine("vocab_transform")
        act = operator_of(subject, "activation")
        inner = first.maths(sized("X", "S", first.inputs), "1")
        line = f"{sized('T', 'S', first.outputs)} = {LAYER_NORM}({act}({inner}))"
        terms = first.terms("the transform", "1")
    elif last:
        line, terms = 'T = "Transform"(X)', (Term("T", "output of the head's transform"),)
    elif subject.class_of("lm_head") == "Linear":
        layer = subject.affine("lm_head")
        return (_rows("L", layer),), layer.terms("the language-model head"), "lm_head"
    else:
        return ('L = "Head"(X)',), (), ""
    layer = subject.affine(last)
    scores = f"{sized('L', 'S', layer.outputs)} = {layer.maths('T', '2')}"
    return (line, scores), (*terms, *layer.terms("the vocabulary's scores", "2")), last


def _scores(layer: Affine, argument: str) -> str:
    return f"{sized('z', layer.outputs)} = {layer.maths(sized(argument, layer.inputs))}"


def _rows(result: str, layer: Affine) -> str:
    scores = layer.maths(sized("X", "S", layer.inputs))
    return f"{sized(result, 'S', layer.outputs)} = {scores}"
