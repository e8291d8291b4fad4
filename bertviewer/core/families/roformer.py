"""RoFormer: BERT with queries and keys that are turned by their position (Su et al. 2021)."""

from dataclasses import replace

from bertviewer.core.families.bert import (
    BERT_LAYER,
    HALVES,
    attention_and_norm,
    cross_attention_and_norm,
)
from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import BERT_HEAD, TASK_MODELS
from bertviewer.core.families.module_kind import ModuleKind

ROFORMER = Family(
    prefixes=("RoFormer",),
    endings={
        **TASK_MODELS,
        **BERT_HEAD,
        **HALVES,
        "SinusoidalPositionalEmbedding": ModuleKind.SINUSOIDAL_POSITIONS,
        "SelfAttention": ModuleKind.ROFORMER_ATTENTION,
        "Attention": ModuleKind.ATTENTION_BLOCK,
        "Layer": replace(
            BERT_LAYER,
            takes=(
                *("hidden_states", "attention_mask", "sinusoidal_pos", "encoder_hidden_states"),
                *("encoder_attention_mask", "past_key_values"),
            ),
            attention=attention_and_norm("sinusoidal_pos", "past_key_values"),
            cross=cross_attention_and_norm(
                "sinusoidal_pos", "attention_mask=encoder_attention_mask"
            ),
            gives="weights",
        ),
        "Encoder": ModuleKind.ROFORMER_STACK,
        "Embeddings": ModuleKind.BERT_EMBEDDINGS,
        "Model": ModuleKind.BERT_MODEL,
        "ClassificationHead": ModuleKind.ACTIVATED_CLASSIFICATION_HEAD,
    },
)
