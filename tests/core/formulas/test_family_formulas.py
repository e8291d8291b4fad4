"""What is special to a family is in its formulas: norms, positions, scales, windows."""

from dataclasses import replace

from bertviewer.core.formulas.catalogue import formula_of
from tests.core.formulas.formula_models import architecture_of
from tests.core.formulas.found_formulas import formula_at, node_at, values


def test_gpt2_attention_is_causal_and_projects() -> None:
    formula = formula_at(architecture_of("gpt2"), "h.0.attn")
    assert any("causal" in note for note in formula.notes)
    assert values(formula)["W_O"] == "[24, 24]"
    assert "W_Q^top" not in " ".join(formula.maths)


def test_barts_decoder_looks_back_only() -> None:
    architecture = architecture_of("bart")
    notes = formula_at(architecture, "decoder.layers.0.self_attn").notes
    assert any("causal" in note for note in notes)
    crossing = formula_at(architecture, "decoder.layers.0.encoder_attn")
    assert crossing.title == "Multi-head cross-attention"


def test_albert_counts_its_applications() -> None:
    albert = architecture_of("albert")
    assert values(formula_at(albert, "encoder"))["l"] == "2 applications"
    attention = "encoder.albert_layer_groups.0.albert_layers.0.attention"
    assert "LayerNorm" in formula_at(albert, attention).maths[-1]


def test_robertas_positions_start_after_the_padding_row() -> None:
    assert "p_s = s + 2" in formula_at(architecture_of("roberta"), "embeddings").maths[0]
    assert "p_s" not in formula_at(architecture_of("bert"), "embeddings").maths[0]


def test_t5_neither_divides_nor_counts_positions() -> None:
    t5 = architecture_of("t5")
    first = formula_at(t5, "encoder.block.0.layer.0.SelfAttention")
    assert "sqrt" not in " ".join(first.maths)
    assert "B_h" in first.maths[2]
    assert values(first)['W_"rel"'] == "[32, 3]"
    assert "first 8 of the ones and 7 of the others stand for one distance each" in " ".join(
        first.notes
    )
    decoder = formula_at(t5, "decoder.block.1.layer.0.SelfAttention")
    assert "all 32 buckets look back" in " ".join(decoder.notes)
    assert "first layer holds the table" in " ".join(decoder.notes)
    cross = formula_at(t5, "decoder.block.1.layer.1.EncDecAttention")
    assert cross.title == "Multi-head cross-attention"
    assert "B_h" not in " ".join(cross.maths)


def test_t5_scales_its_scores_where_the_table_is_tied() -> None:
    formula = formula_at(architecture_of("t5", "pretraining"), "")
    assert "c = 1 / sqrt(24)" in formula.maths[1]
    assert "shared.weight" in " ".join(formula.notes)


def test_bart_and_mbart_norm_at_different_places() -> None:
    bart = formula_at(architecture_of("bart"), "decoder.layers.0")
    assert bart.title == "Decoder layer, post-norm"
    assert formula_at(architecture_of("mbart"), "decoder.layers.0").title.endswith("pre-norm")
    crossing = formula_at(architecture_of("bart"), "decoder.layers.1.encoder_attn")
    assert crossing.title == "Multi-head cross-attention"
    assert formula_at(architecture_of("bart"), "encoder.embed_positions").maths[0].count("s + 2")


def test_llamas_queries_share_keys() -> None:
    formula = formula_at(architecture_of("llama"), "layers.0.self_attn")
    shown = values(formula)
    assert formula.title == "Grouped-query self-attention"
    assert (shown["h"], shown["g(h)"], shown["d_k"]) == ("4 heads", "2 heads", "6")
    assert (shown["W_Q"], shown["W_K"]) == ("[24, 24]", "[12, 24]")
    assert "2 query heads in a row" in " ".join(formula.notes)
    assert "10000^" in formula_at(architecture_of("llama"), "rotary_emb").maths[2]


def test_mistral_sees_through_a_window() -> None:
    formula = formula_at(architecture_of("mistral"), "layers.0.self_attn")
    assert "less than 5 away" in " ".join(formula.notes)
    assert "sliding_window" in formula.config_keys


def test_gemma_scales_by_one_plus_its_weight() -> None:
    assert "1 + limits(gamma)" in formula_at(architecture_of("gemma"), "norm").maths[0]
    assert "1 +" not in formula_at(architecture_of("llama"), "norm").maths[0]


def test_a_stretched_rotation_has_no_formula() -> None:
    llama = architecture_of("llama")
    stretched = {**llama.config["rope_parameters"], "rope_type": "yarn"}
    other = replace(llama, config={**llama.config, "rope_parameters": stretched})
    assert formula_of(node_at(other, "rotary_emb"), other) is None


def test_modernberts_first_layer_has_no_first_norm() -> None:
    modern = architecture_of("modernbert")
    assert formula_at(modern, "layers.0").maths[0].count("LayerNorm") == 0
    assert formula_at(modern, "layers.1").maths[0].count("LayerNorm") == 1
