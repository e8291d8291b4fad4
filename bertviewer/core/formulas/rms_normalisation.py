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
    return _formula(view, "gamma", "learnt scale (weight), one for each feature", ())


def rms_norm_one_plus(view: ModuleView) -> Formula:
    """Gemma's RMSNorm, which scales by 1 + weight (Gemma Team 2024; transformers' code)."""
    note = (
        "The scale is 1 + gamma: the stored weight is what is added to 1, so that weights of 0, "
        "where training starts, scale by 1."
    )
    return _formula(view, "(1 + gamma)", "learnt weight, one for each feature", (note,))


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
        Term("m", "mean of the squares of this position's features: one number"),
        Term(
            "epsilon",
            "small constant that keeps the root away from 0",
            None if epsilon is None else number_text(epsilon, 6),
        ),
    ]
    if width:
        terms.append(Term("gamma", meaning, shape_text((width,))))
        terms.append(Term("dot.o", "product feature by feature"))
    return Formula(
        title="Root-mean-square normalisation",
        summary="Divides each position's vector by the root of the mean of its squares, then "
        "scales each feature by a learnt number."
        if width
        else "Divides each position's vector by the root of the mean of its squares.",
        maths=(
            f"{sized('y', size)} = x / sqrt(m + epsilon){factor}",
            f"m = 1/{size} sum_(i=0)^({last}) x_i^2{value}",
        ),
        terms=tuple(terms),
        notes=(
            *notes,
            "It is layer normalisation without its two shifts: no mean is taken off, and no beta "
            "is added. A vector keeps its direction and gets a length of about the root of "
            f"{size}, before gamma."
            if width
            else "It is layer normalisation without the mean, the scale and the shift.",
            "The mean square is taken for each position over its own features. No other position "
            "and no other sequence of the batch takes part.",
            *(_parameters(view, width) if width else ()),
        ),
        config_keys=view.keys("epsilon"),
        source=_SOURCE,
    )


def _parameters(view: ModuleView, width: int) -> tuple[str, ...]:
    return (
        f"Every position shares the same {view.node.own_parameters:,} learnt numbers: feature i "
        f"of every position meets gamma i. Layer normalisation would hold {2 * width:,}.",
    )
