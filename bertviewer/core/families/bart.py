"""Encoder-decoders: BART (Lewis et al. 2020), mBART (Liu et al. 2020), T5 (Raffel et al. 2020).

BART is post-norm and mBART pre-norm; T5's and mT5's layers have three pre-norm sub-layers, each a
module of its own.
"""

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
        given=("attention_mask", "past_key_values"),
    ),
    cross=SubLayer(
        "encoder_attn",
        norm="encoder_attn_layer_norm",
        given=("key_value_states=encoder_hidden_states", "attention_mask=encoder_attention_mask"),
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


T5 = Family(
    prefixes=("T5", "MT5"),
    endings={
        **TASK_MODELS,
        "LayerNorm": ModuleKind.RMS_NORM,
        "Attention": ModuleKind.T5_ATTENTION,
        "LayerSelfAttention": ModuleKind.T5_SELF_ATTENTION_BLOCK,
        "LayerCrossAttention": ModuleKind.T5_CROSS_ATTENTION_BLOCK,
        "DenseActDense": Network("wi", "act", "wo"),
        "DenseGatedActDense": Network("wi_1", "act", "wo", gate="wi_0"),
        "LayerFF": ModuleKind.T5_NETWORK_BLOCK,
        "Block": ModuleKind.T5_LAYER,
        "Stack": ModuleKind.T5_STACK,
        "Model": ModuleKind.ENCODER_DECODER,
        "EncoderModel": ModuleKind.ENCODER_ONLY,
        "ClassificationHead": ModuleKind.CLASSIFICATION_HEAD_OF_END,
    },
)
