"""The recomputation of each kind of module: the counterpart of the formulas' roles."""

from collections.abc import Mapping

import torch

from bertviewer.core.checking import (
    arithmetic,
    big_bird,
    blocks,
    deberta,
    embeddings,
    esm,
    heads,
    layers,
    models,
    modernbert,
    normalisation,
    primitives,
    roformer,
    squeezebert,
    stacks,
    task_models,
)
from bertviewer.core.checking.attention import ATTENTIONS
from bertviewer.core.checking.evaluator import Evaluator, NoRecomputationError, Recomputation
from bertviewer.core.families.module_kind import ModuleKind

RECOMPUTATIONS: Mapping[ModuleKind | None, Recomputation] = {
    # small modules
    ModuleKind.LINEAR: primitives.linear,
    ModuleKind.CONV1D: primitives.conv1d,
    ModuleKind.EMBEDDING: primitives.embedding,
    ModuleKind.SCALED_EMBEDDING: primitives.scaled_embedding,
    ModuleKind.OFFSET_POSITIONS: primitives.offset_embedding,
    ModuleKind.SINUSOIDAL_POSITIONS: primitives.position_table,
    ModuleKind.ROTARY_POSITIONS: embeddings.rotation,
    ModuleKind.DROPOUT: primitives.identity,
    ModuleKind.IDENTITY: primitives.identity,
    ModuleKind.LAYER_NORM: normalisation.layer_norm,
    ModuleKind.LAYER_NORM_IN_FLOAT32: normalisation.layer_norm,
    ModuleKind.LAYER_NORM_OF_COLUMNS: squeezebert.norm,
    ModuleKind.RMS_NORM: normalisation.rms_norm,
    ModuleKind.RMS_NORM_ONE_PLUS: normalisation.rms_norm_one_plus,
    ModuleKind.TORCH_GELU: primitives.gelu,
    ModuleKind.EXACT_GELU: primitives.elementwise(arithmetic.gelu),
    ModuleKind.TANH_GELU: primitives.elementwise(arithmetic.gelu_tanh),
    ModuleKind.QUICK_GELU: primitives.elementwise(primitives.quick_gelu),
    ModuleKind.CLIPPED_GELU: primitives.clipped_gelu,
    ModuleKind.RELU: primitives.elementwise(arithmetic.relu),
    ModuleKind.SILU: primitives.elementwise(primitives.silu),
    ModuleKind.TANH: primitives.elementwise(torch.tanh),
    ModuleKind.SIGMOID: primitives.elementwise(arithmetic.sigmoid),
    ModuleKind.SOFTMAX: squeezebert.probabilities,
    ModuleKind.MATRIX_PRODUCT: squeezebert.product,
    ModuleKind.CONVOLUTION: squeezebert.convolution,
    ModuleKind.SEQUENCE: primitives.sequence,
    **ATTENTIONS,
    # parts of a layer
    ModuleKind.ATTENTION_BLOCK: blocks.attention_block,
    ModuleKind.BERT_ATTENTION_BLOCK: blocks.bert_attention_block,
    ModuleKind.MPNET_ATTENTION_BLOCK: blocks.mpnet_attention_block,
    ModuleKind.BIG_BIRD_ATTENTION_BLOCK: big_bird.attention_block,
    ModuleKind.ESM_ATTENTION_BLOCK: esm.attention_block,
    ModuleKind.T5_SELF_ATTENTION_BLOCK: blocks.t5_self_attention,
    ModuleKind.T5_CROSS_ATTENTION_BLOCK: blocks.t5_cross_attention,
    ModuleKind.T5_NETWORK_BLOCK: blocks.t5_feed_forward,
    ModuleKind.ADD_AND_NORM: blocks.add_and_norm,
    ModuleKind.ESM_ADD: esm.add,
    ModuleKind.FIRST_HALF: blocks.widening,
    ModuleKind.SECOND_HALF: blocks.add_and_norm,
    ModuleKind.CONVOLUTION_AND_ACTIVATION: squeezebert.convolution_and_act,
    ModuleKind.CONVOLUTION_AND_NORM: squeezebert.convolution_and_norm,
    ModuleKind.FEED_FORWARD: blocks.feed_forward,
    ModuleKind.MODERNBERT_FEED_FORWARD: modernbert.network,
    # layers and stacks
    ModuleKind.LAYER: layers.layer,
    ModuleKind.T5_LAYER: layers.t5,
    ModuleKind.SQUEEZEBERT_LAYER: squeezebert.layer,
    ModuleKind.BERT_STACK: stacks.encoder,
    ModuleKind.ROFORMER_STACK: roformer.encoder,
    ModuleKind.BIG_BIRD_STACK: big_bird.encoder,
    ModuleKind.DEBERTA_STACK: deberta.encoder,
    ModuleKind.ESM_STACK: esm.encoder,
    ModuleKind.SQUEEZEBERT_STACK: squeezebert.encoder,
    ModuleKind.ALBERT_STACK: stacks.albert,
    ModuleKind.ALBERT_GROUP: stacks.albert_group,
    ModuleKind.MPNET_STACK: stacks.mpnet,
    ModuleKind.BART_STACK: stacks.bart,
    ModuleKind.T5_STACK: stacks.t5,
    ModuleKind.TORCH_ENCODER: stacks.torch_encoder,
    ModuleKind.TORCH_DECODER: stacks.torch_decoder,
    # embeddings and base models
    ModuleKind.BERT_EMBEDDINGS: embeddings.bert,
    ModuleKind.DISTILBERT_EMBEDDINGS: embeddings.distilbert,
    ModuleKind.DEBERTA_EMBEDDINGS: deberta.embeddings,
    ModuleKind.ESM_EMBEDDINGS: esm.embeddings,
    ModuleKind.MODERNBERT_EMBEDDINGS: modernbert.embeddings,
    ModuleKind.BERT_MODEL: models.bert,
    ModuleKind.DEBERTA_MODEL: deberta.model,
    ModuleKind.BIG_BIRD_MODEL: big_bird.model,
    ModuleKind.ESM_MODEL: esm.model,
    ModuleKind.MODERNBERT_MODEL: modernbert.model,
    ModuleKind.GPT2_MODEL: models.gpt2,
    ModuleKind.LLAMA_MODEL: models.llama,
    ModuleKind.ENCODER_DECODER: models.encoder_decoder,
    ModuleKind.ENCODER_ONLY: models.encoder_only,
    ModuleKind.TRANSFORMER: stacks.transformer,
    ModuleKind.TRANSFORMER_BASE: models.transformer_base,
    # heads
    ModuleKind.POOLER: heads.pooler,
    ModuleKind.DEBERTA_POOLER: deberta.pooler,
    ModuleKind.HEAD_TRANSFORM: heads.transform,
    ModuleKind.SCORES: heads.scores,
    ModuleKind.ESM_SCORES: esm.lm_head,
    ModuleKind.SCORES_BY_TABLE: deberta.lm_head,
    ModuleKind.HEAD_AROUND_SCORES: heads.mlm_only,
    ModuleKind.HEAD_AROUND_SCORES_BY_TABLE: heads.mlm_only,
    ModuleKind.PRETRAINING_HEADS: heads.pretraining,
    ModuleKind.SCORES_OF_POOLED: heads.pooled_scores,
    ModuleKind.CLASSIFICATION_HEAD: heads.classification,
    ModuleKind.ACTIVATED_CLASSIFICATION_HEAD: heads.classification,
    ModuleKind.CLASSIFICATION_HEAD_OF_END: heads.classification,
    ModuleKind.DISCRIMINATOR: heads.discriminator,
    ModuleKind.BIG_BIRD_ANSWER_HEAD: big_bird.answer_head,
    ModuleKind.ESM_CONTACT_HEAD: esm.contacts,
    # models with a head
    ModuleKind.MASKED_LANGUAGE_MODEL: task_models.language_model,
    ModuleKind.CAUSAL_LANGUAGE_MODEL: task_models.language_model,
    ModuleKind.BART_LANGUAGE_MODEL: task_models.language_model,
    ModuleKind.SEQUENCE_CLASSIFIER: task_models.sequence_classification,
    ModuleKind.TOKEN_CLASSIFIER: task_models.token_classification,
    ModuleKind.ANSWER_FINDER: task_models.question_answering,
    ModuleKind.NEXT_SENTENCE_MODEL: task_models.next_sentence,
    ModuleKind.PRETRAINING_MODEL: task_models.pretraining,
    ModuleKind.BIG_BIRD_ANSWER_FINDER: big_bird.question_answering,
}

EXCEPTIONS: Mapping[ModuleKind | None, str] = {
    ModuleKind.MODULE_LIST: "a module list computes nothing: its parent calls its members",
    ModuleKind.LOSS: "the loss is computed in training only",
}
"""Kinds that have a formula and no recomputation, and why."""

IN_FLOAT32 = frozenset(
    {
        *(ModuleKind.LAYER_NORM_IN_FLOAT32, ModuleKind.RMS_NORM, ModuleKind.RMS_NORM_ONE_PLUS),
        *(ModuleKind.ROTARY_POSITIONS, ModuleKind.LLAMA_ATTENTION, ModuleKind.MISTRAL_ATTENTION),
        *(ModuleKind.ESM_ATTENTION, ModuleKind.ESM_EMBEDDINGS),
        *(ModuleKind.MODERNBERT_ATTENTION, ModuleKind.DEBERTA_ATTENTION),
    }
)
"""Kinds that calculate in float32, in part, whatever the model's dtype is: float64 too."""


def recomputation(module: Evaluator) -> Recomputation:
    """Return the recomputation of a module's kind.

    Raises:
        NoRecomputationError: there is none; the error says why.
    """
    kind = module.kind
    if kind in RECOMPUTATIONS:
        return RECOMPUTATIONS[kind]
    name = module.node.class_name
    raise NoRecomputationError(EXCEPTIONS.get(kind, f"no recomputation is available for {name}"))
