"""How a teacher walks through a module: its steps in order, by the module's class.

A plan names what its steps count by paths from the module on. Where a class has no plan, the walk
takes the module's children in their order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["ids", "segments", "table", "hidden", "repeat", "visit", "target"]
"""What passes through a step.

``ids`` and ``segments`` are the model's inputs, a ``table`` is looked up by them, ``hidden`` states
keep their shape; ``repeat`` is a table used a second time; ``visit`` goes into the module; from
``target`` on it is the decoder's turn.
"""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        name: what the step is called.
        path: the module to point at, from the planned module on; empty for an addition.
        modules: whose tensors the step counts, where that is not all of ``path``.
        kind: what passes through it.
        where: the step is left out where this module is missing; ``path`` if nothing is said.
        note: what a learner asks at this step.
    """

    name: str
    path: str = ""
    modules: tuple[str, ...] = ()
    kind: Kind = "hidden"
    where: str = ""
    note: str = ""

    @property
    def needs(self) -> str:
        """The module without which the step does not exist, from the planned module on."""
        return self.where or self.path


Plan = tuple[PlanStep, ...]

_INPUT_TOKEN = PlanStep("Input-Token", kind="ids", note="the ids of the tokens")
_INPUT_SEGMENT = PlanStep(
    "Input-Segment",
    kind="segments",
    where="token_type_embeddings",
    note="which sentence each token belongs to: 0 or 1",
)
NORM_NOTE = "A scale and a bias for each feature."
SCALE_NOTE = "A scale for each feature."
"""What is said of a norm instead, where it has no bias."""
ONE_SEGMENT_NOTE = "0 for each token: the model knows one kind of segment only"
"""What is said of the segments instead, where the table has one row."""
_SUM_NOTE = "The vectors are added feature by feature; nothing is learnt here."
_POSITION_NOTE = "One vector for each place in the sequence."
_RESIDUAL = "What went into the block is added to what came out: the residual connection."
_PER_HEAD = "Q, K and V projections and the output projection; the heads share them out."


def _token(path: str) -> PlanStep:
    return PlanStep("Embedding-Token", path, kind="table", note="One vector for each token.")


def _norm(path: str) -> PlanStep:
    return PlanStep("Norm", path, note=NORM_NOTE)


def _add(where: str = "") -> PlanStep:
    return PlanStep("Add", where=where, note=_RESIDUAL)


def _dropout(path: str) -> PlanStep:
    return PlanStep("Dropout", path, note="Works in training only; nothing is learnt here.")


def _feed_forward(path: str, *modules: str) -> PlanStep:
    return PlanStep("FeedForward", path, modules, note="Widens each position, and narrows it.")


_SEGMENTED_EMBEDDINGS: Plan = (
    _INPUT_TOKEN,
    _INPUT_SEGMENT,
    _token("word_embeddings"),
    PlanStep(
        "Embedding-Segment",
        "token_type_embeddings",
        kind="table",
        note="One vector for each kind of segment.",
    ),
    PlanStep("Add", note=f"{_SUM_NOTE} The position's vector is added too."),
    PlanStep("Embedding-Position", "position_embeddings", kind="table", note=_POSITION_NOTE),
    PlanStep("Embedding-Norm", "LayerNorm", note=NORM_NOTE),
    PlanStep("Embedding-Dropout", "dropout"),
)
_EMBEDDINGS: Plan = (
    _INPUT_TOKEN,
    _token("word_embeddings"),
    PlanStep("Embedding-Position", "position_embeddings", kind="table", note=_POSITION_NOTE),
    PlanStep("Add", note=_SUM_NOTE),
    PlanStep("Embedding-Norm", "LayerNorm", note=NORM_NOTE),
    PlanStep("Embedding-Dropout", "dropout"),
)
_BERT_LAYER: Plan = (
    PlanStep(
        "MultiHeadSelfAttention",
        "attention",
        ("attention.self", "attention.output.dense"),
        note=_PER_HEAD,
    ),
    _dropout("attention.output.dropout"),
    _add(),
    _norm("attention.output.LayerNorm"),
    PlanStep(
        "MultiHeadCrossAttention",
        "crossattention",
        ("crossattention.self", "crossattention.output.dense"),
        note=_PER_HEAD,
    ),
    _dropout("crossattention.output.dropout"),
    _add(where="crossattention"),
    _norm("crossattention.output.LayerNorm"),
    _feed_forward("intermediate", "intermediate", "output.dense"),
    _dropout("output.dropout"),
    _add(),
    _norm("output.LayerNorm"),
)
_ALBERT_LAYER: Plan = (
    PlanStep(
        "MultiHeadSelfAttention",
        "attention",
        ("attention.query", "attention.key", "attention.value", "attention.dense"),
        note=_PER_HEAD,
    ),
    _dropout("attention.output_dropout"),
    _add(),
    _norm("attention.LayerNorm"),
    _feed_forward("ffn", "ffn", "ffn_output"),
    _add(),
    _norm("full_layer_layer_norm"),
)
_DISTILBERT_LAYER: Plan = (
    PlanStep("MultiHeadSelfAttention", "attention", note=_PER_HEAD),
    _add(),
    _norm("sa_layer_norm"),
    _feed_forward("ffn"),
    _dropout("ffn.dropout"),
    _add(),
    _norm("output_layer_norm"),
)
_GPT2_MODEL: Plan = (
    _INPUT_TOKEN,
    _token("wte"),
    PlanStep("Embedding-Position", "wpe", kind="table", note=_POSITION_NOTE),
    PlanStep("Add", note=_SUM_NOTE),
    PlanStep("Embedding-Dropout", "drop"),
    PlanStep("", "h", kind="visit"),
    PlanStep("Norm", "ln_f", note="The last layer leaves its sum unnormed; this norms it."),
)
_GPT2_LAYER: Plan = (
    _norm("ln_1"),
    PlanStep("MultiHeadSelfAttention", "attn", note=_PER_HEAD),
    _dropout("attn.resid_dropout"),
    _add(),
    PlanStep("Norm", "ln_cross_attn"),
    PlanStep("MultiHeadCrossAttention", "crossattention", note=_PER_HEAD),
    _add(where="crossattention"),
    _norm("ln_2"),
    _feed_forward("mlp"),
    _dropout("mlp.dropout"),
    _add(),
)
_RMS_NORM = "A scale for each feature."
_LLAMA_LAYER: Plan = (
    PlanStep("Norm", "input_layernorm", note=_RMS_NORM),
    PlanStep("MultiHeadSelfAttention", "self_attn", note=_PER_HEAD),
    _add(),
    PlanStep("Norm", "post_attention_layernorm", note=_RMS_NORM),
    _feed_forward("mlp"),
    _add(),
)
_T5_LAYER: Plan = (
    PlanStep("Norm", "layer.0.layer_norm", note=_RMS_NORM),
    PlanStep("MultiHeadSelfAttention", "layer.0.SelfAttention", note=_PER_HEAD),
    _add(),
    PlanStep("Norm", "layer.1.layer_norm", note=_RMS_NORM),
    PlanStep("MultiHeadCrossAttention", "layer.1.EncDecAttention", note=_PER_HEAD),
    _add(where="layer.1.EncDecAttention"),
    # The feed-forward network is the last of two sub-layers, of three in a decoder.
    _feed_forward("layer.1.DenseReluDense"),
    PlanStep("Norm", "layer.2.layer_norm", note=_RMS_NORM),
    _feed_forward("layer.2.DenseReluDense"),
    _add(),
)
_BART_LAYER: Plan = (
    PlanStep("MultiHeadSelfAttention", "self_attn", note=_PER_HEAD),
    _add(),
    _norm("self_attn_layer_norm"),
    PlanStep("MultiHeadCrossAttention", "encoder_attn", note=_PER_HEAD),
    _add(where="encoder_attn"),
    _norm("encoder_attn_layer_norm"),
    _feed_forward("fc1", "fc1", "fc2"),
    _add(),
    _norm("final_layer_norm"),
)
_SINUSOIDS = "Sines and cosines of the position, added to the tokens' vectors; nothing is learnt."
_TRANSFORMER_BASE: Plan = (
    _INPUT_TOKEN,
    _token("embedding"),
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
    PlanStep("MultiHeadSelfAttention", "self_attn", note=_PER_HEAD),
    _dropout("dropout1"),
    _add(),
    _norm("norm1"),
    _feed_forward("linear1", "linear1", "linear2"),
    _dropout("dropout2"),
    _add(),
    _norm("norm2"),
)
_TORCH_DECODER: Plan = (
    PlanStep("MaskedSelfAttention", "self_attn", note=_PER_HEAD),
    _dropout("dropout1"),
    _add(),
    _norm("norm1"),
    PlanStep("MultiHeadCrossAttention", "multihead_attn", note=_PER_HEAD),
    _dropout("dropout2"),
    _add(),
    _norm("norm2"),
    _feed_forward("linear1", "linear1", "linear2"),
    _dropout("dropout3"),
    _add(),
    _norm("norm3"),
)

_BERT_PREFIXES = ("Bert", "Roberta", "Electra", "XLMRoberta", "Camembert")

BASE_PLANS: Mapping[str, Plan] = {
    **{f"{prefix}Embeddings": _SEGMENTED_EMBEDDINGS for prefix in (*_BERT_PREFIXES, "Albert")},
    "Embeddings": _EMBEDDINGS,
    "GPT2Model": _GPT2_MODEL,
    "TransformerBaseModel": _TRANSFORMER_BASE,
}
"""What goes before the layers, and holds them."""

LAYER_PLANS: Mapping[str, Plan] = {
    **{f"{prefix}Layer": _BERT_LAYER for prefix in _BERT_PREFIXES},
    "AlbertLayer": _ALBERT_LAYER,
    "TransformerBlock": _DISTILBERT_LAYER,
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
