"""Whole layers: attention and feed-forward network, normalised after or before each."""

from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.blocks import (
    DROPOUT,
    POST_NORM,
    activation_terms,
    norm_terms,
)
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import LAYER_NORM, TOKENS, Affine, sized
from bertviewer.core.formulas.subject import Subject

PRE_NORM = (
    "Pre-norm: each sub-layer normalises its own input, and the residual path runs from the first "
    "layer to the last without a layer norm on it."
)
_ATTENTION = '"Attention"'
_CROSS = '"CrossAttention"'
_FFN = 'op("FFN")'
_ENC = 'X_"enc"'


def bert_layer(subject: Subject) -> Formula:
    """BERT's layer, post-norm; a decoder's has cross-attention in between."""
    inner, outer = subject.below("intermediate"), subject.below("output")
    act = operator_of(inner, "intermediate_act_fn")
    return _layer(
        subject,
        (inner.affine("dense"), outer.affine("dense")),
        act,
        norm_terms(outer, "LayerNorm"),
        cross="crossattention" in subject.children,
    )


def albert_layer(subject: Subject) -> Formula:
    """ALBERT's layer: BERT's, with the feed-forward network in the layer itself."""
    return _layer(
        subject,
        (subject.affine("ffn"), subject.affine("ffn_output")),
        operator_of(subject, "activation"),
        norm_terms(subject, "full_layer_layer_norm"),
    )


def distilbert_layer(subject: Subject) -> Formula:
    """DistilBERT's layer: BERT's."""
    network = subject.below("ffn")
    return _layer(
        subject,
        (network.affine("lin1"), network.affine("lin2")),
        operator_of(network, "activation"),
        norm_terms(subject, "output_layer_norm"),
    )


def gpt2_layer(subject: Subject) -> Formula:
    """GPT-2's block, pre-norm and causal (Radford et al. 2019, section 2.3)."""
    network = subject.below("mlp")
    return _layer(
        subject,
        (network.affine("c_fc"), network.affine("c_proj")),
        operator_of(network, "act"),
        norm_terms(subject, "ln_1"),
        cross="crossattention" in subject.children,
        pre=True,
    )


def torch_layer(subject: Subject) -> Formula:
    """torch.nn's encoder or decoder layer; ``norm_first`` chooses where the norms stand."""
    return _layer(
        subject,
        (subject.affine("linear1"), subject.affine("linear2")),
        _torch_activation(subject),
        norm_terms(subject, "norm1"),
        cross="multihead_attn" in subject.children,
        pre=subject.attribute("norm_first") is True,
    )


def _torch_activation(subject: Subject) -> str:
    """Return torch's activation: a child module, or a function that a layer does not name."""
    if "activation" in subject.children:
        return operator_of(subject, "activation")
    known = {1: "relu", 2: "gelu"}
    noted = known.get(subject.integer("activation_relu_or_gelu") or 0)
    name = noted or subject.config.get("activation")
    return {"relu": 'op("ReLU")', "gelu": 'op("GELU")'}.get(str(name), "phi")


def _layer(
    subject: Subject,
    network: tuple[Affine, Affine],
    act: str,
    norm: tuple[Term, ...],
    *,
    cross: bool = False,
    pre: bool = False,
) -> Formula:
    first, second = network
    width = second.outputs
    norms = "before" if pre else "after"
    # torch's decoder layer always has the encoder's output; BERT and GPT-2 may run without.
    optional = "crossattention" in subject.children
    kind = "Decoder layer" if cross else "Transformer layer"
    where = "attention, cross-attention" if cross else "attention"
    return Formula(
        role="layer",
        title=f"{kind}, {'pre' if pre else 'post'}-norm",
        summary=f"One layer of the stack: {where} and a feed-forward network, each with a residual "
        f"and a layer norm {norms} it.",
        maths=_maths(first, second, act, cross=cross, pre=pre),
        terms=(
            TOKENS,
            Term("X", "input, one row for each position", f"[S, {width}]"),
            Term(_ATTENTION, "multi-head self-attention, with its output projection"),
            *((Term(_ENC, "the encoder's output"),) if cross else ()),
            *((Term(_CROSS, "attention to the encoder's output"),) if cross else ()),
            *first.terms("the feed-forward network's first linear layer", "1"),
            *second.terms("the feed-forward network's second linear layer", "2"),
            *activation_terms(act),
            *norm,
        ),
        notes=(
            PRE_NORM if pre else POST_NORM,
            "Attention carries information between positions; the feed-forward network works on "
            "each position by itself.",
            f"Input and output have the same shape, [S, {width}], so layers can be stacked.",
            *(("Cross-attention runs only when encoder states are given.",) if optional else ()),
            DROPOUT,
        ),
        config_keys=subject.keys("width", "heads", "feed-forward", "activation", "norm first"),
        source="Vaswani et al. 2017, section 3.1"
        + ("; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020" if pre else ""),
    )


def _maths(first: Affine, second: Affine, act: str, *, cross: bool, pre: bool) -> tuple[str, ...]:
    steps = [("Z", "X", _ATTENTION, "")]
    if cross:
        steps.append(("Z'", "Z", _CROSS, f", {_ENC}"))
    last = steps[-1][0]
    steps.append(("Y", last, _FFN, ""))
    lines = []
    for result, argument, function, more in steps:
        target = sized(result, "S", second.outputs)
        if pre:
            lines.append(f"{target} = {argument} + {function}({LAYER_NORM}({argument}){more})")
        else:
            lines.append(f"{target} = {LAYER_NORM}({argument} + {function}({argument}{more}))")
    network = second.maths(f"{act}({first.maths('x', '1')})", "2")
    return (*lines, f"{_FFN}(x) = {network}")
