"""ESM: a BERT for proteins, pre-norm (Rives et al. 2021; Lin et al. 2023)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.layer import Halves, Layer, SubLayer
from bertviewer.core.families.module_kind import ModuleKind

_ENCODED = ("encoder_hidden_states", "encoder_attention_mask")

# Its attention blocks hold the norm before them.
_LAYER = Layer(
    takes=("hidden_states", "attention_mask", *_ENCODED, "position_embeddings"),
    attention=SubLayer(
        "attention.self",
        norm="attention.LayerNorm",
        given=("attention_mask", "position_embeddings"),
        block="attention",
        add="attention.output",
    ),
    cross=SubLayer(
        "crossattention.self",
        norm="crossattention.LayerNorm",
        given=("attention_mask", *_ENCODED, "position_embeddings"),
        block="crossattention",
        add="crossattention.output",
        source="encoder_hidden_states",
    ),
    network=Halves("intermediate", "output"),
    network_norm="LayerNorm",
    norms="before",
)

ESM = Family(
    prefixes=("Esm",),
    endings={
        **TASK_MODELS,
        "RotaryEmbedding": ModuleKind.ROTARY_POSITIONS,
        "SelfAttention": ModuleKind.ESM_ATTENTION,
        "Attention": ModuleKind.ESM_ATTENTION_BLOCK,
        "SelfOutput": ModuleKind.ESM_ADD,
        "Intermediate": ModuleKind.FIRST_HALF,
        "Output": ModuleKind.ESM_ADD,
        "Layer": _LAYER,
        "Encoder": ModuleKind.ESM_STACK,
        "Embeddings": ModuleKind.ESM_EMBEDDINGS,
        "Model": ModuleKind.ESM_MODEL,
        "Pooler": ModuleKind.POOLER,
        "LMHead": ModuleKind.ESM_SCORES,
        "ContactPredictionHead": ModuleKind.ESM_CONTACT_HEAD,
        "ClassificationHead": ModuleKind.CLASSIFICATION_HEAD,
    },
)
