"""Every note of every formula is true of the model that it stands beside, or is not there."""

from bertviewer.core.formulas.catalogue import formula_of, with_formulas
from tests.core.formulas.claims import claim_of
from tests.core.formulas.note_cases import HEADS, Case, case


def notes_at(one: Case, path: str) -> str:
    node = one.node(path)
    formula = formula_of(node, one.architecture)
    assert formula is not None
    return " ".join(formula.notes)


def test_a_note_that_is_false_is_found_to_be() -> None:
    # These stood there, and nobody had asked.
    for one, path, note in (
        (
            case("t5"),
            "encoder.block.0.layer.0.SelfAttention",
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
    ):
        claim = claim_of(note)
        assert claim is not None
        check, groups = claim
        assert not check(one, one.node(path), groups), note
        assert note not in notes_at(one, path)


def test_t5_heads_have_a_size_of_their_own() -> None:
    t5 = case("t5")
    path = "encoder.block.0.layer.0.SelfAttention"
    assert "does not change the parameter count" not in notes_at(t5, path)
    assert "The configuration sets the head size separately" in notes_at(t5, path)
    assert "number of heads does not change the parameter count." in notes_at(
        case("bert"), "encoder.layer.0.attention.self"
    )


def test_t5_has_15_buckets_ahead_of_which_7_stand_for_one_distance() -> None:
    notes = notes_at(case("t5"), "encoder.block.0.layer.0.SelfAttention")
    assert (
        "Here 16 buckets are for earlier positions, from distance 0, and 15 for later ones, from "
        "distance 1; the first 8 and 7 of them, respectively, cover one distance each." in notes
    )
    few = case("t5", relative_attention_max_distance=9)
    assert "Here" not in notes_at(few, "encoder.block.0.layer.0.SelfAttention")


def test_a_note_goes_where_its_condition_does_not_hold() -> None:
    with_dropout, without = case("bert"), case("bert", **HEADS)
    words = "Dropout is active only during training"
    assert words in notes_at(with_dropout, "encoder.layer.0")
    assert words not in notes_at(without, "encoder.layer.0")
    assert "Dropout follows" not in notes_at(without, "embeddings")
    assert "narrow embedding" in notes_at(case("albert"), "encoder")
    assert "narrow embedding" not in notes_at(case("albert", embedding_size=24), "encoder")


def test_a_decoder_reads_s_d_tokens_and_looks_at_s() -> None:
    for family, layer, cross in (
        ("bart", "decoder.layers.0", "decoder.layers.0.encoder_attn"),
        ("t5", "decoder.block.0", "decoder.block.0.layer.1.EncDecAttention"),
        ("transformer-base", "transformer.decoder.layers.0", ""),
    ):
        one = case(family)
        architecture = one.architecture
        formula = formula_of(one.node(layer), architecture)
        assert formula is not None
        assert formula.terms[0].symbol == "S_d"
        assert "limits(Y)_(S_d times 24)" in " ".join(formula.maths)
        written = with_formulas(architecture).modules
        maths = {node.path: node.forward_formula for node in written}
        assert maths[layer] == " \\ ".join(formula.maths)
        assert "S_d" not in str(maths[layer.replace("decoder", "encoder")])
        if cross:
            found = formula_of(one.node(cross), architecture)
            assert found is not None
            assert "limits(P_h)_(S_d times S)" in " ".join(found.maths)
            symbols = [term.symbol for term in found.terms]
            assert symbols.count("S") == symbols.count("S_d") == 1
            assert not [term for term in found.terms if "S'" in f"{term.symbol}{term.value}"]
    head = case("bart", "masked-lm")
    whole = formula_of(head.node(""), head.architecture)
    assert whole is not None
    assert "limits(L)_(S_d times 97)" in " ".join(whole.maths)
    t5 = case("t5")
    base = formula_of(t5.node(""), t5.architecture)
    assert base is not None
    assert [term.symbol for term in base.terms][:2] == ["S", "S_d"]
