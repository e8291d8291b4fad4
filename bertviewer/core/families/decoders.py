"""Decoders of one stack: GPT-2 (Radford et al. 2019), and Llama's kin (Touvron et al. 2023)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.layer import Layer, Network, SubLayer
from bertviewer.core.families.module_kind import ModuleKind

_SEEN = ("attention_mask", "past_key_values")
_ENCODED = ("encoder_hidden_states", "encoder_attention_mask")

GPT2 = Family(
    prefixes=("GPT2",),
    endings={
        **TASK_MODELS,
        "Attention": ModuleKind.GPT2_ATTENTION,
        "MLP": Network("c_fc", "act", "c_proj"),
        "Block": Layer(
            takes=("hidden_states", "past_key_values", "attention_mask", *_ENCODED),
            attention=SubLayer("attn", norm="ln_1", given=_SEEN),
            cross=SubLayer(
                "crossattention", "ln_cross_attn", given=_ENCODED, source="encoder_hidden_states"
            ),
            network="mlp",
            network_norm="ln_2",
            norms="before",
        ),
        "Model": ModuleKind.GPT2_MODEL,
    },
)

LLAMA = Family(
    prefixes=("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma"),
    endings={
        **TASK_MODELS,
        "RMSNorm": ModuleKind.RMS_NORM,
        "RotaryEmbedding": ModuleKind.ROTARY_POSITIONS,
        "Attention": ModuleKind.LLAMA_ATTENTION,
        "MLP": Network("up_proj", "act_fn", "down_proj", gate="gate_proj"),
        "DecoderLayer": Layer(
            takes=(
                *("hidden_states", "attention_mask", "position_ids", "past_key_values"),
                *("use_cache", "position_embeddings"),
            ),
            attention=SubLayer(
                "self_attn",
                norm="input_layernorm",
                given=(*_SEEN, "position_embeddings"),
            ),
            network="mlp",
            network_norm="post_attention_layernorm",
            norms="before",
        ),
        "Model": ModuleKind.LLAMA_MODEL,
    },
    classes={
        "MistralAttention": ModuleKind.MISTRAL_ATTENTION,
        "GemmaRMSNorm": ModuleKind.RMS_NORM_ONE_PLUS,
        "GemmaTextScaledWordEmbedding": ModuleKind.SCALED_EMBEDDING,
    },
)
