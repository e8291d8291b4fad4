"""Heads that multiply with the embeddings' table, which they are given (DeBERTa)."""

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.heads import LOGITS, MASKED_LM, lm_transform, wrapper
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized


def table_lm_head(view: ModuleView) -> Formula:
    """DeBERTa's of the published code: it multiplies with the table of words itself."""
    lines, terms = lm_transform(view)
    (count,) = view.tensors["bias"].shape
    word = 'W_"word"'
    return Formula(
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
        config_keys=view.keys("vocabulary", "width"),
        source=f"{MASKED_LM}; He et al. 2021 and their code",
    )


def table_mlm_only(view: ModuleView) -> Formula:
    """The wrapper around that head."""
    (count,) = view.below("lm_head").tensors["bias"].shape
    return wrapper(view, count)
