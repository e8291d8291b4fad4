"""Evaluated notes can be false; ``tests/core/explain`` evaluates all notes of many models."""

import pytest

from tests.core.formulas.claims import claim_of
from tests.core.formulas.formula_models import formula_at
from tests.core.formulas.note_cases import Case, case

T5_ATTENTION = "encoder.block.0.layer.0.SelfAttention"


@pytest.mark.parametrize(
    ("one", "path", "note"),
    [
        (
            case("t5"),
            T5_ATTENTION,
            "All 3 heads are stacked in the same three weights: head h has rows 6h to 6h+5 of W_Q, "
            "W_K and W_V, so the first head has rows 0 to 5. The 18 features are split as [3, 6]: "
            "the number of heads does not change the parameter count.",
        ),
        (
            case("bert", is_decoder=True),
            "",
            "Every position attends to the whole sequence, in both directions.",
        ),
        (
            case("mpnet"),
            "encoder.layer.0.attention.attn",
            "There are no position vectors: token order enters as a bias on the scores, one number "
            "per head and distance bucket.",
        ),
        (
            case("llama"),
            "layers.0.self_attn",
            "During training, dropout sets each entry of P to 0 with probability 0.1; in "
            "evaluation mode it has no effect.",
        ),
    ],
    ids=str,
)
def test_a_false_note_is_found_and_not_shown(one: Case, path: str, note: str) -> None:
    claim = claim_of(note)
    assert claim is not None
    check, groups = claim
    assert not check(one, one.node(path), groups)
    assert note not in formula_at(one.architecture, path).notes
