"""What formulas say of modules of many families, compared with golden files, and its conditions.

Every title, summary, line, symbol, note and source of the modules below is in
``tests/golden/formulas-*.txt``. Notes are also evaluated on models (``claims.py``).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.lines import formula_of_steps
from bertviewer.core.schema.architecture import Architecture
from tests.core.formulas.formula_models import TINY, architecture_of, formula_at, node_at
from tests.core.formulas.test_attention_numbers import GPT, LATENT, SMALL

SOUND: dict[str, Any] = {
    **{**SMALL, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "num_mel_bins": 8},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_source_positions": 20},
    **{"encoder_ffn_dim": 40, "decoder_ffn_dim": 40},
}
IMAGE: dict[str, Any] = {
    **{"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3},
    **{"intermediate_size": 40, "image_size": 4, "patch_size": 2},
}
GPT_NEO = {
    **{"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 5},
    "attention_types": [[["global", "local"], 1]],
}
CROSS: dict[str, Any] = {"is_decoder": True, "add_cross_attention": True}
Model = tuple[str, str, dict[str, Any]]


def variant(family: str, task: str = "base", /, **changes: Any) -> Model:
    return family, task, changes


MODELS: dict[str, Model] = {
    "bert of one layer and one head": variant("bert", num_hidden_layers=1, num_attention_heads=1),
    "bert without dropout": variant(
        "bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    ),
    "bert as a decoder": variant("bert", is_decoder=True),
    "bert as a decoder with cross-attention": variant("bert", **CROSS),
    "albert with two groups": variant("albert", num_hidden_groups=2, num_hidden_layers=4),
    "gpt2 without a scale": variant("gpt2", scale_attn_weights=False),
    "gpt2 with ReLU": variant("gpt2", activation_function="relu"),
    "bart with scaled embeddings": variant("bart", scale_embedding=True),
    "pegasus causal-lm": variant("pegasus", "causal-lm", **TINY["bart"]),
    "t5 with one decoder layer": variant("t5", num_decoder_layers=1),
    "umt5": variant("umt5", **{**TINY["t5"], "feed_forward_proj": "relu"}),
    "llama of one layer": variant("llama", num_hidden_layers=1),
    "modernbert with mean pooling": variant(
        "modernbert", "sequence-classification", classifier_pooling="mean"
    ),
    "deberta with narrow embeddings": variant("deberta", embedding_size=16),
    "deberta of one layer": variant("deberta", num_hidden_layers=1),
    "deberta with c2p only": variant("deberta", pos_att_type=["c2p"]),
    "deberta with talking heads": variant("deberta", talking_head=True),
    "deberta without distances": variant("deberta", relative_attention=False),
    "deberta without positions in the embeddings": variant("deberta", position_biased_input=False),
    "deberta-v2 with p2c only": variant("deberta-v2", pos_att_type=["p2c"]),
    "deberta-v2 with separate projections": variant(
        "deberta-v2", pos_att_type=["p2c"], share_att_key=False
    ),
    "deberta-v2 without a norm of distances": variant("deberta-v2", norm_rel_ebd="none"),
    "roformer with rotated values": variant("roformer", rotary_value=True),
    "roformer of one layer": variant("roformer", num_hidden_layers=1),
    "esm with learnt positions": variant(
        "esm", position_embedding_type="absolute", emb_layer_norm_before=True
    ),
    "esm without token dropout": variant(
        "esm", position_embedding_type="absolute", token_dropout=False
    ),
    "big_bird with large blocks": variant("big_bird", block_size=64, num_random_blocks=3),
    "big_bird with full attention": variant("big_bird", attention_type="original_full"),
    "big_bird with rescaled embeddings": variant("big_bird", rescale_embeddings=True),
    "longformer": variant("longformer", **SMALL, attention_window=4),
    "nystromformer": variant("nystromformer", **SMALL, segment_means_seq_len=12, num_landmarks=4),
    "nystromformer with full attention": variant(
        "nystromformer", **SMALL, segment_means_seq_len=8, num_landmarks=8, conv_kernel_size=3
    ),
    "mpt": variant("mpt", **SMALL, d_model=32, n_heads=4, n_layers=1),
    "gpt_neo": variant("gpt_neo", **GPT_NEO),
    "codegen": variant("codegen", **GPT, rotary_dim=4),
    "whisper": variant("whisper", **SOUND),
    "deepseek_v3": variant("deepseek_v3", **LATENT),
    "layoutlmv3": variant("layoutlmv3", **SMALL, coordinate_size=4, shape_size=8, input_size=32),
    "opt": variant("opt", word_embed_proj_dim=24, num_hidden_layers=1),
    "rwkv": variant("rwkv", num_hidden_layers=1),
    "glm4": variant("glm4", **SMALL, num_key_value_heads=1, head_dim=8),
    "beit": variant("beit", **IMAGE),
    "deit": variant("deit", **IMAGE),
    "dinov2": variant("dinov2", **IMAGE, mlp_ratio=2),
    "clip_vision_model": variant("clip_vision_model", **IMAGE, projection_dim=16),
    "aimv2_vision_model": variant("aimv2_vision_model", **{**IMAGE, "image_size": 28}),
}
"""Families with a task and changes; other names are those of ``architecture_of``."""

SHORT = 24
"""Characters of texts that are repeated in a file."""

BERT_SELF = "encoder.layer.0.attention.self"
TEXTS: dict[str, dict[str, tuple[str, ...]]] = {
    "attention": {
        "bert": (BERT_SELF, "encoder.layer.0.attention"),
        "bert of one layer and one head": (BERT_SELF,),
        "albert": ("encoder.albert_layer_groups.0.albert_layers.0.attention",),
        "gpt2": ("h.0.attn",),
        "t5": (
            *("encoder.block.0.layer.0.SelfAttention", "decoder.block.1.layer.0.SelfAttention"),
            *("decoder.block.1.layer.1.EncDecAttention", "encoder.block.0.layer.0"),
        ),
        "umt5": ("encoder.block.0.layer.0.SelfAttention",),
        "mt5": ("decoder.block.0.layer.1",),
        "bart": ("decoder.layers.0.self_attn", "decoder.layers.1.encoder_attn"),
        # It is not called, and has the formula of the self-attention.
        "bart causal-lm": ("model.decoder.layers.0.encoder_attn",),
        "pegasus causal-lm": ("model.decoder.layers.0.encoder_attn",),
        "llama": ("layers.0.self_attn", "rotary_emb"),
        "mistral": ("layers.0.self_attn",),
        "qwen3": ("layers.0.self_attn",),
        "modernbert": ("layers.1.attn",),
        "mpnet": ("encoder.layer.0.attention", "encoder.layer.0.attention.attn"),
        "deberta": (
            *(BERT_SELF, f"{BERT_SELF}.pos_proj", f"{BERT_SELF}.pos_q_proj"),
            f"{BERT_SELF}.in_proj",
        ),
        "deberta with c2p only": (BERT_SELF,),
        "deberta with talking heads": (BERT_SELF,),
        "deberta without distances": (BERT_SELF,),
        "deberta-v2 with p2c only": (BERT_SELF,),
        "deberta-v2 with separate projections": (f"{BERT_SELF}.pos_query_proj",),
        "roformer": (BERT_SELF,),
        "roformer with rotated values": (BERT_SELF,),
        "esm": (BERT_SELF,),
        "esm with learnt positions": (BERT_SELF,),
        "big_bird with large blocks": (BERT_SELF, "encoder.layer.0.attention.output.dense"),
        "big_bird with full attention": (BERT_SELF,),
        "squeezebert": (
            *("encoder.layers.0.attention", "encoder.layers.0.attention.matmul_qkv"),
            *("encoder.layers.0.attention.value", "encoder.layers.0.attention.key"),
        ),
        "longformer": (
            *(BERT_SELF, f"{BERT_SELF}.key", f"{BERT_SELF}.key_global"),
            "encoder.layer.0.attention.output.dense",
        ),
        "xlnet": ("layer.0.rel_attn",),
        "nystromformer": (BERT_SELF,),
        "nystromformer with full attention": (BERT_SELF,),
        "mobilebert": (BERT_SELF,),
        "mpt": ("blocks.0.attn",),
        "gpt_neo": ("h.0.attn.attention", "h.1.attn.attention"),
        "codegen": ("h.0.attn",),
        "whisper": ("decoder.layers.0.encoder_attn",),
        "deepseek_v3": (*("layers.0.self_attn.kv_a_proj_with_mqa", "layers.0.self_attn.q_a_proj"),),
        # The code divides by 32 and multiplies again, so that no half-precision number overflows.
        "layoutlmv3": (BERT_SELF,),
        "aimv2_vision_model": ("head",),
    },
    "layers": {
        "bert": ("encoder.layer.0", "encoder.layer.0.intermediate", "encoder.layer.0.output"),
        "gpt2": ("h.0", "h.0.mlp"),
        "t5": ("decoder.block.0", "decoder.block.0.layer.2"),
        "bart": ("decoder.layers.0",),
        "mbart": ("decoder.layers.0",),
        "llama": ("layers.0", "layers.0.mlp"),
        "mixtral": ("layers.0", "layers.0.mlp"),
        "gptj": ("h.0",),
        "modernbert": ("layers.0", "layers.1", "layers.0.mlp"),
        "albert with two groups": ("encoder.albert_layer_groups.0",),
        "bert without dropout": ("encoder.layer.0",),
        "transformer-base": ("transformer.decoder.layers.0",),
        "mobilebert": ("encoder.layer.0",),
        "fnet": ("encoder.layer.0.fourier.output",),
        "beit": ("layers.0",),
        "dinov2": ("encoder.layer.0",),
    },
    "parts": {
        "bert": (
            *("encoder.layer.0.output.LayerNorm", "encoder.layer.1.intermediate.dense", "pooler"),
            *("encoder.layer.0.intermediate.intermediate_act_fn", f"{BERT_SELF}.query"),
        ),
        "gpt2": ("ln_f", "h.0.mlp.c_fc", "h.0.mlp.act"),
        "modernbert": ("final_norm",),
        "llama": ("norm",),
        "gemma": ("norm",),
        "cohere2": ("norm",),
        "gemma2": ("layers.0.input_layernorm",),
        "bert masked-lm": ("cls.predictions", "cls.predictions.transform"),
        "squeezebert": (
            *("encoder.layers.0.post_attention.conv1d", "encoder.layers.0.intermediate.conv1d"),
            "encoder.layers.0.output.conv1d",
        ),
        "mobilebert": (
            *("encoder.layer.0.bottleneck.input.dense", "encoder.layer.0.output.bottleneck.dense"),
            *("encoder.layer.0.bottleneck.attention.dense", "encoder.layer.0.output.LayerNorm"),
        ),
    },
    "embeddings": {
        "bert": ("embeddings",),
        "roberta": ("embeddings",),
        "electra": ("embeddings",),
        "roformer": ("embeddings",),
        "modernbert": ("embeddings",),
        "deberta with narrow embeddings": ("embeddings",),
        "big_bird with rescaled embeddings": ("embeddings",),
        "esm": ("embeddings",),
        "esm with learnt positions": ("embeddings",),
        "esm without token dropout": ("embeddings",),
        "bart": ("encoder.embed_positions",),
        "vit": ("embeddings",),
        "deit": ("embeddings",),
        "clip_vision_model": ("embeddings",),
        "beit": ("embeddings",),
    },
    "stacks": {
        "bert": ("encoder",),
        "bert of one layer and one head": ("encoder",),
        "bert as a decoder with cross-attention": ("encoder",),
        "albert": ("encoder",),
        "albert with two groups": ("encoder",),
        "bart with scaled embeddings": ("encoder",),
        "t5 with one decoder layer": ("decoder",),
        "mpnet": ("encoder",),
        "deberta": ("encoder",),
        "deberta of one layer": ("encoder",),
        "deberta without positions in the embeddings": ("encoder",),
        "deberta-v2": ("encoder",),
        "deberta-v2 without a norm of distances": ("encoder",),
        "roformer": ("encoder",),
        "roformer of one layer": ("encoder",),
        "squeezebert": ("encoder",),
        "opt": ("decoder",),
    },
    "models": {
        "bert": ("",),
        "bert of one layer and one head": ("",),
        "bert as a decoder": ("",),
        "bert pretraining": ("",),
        "bart causal-lm": ("",),
        "bart masked-lm": ("",),
        "t5": ("",),
        "t5 pretraining": ("",),
        "llama": ("",),
        "llama of one layer": ("",),
        "esm": ("",),
        "opt": ("",),
        "mamba": ("",),
        "fnet": ("",),
        "xlnet": ("",),
        "vit": ("",),
        "modernbert with mean pooling": ("",),
        "gemma sequence-classification": ("",),
        "big_bird question-answering": ("",),
    },
}
STEPS: dict[str, tuple[str, ...]] = {
    "bert": ("encoder.layer.0",),
    "gpt2": ("h.0", "h.0.attn"),
    "gpt2 without a scale": ("h.0.attn",),
    "gpt2 with ReLU": ("h.0.mlp",),
    "llama": ("layers.0",),
    "mixtral": ("", "layers.0.mlp", "layers.0.mlp.gate", "layers.0.mlp.experts"),
    "gemma2": ("layers.0.self_attn",),
    "t5": ("encoder.block.0.layer.0.SelfAttention",),
    "xlnet": ("layer.0.rel_attn",),
    "mobilebert": ("encoder.layer.0",),
    "glm4": ("layers.0",),
    "modernbert": ("layers.0",),
    "mamba": ("layers.0.mixer",),
    "rwkv": ("blocks.0.attention",),
}
"""Modules whose plain steps are compared, also of those that have a template."""


def model(name: str) -> Architecture:
    if name in MODELS:
        family, task, changes = MODELS[name]
        return architecture_of(family, task, **changes)
    return architecture_of(*name.split())


def steps_at(architecture: Architecture, path: str) -> Formula:
    formula = formula_of_steps(ModuleView.of(node_at(architecture, path), architecture))
    assert formula is not None
    return formula


def text_of(formula: Formula, seen: set[str]) -> Iterator[str]:
    """Yield the lines of a formula; texts that were seen before are shortened."""

    def once(text: str) -> str:
        is_new = text not in seen
        seen.add(text)
        return text if is_new or len(text) <= SHORT else f"{text[:SHORT]}…"

    yield once(f"{formula.title}. {formula.summary}")
    yield from (f"    {line}" for line in formula.maths)
    for term in formula.terms:
        yield f"{term.symbol}: {once(term.meaning)}" + (f" = {term.value}" if term.value else "")
    yield from (f"- {once(note)}" for note in formula.notes)
    yield f"Source: {once(formula.source)}"
    if formula.config_keys:
        yield f"Keys: {', '.join(formula.config_keys)}"


def texts_of(
    modules: Mapping[str, tuple[str, ...]], find: Callable[[Architecture, str], Formula]
) -> str:
    seen: set[str] = set()
    return "\n".join(
        "\n".join((f"## {name}: {path or '(model)'}", *text_of(find(model(name), path), seen), ""))
        for name, paths in modules.items()
        for path in paths
    )


@pytest.mark.parametrize("group", TEXTS)
def test_texts_of_templates(group: str, golden: Callable[[str, str], None]) -> None:
    golden(f"formulas-{group}.txt", texts_of(TEXTS[group], formula_at))


def test_steps_of_the_code(golden: Callable[[str, str], None]) -> None:
    golden("formulas-steps.txt", texts_of(STEPS, steps_at))


# BigBird's code attends to the encoder in both of its attentions.
@pytest.mark.parametrize("family", ["bert", "roformer", "esm"])
def test_cross_attention_differs_from_self_attention(family: str) -> None:
    architecture = architecture_of(family, **CROSS)
    for name, is_cross in (("attention", False), ("crossattention", True)):
        for path in (f"encoder.layer.1.{name}", f"encoder.layer.1.{name}.self"):
            maths = node_at(architecture, path).forward_formula or ""
            assert ('X_"enc"' in maths) is is_cross, path


@pytest.mark.parametrize("tokens", [2, 12, 16])
def test_global_tokens_are_not_a_position_table(tokens: int) -> None:
    """Pegasus-X may have as many global tokens as the traced text has tokens."""
    architecture = architecture_of(
        "pegasus_x", **{**TINY["bart"], "block_size": 16, "num_global_tokens": tokens}
    )
    encoder = formula_at(architecture, "encoder")
    assert not [note for note in encoder.notes if "osition table" in note or "enter" in note]
    assert 'W_"pos"' not in " ".join(encoder.maths)
    summary = formula_at(architecture, "encoder.embed_global").summary
    assert summary == "Maps each index to a learnt vector."


def test_an_encoder_of_unknown_attention_is_not_a_decoder() -> None:
    lengths: dict[str, Any] = {
        "max_encoder_position_embeddings": 64,
        "max_decoder_position_embeddings": 64,
    }
    led = architecture_of("led", **TINY["bart"], **lengths, attention_window=[8, 8])
    encoder, decoder = (formula_at(led, path) for path in ("encoder", "decoder"))
    assert encoder.title == "Encoder with its embeddings"
    assert not [note for note in encoder.notes if "causal" in note]
    assert decoder.title == "Decoder with its embeddings"
    assert [note for note in decoder.notes if "Attention is causal" in note]


def test_positions_of_an_image_are_not_tokens() -> None:
    # Nine patches, [CLS] and two registers: as many as the traced text has tokens.
    image = {**IMAGE, "image_size": 6, "num_register_tokens": 2}
    architecture = architecture_of("dinov2_with_registers", **image)
    for path in ("", "encoder", "encoder.layer.0", "encoder.layer.0.mlp"):
        (term, *_) = formula_at(architecture, path).terms
        assert (term.symbol, term.meaning.partition(" (")[0]) == ("S", "number of positions")


def test_sizes_may_be_lists_with_one_for_each_stage() -> None:
    assert architecture_of("cvt").root.forward_formula is not None
