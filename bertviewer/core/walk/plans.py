"""How a teacher walks through a module: its steps in order, by the module's class.

A plan names what its steps count by paths from the module on. Where a class has no plan, the walk
takes the module's children in their order.
"""

from collections.abc import Mapping

from bertviewer.core.walk.encoder_plans import (
    ALBERT_LAYER,
    BERT_LAYER,
    DEBERTA_EMBEDDINGS,
    DEBERTA_ENCODER,
    DISTILBERT_LAYER,
    EMBEDDINGS,
    ESM_EMBEDDINGS,
    ESM_LAYER,
    ROFORMER_EMBEDDINGS,
    SEGMENTED_EMBEDDINGS,
    SQUEEZEBERT_LAYER,
)
from bertviewer.core.walk.plan_steps import (
    INPUT_TOKEN,
    PER_HEAD,
    POSITION_NOTE,
    SCALE_NOTE,
    SUM_NOTE,
    Plan,
    PlanStep,
    add,
    dropout,
    feed_forward,
    norm,
    token_table,
)

_GPT2_MODEL: Plan = (
    INPUT_TOKEN,
    token_table("wte"),
    PlanStep("Embedding-Position", "wpe", kind="table", note=POSITION_NOTE),
    PlanStep("Add", note=SUM_NOTE),
    PlanStep("Embedding-Dropout", "drop"),
    PlanStep("", "h", kind="visit"),
    PlanStep("Norm", "ln_f", note="The last layer leaves its sum unnormed; this norms it."),
)
_GPT2_LAYER: Plan = (
    norm("ln_1"),
    PlanStep("MultiHeadSelfAttention", "attn", note=PER_HEAD),
    dropout("attn.resid_dropout"),
    add(),
    PlanStep("Norm", "ln_cross_attn"),
    PlanStep("MultiHeadCrossAttention", "crossattention", note=PER_HEAD),
    add(where="crossattention"),
    norm("ln_2"),
    feed_forward("mlp"),
    dropout("mlp.dropout"),
    add(),
)
_LLAMA_LAYER: Plan = (
    PlanStep("Norm", "input_layernorm", note=SCALE_NOTE),
    PlanStep("MultiHeadSelfAttention", "self_attn", note=PER_HEAD),
    add(),
    PlanStep("Norm", "post_attention_layernorm", note=SCALE_NOTE),
    feed_forward("mlp"),
    add(),
)
_T5_LAYER: Plan = (
    PlanStep("Norm", "layer.0.layer_norm", note=SCALE_NOTE),
    PlanStep("MultiHeadSelfAttention", "layer.0.SelfAttention", note=PER_HEAD),
    add(),
    PlanStep("Norm", "layer.1.layer_norm", note=SCALE_NOTE),
    PlanStep("MultiHeadCrossAttention", "layer.1.EncDecAttention", note=PER_HEAD),
    add(where="layer.1.EncDecAttention"),
    # The feed-forward network is the last of two sub-layers, of three in a decoder.
    feed_forward("layer.1.DenseReluDense"),
    PlanStep("Norm", "layer.2.layer_norm", note=SCALE_NOTE),
    feed_forward("layer.2.DenseReluDense"),
    add(),
)
_BART_LAYER: Plan = (
    PlanStep("MultiHeadSelfAttention", "self_attn", note=PER_HEAD),
    add(),
    norm("self_attn_layer_norm"),
    PlanStep("MultiHeadCrossAttention", "encoder_attn", note=PER_HEAD),
    add(where="encoder_attn"),
    norm("encoder_attn_layer_norm"),
    feed_forward("fc1", "fc1", "fc2"),
    add(),
    norm("final_layer_norm"),
)
_SINUSOIDS = "Sines and cosines of the position, added to the tokens' vectors; nothing is learnt."
_TRANSFORMER_BASE: Plan = (
    INPUT_TOKEN,
    token_table("embedding"),
    PlanStep("Add", note=_SINUSOIDS),
    PlanStep("Embedding-Dropout", "dropout"),
    PlanStep("", "transformer.encoder", kind="visit"),
    PlanStep("Embeddings of the target", kind="target"),
    PlanStep("Input-Token", kind="ids", note="the ids of the target's tokens"),
    PlanStep(
        "Embedding-Token",
        "embedding",
        kind="repeat",
        note="The same vectors as the source's, counted there.",
    ),
    PlanStep("Add", note=_SINUSOIDS),
    PlanStep("Embedding-Dropout", "dropout", kind="repeat"),
    PlanStep("", "transformer.decoder", kind="visit"),
)
_TORCH_ENCODER: Plan = (
    PlanStep("MultiHeadSelfAttention", "self_attn", note=PER_HEAD),
    dropout("dropout1"),
    add(),
    norm("norm1"),
    feed_forward("linear1", "linear1", "linear2"),
    dropout("dropout2"),
    add(),
    norm("norm2"),
)
_TORCH_DECODER: Plan = (
    PlanStep("MaskedSelfAttention", "self_attn", note=PER_HEAD),
    dropout("dropout1"),
    add(),
    norm("norm1"),
    PlanStep("MultiHeadCrossAttention", "multihead_attn", note=PER_HEAD),
    dropout("dropout2"),
    add(),
    norm("norm2"),
    feed_forward("linear1", "linear1", "linear2"),
    dropout("dropout3"),
    add(),
    norm("norm3"),
)

_BERT_PREFIXES = ("Bert", "Roberta", "Electra", "XLMRoberta", "Camembert")
_DEBERTA = ("Deberta", "DebertaV2")

BASE_PLANS: Mapping[str, Plan] = {
    **{
        f"{prefix}Embeddings": SEGMENTED_EMBEDDINGS
        for prefix in (*_BERT_PREFIXES, "Albert", "BigBird", "SqueezeBert")
    },
    **{f"{prefix}Embeddings": DEBERTA_EMBEDDINGS for prefix in _DEBERTA},
    **{f"{prefix}Encoder": DEBERTA_ENCODER for prefix in _DEBERTA},
    "RoFormerEmbeddings": ROFORMER_EMBEDDINGS,
    "EsmEmbeddings": ESM_EMBEDDINGS,
    "Embeddings": EMBEDDINGS,
    "GPT2Model": _GPT2_MODEL,
    "TransformerBaseModel": _TRANSFORMER_BASE,
}
"""What goes before the layers, and holds them."""

LAYER_PLANS: Mapping[str, Plan] = {
    **{
        f"{prefix}Layer": BERT_LAYER
        for prefix in (*_BERT_PREFIXES, *_DEBERTA, "RoFormer", "BigBird")
    },
    "EsmLayer": ESM_LAYER,
    "SqueezeBertModule": SQUEEZEBERT_LAYER,
    "AlbertLayer": ALBERT_LAYER,
    "TransformerBlock": DISTILBERT_LAYER,
    "GPT2Block": _GPT2_LAYER,
    **{f"{prefix}DecoderLayer": _LLAMA_LAYER for prefix in ("Llama", "Mistral", "Qwen2", "Qwen3")},
    "T5Block": _T5_LAYER,
    **{f"Bart{side}Layer": _BART_LAYER for side in ("Encoder", "Decoder")},
    "TransformerEncoderLayer": _TORCH_ENCODER,
    "TransformerDecoderLayer": _TORCH_DECODER,
}
"""The layers of a stack."""

SHARED_LAYERS: Mapping[str, str] = {"AlbertLayer": "num_hidden_layers"}
"""Layers that are stored once and applied again and again: the key that says how often."""

PROJECTIONS = ("embedding_hidden_mapping_in", "embeddings_project")
"""The linear layers that widen a narrow embedding to the hidden state, by name."""


def norms_first(plan: Plan) -> Plan:
    """Return a post-norm plan as its pre-norm variant: each block's norm goes to its start."""
    blocks: list[PlanStep] = []
    block: list[PlanStep] = []
    for step in plan:
        if step.name == "Norm":
            blocks += (step, *block)
            block = []
        else:
            block.append(step)
    return (*blocks, *block)
