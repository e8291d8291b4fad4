"""Notes appear only where they are true; ``tests/core/explain`` evaluates all of them."""

import pytest

from bertviewer.core.formulas.catalogue import with_formulas
from tests.core.formulas.claims import claim_of
from tests.core.formulas.formula_models import formula_at
from tests.core.formulas.note_cases import HEADS, Case, case

T5_ATTENTION = "encoder.block.0.layer.0.SelfAttention"


def notes_at(one: Case, path: str) -> str:
    return " ".join(formula_at(one.architecture, path).notes)


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
            "During training, dropout zeroes some entries of P; in evaluation mode it has no "
            "effect.",
        ),
    ],
    ids=str,
)
def test_a_false_note_is_found_and_not_shown(one: Case, path: str, note: str) -> None:
    claim = claim_of(note)
    assert claim is not None
    check, groups = claim
    assert not check(one, one.node(path), groups)
    assert note not in notes_at(one, path)


@pytest.mark.parametrize(
    ("one", "path", "text", "is_shown"),
    [
        (case("t5"), T5_ATTENTION, "does not change the parameter count", False),
        (case("t5"), T5_ATTENTION, "The configuration sets the head size separately", True),
        (
            *(case("t5"), T5_ATTENTION),
            "Here 16 buckets are for earlier positions, from distance 0, and 15 for later ones, "
            "from distance 1; the first 8 and 7 of them, respectively, cover one distance each.",
            True,
        ),
        (case("t5", relative_attention_max_distance=9), T5_ATTENTION, "Here", False),
        (case("bert"), "encoder.layer.0", "Dropout is active only during training", True),
        (case("bert", **HEADS), "encoder.layer.0", "Dropout is active", False),
        (case("bert", **HEADS), "embeddings", "Dropout follows", False),
        (case("albert"), "encoder", "narrow embedding", True),
        (case("albert", embedding_size=24), "encoder", "narrow embedding", False),
    ],
    ids=str,
)
def test_a_note_is_shown_where_its_condition_holds(
    one: Case, path: str, text: str, is_shown: bool
) -> None:
    assert (text in notes_at(one, path)) is is_shown


@pytest.mark.parametrize(
    ("family", "layer", "cross"),
    [
        ("bart", "decoder.layers.0", "decoder.layers.0.encoder_attn"),
        ("t5", "decoder.block.0", "decoder.block.0.layer.1.EncDecAttention"),
        ("transformer-base", "transformer.decoder.layers.0", ""),
    ],
)
def test_a_decoder_has_target_and_source_tokens(family: str, layer: str, cross: str) -> None:
    architecture = case(family).architecture
    formula = formula_at(architecture, layer)
    assert formula.terms[0].symbol == "S_d"
    assert "limits(Y)_(S_d times 24)" in " ".join(formula.maths)
    # Equal modules share formulas, but not those of an encoder and a decoder.
    maths = {node.path: node.forward_formula for node in with_formulas(architecture).modules}
    assert maths[layer] == " \\ ".join(formula.maths)
    assert "S_d" not in str(maths[layer.replace("decoder", "encoder")])
    if cross:
        found = formula_at(architecture, cross)
        assert "limits(P_h)_(S_d times S)" in " ".join(found.maths)
        symbols = [term.symbol for term in found.terms]
        assert symbols.count("S") == symbols.count("S_d") == 1
        assert not [term for term in found.terms if "S'" in f"{term.symbol}{term.value}"]


def test_a_model_with_decoder_has_target_and_source_tokens() -> None:
    scores = formula_at(case("bart", "masked-lm").architecture, "")
    assert "limits(L)_(S_d times 97)" in " ".join(scores.maths)
    t5 = formula_at(case("t5").architecture, "")
    assert [term.symbol for term in t5.terms][:2] == ["S", "S_d"]
