"""Which formula belongs to which class of modules.

A role hangs on class names, never on a model's family: whoever teaches bertviewer a new class
adds its name to a role here, or a role with a formula of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bertviewer.core.formulas import (
    activations,
    attention,
    attention_families,
    base_models,
    big_bird,
    blocks,
    disentangled,
    embedding_tables,
    embeddings,
    esm,
    family_stacks,
    feed_forward,
    heads,
    layers,
    normalisation,
    norms,
    primitives,
    rms_normalisation,
    squeezebert,
    stacks,
    table_heads,
    task_models,
)
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView

# Families whose modules are BERT's, word for word but for the name in front.
_PREFIXES = ("Bert", "Roberta", "Electra", "XLMRoberta", "Camembert")
# Encoder-decoders after BART: the norms stand after the sub-layers, or before them.
_BART, _MBART = "Bart", "MBart"
_T5 = ("T5", "MT5")
# Decoders after Llama: pre-norm, rotated queries and keys, a gated network.
_LLAMA = ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma")
_DEBERTA = ("Deberta", "DebertaV2")
# Families whose layers are BERT's but for the attention in them.
_POST_NORM = (*_PREFIXES, *_DEBERTA, "RoFormer", "BigBird")
# Families with BERT's head for the vocabulary.
_SCORING = ("Bert", "LegacyDeberta", "LegacyDebertaV2", "RoFormer", "BigBird", "SqueezeBert")
# Families whose models with a head end in the same names.
_MODEL_PREFIXES = (
    *_POST_NORM,
    *("Albert", "DistilBert", "GPT2", "MPNet", "ModernBert", "Esm", "SqueezeBert"),
    *(_BART, _MBART, *_T5, *_LLAMA),
)


@dataclass(frozen=True, slots=True)
class Role:
    """A formula and the classes of modules that it describes."""

    name: str
    build: Callable[[ModuleView], Formula]
    classes: tuple[str, ...]


def _bert(*endings: str) -> tuple[str, ...]:
    return _named(_PREFIXES, *endings)


def _named(prefixes: tuple[str, ...], *endings: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{ending}" for ending in endings for prefix in prefixes)


def _models(*endings: str) -> tuple[str, ...]:
    return _named(_MODEL_PREFIXES, *endings)


ROLES: tuple[Role, ...] = (
    # torch's own small modules
    Role("linear", primitives.linear, ("Linear", "NonDynamicallyQuantizableLinear", "Conv1D")),
    Role("embedding", embedding_tables.embedding, ("Embedding",)),
    Role(
        "embedding",
        embedding_tables.scaled_embedding,
        (*_named((_BART, _MBART), "ScaledWordEmbedding"), "GemmaTextScaledWordEmbedding"),
    ),
    Role(
        "embedding",
        embedding_tables.offset_positions,
        _named((_BART, _MBART), "LearnedPositionalEmbedding"),
    ),
    Role(
        "embedding",
        embedding_tables.sinusoids,
        _named(("Marian", "Pegasus", "RoFormer"), "SinusoidalPositionalEmbedding"),
    ),
    Role(
        "rotary positions",
        embedding_tables.rotation,
        _named((*_LLAMA, "ModernBert"), "RotaryEmbedding"),
    ),
    Role("rotary positions", esm.rotation, ("EsmRotaryEmbedding",)),
    Role("dropout", primitives.dropout, ("Dropout",)),
    Role("identity", primitives.identity, ("Identity",)),
    Role("loss", primitives.loss, ("CrossEntropyLoss",)),
    Role(
        "layer norm",
        normalisation.layer_norm,
        ("LayerNorm", *_named(("Cohere", "Cohere2", "Deberta", "SqueezeBert"), "LayerNorm")),
    ),
    Role("RMS norm", rms_normalisation.rms_norm, norms.RMS_CLASSES),
    Role("RMS norm", rms_normalisation.rms_norm_one_plus, norms.ONE_PLUS_WEIGHT_CLASSES),
    Role("gelu", activations.gelu, ("GELU", *activations.EXACT_GELU)),
    Role("gelu", activations.gelu_tanh, activations.TANH_GELU),
    Role("gelu", activations.quick_gelu, ("QuickGELUActivation",)),
    Role("gelu", activations.clipped_gelu, ("ClippedGELUActivation",)),
    Role("relu", activations.relu, ("ReLU",)),
    Role("silu", activations.silu, ("SiLU", "SiLUActivation")),
    Role("tanh", activations.tanh, ("Tanh",)),
    Role("sigmoid", activations.sigmoid, ("Sigmoid",)),
    Role("softmax", squeezebert.probabilities, ("Softmax",)),
    Role("product", squeezebert.product, ("MatMulWrapper",)),
    Role("convolution", squeezebert.convolution, ("Conv1d",)),
    Role("composition", stacks.composition, ("ModuleList", "Sequential")),
    # attention
    Role(
        "self-attention",
        attention.bert_attention,
        (*_bert("SelfAttention", "CrossAttention"), "BigBirdSelfAttention"),
    ),
    Role("self-attention", attention.albert_attention, ("AlbertAttention",)),
    Role(
        "self-attention",
        attention.projected_attention,
        ("DistilBertSelfAttention", "MultiHeadSelfAttention"),
    ),
    Role("self-attention", attention.gpt2_attention, ("GPT2Attention",)),
    Role("self-attention", attention.torch_attention, ("MultiheadAttention",)),
    Role("self-attention", attention.bart_attention, _named((_BART, _MBART), "Attention")),
    Role("self-attention", attention_families.t5_attention, _named(_T5, "Attention")),
    Role("self-attention", attention_families.mpnet_attention, ("MPNetSelfAttention",)),
    Role("self-attention", attention_families.rotary_attention, _named(_LLAMA, "Attention")),
    Role("self-attention", attention_families.modernbert_attention, ("ModernBertAttention",)),
    Role("self-attention", disentangled.disentangled_attention, ("DisentangledSelfAttention",)),
    Role("self-attention", attention_families.roformer_attention, ("RoFormerSelfAttention",)),
    Role("self-attention", attention_families.esm_attention, ("EsmSelfAttention",)),
    Role("self-attention", big_bird.block_sparse_attention, ("BigBirdBlockSparseAttention",)),
    Role("self-attention", squeezebert.attention, ("SqueezeBertSelfAttention",)),
    # parts of a layer
    Role("attention block", blocks.attention_block, _named(_POST_NORM, "Attention")),
    Role("attention block", blocks.mpnet_attention_block, ("MPNetAttention",)),
    Role("attention block", esm.attention_block, ("EsmAttention",)),
    Role("add", esm.add, _named(("Esm",), "SelfOutput", "Output")),
    Role("add & norm", blocks.add_and_norm, _named(_POST_NORM, "SelfOutput")),
    Role("add & norm", squeezebert.convolution_and_norm, ("ConvDropoutLayerNorm",)),
    Role(
        "sub-layer",
        blocks.pre_norm_attention,
        _named(_T5, "LayerSelfAttention", "LayerCrossAttention"),
    ),
    Role("sub-layer", blocks.pre_norm_feed_forward, _named(_T5, "LayerFF")),
    Role(
        "feed-forward, first half",
        blocks.widening,
        (*_named(_POST_NORM, "Intermediate"), "MPNetIntermediate"),
    ),
    Role("feed-forward, first half", esm.widening, ("EsmIntermediate",)),
    Role("feed-forward, first half", squeezebert.convolution_and_act, ("ConvActivation",)),
    Role(
        "feed-forward, second half",
        blocks.narrowing,
        (*_named(_POST_NORM, "Output"), "MPNetOutput"),
    ),
    Role(
        "feed-forward",
        feed_forward.feed_forward,
        (
            *("FFN", "GPT2MLP"),
            *_named(_T5, "DenseActDense", "DenseGatedActDense"),
            *_named(_LLAMA, "MLP"),
        ),
    ),
    Role("feed-forward", feed_forward.split_feed_forward, ("ModernBertMLP",)),
    # layers and stacks
    Role("layer", layers.bert_layer, (*_named(_POST_NORM, "Layer"), "MPNetLayer")),
    Role("layer", esm.layer, ("EsmLayer",)),
    Role("layer", squeezebert.layer, ("SqueezeBertModule",)),
    Role("layer", layers.albert_layer, ("AlbertLayer",)),
    Role("layer", layers.distilbert_layer, ("TransformerBlock",)),
    Role("layer", layers.gpt2_layer, ("GPT2Block",)),
    Role("layer", layers.torch_layer, ("TransformerEncoderLayer", "TransformerDecoderLayer")),
    Role("layer", layers.bart_layer, _named((_BART,), "EncoderLayer", "DecoderLayer")),
    Role("layer", layers.mbart_layer, _named((_MBART,), "EncoderLayer", "DecoderLayer")),
    Role("layer", layers.t5_block, _named(_T5, "Block")),
    Role("layer", layers.llama_layer, _named(_LLAMA, "DecoderLayer")),
    Role("layer", layers.modernbert_layer, ("ModernBertEncoderLayer",)),
    Role(
        "stack",
        stacks.stack,
        (*_named((*_PREFIXES, "BigBird", "Esm", "Transformer"), "Encoder"), "TransformerDecoder"),
    ),
    Role("stack", stacks.roformer_stack, ("RoFormerEncoder",)),
    Role("stack", stacks.squeezebert_stack, ("SqueezeBertEncoder",)),
    Role("stack", stacks.albert_stack, ("AlbertTransformer",)),
    Role("stack", stacks.albert_group, ("AlbertLayerGroup",)),
    Role("stack", stacks.mpnet_stack, ("MPNetEncoder",)),
    Role("stack", stacks.deberta_stack, _named(_DEBERTA, "Encoder")),
    Role("stack", family_stacks.bart_stack, _named((_BART, _MBART), "Encoder", "Decoder")),
    Role("stack", family_stacks.t5_stack, _named(_T5, "Stack")),
    # base models
    Role(
        "embeddings",
        embeddings.embeddings,
        (*_named((*_POST_NORM, "Albert", "MPNet", "SqueezeBert"), "Embeddings"), "Embeddings"),
    ),
    Role("embeddings", esm.embeddings, ("EsmEmbeddings",)),
    Role("embeddings", family_stacks.modernbert_embeddings, ("ModernBertEmbeddings",)),
    Role(
        "base model",
        base_models.base_model,
        _named((*_POST_NORM, "Albert", "DistilBert", "MPNet", "SqueezeBert"), "Model"),
    ),
    Role("base model", esm.model, ("EsmModel",)),
    Role(
        "base model",
        base_models.encoder_decoder,
        (*_named((_BART, _MBART), "Model"), *_named(_T5, "Model", "EncoderModel")),
    ),
    Role("base model", family_stacks.decoder_model, _named(_LLAMA, "Model")),
    Role("base model", family_stacks.modernbert_model, ("ModernBertModel",)),
    Role("base model", base_models.gpt2_model, ("GPT2Model",)),
    # DistilBERT's stack and torch's encoder-decoder are both called Transformer.
    Role("base model", base_models.transformer, ("Transformer",)),
    Role("base model", base_models.transformer_base, ("TransformerBaseModel",)),
    # heads
    Role("pooler", heads.pooler, _named((*_PREFIXES, "MPNet", "Esm", "SqueezeBert"), "Pooler")),
    Role("pooler", heads.context_pooler, ("ContextPooler",)),
    Role(
        "head transform",
        heads.transform,
        (
            *_named(_SCORING, "PredictionHeadTransform"),
            *("ElectraGeneratorPredictions", "ModernBertPredictionHead"),
        ),
    ),
    Role(
        "language-model head",
        heads.lm_head,
        (*_named(_SCORING, "LMPredictionHead"), *_bert("LMHead"), "AlbertMLMHead", "MPNetLMHead"),
    ),
    Role("language-model head", esm.lm_head, ("EsmLMHead",)),
    Role("language-model head", table_heads.table_lm_head, _named(_DEBERTA, "LMPredictionHead")),
    Role("head", table_heads.table_mlm_only, _named(_DEBERTA, "OnlyMLMHead")),
    Role("head", heads.mlm_only, _named(_SCORING, "OnlyMLMHead")),
    Role("head", heads.pretraining, _named(("Bert", "BigBird"), "PreTrainingHeads")),
    Role("head", esm.contacts, ("EsmContactPredictionHead",)),
    Role("head", big_bird.answer_head, ("BigBirdForQuestionAnsweringHead",)),
    Role("head", heads.pooled_scores, ("BertOnlyNSPHead", "AlbertSOPHead")),
    Role(
        "head",
        heads.classification,
        _named((*_PREFIXES, "MPNet", "RoFormer", "BigBird", "Esm"), "ClassificationHead"),
    ),
    Role(
        "head",
        heads.end_classification,
        _named((_BART, _MBART, *_T5), "ClassificationHead"),
    ),
    Role("head", heads.discriminator, ("ElectraDiscriminatorPredictions",)),
    # models with a head
    Role(
        "task model",
        task_models.language_model,
        _models("ForMaskedLM", "LMHeadModel", "ForCausalLM", "ForConditionalGeneration"),
    ),
    Role(
        "task model",
        task_models.sequence_classification,
        _models("ForSequenceClassification"),
    ),
    Role("task model", task_models.token_classification, _models("ForTokenClassification")),
    Role(
        "task model",
        task_models.question_answering,
        tuple(name for name in _models("ForQuestionAnswering") if not name.startswith("BigBird")),
    ),
    Role("task model", big_bird.question_answering, ("BigBirdForQuestionAnswering",)),
    Role("task model", task_models.next_sentence, ("BertForNextSentencePrediction",)),
    Role(
        "task model",
        task_models.pretraining_model,
        _named(("Bert", "Albert", "Electra", "BigBird"), "ForPreTraining"),
    ),
)

ROLE_BY_CLASS: Mapping[str, Role] = {name: role for role in ROLES for name in role.classes}
