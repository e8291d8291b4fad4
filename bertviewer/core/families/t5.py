"""T5 and mT5: three pre-norm sub-layers, each a module of its own (Raffel et al. 2020)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.layer import Network
from bertviewer.core.families.module_kind import ModuleKind

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
