"""What a class of modules is: for each kind there is one formula and one recomputation."""

from enum import Enum
from typing import Self

EPSILONS = ("eps", "variance_epsilon", "epsilon")
"""The attributes in which classes of norms keep the constant under the root."""


class ModuleKind(Enum):
    """A way to compute something; classes of the same kind differ in nothing but their name.

    Behind a kind stand the names of the children that its classes have, in [] those that not all
    have. Their ``forward`` takes what the kind's recomputation takes.

    ``role`` is what kinds are called that are alike, as "layer norm".

    A new kind has its formula in ``formulas.kinds`` and its recomputation in
    ``checking.recomputations``; beside these, an attention has a form in ``checking.attention``, a
    layer that no ``Layer`` describes its steps in ``checking.layer_steps``, a norm its operator in
    ``formulas.norms``, an activation its own in ``formulas.activations``, and what calculates in
    float32, whatever its dtype, is named in ``recomputations.IN_FLOAT32``.
    """

    role: str

    def __new__(cls, role: str) -> Self:
        """Tell kinds of one role apart: to ``Enum``, equal values are one member."""
        kind = object.__new__(cls)
        kind._value_ = len(cls.__members__)
        kind.role = role
        return kind

    # small modules
    LINEAR = "linear"
    CONV1D = "linear"
    EMBEDDING = "embedding"
    SCALED_EMBEDDING = "embedding"
    OFFSET_POSITIONS = "embedding"
    SINUSOIDAL_POSITIONS = "embedding"
    ROTARY_POSITIONS = "rotary positions"
    DROPOUT = "dropout"
    IDENTITY = "identity"
    LOSS = "loss"
    LAYER_NORM = "layer norm"
    LAYER_NORM_IN_FLOAT32 = "layer norm"
    LAYER_NORM_OF_COLUMNS = "layer norm"
    RMS_NORM = "RMS norm"
    RMS_NORM_ONE_PLUS = "RMS norm"
    TORCH_GELU = "gelu"
    EXACT_GELU = "gelu"
    TANH_GELU = "gelu"
    QUICK_GELU = "gelu"
    CLIPPED_GELU = "gelu"
    RELU = "relu"
    SILU = "silu"
    TANH = "tanh"
    SIGMOID = "sigmoid"
    SOFTMAX = "softmax"
    MATRIX_PRODUCT = "product"
    CONVOLUTION = "convolution"
    MODULE_LIST = "composition"
    SEQUENCE = "composition"
    # attention
    BERT_SELF_ATTENTION = "self-attention"  # query, key, value
    BERT_CROSS_ATTENTION = "self-attention"  # query, key, value
    BIG_BIRD_ATTENTION = "self-attention"  # query, key, value
    BIG_BIRD_SPARSE_ATTENTION = "self-attention"  # query, key, value
    ALBERT_ATTENTION = "self-attention"  # query, key, value, dense, LayerNorm
    DISTILBERT_ATTENTION = "self-attention"  # q_lin, k_lin, v_lin, out_lin
    GPT2_ATTENTION = "self-attention"  # c_attn, c_proj [q_attn]
    TORCH_ATTENTION = "self-attention"  # out_proj
    BART_ATTENTION = "self-attention"  # q_proj, k_proj, v_proj, out_proj
    T5_ATTENTION = "self-attention"  # q, k, v, o
    MPNET_ATTENTION = "self-attention"  # q, k, v, o
    LLAMA_ATTENTION = "self-attention"  # q_proj, k_proj, v_proj, o_proj [q_norm, k_norm]
    MISTRAL_ATTENTION = "self-attention"  # q_proj, k_proj, v_proj, o_proj [q_norm, k_norm]
    MODERNBERT_ATTENTION = "self-attention"  # Wqkv, Wo
    DEBERTA_ATTENTION = "self-attention"  # [in_proj, or query_proj, key_proj, value_proj]
    ROFORMER_ATTENTION = "self-attention"  # query, key, value
    ESM_ATTENTION = "self-attention"  # query, key, value
    SQUEEZEBERT_ATTENTION = "self-attention"  # query, key, value
    # parts of a layer
    ATTENTION_BLOCK = "attention block"  # self, output
    BERT_ATTENTION_BLOCK = "attention block"  # self, output
    MPNET_ATTENTION_BLOCK = "attention block"  # attn, LayerNorm
    BIG_BIRD_ATTENTION_BLOCK = "attention block"  # self, output
    ESM_ATTENTION_BLOCK = "attention block"  # LayerNorm, self, output
    T5_SELF_ATTENTION_BLOCK = "sub-layer"  # layer_norm, SelfAttention
    T5_CROSS_ATTENTION_BLOCK = "sub-layer"  # layer_norm, EncDecAttention
    T5_NETWORK_BLOCK = "sub-layer"  # layer_norm, DenseReluDense
    ADD_AND_NORM = "add & norm"  # dense, LayerNorm
    ESM_ADD = "add"  # dense
    FIRST_HALF = "feed-forward, first half"  # dense [intermediate_act_fn]
    SECOND_HALF = "feed-forward, second half"  # dense, LayerNorm
    CONVOLUTION_AND_ACTIVATION = "feed-forward, first half"  # conv1d, act
    CONVOLUTION_AND_NORM = "add & norm"  # conv1d, layernorm
    FEED_FORWARD = "feed-forward"  # as its Network says
    MODERNBERT_FEED_FORWARD = "feed-forward"  # Wi, act, Wo
    # layers and stacks
    LAYER = "layer"  # as its Layer says
    SQUEEZEBERT_LAYER = "layer"  # attention, post_attention, intermediate, output
    T5_LAYER = "layer"  # layer: two or three blocks
    BERT_STACK = "stack"  # layer
    ROFORMER_STACK = "stack"  # embed_positions, layer
    BIG_BIRD_STACK = "stack"  # layer
    DEBERTA_STACK = "stack"  # layer [rel_embeddings, LayerNorm]
    ESM_STACK = "stack"  # layer, emb_layer_norm_after
    SQUEEZEBERT_STACK = "stack"  # layers
    ALBERT_STACK = "stack"  # embedding_hidden_mapping_in, albert_layer_groups
    ALBERT_GROUP = "stack"  # albert_layers
    MPNET_STACK = "stack"  # layer, relative_attention_bias
    BART_STACK = "stack"  # embed_tokens, embed_positions, layernorm_embedding, layers [layer_norm]
    T5_STACK = "stack"  # embed_tokens, block, final_layer_norm
    TORCH_ENCODER = "stack"  # layers [norm]
    TORCH_DECODER = "stack"  # layers [norm]
    # embeddings and base models
    BERT_EMBEDDINGS = "embeddings"  # word_embeddings, LayerNorm [those of positions, token types]
    DISTILBERT_EMBEDDINGS = "embeddings"  # word_embeddings, position_embeddings, LayerNorm
    DEBERTA_EMBEDDINGS = "embeddings"  # word_embeddings, LayerNorm [embed_proj, as BERT]
    ESM_EMBEDDINGS = "embeddings"  # word_embeddings [position_embeddings, layer_norm]
    MODERNBERT_EMBEDDINGS = "embeddings"  # tok_embeddings, norm
    BERT_MODEL = "base model"  # embeddings [encoder or transformer, embeddings_project, pooler]
    DEBERTA_MODEL = "base model"  # embeddings, encoder
    BIG_BIRD_MODEL = "base model"  # embeddings, encoder [pooler, activation]
    ESM_MODEL = "base model"  # embeddings, encoder [rotary_embeddings, pooler]
    MODERNBERT_MODEL = "base model"  # embeddings, rotary_emb, layers, final_norm
    GPT2_MODEL = "base model"  # wte, wpe, h, ln_f
    LLAMA_MODEL = "base model"  # embed_tokens, rotary_emb, layers, norm
    ENCODER_DECODER = "base model"  # encoder, decoder
    ENCODER_ONLY = "base model"  # encoder
    TRANSFORMER = "base model"  # [layer, or encoder and decoder]
    TRANSFORMER_BASE = "base model"  # embedding, transformer
    # heads
    POOLER = "pooler"  # dense, activation
    DEBERTA_POOLER = "pooler"  # dense
    HEAD_TRANSFORM = "head transform"  # dense [an activation, LayerNorm or norm]
    SCORES = "language-model head"  # decoder [transform, or dense, a norm, an activation]
    ESM_SCORES = "language-model head"  # dense, layer_norm, decoder
    SCORES_BY_TABLE = "language-model head"  # dense, transform_act_fn, LayerNorm
    HEAD_AROUND_SCORES = "head"  # predictions
    HEAD_AROUND_SCORES_BY_TABLE = "head"  # lm_head
    PRETRAINING_HEADS = "head"  # predictions, seq_relationship
    SCORES_OF_POOLED = "head"  # [seq_relationship or classifier]
    CLASSIFICATION_HEAD = "head"  # dense, out_proj [activation]
    ACTIVATED_CLASSIFICATION_HEAD = "head"  # dense, out_proj
    CLASSIFICATION_HEAD_OF_END = "head"  # dense, out_proj
    DISCRIMINATOR = "head"  # dense, activation, dense_prediction
    BIG_BIRD_ANSWER_HEAD = "head"  # intermediate, output, qa_outputs
    ESM_CONTACT_HEAD = "head"  # regression, activation
    # models with a head: a base model by any name, and the head that its ``task_models`` look for
    MASKED_LANGUAGE_MODEL = "task model"
    CAUSAL_LANGUAGE_MODEL = "task model"
    BART_LANGUAGE_MODEL = "task model"
    SEQUENCE_CLASSIFIER = "task model"
    TOKEN_CLASSIFIER = "task model"
    ANSWER_FINDER = "task model"
    NEXT_SENTENCE_MODEL = "task model"
    PRETRAINING_MODEL = "task model"
    BIG_BIRD_ANSWER_FINDER = "task model"


def kinds_of(*roles: str) -> frozenset[ModuleKind | None]:
    """Return the kinds that have one of these roles."""
    return frozenset(kind for kind in ModuleKind if kind.role in roles)
