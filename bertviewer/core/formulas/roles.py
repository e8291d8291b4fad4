"""Which formula belongs to which class of modules.

A role hangs on class names, never on a model's family: whoever teaches bertviewer a new class
adds its name to a role here, or a role with a formula of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bertviewer.core.formulas import (
    activations,
    attention,
    base_models,
    blocks,
    embeddings,
    heads,
    layers,
    normalisation,
    primitives,
    stacks,
    task_models,
)
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.subject import Subject

# Families whose modules are BERT's, word for word but for the name in front.
_PREFIXES = ("Bert", "Roberta", "Electra", "XLMRoberta", "Camembert")
# Families whose models with a head end in the same names.
_MODEL_PREFIXES = (*_PREFIXES, "Albert", "DistilBert", "GPT2")


@dataclass(frozen=True, slots=True)
class Role:
    """A formula and the classes of modules that it describes."""

    name: str
    build: Callable[[Subject], Formula]
    classes: tuple[str, ...]


def _bert(*endings: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{ending}" for ending in endings for prefix in _PREFIXES)


def _models(*endings: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{ending}" for ending in endings for prefix in _MODEL_PREFIXES)


ROLES: tuple[Role, ...] = (
    # torch's own small modules
    Role("linear", primitives.linear, ("Linear", "NonDynamicallyQuantizableLinear", "Conv1D")),
    Role("embedding", primitives.embedding, ("Embedding",)),
    Role("dropout", primitives.dropout, ("Dropout",)),
    Role("identity", primitives.identity, ("Identity",)),
    Role("loss", primitives.loss, ("CrossEntropyLoss",)),
    Role("layer norm", normalisation.layer_norm, ("LayerNorm",)),
    Role("gelu", activations.gelu, ("GELU", *activations.EXACT_GELU)),
    Role("gelu", activations.gelu_tanh, activations.TANH_GELU),
    Role("gelu", activations.quick_gelu, ("QuickGELUActivation",)),
    Role("relu", activations.relu, ("ReLU",)),
    Role("silu", activations.silu, ("SiLU", "SiLUActivation")),
    Role("tanh", activations.tanh, ("Tanh",)),
    Role("composition", stacks.composition, ("ModuleList", "Sequential")),
    # attention
    Role("self-attention", attention.bert_attention, _bert("SelfAttention", "CrossAttention")),
    Role("self-attention", attention.albert_attention, ("AlbertAttention",)),
    Role(
        "self-attention",
        attention.projected_attention,
        ("DistilBertSelfAttention", "MultiHeadSelfAttention"),
    ),
    Role("self-attention", attention.gpt2_attention, ("GPT2Attention",)),
    Role("self-attention", attention.torch_attention, ("MultiheadAttention",)),
    # parts of a layer
    Role("attention block", blocks.attention_block, _bert("Attention")),
    Role("add & norm", blocks.add_and_norm, _bert("SelfOutput")),
    Role("feed-forward, first half", blocks.widening, _bert("Intermediate")),
    Role("feed-forward, second half", blocks.narrowing, _bert("Output")),
    Role("feed-forward", blocks.feed_forward, ("FFN", "GPT2MLP")),
    # layers and stacks
    Role("layer", layers.bert_layer, _bert("Layer")),
    Role("layer", layers.albert_layer, ("AlbertLayer",)),
    Role("layer", layers.distilbert_layer, ("TransformerBlock",)),
    Role("layer", layers.gpt2_layer, ("GPT2Block",)),
    Role("layer", layers.torch_layer, ("TransformerEncoderLayer", "TransformerDecoderLayer")),
    Role("stack", stacks.stack, (*_bert("Encoder"), "TransformerEncoder", "TransformerDecoder")),
    Role("stack", stacks.albert_stack, ("AlbertTransformer",)),
    Role("stack", stacks.albert_group, ("AlbertLayerGroup",)),
    # base models
    Role(
        "embeddings",
        embeddings.embeddings,
        (*_bert("Embeddings"), "AlbertEmbeddings", "Embeddings"),
    ),
    Role("base model", base_models.base_model, (*_bert("Model"), "AlbertModel", "DistilBertModel")),
    Role("base model", base_models.gpt2_model, ("GPT2Model",)),
    # DistilBERT's stack and torch's encoder-decoder are both called Transformer.
    Role("base model", base_models.transformer, ("Transformer",)),
    Role("base model", base_models.transformer_base, ("TransformerBaseModel",)),
    # heads
    Role("pooler", heads.pooler, _bert("Pooler")),
    Role(
        "head transform",
        heads.transform,
        ("BertPredictionHeadTransform", "ElectraGeneratorPredictions"),
    ),
    Role(
        "language-model head",
        heads.lm_head,
        ("BertLMPredictionHead", "AlbertMLMHead", *_bert("LMHead")),
    ),
    Role("head", heads.mlm_only, ("BertOnlyMLMHead",)),
    Role("head", heads.pretraining, ("BertPreTrainingHeads",)),
    Role("head", heads.pooled_scores, ("BertOnlyNSPHead", "AlbertSOPHead")),
    Role("head", heads.classification, _bert("ClassificationHead")),
    Role("head", heads.discriminator, ("ElectraDiscriminatorPredictions",)),
    # models with a head
    Role(
        "task model",
        task_models.language_model,
        _models("ForMaskedLM", "LMHeadModel", "ForCausalLM"),
    ),
    Role(
        "task model",
        task_models.sequence_classification,
        _models("ForSequenceClassification"),
    ),
    Role("task model", task_models.token_classification, _models("ForTokenClassification")),
    Role("task model", task_models.question_answering, _models("ForQuestionAnswering")),
    Role("task model", task_models.next_sentence, ("BertForNextSentencePrediction",)),
    Role(
        "task model",
        task_models.pretraining_model,
        ("BertForPreTraining", "AlbertForPreTraining", "ElectraForPreTraining"),
    ),
)

ROLE_BY_CLASS: Mapping[str, Role] = {name: role for role in ROLES for name in role.classes}
