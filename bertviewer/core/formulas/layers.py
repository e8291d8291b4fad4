"""Whole layers: attention and feed-forward network, normalised after or before each."""

from dataclasses import dataclass

from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.blocks import DROPOUT, POST_NORM, RESIDUAL
from bertviewer.core.formulas.feed_forward import Network, read_network, read_split_network
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.norms import Norm, norm_of
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.subject import Subject

PRE_NORM = (
    "Pre-norm: each sub-layer normalises its own input, and the residual path runs from the first "
    "layer to the last without a normalisation on it."
)
BARE_FIRST = (
    "The first layer has no norm before its attention: the embeddings end in one. For the rest it "
    "is pre-norm: each sub-layer normalises its own input, and nothing on the residual path is."
)
_ATTENTION = '"Attention"'
_CROSS = '"CrossAttention"'
_FFN = 'op("FFN")'
_ENC = 'X_"enc"'


@dataclass(frozen=True, slots=True)
class _Layer:
    """What a layer is made of; ``pre`` says that the norms stand before the sub-layers."""

    network: Network
    norm: Norm
    pre: bool = False
    cross: bool = False
    # A decoder layer that may run without an encoder's output.
    optional: bool = False
    # ModernBERT's first layer reads what the embeddings have normalised already.
    first_is_bare: bool = False


def bert_layer(subject: Subject) -> Formula:
    """BERT's layer, post-norm; a decoder's has cross-attention in between."""
    cross = "crossattention" in subject.children
    norm = norm_of(subject.below("output"), "LayerNorm")
    return _formula(subject, _Layer(bert_network(subject), norm, cross=cross, optional=cross))


def bert_network(subject: Subject) -> Network:
    """Return the network whose halves are the children 'intermediate' and 'output'."""
    inner, outer = subject.below("intermediate"), subject.below("output")
    act = operator_of(inner, "intermediate_act_fn")
    return Network(inner.affine("dense"), outer.affine("dense"), act)


def pre_norm_layer(subject: Subject, network: Network, norm: Norm, *, cross: bool) -> Formula:
    """Return the formula of a layer whose norms stand before the sub-layers."""
    return _formula(subject, _Layer(network, norm, pre=True, cross=cross, optional=cross))


def albert_layer(subject: Subject) -> Formula:
    """ALBERT's layer: BERT's, with the feed-forward network in the layer itself."""
    first, second = subject.affine("ffn"), subject.affine("ffn_output")
    network = Network(first, second, operator_of(subject, "activation"))
    return _formula(subject, _Layer(network, norm_of(subject, "full_layer_layer_norm")))


def distilbert_layer(subject: Subject) -> Formula:
    """DistilBERT's layer: BERT's."""
    network = read_network(subject.below("ffn"))
    return _formula(subject, _Layer(network, norm_of(subject, "output_layer_norm")))


def gpt2_layer(subject: Subject) -> Formula:
    """GPT-2's block, pre-norm and causal (Radford et al. 2019, section 2.3)."""
    cross = "crossattention" in subject.children
    network = read_network(subject.below("mlp"))
    layer = _Layer(network, norm_of(subject, "ln_1"), pre=True, cross=cross, optional=cross)
    return _formula(subject, layer)


def torch_layer(subject: Subject) -> Formula:
    """torch.nn's encoder or decoder layer; ``norm_first`` chooses where the norms stand."""
    first, second = subject.affine("linear1"), subject.affine("linear2")
    layer = _Layer(
        Network(first, second, _torch_activation(subject)),
        norm_of(subject, "norm1"),
        pre=subject.attribute("norm_first") is True,
        cross="multihead_attn" in subject.children,
    )
    return _formula(subject, layer)


def bart_layer(subject: Subject) -> Formula:
    """BART's encoder or decoder layer, post-norm (Lewis et al. 2020, section 2.1)."""
    return _formula(subject, _bart(subject, pre=False))


def mbart_layer(subject: Subject) -> Formula:
    """mBART's: BART's with the norms before the sub-layers (Liu et al. 2020, section 2.2)."""
    return _formula(subject, _bart(subject, pre=True))


def llama_layer(subject: Subject) -> Formula:
    """Llama's layer, pre-norm with RMSNorm (Touvron et al. 2023, section 2.2)."""
    subject.below("post_attention_layernorm")
    network = read_network(subject.below("mlp"))
    return _formula(subject, _Layer(network, norm_of(subject, "input_layernorm"), pre=True))


def t5_block(subject: Subject) -> Formula:
    """T5's layer: two or three sub-layers in a list, pre-norm (Raffel et al. 2020, section 2.1)."""
    parts = subject.below("layer")
    last = parts.below(str(len(parts.children) - 1))
    cross = len(parts.children) == 3
    layer = _Layer(
        read_network(last.below("DenseReluDense")),
        norm_of(last, "layer_norm"),
        pre=True,
        cross=cross,
        optional=cross,
    )
    return _formula(subject, layer)


def modernbert_layer(subject: Subject) -> Formula:
    """ModernBERT's layer, pre-norm with a gated network (Warner et al. 2024, section 2.1)."""
    layer = _Layer(
        read_split_network(subject.below("mlp")),
        norm_of(subject, "mlp_norm"),
        pre=True,
        first_is_bare=subject.class_of("attn_norm") == "Identity",
    )
    return _formula(subject, layer)


def _bart(subject: Subject, *, pre: bool) -> _Layer:
    cross = "encoder_attn" in subject.children
    norm = norm_of(subject, "self_attn_layer_norm")
    return _Layer(read_network(subject), norm, pre=pre, cross=cross, optional=cross)


def _torch_activation(subject: Subject) -> str:
    """Return torch's activation: a child module, or a function that a layer does not name."""
    if "activation" in subject.children:
        return operator_of(subject, "activation")
    known = {1: "relu", 2: "gelu"}
    noted = known.get(subject.integer("activation_relu_or_gelu") or 0)
    name = noted or subject.config.get("activation")
    return {"relu": 'op("ReLU")', "gelu": 'op("GELU")'}.get(str(name), "phi")


def _formula(subject: Subject, layer: _Layer) -> Formula:
    width = layer.network.second.outputs
    cross, pre = layer.cross, layer.pre
    kind = "Decoder layer" if cross else "Transformer layer"
    where = "attention, cross-attention" if cross else "attention"
    return Formula(
        role="layer",
        title=f"{kind}, {'pre' if pre else 'post'}-norm",
        summary=f"One layer of the stack: {where} and a feed-forward network, each with a residual "
        f"and a {layer.norm.name} {'before' if pre else 'after'} it.",
        maths=(*_steps(layer), f"{_FFN}(x) = {layer.network.maths('x')}"),
        terms=(
            TOKENS,
            Term("X", "input, one row for each position", f"[S, {width}]"),
            Term(_ATTENTION, "multi-head self-attention, with its output projection"),
            *((Term(_ENC, "the encoder's output"),) if cross else ()),
            *((Term(_CROSS, "attention to the encoder's output"),) if cross else ()),
            *layer.network.terms("the feed-forward network's"),
            *layer.norm.terms,
        ),
        notes=_notes(layer, width),
        config_keys=subject.keys("width", "heads", "feed-forward", "activation", "norm first"),
        source="Vaswani et al. 2017, section 3.1"
        + ("; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020" if pre else ""),
    )


def _steps(layer: _Layer) -> tuple[str, ...]:
    steps = [("Z", "X", _ATTENTION, "")]
    if layer.cross:
        steps.append(("Z'", "Z", _CROSS, f", {_ENC}"))
    steps.append(("Y", steps[-1][0], _FFN, ""))
    norm = layer.norm.operator
    lines = []
    for result, argument, function, more in steps:
        target = sized(result, "S", layer.network.second.outputs)
        bare = layer.first_is_bare and argument == "X"
        if layer.pre:
            inner = argument if bare else f"{norm}({argument})"
            lines.append(f"{target} = {argument} + {function}({inner}{more})")
        else:
            lines.append(f"{target} = {norm}({argument} + {function}({argument}{more}))")
    return tuple(lines)


def _notes(layer: _Layer, width: int) -> tuple[str, ...]:
    return (
        RESIDUAL,
        *((PRE_NORM if layer.pre else POST_NORM,) if not layer.first_is_bare else (BARE_FIRST,)),
        "Attention carries information between positions; the feed-forward network works on "
        "each position by itself.",
        f"Input and output have the same shape, [S, {width}], so layers can be stacked.",
        *(("Cross-attention runs only when encoder states are given.",) if layer.optional else ()),
        DROPOUT,
    )
