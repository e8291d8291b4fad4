"""BART (Lewis et al. 2020), and mBART, which is pre-norm (Liu et al. 2020)."""

from dataclasses import replace

from bertviewer.core.families.family import Descriptions, Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.layer import Layer, Network, SubLayer
from bertviewer.core.families.module_kind import ModuleKind

_LAYER = Layer(
    takes=(
        *("hidden_states", "attention_mask", "encoder_hidden_states", "encoder_attention_mask"),
        "past_key_values",
    ),
    attention=SubLayer(
        "self_attn",
        norm="self_attn_layer_norm",
        given={"attention_mask": "attention_mask", "past_key_values": "past_key_values"},
    ),
    cross=SubLayer(
        "encoder_attn",
        norm="encoder_attn_layer_norm",
        given={
            "key_value_states": "encoder_hidden_states",
            "attention_mask": "encoder_attention_mask",
        },
        source="encoder_hidden_states",
    ),
    network=Network("fc1", "activation_fn", "fc2"),
    network_norm="final_layer_norm",
)

_ENDINGS: Descriptions = {
    **TASK_MODELS,
    "ForConditionalGeneration": ModuleKind.BART_LANGUAGE_MODEL,
    "ScaledWordEmbedding": ModuleKind.SCALED_EMBEDDING,
    "LearnedPositionalEmbedding": ModuleKind.OFFSET_POSITIONS,
    "Attention": ModuleKind.BART_ATTENTION,
    "EncoderLayer": _LAYER,
    "DecoderLayer": _LAYER,
    "Encoder": ModuleKind.BART_STACK,
    "Decoder": ModuleKind.BART_STACK,
    "Model": ModuleKind.ENCODER_DECODER,
    "ClassificationHead": ModuleKind.CLASSIFICATION_HEAD_OF_END,
}

BART = Family(prefixes=("Bart",), endings=_ENDINGS)

MBART = Family(
    prefixes=("MBart",),
    endings={
        **_ENDINGS,
        **dict.fromkeys(("EncoderLayer", "DecoderLayer"), replace(_LAYER, norms="before")),
    },
)
