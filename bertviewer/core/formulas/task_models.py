"""Base models with a head: what the whole model gives for its task."""

from bertviewer.core.formulas.facts import tells_classes_apart
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.heads import LOGITS, MASKED_LM, tying_notes
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.subject import Subject
from bertviewer.core.formulas.task_scores import class_scores, language_scores, rows

_HIDDEN = Term("X", "last hidden state of the base model, one row for each position")
_POOLED = Term("p", "pooled output: one vector for the sequence")


def language_model(subject: Subject) -> Formula:
    """Masked or causal language model: a score for every vocabulary entry at every position."""
    masked = subject.node.class_name.endswith("ForMaskedLM")
    both = _is_encoder_decoder(subject)
    causal = not masked or both
    lines, terms, layer = language_scores(subject)
    kind = "Encoder-decoder language model" if both else "Causal language model"
    return Formula(
        role="task model",
        title=kind if causal else "Masked language model",
        summary="Scores at each position what the next token may be."
        if causal
        else "Scores at each position what the token there may be, from its whole surroundings.",
        maths=(_base(subject), *lines),
        terms=(
            TOKENS,
            *_ids(subject),
            _HIDDEN,
            *terms,
            Term("L", "logits, one for each vocabulary entry"),
        ),
        notes=(*(tying_notes(subject, f"{layer}.weight") if layer else ()), LOGITS),
        config_keys=subject.keys("vocabulary", "width", "tying"),
        source=_language_source(both, causal),
    )


def sequence_classification(subject: Subject) -> Formula:
    """One score per class for the whole sequence (Devlin et al. 2019, section 4.1)."""
    lines, terms = class_scores(subject)
    return _task(
        subject,
        "Sequence classification model",
        "Scores the classes for the whole sequence.",
        maths=(_base(subject, pooled="p" in {term.symbol for term in terms}), *lines),
        terms=(*terms, Term("z", "logits, one for each class")),
        source="Devlin et al. 2019, section 4.1",
        note=Note(
            "Softmax over the classes turns the scores into probabilities.", tells_classes_apart
        ),
        labels=True,
    )


def token_classification(subject: Subject) -> Formula:
    """One score per class for every token (Devlin et al. 2019, section 5.3)."""
    layer = subject.affine("classifier" if "classifier" in subject.children else "score")
    lines, terms, argument = _transformed(subject)
    return _task(
        subject,
        "Token classification model",
        "Scores the classes for every token.",
        maths=(_base(subject), *lines, rows("Z", layer, argument)),
        terms=(
            *terms,
            *layer.terms("the classifier"),
            Term("Z", "logits", f"[S, {layer.outputs}]"),
        ),
        source="Devlin et al. 2019, section 5.3",
        note="Every token is scored from its own hidden state with the same weights.",
        labels=True,
    )


def question_answering(subject: Subject) -> Formula:
    """Where an answer starts and ends (Devlin et al. 2019, section 4.2)."""
    layer = subject.affine("qa_outputs" if "qa_outputs" in subject.children else "classifier")
    lines, terms, argument = _transformed(subject)
    return _task(
        subject,
        "Question answering model",
        "Scores for every token whether the answer starts or ends there.",
        maths=(
            _base(subject),
            *lines,
            rows("Z", layer, argument),
            '(z_"start", z_"end") = (Z_(:, 0), Z_(:, 1))',
        ),
        terms=(*terms, *layer.terms("the span head"), Term("Z", "logits", f"[S, {layer.outputs}]")),
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


def _is_encoder_decoder(subject: Subject) -> bool:
    """Tell whether the model reads two sequences: its decoder is a child, or its base model's."""
    return any(
        node.name == "decoder" and "embed_tokens" in Subject.of(node, subject.architecture).children
        for child in (subject.node, *subject.children.values())
        for node in subject.architecture.children(child.path)
    )


def _ids(subject: Subject) -> tuple[Term, ...]:
    if not _is_encoder_decoder(subject):
        return (Term("t", "token ids", "[S]"),)
    return (
        Term("t", "token ids that the encoder reads"),
        Term("u", "token ids that the decoder reads, shifted by one place", "[S]"),
    )


def _base(subject: Subject, *, pooled: bool = False) -> str:
    """Return the line in which the base model gives its last hidden state, and a pooled one."""
    result = sized("X", "S", subject.width) + (f", {sized('p', subject.width)}" if pooled else "")
    if _is_encoder_decoder(subject):
        return f'{result} = "Base"(t, {sized("u", "S")})'
    return f'{result} = "Base"({sized("t", "S")})'


def _transformed(subject: Subject) -> tuple[tuple[str, ...], tuple[Term, ...], str]:
    """Return the line of ModernBERT's head before the scores, its term, and what it gives."""
    if "head" not in subject.children:
        return (), (), "X"
    return ('T = "Head"(X)',), (Term("T", "output of the head's transform"),), "T"


def _language_source(both: bool, causal: bool) -> str:
    if both:
        return "Vaswani et al. 2017, section 3.4; Lewis et al. 2020; Raffel et al. 2020"
    return "Radford et al. 2019, section 2" if causal else MASKED_LM


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
        terms=(TOKENS, *_ids(subject), _HIDDEN, *terms),
        notes=(note,),
        config_keys=subject.keys("width", *(("labels",) if labels else ())),
        source=source,
    )
