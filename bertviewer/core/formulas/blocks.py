"""The halves of a layer: add & norm, and the feed-forward network."""

from bertviewer.core.formulas.activations import ACTIVATION_MEANINGS, operator_of
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import LAYER_NORM, TOKENS, Affine, sized
from bertviewer.core.formulas.subject import Subject

POST_NORM = (
    "Post-norm: the layer norm comes after the addition, as in the Transformer of 2017, so the "
    "residual path itself is normalised in every layer."
)
DROPOUT = "Dropout acts in training only; in evaluation it does nothing and is left out here."
ROW_WISE = "Each position goes through it on its own; only attention mixes positions."


def add_and_norm(subject: Subject) -> Formula:
    """The attention's projection with add & norm (Vaswani et al. 2017, section 3.1)."""
    dense = subject.affine("dense")
    return Formula(
        role="add & norm",
        title="Output projection, add & norm",
        summary="Mixes the heads' outputs, adds the attention's input (the residual) and "
        "normalises the sum.",
        maths=(_normed_sum(dense, "Z", "R", "O"),),
        terms=(
            TOKENS,
            Term("Z", "the heads' outputs, side by side", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the attention", f"[S, {dense.outputs}]"),
            *dense.terms("the output projection", "O"),
            *norm_terms(subject, "LayerNorm"),
        ),
        notes=(
            "The addition gives gradients a way past the attention.",
            POST_NORM,
            DROPOUT,
        ),
        config_keys=subject.keys("width", "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.2.2; He et al. 2016, section 3",
    )


def widening(subject: Subject) -> Formula:
    """First half of the feed-forward network (Vaswani et al. 2017, section 3.3)."""
    dense = subject.affine("dense")
    act = operator_of(subject, "intermediate_act_fn")
    return Formula(
        role="feed-forward, first half",
        title="Feed-forward network, first half",
        summary=f"Widens each position's vector from {dense.inputs} to {dense.outputs} features "
        "and bends it.",
        maths=(
            f"{sized('H', 'S', dense.outputs)} = {act}("
            f"{dense.maths(sized('X', 'S', dense.inputs), '1')})",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row for each position", f"[S, {dense.inputs}]"),
            *dense.terms("the first linear layer", "1"),
            *activation_terms(act),
        ),
        notes=(
            ROW_WISE,
            "Without the function in between, the two linear layers would collapse into one.",
        ),
        config_keys=subject.keys("width", "feed-forward", "activation"),
        source="Vaswani et al. 2017, section 3.3; Devlin et al. 2019, appendix A.2",
    )


def narrowing(subject: Subject) -> Formula:
    """Second half of the feed-forward network with add & norm (Vaswani et al. 2017, 3.1, 3.3)."""
    dense = subject.affine("dense")
    return Formula(
        role="feed-forward, second half",
        title="Feed-forward network, second half, add & norm",
        summary=f"Brings each vector back to {dense.outputs} features, adds the network's input "
        "(the residual) and normalises the sum.",
        maths=(_normed_sum(dense, "H", "R", "2"),),
        terms=(
            TOKENS,
            Term("H", "output of the first half", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the first half", f"[S, {dense.outputs}]"),
            *dense.terms("the second linear layer", "2"),
            *norm_terms(subject, "LayerNorm"),
        ),
        notes=(ROW_WISE, POST_NORM, DROPOUT),
        config_keys=subject.keys("width", "feed-forward", "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.3",
    )


def feed_forward(subject: Subject) -> Formula:
    """A whole feed-forward network, without residual (Vaswani et al. 2017, section 3.3)."""
    distil = "lin1" in subject.children
    names = ("lin1", "lin2", "activation") if distil else ("c_fc", "c_proj", "act")
    first, second = subject.affine(names[0]), subject.affine(names[1])
    act = operator_of(subject, names[2])
    return Formula(
        role="feed-forward",
        title="Feed-forward network",
        summary=f"Widens each position's vector from {first.inputs} to {first.outputs} features, "
        "bends it and brings it back.",
        maths=(
            f"{sized('H', 'S', first.outputs)} = {act}("
            f"{first.maths(sized('X', 'S', first.inputs), '1')})",
            f"{sized('Y', 'S', second.outputs)} = {second.maths('H', '2')}",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row for each position", f"[S, {first.inputs}]"),
            *first.terms("the first linear layer", "1"),
            *second.terms("the second linear layer", "2"),
            *activation_terms(act),
        ),
        notes=(
            ROW_WISE,
            "The residual is added by the layer around it, not here.",
            DROPOUT,
        ),
        config_keys=subject.keys("width", "feed-forward", "activation", "dropout"),
        source="Vaswani et al. 2017, section 3.3",
    )


def attention_block(subject: Subject) -> Formula:
    """Self-attention with its projection and add & norm (Vaswani et al. 2017, section 3.1)."""
    dense = subject.below("output").affine("dense")
    cross = "Cross" in (subject.class_of("self") or "")
    inner = '"CrossAttention"(X, X_"enc")' if cross else '"SelfAttention"(X)'
    return Formula(
        role="attention block",
        title="Attention block",
        summary="The first sub-layer of a layer: attention, its output projection, the residual "
        "and a layer norm.",
        maths=(
            f"{sized('Z', 'S', dense.inputs)} = {inner}",
            _normed_sum(dense, "Z", "X", "O"),
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row for each position", f"[S, {dense.outputs}]"),
            *((Term('X_"enc"', "the encoder's output"),) if cross else ()),
            Term("Z", "the heads' outputs, side by side", f"[S, {dense.inputs}]"),
            *dense.terms("the output projection", "O"),
            *norm_terms(subject.below("output"), "LayerNorm"),
        ),
        notes=(
            "The children hold the parts: 'self' is the attention, 'output' the projection with "
            "add & norm.",
            POST_NORM,
        ),
        config_keys=subject.keys("width", "heads", "epsilon"),
        source="Vaswani et al. 2017, sections 3.1 and 3.2",
    )


def norm_terms(subject: Subject, *names: str) -> tuple[Term, ...]:
    """Return a term for the layer norm, the first child of these names, with its epsilon."""
    name = next((name for name in names if name in subject.children), None)
    eps = subject.below(name).attribute("eps") if name else None
    value = f"epsilon {eps:g}" if isinstance(eps, float) else None
    return (Term(LAYER_NORM, "layer normalisation of each position's vector", value),)


def activation_terms(operator: str) -> tuple[Term, ...]:
    """Return the term for an activation's operator."""
    return (Term(operator, ACTIVATION_MEANINGS[operator]),)


def _normed_sum(dense: Affine, argument: str, residual: str, index: str) -> str:
    inner = dense.maths(sized(argument, "S", dense.inputs), index)
    total = f"{inner} + {sized(residual, 'S', dense.outputs)}"
    return f"{sized('Y', 'S', dense.outputs)} = {LAYER_NORM}({total})"
