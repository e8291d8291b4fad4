"""SqueezeBERT: BERT with grouped convolutions in place of linear layers (Iandola et al. 2020).

Section 3: a convolution of one position is a linear layer; with several groups, a group of features
is made from its own group only. Tensors are [features, positions] here.
"""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.families.family import kind_of
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.activations import operator_of
from bertviewer.core.formulas.attention import head_counts
from bertviewer.core.formulas.blocks import DROPOUT, RESIDUAL, activation_terms, post_norm
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import (
    NO_PARAMETERS,
    SOFTMAX,
    TOKENS,
    indices,
    listing,
    sized,
)
from bertviewer.core.text.numerals import count_text

_SOURCE = "Iandola et al. 2020, section 3"
_CONV = 'op("Conv")'
# Their convolutions are built with a kernel of one position, which never leaves one out.
_HOLDERS = (
    ModuleKind.SQUEEZEBERT_ATTENTION,
    ModuleKind.CONVOLUTION_AND_NORM,
    ModuleKind.CONVOLUTION_AND_ACTIVATION,
)


def convolution(view: ModuleView) -> Formula:
    """A convolution of one position, in groups (Iandola et al. 2020, section 3)."""
    parent = next(n for n in view.architecture.modules if n.path == view.node.parent)
    if kind_of(view.classes.get(parent.class_name)) not in _HOLDERS:
        raise LookupError("a convolution of more than one position")
    outputs, each, _ = view.tensors["weight"].shape
    groups = view.integer("groups") or 1
    made = outputs // groups
    bias = " + b_j" if "bias" in view.tensors else ""
    biases = (Term("b_j", "bias of feature j", shape_text((outputs,))),) if bias else ()
    return Formula(
        title="Grouped convolution with kernel size 1"
        if groups > 1
        else "Convolution with kernel size 1",
        summary="Maps each position’s vector to a new one, made of weighted sums within groups of "
        "features."
        if groups > 1
        else "Maps each position’s vector to a new one, made of weighted sums.",
        maths=(
            f"y_j = sum_(i=0)^({each - 1}) x_({each} g(j) + i) W_(j, i){bias}, quad "
            f"j = {indices(outputs)}",
            f"g(j) = floor(j \\/ {made})",
        ),
        terms=(
            Term("x", "input vector of one position", shape_text((each * groups,))),
            Term("W", "weight, stored [out, in per group, 1]", f"[{outputs}, {each}, 1]"),
            *biases,
            Term("g(j)", "group of output feature j", count_text(groups, "1", "{0} groups")),
        ),
        notes=(
            "It is equivalent to a linear layer"
            + (
                f" with a block-diagonal matrix of {groups} blocks: {groups} times fewer weights "
                "and products."
                if groups > 1
                else "."
            ),
        ),
        config_keys=view.keys("groups of features"),
        source=_SOURCE,
    )


def convolution_and_norm(view: ModuleView) -> Formula:
    """Convolution, residual and layer norm (Iandola et al. 2020, section 3)."""
    outputs, inputs = _sizes(view)
    norm = norm_of(view, "layernorm")
    total = f"{_CONV}({sized('Z', inputs, 'S')}) + {sized('R', outputs, 'S')}"
    return Formula(
        title="Convolution, add & norm",
        summary="Mixes the features of each position, adds the sub-layer’s input (the residual) "
        "and normalises the sum.",
        maths=(f"{sized('Y', outputs, 'S')} = {norm.operator}({total})",),
        terms=(
            TOKENS,
            Term("Z", "output of the preceding part", f"[{inputs}, S]"),
            Term("R", "residual: the input of the sub-layer", f"[{outputs}, S]"),
            Term(_CONV, "the convolution “conv1d”"),
            *norm.terms,
        ),
        notes=(RESIDUAL, post_norm(norm), DROPOUT),
        config_keys=view.keys("width", "groups of features", "dropout"),
        source=_SOURCE,
    )


def convolution_and_act(view: ModuleView) -> Formula:
    """First half of the feed-forward network (Iandola et al. 2020, section 3)."""
    outputs, inputs = _sizes(view)
    act = operator_of(view, "act")
    return Formula(
        title="Feed-forward network, first half",
        summary=f"Projects each position’s vector from {inputs} to {outputs} features and applies "
        "a non-linearity.",
        maths=(f"{sized('H', outputs, 'S')} = {act}({_CONV}({sized('X', inputs, 'S')}))",),
        terms=(
            TOKENS,
            Term("X", "input, one column per position", f"[{inputs}, S]"),
            Term(_CONV, "the convolution “conv1d”"),
            *activation_terms(act),
        ),
        notes=("Each position is processed independently; only attention mixes positions.",),
        config_keys=view.keys("width", "feed-forward", "groups of features", "activation"),
        source=_SOURCE,
    )


def layer(view: ModuleView) -> Formula:
    """BERT's layer, post-norm, of convolutions (Iandola et al. 2020, section 3)."""
    width = view.tensors["attention.query.weight"].shape[0]
    act = operator_of(view.below("intermediate"), "act")
    norm = norm_of(view.below("output"), "layernorm")
    target = sized("Z", width, "S")
    return Formula(
        title="Transformer layer with convolutions, post-norm",
        summary="One layer of the stack: self-attention and a feed-forward network, each "
        f"followed by a residual connection and {norm.one}.",
        maths=(
            f'{target} = {norm.operator}(X + {_CONV}_O ("Attention"(X)))',
            f"{sized('Y', width, 'S')} = {norm.operator}(Z + {_CONV}_2 ({act}({_CONV}_1 (Z))))",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one column per position", f"[{width}, S]"),
            Term('"Attention"', "the child “attention”"),
            Term(f"{_CONV}_O", "the convolution of the child “post_attention”"),
            Term(f"{_CONV}_1", "the convolution of the child “intermediate”"),
            Term(f"{_CONV}_2", "the convolution of the child “output”"),
            *activation_terms(act),
            *norm.terms,
        ),
        notes=(RESIDUAL, post_norm(norm), DROPOUT),
        config_keys=view.keys("width", "heads", "feed-forward", "activation"),
        source=_SOURCE,
    )


def _sizes(view: ModuleView) -> tuple[int, int]:
    """Return the features that a child's convolution gives and takes."""
    inner = view.below("conv1d")
    outputs, each, _ = inner.tensors["weight"].shape
    return outputs, each * (inner.integer("groups") or 1)
