"""Heads that multiply with the embeddings' table, which they are given (DeBERTa)."""

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.heads import LOGITS, MASKED_LM, lm_transform, wrapper
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.subject import Subject


def table_lm_head(subject: Subject) -> Formula:
    """DeBERTa's of the published code: it multiplies with the table of words itself."""
    lines, terms = lm_transform(subject)
    (count,) = subject.tensors["bias"].shape
    word = 'W_"word"'
    return Formula(
        role="language-model head",
        title="Language-model head",
        summary="Scores every vocabulary entry at every position.",
        maths=(*lines, f"{sized('L', 'S', count)} = T {word}^top + b"),
        terms=(
            TOKENS,
            Term("X", "last hidden state"),
            *terms,
            Term(word, "the table of token vectors, that of the embeddings"),
            Term("b", "bias, a tensor of this module", f"[{count}]"),
            Term("L", "logits, one for each vocabulary entry", f"[S, {count}]"),
        ),
        notes=("The module is called with two inputs: X and the embeddings' table.", LOGITS),
        config_keys=subject.keys("vocabulary", "width"),
        source=f"{MASKED_LM}; He et al. 2021 and their code",
    )


def table_mlm_only(subject: Subject) -> Formula:
    """The wrapper around that head."""
    (count,) = subject.below("lm_head").tensors["bias"].shape
    return wrapper(subject, count)
