"""What a class of modules is: for each kind there is one formula and one recomputation."""

from enum import Enum, auto

EPSILONS = ("eps", "variance_epsilon", "epsilon")
"""The attributes in which classes of norms keep the constant under the root."""


class ModuleKind(Enum):
    """A way to compute something; classes of the same kind differ in nothing but their name.

    Behind a kind stand the names of the children that its classes have, in [] those that not all
    have. Their ``forward`` takes what the kind's recomputation takes.

    A new kind has its formula in ``formulas.roles`` and its recomputation in
    ``checking.recomputations``; beside these, an attention has a form in ``checking.attention``, a
    layer that no ``Layer`` describes its steps in ``checking.layer_steps``, a norm its operator in
    ``formulas.norms``, an activation its own in ``formulas.activations``, and what calculates in
    float32, whatever its dtype, is named in ``recomputations.IN_FLOAT32``.
    """

    # small modules
    LINEAR = auto()
    CONV1D = auto()
    EMBEDDING = auto()
    SCALED_EMBEDDING = auto()
    OFFSET_POSITIONS = auto()
    SINUSOIDAL_POSITIONS = auto()
    ROTARY_POSITIONS = auto()
    ESM_ROTARY_POSITIONS = auto()
    DROPOUT = auto()
    IDENTITY = auto()
    LOSS = auto()
    LAYER_NORM = auto()
    LAYER_NORM_IN_FLOAT32 = auto()
    LAYER_NORM_OF_COLUMNS = auto()
    RMS_NORM = auto()
    RMS_NORM_ONE_PLUS = auto()
    TORCH_GELU = auto()
    EXACT_GELU = auto()
    TANH_GELU = auto()
    QUICK_GELU = auto()
    CLIPPED_GELU = auto()
    RELU = auto()
    SILU = auto()
    TANH = auto()
    SIGMOID = auto()
    SOFTMAX = auto()
    MATRIX_PRODUCT = auto()
    CONVOLUTION = auto()
    MODULE_LIST = auto()
    SEQUENCE = auto()
    # attention
    BERT_SELF_ATTENTION = auto()  # query, key, value
    BERT_CROSS_ATTENTION = auto()  # query, key, value
    BIG_BIRD_ATTENTION = auto()  # query, key, value
    BIG_BIRD_SPARSE_ATTENTION = auto()  # query, key, value
    ALBERT_ATTENTION = auto()  # query, key, value, dense, LayerNorm
    DISTILBERT_ATTENTION = auto()  # q_lin, k_lin, v_lin, out_lin
    GPT2_ATTENTION = auto()  # c_attn, c_proj [q_attn]
    TORCH_ATTENTION = auto()  # out_proj
    BART_ATTENTION = auto()  # q_proj, k_proj, v_proj, out_proj
    T5_ATTENTION = auto()  # q, k, v, o
    MPNET_ATTENTION = auto()  # q, k, v, o
    LLAMA_ATTENTION = auto()  # q_proj, k_proj, v_proj, o_proj [q_norm, k_norm]
    MISTRAL_ATTENTION = auto()  # q_proj, k_proj, v_proj, o_proj [q_norm, k_norm]
    MODERNBERT_ATTENTION = auto()  # Wqkv, Wo
    DEBERTA_ATTENTION = auto()  # [in_proj, or query_proj, key_proj, value_proj]
    ROFORMER_ATTENTION = auto()  # query, key, value
    ESM_ATTENTION = auto()  # query, key, value
    SQUEEZEBERT_ATTENTION = auto()  # query, key, value
    # parts of a layer
    ATTENTION_BLOCK = auto()  # self, output
    BERT_ATTENTION_BLOCK = auto()  # self, output
    MPNET_ATTENTION_BLOCK = auto()  # attn, LayerNorm
    BIG_BIRD_ATTENTION_BLOCK = auto()  # self, output
    ESM_ATTENTION_BLOCK = auto()  # LayerNorm, self, output
    T5_SELF_ATTENTION_BLOCK = auto()  # layer_norm, SelfAttention
    T5_CROSS_ATTENTION_BLOCK = auto()  # layer_norm, EncDecAttention
    T5_NETWORK_BLOCK = auto()  # layer_norm, DenseReluDense
    ADD_AND_NORM = auto()  # dense, LayerNorm
    ESM_ADD = auto()  # dense
    FIRST_HALF = auto()  # dense, intermediate_act_fn
    ESM_FIRST_HALF = auto()  # dense
    SECOND_HALF = auto()  # dense, LayerNorm
    CONVOLUTION_AND_ACTIVATION = auto()  # conv1d, act
    CONVOLUTION_AND_NORM = auto()  # conv1d, layernorm
    FEED_FORWARD = auto()  # as its Network says
    MODERNBERT_FEED_FORWARD = auto()  # Wi, act, Wo
    # layers and stacks
    LAYER = auto()  # as its Layer says
    ESM_LAYER = auto()  # attention, LayerNorm, intermediate, output [crossattention]
    SQUEEZEBERT_LAYER = auto()  # attention, post_attention, intermediate, output
    T5_LAYER = auto()  # layer: two or three blocks
    BERT_STACK = auto()  # layer
    ROFORMER_STACK = auto()  # embed_positions, layer
    BIG_BIRD_STACK = auto()  # layer
    DEBERTA_STACK = auto()  # layer [rel_embeddings, LayerNorm]
    ESM_STACK = auto()  # layer, emb_layer_norm_after
    SQUEEZEBERT_STACK = auto()  # layers
    ALBERT_STACK = auto()  # embedding_hidden_mapping_in, albert_layer_groups
    ALBERT_GROUP = auto()  # albert_layers
    MPNET_STACK = auto()  # layer, relative_attention_bias
    BART_STACK = auto()  # embed_tokens, embed_positions, layernorm_embedding, layers [layer_norm]
    T5_STACK = auto()  # embed_tokens, block, final_layer_norm
    TORCH_ENCODER = auto()  # layers [norm]
    TORCH_DECODER = auto()  # layers [norm]
    # embeddings and base models
    BERT_EMBEDDINGS = auto()  # word_embeddings, LayerNorm [those of positions, token types]
    DISTILBERT_EMBEDDINGS = auto()  # word_embeddings, position_embeddings, LayerNorm
    DEBERTA_EMBEDDINGS = auto()  # word_embeddings, LayerNorm [embed_proj, as BERT]
    ESM_EMBEDDINGS = auto()  # word_embeddings [position_embeddings, layer_norm]
    MODERNBERT_EMBEDDINGS = auto()  # tok_embeddings, norm
    BERT_MODEL = auto()  # embeddings [encoder or transformer, embeddings_project, pooler]
    DEBERTA_MODEL = auto()  # embeddings, encoder
    BIG_BIRD_MODEL = auto()  # embeddings, encoder [pooler, activation]
    ESM_MODEL = auto()  # embeddings, encoder [rotary_embeddings, pooler]
    MODERNBERT_MODEL = auto()  # embeddings, rotary_emb, layers, final_norm
    GPT2_MODEL = auto()  # wte, wpe, h, ln_f
    LLAMA_MODEL = auto()  # embed_tokens, rotary_emb, layers, norm
    ENCODER_DECODER = auto()  # encoder, decoder
    ENCODER_ONLY = auto()  # encoder
    TRANSFORMER = auto()  # [layer, or encoder and decoder]
    TRANSFORMER_BASE = auto()  # embedding, transformer
    # heads
    POOLER = auto()  # dense, activation
    DEBERTA_POOLER = auto()  # dense
    HEAD_TRANSFORM = auto()  # dense [transform_act_fn, activation or act; LayerNorm or norm]
    BERT_SCORES = auto()  # transform, decoder
    ALBERT_SCORES = auto()  # dense, activation, LayerNorm, decoder
    ROBERTA_SCORES = auto()  # dense, layer_norm, decoder
    ESM_SCORES = auto()  # dense, layer_norm, decoder
    SCORES_BY_TABLE = auto()  # dense, transform_act_fn, LayerNorm
    HEAD_AROUND_SCORES = auto()  # predictions
    HEAD_AROUND_SCORES_BY_TABLE = auto()  # lm_head
    PRETRAINING_HEADS = auto()  # predictions, seq_relationship
    SCORES_OF_POOLED = auto()  # [seq_relationship or classifier]
    CLASSIFICATION_HEAD = auto()  # dense, out_proj [activation]
    ACTIVATED_CLASSIFICATION_HEAD = auto()  # dense, out_proj
    CLASSIFICATION_HEAD_OF_END = auto()  # dense, out_proj
    DISCRIMINATOR = auto()  # dense, activation, dense_prediction
    BIG_BIRD_ANSWER_HEAD = auto()  # intermediate, output, qa_outputs
    ESM_CONTACT_HEAD = auto()  # regression, activation
    # models with a head: a base model by any name, and the head that its ``task_models`` look for
    MASKED_LANGUAGE_MODEL = auto()
    CAUSAL_LANGUAGE_MODEL = auto()
    BART_LANGUAGE_MODEL = auto()
    SEQUENCE_CLASSIFIER = auto()
    TOKEN_CLASSIFIER = auto()
    ANSWER_FINDER = auto()
    NEXT_SENTENCE_MODEL = auto()
    PRETRAINING_MODEL = auto()
    BIG_BIRD_ANSWER_FINDER = auto()
