"""Whole layers: attention and feed-forward network, normalised after or before each."""

from bertviewer.core.families.layer import Halves, Layer
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.activations import GELU, operator_of
from bertviewer.core.formulas.blocks import DROPOUT, RESIDUAL, post_norm
from bertviewer.core.formulas.feed_forward import FeedForward, network_from, read_network
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import Norm, norm_at, norm_of
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.frozen import frozen

PRE_NORM = (
    "Pre-norm: each sub-layer normalises its own input, and the residual path runs from the first "
    "layer to the last without normalisation."
)
BARE_FIRST = (
    "The first layer has no norm before its attention because the embeddings end with one. "
    "Otherwise it is pre-norm: each sub-layer normalises its own input, and the residual path is "
    "not normalised."
)
_ATTENTION = '"Attention"'
_CROSS = '"CrossAttention"'
_FFN = 'op("FFN")'
_ENC = 'X_"enc"'


@frozen
class _Layer:
    """What a layer is made of; ``pre`` says that the norms stand before the sub-layers."""

    network: FeedForward
    norm: Norm
    pre: bool = False
    cross: bool = False
    # A decoder layer that may run without an encoder's output.
    optional: bool = False
    # ModernBERT's first layer reads what the embeddings have normalised already.
    first_is_bare: bool = False


def layer(view: ModuleView) -> Formula:
    """A layer that its family describes: its norms stand after the residuals, or before.

    After: Vaswani et al. 2017, section 3.1; before: Radford et al. 2019, section 2.3.

    Raises:
        LookupError: it is built otherwise than its family says.
    """
    made = view.description
    if not isinstance(made, Layer):
        raise LookupError(f"{view.node.class_name} is no layer that a family describes")
    cross = made.cross if made.cross is not None and view.has(made.cross.path) else None
    norm = norm_at(view, made.network_norm)
    is_bare = view.below(made.attention.norm).kind is ModuleKind.IDENTITY
    if not is_bare and norm_at(view, made.attention.norm).operator != norm.operator:
        raise LookupError(f"{view.node.class_name} has norms of two kinds")
    found = _Layer(
        network_of(view, made),
        norm,
        pre=made.norms == "before"
        or (made.norms == "chosen" and view.attribute("norm_first") is True),
        cross=cross is not None,
        optional=cross is not None and cross.is_optional,
        first_is_bare=is_bare,
    )
    return _formula(view, found)


def network_of(view: ModuleView, made: Layer) -> FeedForward:
    """Return a layer's network: two halves, modules of the layer's own, or a module."""
    match made.network:
        case Halves():
            return halved_network(view, made.network)
        case str(path):
            return read_network(view.below(path))
        case own:
            return network_from(view, own)


def halved_network(view: ModuleView, made: Halves) -> FeedForward:
    """Return a network in two modules, each with a layer 'dense'."""
    inner, outer = view.below(made.first), view.below(made.second)
    act = operator_of(inner, "intermediate_act_fn", GELU)
    return FeedForward(inner.affine("dense"), outer.affine("dense"), act)


def t5_block(view: ModuleView) -> Formula:
    """T5's layer: two or three sub-layers in a list, pre-norm (Raffel et al. 2020, section 2.1).

    Where the network stands depends on whether there is a cross-attention: no path is for all.
    """
    parts = view.below("layer")
    last = parts.below(str(len(parts.children) - 1))
    network, norm = read_network(last.below("DenseReluDense")), norm_of(last, "layer_norm")
    cross = len(parts.children) == 3
    return _formula(view, _Layer(network, norm, pre=True, cross=cross, optional=cross))


def _formula(view: ModuleView, layer: _Layer) -> Formula:
    width = layer.network.second.outputs
    cross, pre = layer.cross, layer.pre
    kind = "Decoder layer" if cross else "Transformer layer"
    where = "self-attention, cross-attention" if cross else "self-attention"
    norm = layer.norm.one
    order = (
        f"preceded by {norm} and followed by a residual connection"
        if pre
        else f"followed by a residual connection and {norm}"
    )
    return Formula(
        title=f"{kind}, {'pre' if pre else 'post'}-norm",
        summary=f"One layer of the stack: {where} and a feed-forward network, each {order}.",
        maths=(*_steps(layer), f"{_FFN}(x) = {layer.network.maths('x')}"),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {width}]"),
            Term(_ATTENTION, "multi-head self-attention, with its output projection"),
            *((Term(_ENC, "the encoder’s output"),) if cross else ()),
            *((Term(_CROSS, "attention to the encoder’s output"),) if cross else ()),
            *layer.network.terms("the feed-forward network’s"),
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
    where = PRE_NORM if layer.pre else post_norm(layer.norm)
    return (
        RESIDUAL,
        BARE_FIRST if layer.first_is_bare else where,
        "Attention moves information between positions; the feed-forward network processes each "
        "position independently.",
        f"Input and output have the same shape, [S, {width}], so layers can be stacked.",
        *(
            ("Cross-attention runs only when encoder hidden states are given.",)
            if layer.optional
            else ()
        ),
        DROPOUT,
    )
