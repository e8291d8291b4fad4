"""ESM: a BERT for proteins, pre-norm (Rives et al. 2021; Lin et al. 2023)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.module_kind import ModuleKind

ESM = Family(
    prefixes=("Esm",),
    endings={
        **TASK_MODELS,
        "RotaryEmbedding": ModuleKind.ESM_ROTARY_POSITIONS,
        "SelfAttention": ModuleKind.ESM_ATTENTION,
        "Attention": ModuleKind.ESM_ATTENTION_BLOCK,
        "SelfOutput": ModuleKind.ESM_ADD,
        "Intermediate": ModuleKind.ESM_FIRST_HALF,
        "Output": ModuleKind.ESM_ADD,
        "Layer": ModuleKind.ESM_LAYER,
        "Encoder": ModuleKind.ESM_STACK,
        "Embeddings": ModuleKind.ESM_EMBEDDINGS,
        "Model": ModuleKind.ESM_MODEL,
        "Pooler": ModuleKind.POOLER,
        "LMHead": ModuleKind.ESM_SCORES,
        "ContactPredictionHead": ModuleKind.ESM_CONTACT_HEAD,
        "ClassificationHead": ModuleKind.CLASSIFICATION_HEAD,
    },
)
