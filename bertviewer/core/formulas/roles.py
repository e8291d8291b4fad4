"""The role of each kind of module: its name, as "layer norm", and its formula.

What a class of modules is stands in ``core.families``: here is one formula for each kind.
"""

from collections.abc import Callable, Mapping

from bertviewer.core.families.families import CLASSES
from bertviewer.core.families.family import Descriptions, kind_of
from bertviewer.core.families.module_kind import ModuleKind
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
    primitives,
    rms_normalisation,
    squeezebert,
    stacks,
    table_heads,
    task_models,
)
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.frozen import frozen

NOT_AS_KNOWN = (LookupError, TypeError, ValueError)
"""What a formula raises of a module that has a known name and is made otherwise."""


@frozen
class Role:
    """What kinds of modules are called that are alike, and the formula of one of them.

    ``build`` raises one of ``NOT_AS_KNOWN`` where a module is not made as its kind says.
    """

    name: str
    build: Callable[[ModuleView], Formula]


ROLES: Mapping[ModuleKind, Role] = {
    # small modules
    ModuleKind.LINEAR: Role("linear", primitives.linear),
    ModuleKind.CONV1D: Role("linear", primitives.linear),
    ModuleKind.EMBEDDING: Role("embedding", embedding_tables.embedding),
    ModuleKind.SCALED_EMBEDDING: Role("embedding", embedding_tables.scaled_embedding),
    ModuleKind.OFFSET_POSITIONS: Role("embedding", embedding_tables.offset_positions),
    ModuleKind.SINUSOIDAL_POSITIONS: Role("embedding", embedding_tables.sinusoids),
    ModuleKind.ROTARY_POSITIONS: Role("rotary positions", embedding_tables.rotation),
    ModuleKind.ESM_ROTARY_POSITIONS: Role("rotary positions", esm.rotation),
    ModuleKind.DROPOUT: Role("dropout", primitives.dropout),
    ModuleKind.IDENTITY: Role("identity", primitives.identity),
    ModuleKind.LOSS: Role("loss", primitives.loss),
    ModuleKind.LAYER_NORM: Role("layer norm", normalisation.layer_norm),
    ModuleKind.LAYER_NORM_IN_FLOAT32: Role("layer norm", normalisation.layer_norm),
    ModuleKind.LAYER_NORM_OF_COLUMNS: Role("layer norm", normalisation.layer_norm),
    ModuleKind.RMS_NORM: Role("RMS norm", rms_normalisation.rms_norm),
    ModuleKind.RMS_NORM_ONE_PLUS: Role("RMS norm", rms_normalisation.rms_norm_one_plus),
    ModuleKind.TORCH_GELU: Role("gelu", activations.torch_gelu),
    ModuleKind.EXACT_GELU: Role("gelu", activations.gelu),
    ModuleKind.TANH_GELU: Role("gelu", activations.gelu_tanh),
    ModuleKind.QUICK_GELU: Role("gelu", activations.quick_gelu),
    ModuleKind.CLIPPED_GELU: Role("gelu", activations.clipped_gelu),
    ModuleKind.RELU: Role("relu", activations.relu),
    ModuleKind.SILU: Role("silu", activations.silu),
    ModuleKind.TANH: Role("tanh", activations.tanh),
    ModuleKind.SIGMOID: Role("sigmoid", activations.sigmoid),
    ModuleKind.SOFTMAX: Role("softmax", squeezebert.probabilities),
    ModuleKind.MATRIX_PRODUCT: Role("product", squeezebert.product),
    ModuleKind.CONVOLUTION: Role("convolution", squeezebert.convolution),
    ModuleKind.MODULE_LIST: Role("composition", stacks.module_list),
    ModuleKind.SEQUENCE: Role("composition", stacks.sequence),
    # attention
    ModuleKind.BERT_SELF_ATTENTION: Role("self-attention", attention.bert_attention),
    ModuleKind.BERT_CROSS_ATTENTION: Role("self-attention", attention.bert_attention),
    ModuleKind.BIG_BIRD_ATTENTION: Role("self-attention", attention.bert_attention),
    ModuleKind.BIG_BIRD_SPARSE_ATTENTION: Role("self-attention", big_bird.block_sparse_attention),
    ModuleKind.ALBERT_ATTENTION: Role("self-attention", attention.albert_attention),
    ModuleKind.DISTILBERT_ATTENTION: Role("self-attention", attention.projected_attention),
    ModuleKind.GPT2_ATTENTION: Role("self-attention", attention.gpt2_attention),
    ModuleKind.TORCH_ATTENTION: Role("self-attention", attention.torch_attention),
    ModuleKind.BART_ATTENTION: Role("self-attention", attention.bart_attention),
    ModuleKind.T5_ATTENTION: Role("self-attention", attention_families.t5_attention),
    ModuleKind.MPNET_ATTENTION: Role("self-attention", attention_families.mpnet_attention),
    ModuleKind.LLAMA_ATTENTION: Role("self-attention", attention_families.rotary_attention),
    ModuleKind.MISTRAL_ATTENTION: Role("self-attention", attention_families.windowed_attention),
    ModuleKind.MODERNBERT_ATTENTION: Role(
        "self-attention", attention_families.modernbert_attention
    ),
    ModuleKind.DEBERTA_ATTENTION: Role("self-attention", disentangled.disentangled_attention),
    ModuleKind.ROFORMER_ATTENTION: Role("self-attention", attention_families.roformer_attention),
    ModuleKind.ESM_ATTENTION: Role("self-attention", attention_families.esm_attention),
    ModuleKind.SQUEEZEBERT_ATTENTION: Role("self-attention", squeezebert.attention),
    # parts of a layer
    ModuleKind.ATTENTION_BLOCK: Role("attention block", blocks.attention_block),
    ModuleKind.BERT_ATTENTION_BLOCK: Role("attention block", blocks.attention_block),
    ModuleKind.BIG_BIRD_ATTENTION_BLOCK: Role("attention block", blocks.attention_block),
    ModuleKind.MPNET_ATTENTION_BLOCK: Role("attention block", blocks.mpnet_attention_block),
    ModuleKind.ESM_ATTENTION_BLOCK: Role("attention block", esm.attention_block),
    ModuleKind.T5_SELF_ATTENTION_BLOCK: Role("sub-layer", blocks.pre_norm_attention),
    ModuleKind.T5_CROSS_ATTENTION_BLOCK: Role("sub-layer", blocks.pre_norm_attention),
    ModuleKind.T5_NETWORK_BLOCK: Role("sub-layer", blocks.pre_norm_feed_forward),
    ModuleKind.ADD_AND_NORM: Role("add & norm", blocks.add_and_norm),
    ModuleKind.ESM_ADD: Role("add", esm.add),
    ModuleKind.FIRST_HALF: Role("feed-forward, first half", blocks.widening),
    ModuleKind.ESM_FIRST_HALF: Role("feed-forward, first half", esm.widening),
    ModuleKind.SECOND_HALF: Role("feed-forward, second half", blocks.narrowing),
    ModuleKind.CONVOLUTION_AND_ACTIVATION: Role(
        "feed-forward, first half", squeezebert.convolution_and_act
    ),
    ModuleKind.CONVOLUTION_AND_NORM: Role("add & norm", squeezebert.convolution_and_norm),
    ModuleKind.FEED_FORWARD: Role("feed-forward", feed_forward.feed_forward),
    ModuleKind.MODERNBERT_FEED_FORWARD: Role("feed-forward", feed_forward.split_feed_forward),
    # layers and stacks
    ModuleKind.LAYER: Role("layer", layers.layer),
    ModuleKind.ESM_LAYER: Role("layer", esm.layer),
    ModuleKind.SQUEEZEBERT_LAYER: Role("layer", squeezebert.layer),
    ModuleKind.T5_LAYER: Role("layer", layers.t5_block),
    ModuleKind.BERT_STACK: Role("stack", stacks.stack),
    ModuleKind.BIG_BIRD_STACK: Role("stack", stacks.stack),
    ModuleKind.ESM_STACK: Role("stack", stacks.stack),
    ModuleKind.TORCH_ENCODER: Role("stack", stacks.stack),
    ModuleKind.TORCH_DECODER: Role("stack", stacks.stack),
    ModuleKind.ROFORMER_STACK: Role("stack", stacks.roformer_stack),
    ModuleKind.SQUEEZEBERT_STACK: Role("stack", stacks.squeezebert_stack),
    ModuleKind.ALBERT_STACK: Role("stack", stacks.albert_stack),
    ModuleKind.ALBERT_GROUP: Role("stack", stacks.albert_group),
    ModuleKind.MPNET_STACK: Role("stack", stacks.mpnet_stack),
    ModuleKind.DEBERTA_STACK: Role("stack", stacks.deberta_stack),
    ModuleKind.BART_STACK: Role("stack", family_stacks.bart_stack),
    ModuleKind.T5_STACK: Role("stack", family_stacks.t5_stack),
    # embeddings and base models
    ModuleKind.BERT_EMBEDDINGS: Role("embeddings", embeddings.embeddings),
    ModuleKind.DISTILBERT_EMBEDDINGS: Role("embeddings", embeddings.embeddings),
    ModuleKind.DEBERTA_EMBEDDINGS: Role("embeddings", embeddings.embeddings),
    ModuleKind.ESM_EMBEDDINGS: Role("embeddings", esm.embeddings),
    ModuleKind.MODERNBERT_EMBEDDINGS: Role("embeddings", family_stacks.modernbert_embeddings),
    ModuleKind.BERT_MODEL: Role("base model", base_models.base_model),
    ModuleKind.DEBERTA_MODEL: Role("base model", base_models.base_model),
    ModuleKind.BIG_BIRD_MODEL: Role("base model", base_models.base_model),
    ModuleKind.ESM_MODEL: Role("base model", esm.model),
    ModuleKind.MODERNBERT_MODEL: Role("base model", family_stacks.modernbert_model),
    ModuleKind.GPT2_MODEL: Role("base model", base_models.gpt2_model),
    ModuleKind.LLAMA_MODEL: Role("base model", family_stacks.decoder_model),
    ModuleKind.ENCODER_DECODER: Role("base model", base_models.encoder_decoder),
    ModuleKind.ENCODER_ONLY: Role("base model", base_models.encoder_decoder),
    ModuleKind.TRANSFORMER: Role("base model", base_models.transformer),
    ModuleKind.TRANSFORMER_BASE: Role("base model", base_models.transformer_base),
    # heads
    ModuleKind.POOLER: Role("pooler", heads.pooler),
    ModuleKind.DEBERTA_POOLER: Role("pooler", heads.context_pooler),
    ModuleKind.HEAD_TRANSFORM: Role("head transform", heads.transform),
    ModuleKind.BERT_SCORES: Role("language-model head", heads.lm_head),
    ModuleKind.ALBERT_SCORES: Role("language-model head", heads.lm_head),
    ModuleKind.ROBERTA_SCORES: Role("language-model head", heads.lm_head),
    ModuleKind.ESM_SCORES: Role("language-model head", esm.lm_head),
    ModuleKind.SCORES_BY_TABLE: Role("language-model head", table_heads.table_lm_head),
    ModuleKind.HEAD_AROUND_SCORES: Role("head", heads.mlm_only),
    ModuleKind.HEAD_AROUND_SCORES_BY_TABLE: Role("head", table_heads.table_mlm_only),
    ModuleKind.PRETRAINING_HEADS: Role("head", heads.pretraining),
    ModuleKind.SCORES_OF_POOLED: Role("head", heads.pooled_scores),
    ModuleKind.CLASSIFICATION_HEAD: Role("head", heads.classification),
    ModuleKind.ACTIVATED_CLASSIFICATION_HEAD: Role("head", heads.classification),
    ModuleKind.CLASSIFICATION_HEAD_OF_END: Role("head", heads.end_classification),
    ModuleKind.DISCRIMINATOR: Role("head", heads.discriminator),
    ModuleKind.BIG_BIRD_ANSWER_HEAD: Role("head", big_bird.answer_head),
    ModuleKind.ESM_CONTACT_HEAD: Role("head", esm.contacts),
    # models with a head
    ModuleKind.MASKED_LANGUAGE_MODEL: Role("task model", task_models.masked_language_model),
    ModuleKind.CAUSAL_LANGUAGE_MODEL: Role("task model", task_models.causal_language_model),
    ModuleKind.BART_LANGUAGE_MODEL: Role("task model", task_models.causal_language_model),
    ModuleKind.SEQUENCE_CLASSIFIER: Role("task model", task_models.sequence_classification),
    ModuleKind.TOKEN_CLASSIFIER: Role("task model", task_models.token_classification),
    ModuleKind.ANSWER_FINDER: Role("task model", task_models.question_answering),
    ModuleKind.NEXT_SENTENCE_MODEL: Role("task model", task_models.next_sentence),
    ModuleKind.PRETRAINING_MODEL: Role("task model", task_models.pretraining_model),
    ModuleKind.BIG_BIRD_ANSWER_FINDER: Role("task model", big_bird.question_answering),
}


def role_of(class_name: str, classes: Descriptions = CLASSES) -> Role | None:
    """Return the role of a class of modules, ``None`` where no family has it."""
    kind = kind_of(classes.get(class_name))
    return None if kind is None else ROLES[kind]


def kinds_of(*names: str) -> frozenset[ModuleKind | None]:
    """Return the kinds whose role has one of these names."""
    return frozenset(kind for kind, role in ROLES.items() if role.name in names)
