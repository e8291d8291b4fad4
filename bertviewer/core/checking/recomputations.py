"""Which recomputation belongs to which class of modules: the counterpart of the formulas' roles."""

from collections.abc import Mapping

import torch

from bertviewer.core.architecture.architecture import ModuleNode
from bertviewer.core.checking import arithmetic, normalisation, primitives
from bertviewer.core.checking.attention import ATTENTIONS
from bertviewer.core.checking.big_bird import BIG_BIRD
from bertviewer.core.checking.blocks import BLOCKS
from bertviewer.core.checking.deberta import DEBERTAS
from bertviewer.core.checking.embeddings import EMBEDDINGS
from bertviewer.core.checking.esm import ESM
from bertviewer.core.checking.evaluator import NoFormulaError, Recomputation
from bertviewer.core.checking.families import BART, LLAMA, named
from bertviewer.core.checking.heads import HEADS
from bertviewer.core.checking.layers import LAYERS
from bertviewer.core.checking.models import MODELS
from bertviewer.core.checking.modernbert import MODERNBERT
from bertviewer.core.checking.roformer import ROFORMER
from bertviewer.core.checking.squeezebert import SQUEEZEBERT
from bertviewer.core.checking.stacks import STACKS
from bertviewer.core.checking.task_models import TASK_MODELS
from bertviewer.core.formulas import activations, norms

_LINEAR = ("Linear", "NonDynamicallyQuantizableLinear")

RECOMPUTATIONS: Mapping[str, Recomputation] = {
    **dict.fromkeys(_LINEAR, primitives.linear),
    "Conv1D": primitives.conv1d,
    "Embedding": primitives.embedding,
    **dict.fromkeys(
        (*named(BART, "ScaledWordEmbedding"), "GemmaTextScaledWordEmbedding"),
        primitives.scaled_embedding,
    ),
    **dict.fromkeys(named(BART, "LearnedPositionalEmbedding"), primitives.offset_embedding),
    **dict.fromkeys(
        named(("Marian", "Pegasus", "RoFormer"), "SinusoidalPositionalEmbedding"),
        primitives.position_table,
    ),
    **dict.fromkeys(("Dropout", "Identity"), primitives.identity),
    "Sequential": primitives.sequence,
    **dict.fromkeys(
        ("LayerNorm", "CohereLayerNorm", "Cohere2LayerNorm", "DebertaLayerNorm"),
        normalisation.layer_norm,
    ),
    **dict.fromkeys(norms.RMS_CLASSES, normalisation.rms_norm),
    **dict.fromkeys(norms.ONE_PLUS_WEIGHT_CLASSES, normalisation.rms_norm_one_plus),
    "GELU": primitives.gelu,
    **dict.fromkeys(activations.EXACT_GELU, primitives.elementwise(arithmetic.gelu)),
    **dict.fromkeys(activations.TANH_GELU, primitives.elementwise(arithmetic.gelu_tanh)),
    "QuickGELUActivation": primitives.elementwise(primitives.quick_gelu),
    "ClippedGELUActivation": primitives.clipped_gelu,
    "ReLU": primitives.elementwise(arithmetic.relu),
    **dict.fromkeys(("SiLU", "SiLUActivation"), primitives.elementwise(primitives.silu)),
    "Sigmoid": primitives.elementwise(arithmetic.sigmoid),
    "Tanh": primitives.elementwise(torch.tanh),
    **ATTENTIONS,
    **BLOCKS,
    **LAYERS,
    **STACKS,
    **EMBEDDINGS,
    **HEADS,
    **MODELS,
    **TASK_MODELS,
    **DEBERTAS,
    **ROFORMER,
    **ESM,
    **BIG_BIRD,
    **SQUEEZEBERT,
    **MODERNBERT,
}

EXCEPTIONS: Mapping[str, str] = {
    "ModuleList": "a list computes nothing: the module around it calls its members",
    "CrossEntropyLoss": "the loss is calculated in training only",
}
"""Classes that have a formula and no recomputation, and why."""

IN_FLOAT32 = frozenset(
    (
        *norms.RMS_CLASSES,
        *norms.ONE_PLUS_WEIGHT_CLASSES,
        *named((*LLAMA, "ModernBert"), "RotaryEmbedding", "Attention"),
        *named(("Esm",), "RotaryEmbedding", "SelfAttention", "Embeddings"),
        *("DebertaLayerNorm", "DisentangledSelfAttention"),
    )
)
"""Classes that calculate in float32, in module, whatever the model's dtype is: float64 too."""


def recomputation(node: ModuleNode) -> Recomputation:
    """Return the recomputation of a module's class.

    Raises:
        NoFormulaError: there is none; the error says why.
    """
    name = node.class_name
    if name in RECOMPUTATIONS:
        return RECOMPUTATIONS[name]
    raise NoFormulaError(EXCEPTIONS.get(name, f"no recomputation is known for {name}"))
