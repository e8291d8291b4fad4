"""Root-mean-square normalisation: layer norm without the mean and without the shift."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import epsilon_of
from bertviewer.core.formulas.notation import number_maths, sized
from bertviewer.core.text.numerals import number_text

_SOURCE = "Zhang & Sennrich 2019, section 3"


def rms_norm(view: ModuleView) -> Formula:
    """RMSNorm over the last axis (Zhang & Sennrich 2019, section 3; torch.nn.RMSNorm)."""
    return _formula(view, "gamma", "learnt scale (weight), one per feature", ())


def rms_norm_one_plus(view: ModuleView) -> Formula:
    """Gemma's RMSNorm, which scales by 1 + weight (Gemma Team 2024; transformers' code)."""
    note = (
        "The scale is 1 + γ: the stored weight is added to 1, so that weights of 0, the initial "
        "values, scale by 1."
    )
    return _formula(view, "(1 + gamma)", "learnt weight, one per feature", (note,))


def _formula(view: ModuleView, scale: str, meaning: str, notes: tuple[str, ...]) -> Formula:
    shape = view.shape("weight")
    width = None if shape is None else shape[-1]
    size: int | str = width or "D"
    last = width - 1 if width else "D - 1"
    epsilon = epsilon_of(view)
    value = "" if epsilon is None else f", quad epsilon = {number_maths(epsilon)}"
    weight = scale.replace("gamma", sized("gamma", size))
    factor = f" dot.o {weight}" if width else ""
    terms = [
        Term("x", "input vector of one position", shape_text((width,)) if width else None),
        Term("m", "mean of the squares of this position’s features (a scalar)"),
        Term(
            "epsilon",
            "small constant that keeps the square root away from 0",
            None if epsilon is None else number_text(epsilon, 6),
        ),
    ]
    if width:
        terms.append(Term("gamma", meaning, shape_text((width,))))
        terms.append(Term("dot.o", "element-wise product"))
    return Formula(
        title="Root-mean-square normalisation",
        summary="Divides each position’s vector by its root mean square, then scales each feature "
        "with a learnt parameter."
        if width
        else "Divides each position’s vector by its root mean square.",
        maths=(
            f"{sized('y', size)} = x / sqrt(m + epsilon){factor}",
            f"m = 1/{size} sum_(i=0)^({last}) x_i^2{value}",
        ),
        terms=tuple(terms),
        notes=(
            *notes,
            "It is layer normalisation without its two shifts: no mean is subtracted, and no β "
            f"is added. Before γ, a vector keeps its direction and gets a length of about √{size}."
            if width
            else "It is layer normalisation without the mean, the scale and the shift.",
            "The mean square is computed per position, over its features only; unlike batch "
            "normalisation, no other position or sequence is involved.",
            *(_parameters(view, width) if width else ()),
        ),
        config_keys=view.keys("epsilon"),
        source=_SOURCE,
    )


def _parameters(view: ModuleView, width: int) -> tuple[str, ...]:
    return (
        f"All positions share the same {view.node.own_parameters:,} learnt parameters: feature i "
        "of every position is scaled with element i of γ. Layer normalisation would have "
        f"{2 * width:,}.",
    )
