"""ModernBERT: pre-norm, rotated, most layers with a narrow window (Warner et al. 2024)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.layer import Layer, SubLayer
from bertviewer.core.families.module_kind import ModuleKind

_GIVEN = ("attention_mask", "position_embeddings")

MODERNBERT = Family(
    prefixes=("ModernBert",),
    endings={
        **TASK_MODELS,
        "RotaryEmbedding": ModuleKind.ROTARY_POSITIONS,
        "Attention": ModuleKind.MODERNBERT_ATTENTION,
        "MLP": ModuleKind.MODERNBERT_FEED_FORWARD,
        # The first layer's attn_norm is an identity: the embeddings are normalised already.
        "EncoderLayer": Layer(
            takes=("hidden_states", *_GIVEN),
            attention=SubLayer("attn", norm="attn_norm", given=_GIVEN),
            network="mlp",
            network_norm="mlp_norm",
            norms="before",
        ),
        "Embeddings": ModuleKind.MODERNBERT_EMBEDDINGS,
        "Model": ModuleKind.MODERNBERT_MODEL,
        "PredictionHead": ModuleKind.HEAD_TRANSFORM,
    },
)
