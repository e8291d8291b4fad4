"""SqueezeBERT: BERT of grouped convolutions, features before positions (Iandola et al. 2020)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import BERT_HEAD, TASK_MODELS
from bertviewer.core.families.module_kind import ModuleKind

SQUEEZEBERT = Family(
    prefixes=("SqueezeBert",),
    endings={
        **TASK_MODELS,
        **BERT_HEAD,
        "LayerNorm": ModuleKind.LAYER_NORM_OF_COLUMNS,
        "SelfAttention": ModuleKind.SQUEEZEBERT_ATTENTION,
        "Module": ModuleKind.SQUEEZEBERT_LAYER,
        "Encoder": ModuleKind.SQUEEZEBERT_STACK,
        "Embeddings": ModuleKind.BERT_EMBEDDINGS,
        "Model": ModuleKind.BERT_MODEL,
        "Pooler": ModuleKind.POOLER,
    },
    classes={
        "Conv1d": ModuleKind.CONVOLUTION,
        "MatMulWrapper": ModuleKind.MATRIX_PRODUCT,
        "ConvActivation": ModuleKind.CONVOLUTION_AND_ACTIVATION,
        "ConvDropoutLayerNorm": ModuleKind.CONVOLUTION_AND_NORM,
    },
)
