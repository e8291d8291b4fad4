"""Whole layers: attention and feed-forward network, normalised after or before each."""

from dataclasses import dataclass

from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.blocks import DROPOUT, POST_NORM, RESIDUAL
from bertviewer.core.formulas.feed_forward import Network, read_network, read_split_network
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import Norm, norm_of
from bertviewer.core.formulas.notation import TOKENS, sized

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


def bert_layer(view: ModuleView) -> Formula:
    """BERT's layer, post-norm; a decoder's has cross-attention in between."""
    cross = "crossattention" in view.children
    norm = norm_of(view.below("output"), "LayerNorm")
    return _formula(view, _Layer(bert_network(view), norm, cross=cross, optional=cross))


def bert_network(view: ModuleView) -> Network:
    """Return the network whose halves are the children 'intermediate' and 'output'."""
    inner, outer = view.below("intermediate"), view.below("output")
    act = operator_of(inner, "intermediate_act_fn")
    return Network(inner.affine("dense"), outer.affine("dense"), act)


def pre_norm_layer(view: ModuleView, network: Network, norm: Norm, *, cross: bool) -> Formula:
    """Return the formula of a layer whose norms stand before the sub-layers."""
    return _formula(view, _Layer(network, norm, pre=True, cross=cross, optional=cross))


def albert_layer(view: ModuleView) -> Formula:
    """ALBERT's layer: BERT's, with the feed-forward network in the layer itself."""
    first, second = view.affine("ffn"), view.affine("ffn_output")
    network = Network(first, second, operator_of(view, "activation"))
    return _formula(view, _Layer(network, norm_of(view, "full_layer_layer_norm")))


def distilbert_layer(view: ModuleView) -> Formula:
    """DistilBERT's layer: BERT's."""
    network = read_network(view.below("ffn"))
    return _formula(view, _Layer(network, norm_of(view, "output_layer_norm")))


def gpt2_layer(view: ModuleView) -> Formula:
    """GPT-2's block, pre-norm and causal (Radford et al. 2019, section 2.3)."""
    cross = "crossattention" in view.children
    network = read_network(view.below("mlp"))
    layer = _Layer(network, norm_of(view, "ln_1"), pre=True, cross=cross, optional=cross)
    return _formula(view, layer)


def torch_layer(view: ModuleView) -> Formula:
    """torch.nn's encoder or decoder layer; ``norm_first`` chooses where the norms stand."""
    first, second = view.affine("linear1"), view.affine("linear2")
    layer = _Layer(
        Network(first, second, _torch_activation(view)),
        norm_of(view, "norm1"),
        pre=view.attribute("norm_first") is True,
        cross="multihead_attn" in view.children,
    )
    return _formula(view, layer)


def bart_layer(view: ModuleView) -> Formula:
    """BART's encoder or decoder layer, post-norm (Lewis et al. 2020, section 2.1)."""
    return _formula(view, _bart(view, pre=False))


def mbart_layer(view: ModuleView) -> Formula:
    """mBART's: BART's with the norms before the sub-layers (Liu et al. 2020, section 2.2)."""
    return _formula(view, _bart(view, pre=True))


def llama_layer(view: ModuleView) -> Formula:
    """Llama's layer, pre-norm with RMSNorm (Touvron et al. 2023, section 2.2)."""
    view.below("post_attention_layernorm")
    network = read_network(view.below("mlp"))
    return _formula(view, _Layer(network, norm_of(view, "input_layernorm"), pre=True))


def t5_block(view: ModuleView) -> Formula:
    """T5's layer: two or three sub-layers in a list, pre-norm (Raffel et al. 2020, section 2.1)."""
    parts = view.below("layer")
    last = parts.below(str(len(parts.children) - 1))
    cross = len(parts.children) == 3
    layer = _Layer(
        read_network(last.below("DenseReluDense")),
        norm_of(last, "layer_norm"),
        pre=True,
        cross=cross,
        optional=cross,
    )
    return _formula(view, layer)


def modernbert_layer(view: ModuleView) -> Formula:
    """ModernBERT's layer, pre-norm with a gated network (Warner et al. 2024, section 2.1)."""
    layer = _Layer(
        read_split_network(view.below("mlp")),
        norm_of(view, "mlp_norm"),
        pre=True,
        first_is_bare=view.class_of("attn_norm") == "Identity",
    )
    return _formula(view, layer)


def _bart(view: ModuleView, *, pre: bool) -> _Layer:
    cross = "encoder_attn" in view.children
    norm = norm_of(view, "self_attn_layer_norm")
    return _Layer(read_network(view), norm, pre=pre, cross=cross, optional=cross)


def _torch_activation(view: ModuleView) -> str:
    """Return torch's activation: a child module, or a function that a layer does not name."""
    if "activation" in view.children:
        return operator_of(view, "activation")
    known = {1: "relu", 2: "gelu"}
    noted = known.get(view.integer("activation_relu_or_gelu") or 0)
    name = noted or view.config.get("activation")
    return {"relu": 'op("ReLU")', "gelu": 'op("GELU")'}.get(str(name), "phi")


def _formula(view: ModuleView, layer: _Layer) -> Formula:
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
        config_keys=view.keys("width", "heads", "feed-forward", "activation", "norm first"),
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
