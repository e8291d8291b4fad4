"""BERT, and the families whose modules are BERT's but for a few (Devlin et al. 2019)."""

from dataclasses import replace

from bertviewer.core.families.family import Descriptions, Family
from bertviewer.core.families.heads import BERT_HEAD, TASK_MODELS
from bertviewer.core.families.layer import Halves, Layer, SubLayer
from bertviewer.core.families.module_kind import ModuleKind


def attention_and_norm(*given: str) -> SubLayer:
    """Return BERT's attention block, whose attention takes these arguments."""
    return SubLayer(
        "attention.self",
        norm="attention.output.LayerNorm",
        given=("attention_mask", *given),
        block="attention",
        add="attention.output",
    )


def cross_attention_and_norm(*given: str) -> SubLayer:
    """Return the block that looks at an encoder."""
    return SubLayer(
        "crossattention.self",
        norm="crossattention.output.LayerNorm",
        given=("encoder_hidden_states", *given),
        block="crossattention",
        add="crossattention.output",
        source="encoder_hidden_states",
    )


BERT_LAYER = Layer(
    takes=(
        *("hidden_states", "attention_mask", "encoder_hidden_states", "encoder_attention_mask"),
        "past_key_values",
    ),
    attention=attention_and_norm("past_key_values"),
    cross=cross_attention_and_norm("encoder_attention_mask"),
    network=Halves("intermediate", "output"),
    network_norm="output.LayerNorm",
)

HALVES: Descriptions = {
    "SelfOutput": ModuleKind.ADD_AND_NORM,
    "Intermediate": ModuleKind.FIRST_HALF,
    "Output": ModuleKind.SECOND_HALF,
}
"""The parts of BERT's layer beside its attention."""

LIKE_BERT: Descriptions = {
    **TASK_MODELS,
    **HALVES,
    "SelfAttention": ModuleKind.BERT_SELF_ATTENTION,
    "CrossAttention": ModuleKind.BERT_CROSS_ATTENTION,
    "Attention": ModuleKind.BERT_ATTENTION_BLOCK,
    "Layer": BERT_LAYER,
    "Encoder": ModuleKind.BERT_STACK,
    "Embeddings": ModuleKind.BERT_EMBEDDINGS,
    "Model": ModuleKind.BERT_MODEL,
    "Pooler": ModuleKind.POOLER,
    "LMHead": ModuleKind.SCORES,
    "ClassificationHead": ModuleKind.CLASSIFICATION_HEAD,
}

BERT = Family(
    prefixes=("Bert",),
    endings={
        **LIKE_BERT,
        **BERT_HEAD,
        "PreTrainingHeads": ModuleKind.PRETRAINING_HEADS,
        "OnlyNSPHead": ModuleKind.SCORES_OF_POOLED,
        "ForPreTraining": ModuleKind.PRETRAINING_MODEL,
        "ForNextSentencePrediction": ModuleKind.NEXT_SENTENCE_MODEL,
    },
)

ROBERTA = Family(
    prefixes=("Roberta", "XLMRoberta", "Camembert"),
    endings=LIKE_BERT,
)

ELECTRA = Family(
    prefixes=("Electra",),
    endings={
        **LIKE_BERT,
        "GeneratorPredictions": ModuleKind.HEAD_TRANSFORM,
        "DiscriminatorPredictions": ModuleKind.DISCRIMINATOR,
        "ForPreTraining": ModuleKind.PRETRAINING_MODEL,
    },
)

MPNET = Family(
    prefixes=("MPNet",),
    endings={
        **LIKE_BERT,
        "SelfAttention": ModuleKind.MPNET_ATTENTION,
        "Attention": ModuleKind.MPNET_ATTENTION_BLOCK,
        "Layer": replace(
            BERT_LAYER,
            takes=("hidden_states", "attention_mask", "position_bias"),
            attention=SubLayer(
                "attention.attn",
                norm="attention.LayerNorm",
                given=("attention_mask", "position_bias"),
                block="attention",
            ),
            cross=None,
            gives="tuple",
        ),
        "Encoder": ModuleKind.MPNET_STACK,
    },
)
