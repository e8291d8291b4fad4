"""The halves of a layer: attention and feed-forward network, each with its add & norm."""

from bertviewer.core.formulas.activations import ACTIVATION_MEANINGS, GELU, operator_of
from bertviewer.core.formulas.facts import (
    drops_out,
    follows_cross,
    has_projected_embeddings,
)
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import Norm, norm_of
from bertviewer.core.formulas.notation import TOKENS, Affine, sized
from bertviewer.core.formulas.notes import Note, no

RESIDUAL = (
    "Residual connection: each sub-layer’s input is added to its output, so that it need only "
    "learn a correction. The two must have the same shape, and gradients pass through the sum "
    "unchanged."
)
DROPOUT = Note(
    "Dropout is active only during training; in evaluation mode it has no effect and is omitted "
    "here.",
    drops_out,
)
_GIVEN = (
    "The module has two inputs: Z comes from the sibling “self”, and R is the input of the "
    "attention, that is, "
)
_HALVES = (
    "The module has two inputs: H comes from the first half, and R is the input of the first "
    "half, that is, "
)
_RESIDUALS = (
    Note(f"{_GIVEN}the output of the layer’s self-attention block.", lambda view: view.is_cross),
    Note(
        f"{_GIVEN}the output of the previous layer or of the embeddings.",
        lambda view: not view.is_cross and not has_projected_embeddings(view),
    ),
    Note(
        f"{_GIVEN}the output of the previous layer or of embeddings_project.",
        lambda view: not view.is_cross and has_projected_embeddings(view),
    ),
)
ROW_WISE = "Each position is processed independently; only attention mixes positions."


def add_and_norm(view: ModuleView) -> Formula:
    """The attention's projection with add & norm (Vaswani et al. 2017, section 3.1)."""
    dense, norm = view.affine("dense"), norm_of(view, "LayerNorm")
    return Formula(
        title="Output projection, add & norm",
        summary="Mixes the heads’ outputs, adds the attention’s input (the residual) and "
        "normalises the sum.",
        maths=(_normed_sum(norm, dense, "Z", "R", "O"),),
        terms=(
            TOKENS,
            Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the attention", f"[S, {dense.outputs}]"),
            *dense.terms("the output projection", "O"),
            *norm.terms,
        ),
        notes=(
            *_RESIDUALS,
            RESIDUAL,
            post_norm(norm),
            DROPOUT,
        ),
        config_keys=view.keys("width", "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.2.2; He et al. 2016, section 3",
    )


def widening(view: ModuleView) -> Formula:
    """First half of the feed-forward network (Vaswani et al. 2017, section 3.3)."""
    dense, act = view.affine("dense"), operator_of(view, "intermediate_act_fn", GELU)
    return Formula(
        title="Feed-forward network, first half",
        summary=f"Projects each position’s vector from {dense.inputs} to {dense.outputs} features "
        "and applies a non-linearity.",
        maths=(
            f"{sized('H', 'S', dense.outputs)} = {act}("
            f"{dense.maths(sized('X', 'S', dense.inputs), '1')})",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {dense.inputs}]"),
            *dense.terms("the first linear layer", "1"),
            *activation_terms(act),
        ),
        notes=(
            ROW_WISE,
            "Without the non-linearity in between, the two linear layers would collapse into one.",
        ),
        config_keys=view.keys("width", "feed-forward", "activation"),
        source="Vaswani et al. 2017, section 3.3; Devlin et al. 2019, appendix A.2",
    )


def narrowing(view: ModuleView) -> Formula:
    """Second half of the feed-forward network with add & norm (Vaswani et al. 2017, 3.1, 3.3)."""
    dense, norm = view.affine("dense"), norm_of(view, "LayerNorm")
    return Formula(
        title="Feed-forward network, second half, add & norm",
        summary=f"Projects each vector back to {dense.outputs} features, adds the network’s input "
        "(the residual) and normalises the sum.",
        maths=(_normed_sum(norm, dense, "H", "R", "2"),),
        terms=(
            TOKENS,
            Term("H", "output of the first half", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the first half", f"[S, {dense.outputs}]"),
            *dense.terms("the second linear layer", "2"),
            *norm.terms,
        ),
        notes=(
            Note(f"{_HALVES}the output of the attention block.", no(follows_cross)),
            Note(f"{_HALVES}the output of the cross-attention block.", follows_cross),
            RESIDUAL,
            ROW_WISE,
            post_norm(norm),
            DROPOUT,
        ),
        config_keys=view.keys("width", "feed-forward", "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.3",
    )


def attention_block(view: ModuleView) -> Formula:
    """Self-attention with its projection and add & norm (Vaswani et al. 2017, section 3.1)."""
    output = view.below("output")
    inner = '"CrossAttention"(X, X_"enc")' if view.is_cross else '"SelfAttention"(X)'
    children = (
        "Its children are the parts: “self” is the attention, “output” the output projection with "
        "add & norm."
    )
    norm = norm_of(output, "LayerNorm")
    return _block(view, output.affine("dense"), inner, norm, children)


def mpnet_attention_block(view: ModuleView) -> Formula:
    """MPNet's: the attention holds the projection, the block the add & norm."""
    inner = '"Concat"(O_0, O_1, dots)'
    children = (
        "The child “attn” is the attention with its output projection; the norm belongs to this "
        "module."
    )
    projection = view.below("attn").affine("o")
    return _block(view, projection, inner, norm_of(view, "LayerNorm"), children)


def pre_norm_attention(view: ModuleView) -> Formula:
    """T5's attention sub-layer: norm, attention, residual (Raffel et al. 2020, section 2.1)."""
    cross = "EncDecAttention" in view.children
    attention = view.below("EncDecAttention" if cross else "SelfAttention")
    width = attention.affine("o").outputs
    name = '"CrossAttention"' if cross else '"SelfAttention"'
    enc = (Term('X_"enc"', "the encoder’s output"),) if cross else ()
    return _pre_norm(
        view,
        name,
        width=width,
        terms=(*enc, Term(name, "multi-head attention with its output projection")),
        more='X_"enc"' if cross else "",
    )


def pre_norm_feed_forward(view: ModuleView) -> Formula:
    """T5's feed-forward sub-layer: norm, network, residual (Raffel et al. 2020, section 2.1)."""
    width = view.below("DenseReluDense").affine("wo").outputs
    name = '"FeedForward"'
    network = Term(
        name, "the feed-forward network of the child “DenseReluDense”, applied to each row"
    )
    return _pre_norm(view, name, width=width, terms=(network,))


def _block(view: ModuleView, dense: Affine, inner: str, norm: Norm, children: str) -> Formula:
    cross = "Cross" in inner
    return Formula(
        title="Attention block",
        summary="The first sub-layer of a layer: attention, its output projection, the residual "
        f"connection and {norm.one}.",
        maths=(
            f"{sized('Z', 'S', dense.inputs)} = {inner}",
            _normed_sum(norm, dense, "Z", "X", "O"),
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {dense.outputs}]"),
            *((Term('X_"enc"', "the encoder’s output"),) if cross else ()),
            Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]"),
            *dense.terms("the output projection", "O"),
            *norm.terms,
        ),
        notes=(children, RESIDUAL, post_norm(norm)),
        config_keys=view.keys("width", "heads", "epsilon"),
        source="Vaswani et al. 2017, sections 3.1 and 3.2",
    )


def _pre_norm(
    view: ModuleView, name: str, *, width: int, terms: tuple[Term, ...], more: str = ""
) -> Formula:
    norm = norm_of(view, "layer_norm")
    inner = f"{norm.operator}(X)" + (f", {more}" if more else "")
    kind = "the feed-forward network" if "Feed" in name else "attention"
    return Formula(
        title=("Feed-forward" if "Feed" in name else "Attention") + " sub-layer, pre-norm",
        summary=f"Normalises its input, applies {kind} and adds the result to the input (the "
        "residual connection).",
        maths=(f"{sized('Y', 'S', width)} = {sized('X', 'S', width)} + {name}({inner})",),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {width}]"),
            *terms,
            *norm.terms,
        ),
        notes=(
            RESIDUAL,
            "Pre-norm: the norm is applied to the sub-layer’s input, not to the sum.",
            DROPOUT,
        ),
        config_keys=view.keys("width", "feed-forward" if "Feed" in name else "heads", "epsilon"),
        source="Raffel et al. 2020, section 2.1",
    )


def post_norm(norm: Norm) -> str:
    """Return the note on a norm that stands after the residual."""
    return (
        f"Post-norm: the {norm.name} follows the addition, as in the original Transformer, so the "
        "residual path itself is normalised in every layer."
    )


def activation_terms(operator: str) -> tuple[Term, ...]:
    """Return the term for an activation's operator."""
    return (Term(operator, ACTIVATION_MEANINGS[operator]),)


def _normed_sum(norm: Norm, dense: Affine, argument: str, residual: str, index: str) -> str:
    inner = dense.maths(sized(argument, "S", dense.inputs), index)
    total = f"{inner} + {sized(residual, 'S', dense.outputs)}"
    return f"{sized('Y', 'S', dense.outputs)} = {norm.operator}({total})"
