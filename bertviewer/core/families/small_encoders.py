"""ALBERT and DistilBERT: BERT with fewer parameters (Lan et al. 2020; Sanh et al. 2019)."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.heads import TASK_MODELS
from bertviewer.core.families.layer import Layer, Network, SubLayer
from bertviewer.core.families.module_kind import ModuleKind

_TAKES = ("hidden_states", "attention_mask")
_SEEN = ("attention_mask",)

ALBERT = Family(
    prefixes=("Albert",),
    endings={
        **TASK_MODELS,
        "Attention": ModuleKind.ALBERT_ATTENTION,
        # The network's linear layers are the layer's own.
        "Layer": Layer(
            takes=_TAKES,
            attention=SubLayer("attention", "attention.LayerNorm", given=_SEEN, block="attention"),
            network=Network("ffn", "activation", "ffn_output"),
            network_norm="full_layer_layer_norm",
        ),
        "LayerGroup": ModuleKind.ALBERT_GROUP,
        "Transformer": ModuleKind.ALBERT_STACK,
        "Embeddings": ModuleKind.BERT_EMBEDDINGS,
        "Model": ModuleKind.BERT_MODEL,
        "MLMHead": ModuleKind.SCORES,
        "SOPHead": ModuleKind.SCORES_OF_POOLED,
        "ForPreTraining": ModuleKind.PRETRAINING_MODEL,
    },
)

DISTILBERT = Family(
    prefixes=("DistilBert",),
    endings={
        **TASK_MODELS,
        "SelfAttention": ModuleKind.DISTILBERT_ATTENTION,
        "Model": ModuleKind.BERT_MODEL,
    },
    classes={
        "MultiHeadSelfAttention": ModuleKind.DISTILBERT_ATTENTION,
        "FFN": Network("lin1", "activation", "lin2"),
        "TransformerBlock": Layer(
            takes=_TAKES,
            attention=SubLayer("attention", "sa_layer_norm", given=_SEEN),
            network="ffn",
            network_norm="output_layer_norm",
        ),
        "Embeddings": ModuleKind.DISTILBERT_EMBEDDINGS,
    },
)
