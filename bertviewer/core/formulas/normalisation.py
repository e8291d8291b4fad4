"""Layer normalisation, the step that learners ask about most."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import epsilon_of
from bertviewer.core.formulas.notation import number_maths, sized
from bertviewer.core.text.numerals import number_text


def layer_norm(view: ModuleView) -> Formula:
    """Layer normalisation over the last axis (Ba et al. 2016, section 3.1; torch.nn.LayerNorm)."""
    shape = view.shape("weight")
    width = None if shape is None else shape[-1]
    epsilon = epsilon_of(view)
    return Formula(
        title="Layer normalisation",
        summary="Normalises each position’s vector to mean 0 and variance 1 over its features"
        + _afterwards(view),
        maths=_maths(view, width, epsilon),
        terms=_terms(view, width, epsilon),
        notes=_notes(view, width),
        config_keys=view.keys("epsilon"),
        source="Ba et al. 2016, section 3.1; epsilon under the root as in torch.nn.LayerNorm",
    )


def _afterwards(view: ModuleView) -> str:
    if not view.shape("weight"):
        return "."
    shifts = " and shifts" if view.shape("bias") else ""
    return f", then scales{shifts} each feature with learnt parameters."


def _maths(view: ModuleView, width: int | None, epsilon: float | None) -> tuple[str, ...]:
    size = width or "D"
    last = width - 1 if width else "D - 1"
    scale = f" dot.o {sized('gamma', size)}" if view.shape("weight") else ""
    shift = f" + {sized('beta', size)}" if view.shape("bias") else ""
    total = f"1/{size} sum_(i=0)^({last})"
    value = f", quad epsilon = {number_maths(epsilon)}" if epsilon is not None else ""
    return (
        f"{sized('y', size)} = (x - mu) / sqrt(sigma^2 + epsilon){scale}{shift}",
        f"mu = {total} x_i, quad sigma^2 = {total} (x_i - mu)^2{value}",
    )


def _terms(view: ModuleView, width: int | None, epsilon: float | None) -> tuple[Term, ...]:
    shape = shape_text((width,)) if width else None
    terms = [
        Term("x", "input vector of one position", shape),
        Term("mu", "mean of this position’s features (a scalar)"),
        Term("sigma^2", "population variance of this position’s features (a scalar)"),
        Term(
            "epsilon",
            "small constant that keeps the square root away from 0",
            None if epsilon is None else number_text(epsilon, 6),
        ),
    ]
    if view.shape("weight"):
        terms.append(Term("gamma", "learnt scale (weight), one per feature", shape))
        terms.append(Term("dot.o", "element-wise product"))
    if view.shape("bias"):
        terms.append(Term("beta", "learnt shift (bias), one per feature", shape))
    return tuple(terms)


def _notes(view: ModuleView, width: int | None) -> tuple[str, ...]:
    size = f"{width:,}" if width else "D"
    return (
        *_parameter_notes(view, size),
        "Mean and variance are computed per position, over its features only; unlike batch "
        "normalisation, no other position or sequence is involved.",
        "PyTorch divides by √(variance + ε). Hand-written versions often divide by (standard "
        "deviation + ε) instead. Inside the root, ε also keeps the gradient finite: the slope of "
        "a square root grows without bound as its argument approaches 0.",
        f"The variance is the population variance: the sum of squares is divided by {size}, not "
        f"by {size} − 1. These features are the whole population, not a sample.",
    )


def _parameter_notes(view: ModuleView, size: str) -> tuple[str, ...]:
    """Answer what γ scales."""
    shifted = view.shape("bias") is not None
    tensors = [shape for name in ("weight", "bias") if (shape := view.shape(name))]
    # A weight of each head's own is a table of them.
    if not view.shape("weight") or any(len(shape) != 1 for shape in tensors):
        return ()
    each = "its own γ and β" if shifted else "its own γ"
    product = f"2 × {size} = " if shifted else ""
    return (
        f"Each of the {size} features has {each}, shared by all positions: {product}"
        f"{view.node.own_parameters:,} parameters, regardless of the sequence length. An input of "
        f"[1, 512, {size.replace(',', '')}] has 512 means and 512 variances, and feature i of "
        "every position is multiplied by element i of γ"
        + (" and shifted by element i of β." if shifted else "."),
    )
