"""Normalisation: layer norm, RMS norm, and scales without a norm (MobileBERT's NoNorm)."""

from typing import TypeGuard

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM, number_maths, sized
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import number_text

_PRODUCT = Term("dot.o", "element-wise product")
_EPSILON = "small constant that keeps the square root away from 0"
_SCALE_AND_SHIFT = 'op("NoNorm")'
_NAMES = {
    "layer norm": (LAYER_NORM, "layer norm", "layer normalisation of each position’s vector"),
    "rms norm": (RMS_NORM, "RMS norm", "root-mean-square normalisation of each position’s vector"),
    "scale and shift": (
        _SCALE_AND_SHIFT,
        "scale and shift",
        "learnt scale and shift of each feature, without a normalisation",
    ),
}
"""Operator, name and meaning by what the graph calls a norm."""

NORMS = tuple(_NAMES)
"""What the graph calls the norms that transformer layers have."""


@frozen
class Norm:
    """A norm as part of another formula."""

    operator: str
    name: str
    meaning: str
    epsilon: float | None = None

    @classmethod
    def of(cls, step: Step) -> "Norm":
        """Return the norm that a step is."""
        meaning = _NAMES[step.operation][2]
        if step.node.details.get("one_plus"):
            meaning += ", scaled by 1 + weight"
        epsilon = step.node.details.get("eps")
        return cls(
            *_NAMES[step.operation][:2], meaning, epsilon if isinstance(epsilon, float) else None
        )

    @property
    def one(self) -> str:
        """The name with its article."""
        return f"{'an' if self.operator == RMS_NORM else 'a'} {self.name}"

    @property
    def terms(self) -> tuple[Term, ...]:
        """The term that explains it."""
        value = None if self.epsilon is None else f"epsilon {number_text(self.epsilon, 6)}"
        return (Term(self.operator, self.meaning, value),)


def is_norm(step: Step | None) -> TypeGuard[Step]:
    """Return whether a step is a norm that transformer layers have."""
    return step is not None and step.operation in _NAMES


def _sole_norm(view: ModuleView, operation: str) -> Step | None:
    """Return the norm that a module is and nothing else, ``None`` if it is none.

    A norm of torch.nn that is not called, as in a layer without an encoder, has no graph.
    """
    graph = view.graph
    if graph is None or graph.only is None or graph.only.operation != operation:
        return None
    return graph.only if set(view.tensors) <= {"weight", "bias"} else None


def _layer_norm(view: ModuleView) -> Formula | None:
    """Layer normalisation over the last axis (Ba et al. 2016, section 3.1; torch.nn.LayerNorm)."""
    step = _sole_norm(view, "layer norm")
    if step is None and not (view.graph is None and view.node.class_name == "LayerNorm"):
        return None
    epsilon = view.attribute("eps") if step is None else step.node.details.get("eps")
    epsilon = epsilon if isinstance(epsilon, float) else None
    weight, bias = view.shape("weight"), view.shape("bias")
    width = None if weight is None else weight[-1]
    scaled = "" if not weight else ", then scales each feature with learnt parameters"
    scaled = scaled.replace("scales", "scales and shifts") if bias else scaled
    return Formula(
        title="Layer normalisation",
        summary="Normalises each position’s vector to mean 0 and variance 1 over its features"
        f"{scaled}.",
        maths=_layer_norm_maths(width, epsilon, shift=bias is not None),
        terms=_layer_norm_terms(width, epsilon, shift=bias is not None),
        notes=_layer_norm_notes(view, width),
        config_keys=view.keys("epsilon"),
        source="Ba et al. 2016, section 3.1; epsilon under the root as in torch.nn.LayerNorm",
    )


def _layer_norm_maths(width: int | None, epsilon: float | None, *, shift: bool) -> tuple[str, ...]:
    size: int | str = width or "D"
    scale = f" dot.o {sized('gamma', size)}" if width else ""
    shifted = f" + {sized('beta', size)}" if shift else ""
    total = f"1/{size} sum_(i=0)^({width - 1 if width else 'D - 1'})"
    return (
        f"{sized('y', size)} = (x - mu) / sqrt(sigma^2 + epsilon){scale}{shifted}",
        f"mu = {total} x_i, quad sigma^2 = {total} (x_i - mu)^2{_epsilon_maths(epsilon)}",
    )


def _layer_norm_terms(width: int | None, epsilon: float | None, *, shift: bool) -> tuple[Term, ...]:
    shape = shape_text((width,)) if width else None
    terms = [
        Term("x", "input vector of one position", shape),
        Term("mu", "mean of this position’s features (a scalar)"),
        Term("sigma^2", "population variance of this position’s features (a scalar)"),
        _epsilon_term(epsilon),
    ]
    if width:
        terms += [Term("gamma", "learnt scale (weight), one per feature", shape), _PRODUCT]
    if shift:
        terms.append(Term("beta", "learnt shift (bias), one per feature", shape))
    return tuple(terms)


def _layer_norm_notes(view: ModuleView, width: int | None) -> tuple[str, ...]:
    size = f"{width:,}" if width else "D"
    return (
        *_sharing_note(view, size),
        "Mean and variance are computed per position, over its features only; unlike batch "
        "normalisation, no other position or sequence is involved.",
        "PyTorch divides by √(variance + ε). Hand-written versions often divide by (standard "
        "deviation + ε) instead. Inside the root, ε also keeps the gradient finite: the slope of "
        "a square root grows without bound as its argument approaches 0.",
        f"The variance is the population variance: the sum of squares is divided by {size}, not "
        f"by {size} − 1. These features are the whole population, not a sample.",
    )


def _sharing_note(view: ModuleView, size: str) -> tuple[str, ...]:
    """Say what γ and β scale and shift, and how many parameters they have."""
    shifted = view.shape("bias") is not None
    tensors = [shape for name in ("weight", "bias") if (shape := view.shape(name))]
    # A weight with one row per head is a table.
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


def _rms_norm(view: ModuleView) -> Formula | None:
    """RMSNorm over the last axis (Zhang & Sennrich 2019, section 3; torch.nn.RMSNorm).

    Gemma's scales by 1 + weight (Gemma Team 2024; transformers' code).
    """
    step = _sole_norm(view, "rms norm")
    if step is None or "bias" in view.tensors:
        return None
    epsilon = step.node.details.get("eps")
    epsilon = epsilon if isinstance(epsilon, float) else None
    one_plus = step.node.details.get("one_plus") is True
    shape = view.shape("weight")
    width = None if shape is None else shape[-1]
    return Formula(
        title="Root-mean-square normalisation",
        summary="Divides each position’s vector by its root mean square"
        + (", then scales each feature with a learnt parameter." if width else "."),
        maths=_rms_norm_maths(width, epsilon, one_plus=one_plus),
        terms=_rms_norm_terms(width, epsilon, one_plus=one_plus),
        notes=_rms_norm_notes(view, width, one_plus=one_plus),
        config_keys=view.keys("epsilon"),
        source="Zhang & Sennrich 2019, section 3",
    )


def _rms_norm_maths(width: int | None, epsilon: float | None, *, one_plus: bool) -> tuple[str, ...]:
    size: int | str = width or "D"
    gamma = sized("gamma", size)
    scale = f" dot.o {f'(1 + {gamma})' if one_plus else gamma}" if width else ""
    return (
        f"{sized('y', size)} = x / sqrt(m + epsilon){scale}",
        f"m = 1/{size} sum_(i=0)^({width - 1 if width else 'D - 1'}) x_i^2"
        f"{_epsilon_maths(epsilon)}",
    )


def _rms_norm_terms(
    width: int | None, epsilon: float | None, *, one_plus: bool
) -> tuple[Term, ...]:
    shape = shape_text((width,)) if width else None
    gamma = (
        "learnt weight, one per feature" if one_plus else "learnt scale (weight), one per feature"
    )
    return (
        Term("x", "input vector of one position", shape),
        Term("m", "mean of the squares of this position’s features (a scalar)"),
        _epsilon_term(epsilon),
        *((Term("gamma", gamma, shape), _PRODUCT) if width else ()),
    )


def _rms_norm_notes(view: ModuleView, width: int | None, *, one_plus: bool) -> tuple[str, ...]:
    notes = []
    if one_plus:
        notes.append(
            "The scale is 1 + γ: the stored weight is added to 1, so that weights of 0, the "
            "initial values, scale by 1."
        )
    notes += [
        "It is layer normalisation without its two shifts: no mean is subtracted, and no β "
        f"is added. Before γ, a vector keeps its direction and gets a length of about √{width}."
        if width
        else "It is layer normalisation without the mean, the scale and the shift.",
        "The mean square is computed per position, over its features only; unlike batch "
        "normalisation, no other position or sequence is involved.",
    ]
    if width:
        notes.append(
            f"All positions share the same {view.node.own_parameters:,} learnt parameters: "
            "feature i of every position is scaled with element i of γ. Layer normalisation "
            f"would have {2 * width:,}."
        )
    return tuple(notes)


def _no_norm(view: ModuleView) -> Formula | None:
    """MobileBERT's replacement for layer normalisation (Sun et al. 2020, section 3.3)."""
    step = _sole_norm(view, "scale and shift")
    shape = view.shape("weight")
    if step is None or shape is None:
        return None
    size = shape[-1]
    return Formula(
        title="Scale and shift (NoNorm)",
        summary="Scales and shifts each feature with learnt parameters, in place of a norm.",
        maths=(f"{sized('y', size)} = x dot.o {sized('gamma', size)} + {sized('beta', size)}",),
        terms=(
            Term("x", "input vector of one position", shape_text(shape)),
            Term("gamma", "learnt scale (weight), one per feature", shape_text(shape)),
            _PRODUCT,
            Term("beta", "learnt shift (bias), one per feature", shape_text(shape)),
        ),
        notes=(
            "No mean and no variance are computed, so it is faster than layer normalisation; the "
            "vectors are not normalised.",
        ),
        source="Sun et al. 2020, section 3.3",
    )


def _epsilon_maths(epsilon: float | None) -> str:
    return f", quad epsilon = {number_maths(epsilon)}" if epsilon is not None else ""


def _epsilon_term(epsilon: float | None) -> Term:
    return Term("epsilon", _EPSILON, None if epsilon is None else number_text(epsilon, 6))


NORM = (
    Template("layer norm", _layer_norm),
    Template("RMS norm", _rms_norm),
    Template("scale and shift", _no_norm),
)
