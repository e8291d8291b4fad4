"""Plans of BERT and its kin: what stands before the layers, and the layers."""

from bertviewer.core.walk.plan_steps import (
    INPUT_SEGMENT,
    INPUT_TOKEN,
    NORM_NOTE,
    PER_HEAD,
    POSITION_NOTE,
    SUM_NOTE,
    Plan,
    PlanStep,
    add,
    dropout,
    feed_forward,
    norm,
    token_table,
)

SEGMENT_TABLE = PlanStep(
    "Embedding-Segment",
    "token_type_embeddings",
    kind="table",
    note="One vector for each kind of segment.",
)
POSITION_TABLE = PlanStep(
    "Embedding-Position", "position_embeddings", kind="table", note=POSITION_NOTE
)
EMBEDDING_NORM = PlanStep("Embedding-Norm", "LayerNorm", note=NORM_NOTE)
SELF_ATTENTION = PlanStep(
    "MultiHeadSelfAttention",
    "attention",
    ("attention.self", "attention.output.dense"),
    note=PER_HEAD,
)
CROSS_ATTENTION = PlanStep(
    "MultiHeadCrossAttention",
    "crossattention",
    ("crossattention.self", "crossattention.output.dense"),
    note=PER_HEAD,
)

SEGMENTED_EMBEDDINGS: Plan = (
    INPUT_TOKEN,
    INPUT_SEGMENT,
    token_table("word_embeddings"),
    SEGMENT_TABLE,
    PlanStep("Add", note=f"{SUM_NOTE} The position's vector is added too."),
    POSITION_TABLE,
    EMBEDDING_NORM,
    PlanStep("Embedding-Dropout", "dropout"),
)
EMBEDDINGS: Plan = (
    INPUT_TOKEN,
    token_table("word_embeddings"),
    POSITION_TABLE,
    PlanStep("Add", note=SUM_NOTE),
    EMBEDDING_NORM,
    PlanStep("Embedding-Dropout", "dropout"),
)
BERT_LAYER: Plan = (
    SELF_ATTENTION,
    dropout("attention.output.dropout"),
    add(),
    norm("attention.output.LayerNorm"),
    CROSS_ATTENTION,
    dropout("crossattention.output.dropout"),
    add(where="crossattention"),
    norm("crossattention.output.LayerNorm"),
    feed_forward("intermediate", "intermediate", "output.dense"),
    dropout("output.dropout"),
    add(),
    norm("output.LayerNorm"),
)
ALBERT_LAYER: Plan = (
    PlanStep(
        "MultiHeadSelfAttention",
        "attention",
        ("attention.query", "attention.key", "attention.value", "attention.dense"),
        note=PER_HEAD,
    ),
    dropout("attention.output_dropout"),
    add(),
    norm("attention.LayerNorm"),
    feed_forward("ffn", "ffn", "ffn_output"),
    add(),
    norm("full_layer_layer_norm"),
)
DISTILBERT_LAYER: Plan = (
    PlanStep("MultiHeadSelfAttention", "attention", note=PER_HEAD),
    add(),
    norm("sa_layer_norm"),
    feed_forward("ffn"),
    dropout("ffn.dropout"),
    add(),
    norm("output_layer_norm"),
)
ROFORMER_EMBEDDINGS: Plan = (
    INPUT_TOKEN,
    INPUT_SEGMENT,
    token_table("word_embeddings"),
    SEGMENT_TABLE,
    add(where="token_type_embeddings", note=SUM_NOTE),
    EMBEDDING_NORM,
    PlanStep("Embedding-Dropout", "dropout"),
)
DEBERTA_EMBEDDINGS: Plan = (
    INPUT_TOKEN,
    INPUT_SEGMENT,
    token_table("word_embeddings"),
    POSITION_TABLE,
    add(where="position_embeddings", note=SUM_NOTE),
    SEGMENT_TABLE,
    add(where="token_type_embeddings", note=SUM_NOTE),
    EMBEDDING_NORM,
    PlanStep("Embedding-Dropout", "dropout"),
)
DEBERTA_ENCODER: Plan = (
    PlanStep(
        "Embedding-Distance",
        "rel_embeddings",
        kind="aside",
        note="One vector for each distance; the attention of every layer reads them.",
    ),
    PlanStep("Embedding-Distance-Norm", "LayerNorm", kind="aside"),
    PlanStep("", "layer", kind="visit"),
    PlanStep("Convolution", "conv", note="Added to what the first layer gives."),
)
ESM_EMBEDDINGS: Plan = (
    INPUT_TOKEN,
    token_table("word_embeddings"),
    POSITION_TABLE,
    add(where="position_embeddings", note=SUM_NOTE),
    PlanStep("Embedding-Norm", "layer_norm", note=NORM_NOTE),
)
ESM_LAYER: Plan = (
    norm("attention.LayerNorm"),
    SELF_ATTENTION,
    dropout("attention.output.dropout"),
    add(),
    norm("crossattention.LayerNorm"),
    CROSS_ATTENTION,
    dropout("crossattention.output.dropout"),
    add(where="crossattention"),
    norm("LayerNorm"),
    feed_forward("intermediate", "intermediate", "output.dense"),
    dropout("output.dropout"),
    add(),
)
SQUEEZEBERT_LAYER: Plan = (
    PlanStep(
        "MultiHeadSelfAttention",
        "attention",
        ("attention", "post_attention.conv1d"),
        note=f"{PER_HEAD} Inside the layers the features stand before the positions: [B, D, S].",
    ),
    dropout("post_attention.dropout"),
    add(),
    norm("post_attention.layernorm"),
    feed_forward("intermediate", "intermediate", "output.conv1d"),
    dropout("output.dropout"),
    add(),
    norm("output.layernorm"),
)
