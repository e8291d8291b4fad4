"""What the texts on unusual attentions say."""

from functools import cache
from typing import Any

import pytest

from bertviewer.core.schema.architecture import Architecture
from tests.core.formulas.flow_models import with_flows
from tests.core.formulas.found_formulas import formula_at
from tests.core.formulas.test_attention_numbers import GPT, SMALL

SOUND = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4}
CONFIGS: dict[str, dict[str, Any]] = {
    "longformer": {**SMALL, "attention_window": 4},
    "xlnet": {"vocab_size": 97, "d_model": 32, "n_layer": 1, "n_head": 4, "d_inner": 40},
    "nystromformer": {**SMALL, "segment_means_seq_len": 12, "num_landmarks": 4},
    "nystromformer in full": {
        **{**SMALL, "segment_means_seq_len": 8, "num_landmarks": 8, "conv_kernel_size": 3},
        "model_type": "nystromformer",
    },
    "squeezebert": {**SMALL, "embedding_size": 32},
    "big_bird": {**SMALL, "attention_type": "block_sparse", "block_size": 2},
    "deberta": {**SMALL, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {**SMALL, "relative_attention": True, "pos_att_type": ["p2c"]},
    "mpt": {**SMALL, "d_model": 32, "n_heads": 4, "n_layers": 1},
    "gpt_neo": {
        **{"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 5},
        "attention_types": [[["global", "local"], 1]],
    },
    "mobilebert": {**SMALL, "embedding_size": 16, "intra_bottleneck_size": 16},
    "whisper": {**SMALL, **SOUND, "decoder_attention_heads": 4, "encoder_ffn_dim": 40},
    "deepseek_v3": {
        **{**SMALL, "num_key_value_heads": 4, "q_lora_rank": 12, "kv_lora_rank": 10},
        **{"qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5},
    },
    "codegen": {**GPT, "rotary_dim": 4},
    "layoutlmv3": {**SMALL, "coordinate_size": 4, "shape_size": 8, "input_size": 32},
}
CONFIGS["whisper"] |= {"decoder_ffn_dim": 40, "max_source_positions": 20, "num_mel_bins": 8}


@cache
def made(family: str) -> Architecture:
    return with_flows({"model_type": family, **CONFIGS[family]})


def words(family: str, path: str) -> str:
    """Return all that a formula says."""
    formula = formula_at(made(family), path)
    terms = [f"{t.symbol}: {t.meaning} {t.value or ''}" for t in formula.terms]
    return "\n".join((formula.title, formula.summary, *formula.maths, *terms, *formula.notes))


@pytest.mark.parametrize(
    ("family", "path", "said", "unsaid"),
    [
        ("longformer", "encoder.layer.0.attention.self", "abs(i - j) <= 2", "B_h"),
        ("longformer", "encoder.layer.0.attention.self", "query_global, key_global", "B_h"),
        ("longformer", "encoder.layer.0.attention.self.key", "Computes the keys:", "queries"),
        ("longformer", "encoder.layer.0.attention.self.key_global", "of the global", "queries"),
        ("longformer", "encoder.layer.0.attention.output.dense", "Mixes the heads", "queries"),
        ("xlnet", "layer.0.rel_attn", "(Q_(h, i) + v_h) dot R_(h, i - j)", "W_Q^top"),
        ("xlnet", "layer.0.rel_attn", 'op("LayerNorm")(X + O', "W_Q^top"),
        ("nystromformer", "encoder.layer.0.attention.self", "Nyström approximation", "in full"),
        ("nystromformer in full", "encoder.layer.0.attention.self", "P_h V_h + w_h ast V_h", "H_1"),
        ("nystromformer in full", "encoder.layer.0.attention.self", "at the 3 nearest", "the 4"),
        ("squeezebert", "encoder.layers.0.attention.matmul_qkv", "Y = A B", "X_1"),
        ("squeezebert", "encoder.layers.0.attention.value", "Computes the values:", "sum_(u=0)"),
        ("squeezebert", "encoder.layers.0.output.conv1d", "back to the hidden size", "s + u"),
        ("big_bird", "encoder.layer.0.attention.output.dense", "Mixes the heads", "Maps each"),
        ("deberta", "encoder.layer.0.attention.self.pos_proj", "the keys of relative", "queries"),
        ("deberta", "encoder.layer.0.attention.self.pos_q_proj", "the queries of relative", "keys"),
        ("deberta-v2", "encoder.layer.0.attention.self.pos_query_proj", "looks for", "keys"),
        ("mpt", "blocks.0.attn", "B_(h, i j) = m_h j", "later positions, and positions"),
        ("gpt_neo", "h.1.attn.attention", "less than 5 away", "sqrt(d_k)"),
        ("gpt_neo", "h.0.attn.attention", "does not divide the scores", "away"),
        ("mobilebert", "encoder.layer.0.attention.self", "X_V: input of the values", "X_\"enc\""),
        ("mobilebert", "encoder.layer.0.bottleneck.input.dense", "internal hidden size.", "Maps"),
        ("mobilebert", "encoder.layer.0.output.bottleneck.dense", "size of the model.", "Maps"),
        ("squeezebert", "encoder.layers.0.attention.key", "Computes the keys:", "queries"),
        ("squeezebert", "encoder.layers.0.post_attention.conv1d", "Mixes the heads", "Maps"),
        ("squeezebert", "encoder.layers.0.intermediate.conv1d", "Expands each", "1D"),
        ("squeezebert", "encoder.layers.0.output.conv1d", "floor(j \\/ 8)", "1D"),
        (
            "mobilebert",
            "encoder.layer.0.bottleneck.attention.dense",
            "from which queries and keys are computed",
            "values",
        ),
        ("whisper", "decoder.layers.0.encoder_attn", 'K = X_"enc"', "+ M"),
        ("whisper", "decoder.layers.0.encoder_attn", "(Q_h K_h^top) / sqrt(d_k)", "c thin"),
        ("deepseek_v3", "layers.0.self_attn.kv_a_proj_with_mqa", "smaller vectors", "queries"),
        ("deepseek_v3", "layers.0.self_attn.q_a_proj", "from which queries are", "keys"),
        # The code divides by 32 and multiplies again, so that no half-precision number overflows.
        ("layoutlmv3", "encoder.layer.0.attention.self", "(Q K^top) / sqrt(d_k)", "32 thin"),
        ("codegen", "h.0.attn", "holds the weights of query, value and key together", "stacks"),
    ],
)  # fmt: skip
def test_what_a_text_says(family: str, path: str, said: str, unsaid: str) -> None:
    text = words(family, path)
    assert said in text
    assert unsaid not in text
