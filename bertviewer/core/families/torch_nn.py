"""Modules of torch.nn, and those of transformers that belong to no family."""

from bertviewer.core.families.family import Family
from bertviewer.core.families.layer import Layer, Network, SubLayer
from bertviewer.core.families.module_kind import ModuleKind

_NETWORK = Network("linear1", "activation", "linear2")

_ENCODER_LAYER = Layer(
    takes=("src", "src_mask", "src_key_padding_mask", "is_causal"),
    attention=SubLayer(
        "self_attn",
        norm="norm1",
        given=("key=", "value=", "attn_mask=src_mask", "key_padding_mask=src_key_padding_mask"),
    ),
    network=_NETWORK,
    network_norm="norm2",
    norms="chosen",
)

_DECODER_LAYER = Layer(
    takes=(
        *("tgt", "memory", "tgt_mask", "memory_mask"),
        *("tgt_key_padding_mask", "memory_key_padding_mask", "tgt_is_causal", "memory_is_causal"),
    ),
    attention=SubLayer(
        "self_attn",
        norm="norm1",
        given=("key=", "value=", "attn_mask=tgt_mask", "key_padding_mask=tgt_key_padding_mask"),
    ),
    cross=SubLayer(
        "multihead_attn",
        norm="norm2",
        given=(
            *("key=memory", "value=memory", "attn_mask=memory_mask"),
            "key_padding_mask=memory_key_padding_mask",
        ),
        source="memory",
        is_optional=False,
    ),
    network=_NETWORK,
    network_norm="norm3",
    norms="chosen",
)

TORCH = Family(
    classes={
        "Linear": ModuleKind.LINEAR,
        "NonDynamicallyQuantizableLinear": ModuleKind.LINEAR,
        "Embedding": ModuleKind.EMBEDDING,
        "Dropout": ModuleKind.DROPOUT,
        "Identity": ModuleKind.IDENTITY,
        "CrossEntropyLoss": ModuleKind.LOSS,
        "LayerNorm": ModuleKind.LAYER_NORM,
        "RMSNorm": ModuleKind.RMS_NORM,
        "GELU": ModuleKind.TORCH_GELU,
        "ReLU": ModuleKind.RELU,
        "SiLU": ModuleKind.SILU,
        "Tanh": ModuleKind.TANH,
        "Sigmoid": ModuleKind.SIGMOID,
        "Softmax": ModuleKind.SOFTMAX,
        "ModuleList": ModuleKind.MODULE_LIST,
        "Sequential": ModuleKind.SEQUENCE,
        "MultiheadAttention": ModuleKind.TORCH_ATTENTION,
        "TransformerEncoderLayer": _ENCODER_LAYER,
        "TransformerDecoderLayer": _DECODER_LAYER,
        "TransformerEncoder": ModuleKind.TORCH_ENCODER,
        "TransformerDecoder": ModuleKind.TORCH_DECODER,
        # DistilBERT's stack and torch's encoder-decoder are both called Transformer.
        "Transformer": ModuleKind.TRANSFORMER,
        "TransformerBaseModel": ModuleKind.TRANSFORMER_BASE,
    },
)

SHARED = Family(
    classes={
        "Conv1D": ModuleKind.CONV1D,
        "GELUActivation": ModuleKind.EXACT_GELU,
        "NewGELUActivation": ModuleKind.TANH_GELU,
        "FastGELUActivation": ModuleKind.TANH_GELU,
        "AccurateGELUActivation": ModuleKind.TANH_GELU,
        "GELUTanh": ModuleKind.TANH_GELU,
        "PytorchGELUTanh": ModuleKind.TANH_GELU,
        "QuickGELUActivation": ModuleKind.QUICK_GELU,
        "ClippedGELUActivation": ModuleKind.CLIPPED_GELU,
        "SiLUActivation": ModuleKind.SILU,
        # Of families whose other modules are read off their flow.
        "CohereLayerNorm": ModuleKind.LAYER_NORM_IN_FLOAT32,
        "Cohere2LayerNorm": ModuleKind.LAYER_NORM_IN_FLOAT32,
        "MarianSinusoidalPositionalEmbedding": ModuleKind.SINUSOIDAL_POSITIONS,
        "PegasusSinusoidalPositionalEmbedding": ModuleKind.SINUSOIDAL_POSITIONS,
    }
)
"""What transformers' models have in common."""
