"""What is special to a family is in its formulas: norms, positions, scales, windows."""

from typing import Any

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of, with_formulas
from tests.core.checks.small_models import small_model
from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.formula_models import TINY, architecture_of
from tests.core.formulas.found_formulas import formula_at, maths_of, node_at, values


def test_gpt2_attention_is_causal_and_projects() -> None:
    formula = formula_at(small_model("gpt2").with_flows(), "h.0.attn")
    assert any("causal" in note for note in formula.notes)
    assert values(formula)["W_O"] == "[24, 24]"
    assert "W_Q^top" not in " ".join(formula.maths)


def test_albert_counts_its_applications() -> None:
    albert = architecture_of("albert")
    assert values(formula_at(albert, "encoder"))["l"] == "2 applications"
    attention = "encoder.albert_layer_groups.0.albert_layers.0.attention"
    assert "LayerNorm" in formula_at(albert, attention).maths[-1]


def test_robertas_positions_start_after_the_padding_row() -> None:
    for family, first in (("roberta", 2), ("bert", 0)):
        terms = formula_at(architecture_of(family), "embeddings").terms
        assert next(t for t in terms if t.symbol == "p").meaning.endswith(f"counted from {first}")


def test_t5_neither_divides_nor_counts_positions() -> None:
    t5 = architecture_of("t5")
    first = formula_at(t5, "encoder.block.0.layer.0.SelfAttention")
    assert "sqrt" not in " ".join(first.maths)
    assert "B_h" in first.maths[2]
    assert values(first)['W_"rel"'] == "[32, 3]"
    words = "first 8 and 7 of them, respectively, cover one distance each"
    assert words in " ".join(first.notes)
    decoder = formula_at(t5, "decoder.block.1.layer.0.SelfAttention")
    assert "all 32 buckets are for earlier positions" in " ".join(decoder.notes)
    assert "first layer’s attention holds the table" in " ".join(decoder.notes)
    cross = formula_at(t5, "decoder.block.1.layer.1.EncDecAttention")
    assert cross.title == "Multi-head cross-attention"
    assert "B_h" not in " ".join(cross.maths)


def test_t5_scales_its_scores_where_the_table_is_tied() -> None:
    formula = formula_at(architecture_of("t5", "pretraining"), "")
    assert formula.maths[2].split(" = ")[1].startswith("0.204124 thin X thick")
    assert "multiplied by 0.204124, 1 over the square root" in " ".join(formula.notes)
    assert "shared.weight" in " ".join(formula.notes)


def test_a_table_of_distances_is_shared_or_each_layer_has_its_own() -> None:
    small = {"num_decoder_layers": 2, "feed_forward_proj": "relu"}
    for family, said in (("t5", "all layers of the stack add"), ("umt5", "each layer has its own")):
        model = with_flows({**TINY["t5"], **small, "model_type": family})
        formula = formula_at(model, "encoder.block.0.layer.0.SelfAttention")
        assert f"This module holds the table; {said}" in " ".join(formula.notes)


@pytest.mark.parametrize("family", ["bart", "mbart", "pegasus"])
def test_a_decoder_alone_explains_the_attention_to_an_encoder_that_it_does_not_call(
    family: str,
) -> None:
    path = "model.decoder.layers.0"
    alone = with_flows({**TINY["bart"], "model_type": family}, "causal-lm")
    formula = formula_at(alone, f"{path}.encoder_attn")
    assert formula.title == "Multi-head cross-attention"
    assert "does not call this module. The formula is that of “self_attn”" in formula.notes[0]
    assert "causal" not in " ".join(formula.notes)
    called = formula_at(alone, f"{path}.self_attn")
    assert "does not call" not in " ".join(called.notes)
    assert formula.maths[0] == called.maths[0]
    assert "K = X'  W_K^top" in formula.maths[1]


def test_bart_and_mbart_norm_at_different_places() -> None:
    bart = formula_at(architecture_of("bart"), "decoder.layers.0")
    assert bart.title == "Decoder layer, post-norm"
    assert formula_at(architecture_of("mbart"), "decoder.layers.0").title.endswith("pre-norm")
    notes = formula_at(architecture_of("bart"), "decoder.layers.0.self_attn").notes
    assert any("causal" in note for note in notes)
    crossing = formula_at(architecture_of("bart"), "decoder.layers.1.encoder_attn")
    assert crossing.title == "Multi-head cross-attention"
    assert formula_at(architecture_of("bart"), "encoder.embed_positions").maths[0].count("s + 2")


def test_llamas_queries_share_keys() -> None:
    formula = formula_at(architecture_of("llama"), "layers.0.self_attn")
    shown = values(formula)
    assert formula.title == "Grouped-query self-attention"
    assert (shown["h"], shown["g(h)"], shown["d_k"]) == ("4 heads", "2 heads", "6")
    assert (shown["W_Q"], shown["W_K"]) == ("[24, 24]", "[12, 24]")
    assert "2 consecutive query heads" in " ".join(formula.notes)
    assert "10000^" in formula_at(architecture_of("llama"), "rotary_emb").maths[2]


def test_mistral_sees_through_a_window() -> None:
    formula = formula_at(architecture_of("mistral"), "layers.0.self_attn")
    assert "less than 5 away" in " ".join(formula.notes)
    assert "sliding_window" in formula.config_keys


def test_gemma_scales_by_one_plus_its_weight() -> None:
    assert "1 + limits(gamma)" in formula_at(architecture_of("gemma"), "norm").maths[0]
    assert "1 +" not in formula_at(architecture_of("llama"), "norm").maths[0]


def test_a_stretched_rotation_is_not_explained_as_a_plain_one() -> None:
    llama = architecture_of("llama")
    stretched = {**llama.config["rope_parameters"], "rope_type": "yarn"}
    other = replace(llama, config={**llama.config, "rope_parameters": stretched})
    formula = formula_of(node_at(other, "rotary_emb"), other)
    assert formula is not None
    assert formula.title == "LlamaRotaryEmbedding"


def test_modernberts_first_layer_has_no_first_norm() -> None:
    modern = architecture_of("modernbert")
    assert formula_at(modern, "layers.0").maths[0].count("LayerNorm") == 0
    assert formula_at(modern, "layers.1").maths[0].count("LayerNorm") == 1


def test_narrow_embeddings_are_widened_where_the_module_does_it() -> None:
    # ELECTRA's and RoFormer's model widens what the embeddings give, DeBERTa's embeddings do it.
    for family in ("electra", "roformer"):
        maths = formula_at(architecture_of(family), "embeddings").maths
        assert maths[0].startswith("limits(Y)_(S times 16)")
    deberta = small_model("deberta", embedding_size=16).with_flows()
    formula = formula_at(deberta, "embeddings")
    assert formula.maths[0].startswith("limits(H)_(S times 24)")
    assert formula.maths[1].startswith("limits(Y)_(S times 24)")
    assert values(formula)["W"] == "[24, 16]"


def test_debertas_first_version_divides_by_what_it_adds() -> None:
    attention = "encoder.layer.0.attention.self"
    one = small_model("deberta", pos_att_type=["c2p"]).with_flows()
    formula = formula_at(one, attention)
    assert "sqrt(2 dot 8)" in " ".join(formula.maths)
    assert values(formula)["R"] == "[64, 24]"
    for other in (
        small_model("deberta", talking_head=True),
        small_model("deberta", relative_attention=False),
    ):
        plain = formula_at(other.with_flows(), attention)
        assert plain.title == "Multi-head self-attention"
        assert plain.source == "traced from the code"


def test_big_birds_blocks_and_what_a_short_sentence_sees() -> None:
    model = small_model("big_bird", block_size=64, num_random_blocks=3).architecture
    formula = formula_at(model, "encoder.layer.0.attention.self")
    assert "log N" in formula.maths[2]
    assert "S > 704" in formula.maths[-1]
    assert "+ 3 [b(j) = 0]" in " ".join(formula.maths)
    full = small_model("big_bird", attention_type="original_full").with_flows()
    assert "log N" not in " ".join(formula_at(full, "encoder.layer.0.attention.self").maths)


def test_esms_positions_are_turned_or_learnt() -> None:
    attention = "encoder.layer.0.attention.self"
    turned = architecture_of("esm")
    assert "RoPE" in " ".join(formula_at(turned, attention).maths)
    assert 'W_"pos"' not in " ".join(formula_at(turned, "embeddings").maths)
    changes: dict[str, Any] = {
        "position_embedding_type": "absolute",
        "emb_layer_norm_before": True,
    }
    learnt = small_model("esm", **changes, token_dropout=False).with_flows()
    assert "RoPE" not in " ".join(formula_at(learnt, attention).maths)
    embeddings = formula_at(learnt, "embeddings")
    whole = " ".join(embeddings.maths)
    assert 'W_"pos"' in whole
    assert "LayerNorm" in whole
    assert "masked_fill" not in whole


def test_roformer_turns_values_where_its_configuration_says_so() -> None:
    attention = "encoder.layer.0.attention.self"
    plain = formula_at(architecture_of("roformer"), attention)
    assert "P_h V_h" in plain.maths[2]
    assert any("Values are not rotated" in note for note in plain.notes)
    turned = formula_at(small_model("roformer", rotary_value=True).with_flows(), attention)
    assert 'P_h op("RoPE")(V_h)' in turned.maths[2]
    assert any("Values are also rotated" in note for note in turned.notes)


# BigBird's code attends to the encoder in both of its attentions.
@pytest.mark.parametrize("family", ["bert", "roformer", "esm"])
def test_attention_to_an_encoder_is_told_from_self_attention(family: str) -> None:
    model = small_model(
        family, is_decoder=True, add_cross_attention=True, attention_type="original_full"
    )
    architecture = with_formulas(model.with_flows())
    layer = "encoder.layer.1"
    for inner, symbol in (("attention", False), ("crossattention", True)):
        for path in (f"{layer}.{inner}", f"{layer}.{inner}.self"):
            node = node_at(architecture, path)
            assert ('X_"enc"' in (node.forward_formula or "")) is symbol, path
            assert maths_of(node, architecture) == node.forward_formula
