"""DeBERTa, both versions: scores from contents and from distances (He et al. 2021)."""

from dataclasses import replace

from bertviewer.core.families.bert import BERT_LAYER, HALVES, attention_and_norm
from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import BERT_HEAD, TASK_MODELS
from bertviewer.core.families.module_kind import ModuleKind

_DISTANCES = ("query_states", "relative_pos", "rel_embeddings")

DEBERTA = Family(
    prefixes=("Deberta", "DebertaV2"),
    endings={
        **TASK_MODELS,
        **HALVES,
        "Attention": ModuleKind.ATTENTION_BLOCK,
        "Layer": replace(
            BERT_LAYER,
            takes=("hidden_states", "attention_mask", *_DISTANCES),
            attention=attention_and_norm(*_DISTANCES),
            cross=None,
            gives="weights",
        ),
        "Encoder": ModuleKind.DEBERTA_STACK,
        "Embeddings": ModuleKind.DEBERTA_EMBEDDINGS,
        "Model": ModuleKind.DEBERTA_MODEL,
        "LMPredictionHead": ModuleKind.SCORES_BY_TABLE,
        "OnlyMLMHead": ModuleKind.HEAD_AROUND_SCORES_BY_TABLE,
    },
    classes={
        "DebertaLayerNorm": ModuleKind.LAYER_NORM_IN_FLOAT32,
        "DisentangledSelfAttention": ModuleKind.DEBERTA_ATTENTION,
        "ContextPooler": ModuleKind.DEBERTA_POOLER,
    },
)

LEGACY_DEBERTA = Family(prefixes=("LegacyDeberta", "LegacyDebertaV2"), endings=BERT_HEAD)
"""The head of DeBERTa that transformers made up before the published one was known."""
