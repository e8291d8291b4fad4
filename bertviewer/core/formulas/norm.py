"""Normalisation: layer norm, RMS norm, and scales without a norm (MobileBERT's NoNorm)."""

from collections.abc import Callable
from typing import TypeGuard

from msgspec import Struct

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import RMS_NORM, Term, number_maths, sized
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.util.numbers import number_text

NORMS = ("layer norm", "rms norm", "scale and shift")
"""Operations of the graph that are norms of transformer layers."""

MEANINGS = {
    "layer norm": "layer normalisation of each position’s vector",
    "rms norm": "root-mean-square normalisation of each position’s vector",
    "scale and shift": "learnt scale and shift of each feature, without a normalisation",
    "group norm": "normalisation within groups of features",
    "batch norm": "normalisation by the mean and variance kept from training",
    "instance norm": "normalisation of each feature by itself",
}
"""Meanings of all norms, including those of convolutional networks."""


class Norm(Struct, frozen=True):
    """A norm as part of another formula: its operator, its name in sentences and its term."""

    operator: str
    name: str
    meaning: str
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, step: Step) -> "Norm":
        """Return the norm of a step."""
        name = step.operation.replace("rms", "RMS")
        title = step.operation.title().replace("Rms", "RMS").replace(" ", "")
        title = "NoNorm" if name == "scale and shift" else title
        operator, meaning = f'op("{title}")', MEANINGS[step.operation]
        meaning += ", scaled by 1 + weight" if step.node.details.get("one_plus") else ""
        epsilon = step.node.details.get("eps")
        value = f"epsilon {number_text(epsilon, 6)}" if isinstance(epsilon, float) else None
        return cls(operator, name, meaning, (Term(operator, meaning, value),))

    @property
    def with_article(self) -> str:
        """The name with its article."""
        return f"{'an' if self.operator == RMS_NORM else 'a'} {self.name}"


def is_norm(step: Step | None) -> TypeGuard[Step]:
    """Return whether a step is a norm that transformer layers have."""
    return step is not None and step.operation in NORMS


def _norm_matcher(
    operation: str, vector: str, statistics: str = "", *explained: Term
) -> Callable[[ModuleView], Match | None]:
    """Return a ``Template.match`` for modules that are one norm over the last axis.

    ``vector`` is the normalised vector; in the line of ``statistics``, ``{n}`` is the number of
    features and ``{i}`` the index of the last one.
    """

    def match(view: ModuleView) -> Match | None:
        step = view.only(operation)
        # One of torch.nn may not be called, as in a decoder layer without encoder.
        is_uncalled = not view.is_called and view.node.class_name == "LayerNorm"
        is_uncalled = is_uncalled and operation == "layer norm"
        if (step is None or not set(view.tensors) <= {"weight", "bias"}) and not is_uncalled:
            return None
        stored = view.attribute("eps") if step is None else step.node.details.get("eps")
        epsilon = stored if isinstance(stored, float) else None
        one_plus = step is not None and step.node.details.get("one_plus") is True
        weight, has_shift = view.shape("weight") or (), "bias" in view.tensors
        width = weight[-1] if weight else None
        size: int | str = width or "D"
        shape = shape_text((width,)) if width else None
        gamma = f"(1 + {sized('gamma', size)})" if one_plus else sized("gamma", size)
        scale, shift = f" dot.o {gamma}" if width else "", f" + {sized('beta', size)}"
        maths = [f"{sized('y', size)} = {vector}{scale}{shift if has_shift else ''}"]
        terms = [Term("x", "input vector of one position", shape), *explained]
        if statistics:
            number = f", quad epsilon = {number_maths(epsilon)}" if epsilon is not None else ""
            maths.append(statistics.format(n=size, i=width - 1 if width else "D - 1") + number)
            what = "small constant that keeps the square root away from 0"
            value = None if epsilon is None else number_text(epsilon, 6)
            terms.append(Term("epsilon", what, value))
        if width:
            what = f"learnt {'weight' if one_plus else 'scale (weight)'}, one per feature"
            terms += [Term("gamma", what, shape), Term("dot.o", "element-wise product")]
        if has_shift:
            terms.append(Term("beta", "learnt shift (bias), one per feature", shape))
        count = f"{view.node.own_parameters:,}"
        total = f"2 × {width:,} = {count}" if has_shift and width else count
        values = {
            "learnt": _LEARNT[bool(width) + has_shift],
            "one plus": one_plus,
            "width": width,
            "length": None if has_shift else width,
            "size": f"{width:,}" if width else "D",
            "own": "γ and β" if has_shift else "γ",
            "applied": "γ and shifted by element i of β" if has_shift else "γ",
            # A weight with one row per head is a table.
            "total": total if len(weight) == 1 else None,
            "count": None if has_shift or not width else count,
            "double": f"{2 * (width or 0):,}",
        }
        return Match(tuple(maths), tuple(terms), values)

    return match


_LEARNT = (
    "",
    ", then scales each feature with a learnt parameter",
    ", then scales and shifts each feature with learnt parameters",
)
NORM = (
    Template(
        "layer norm",
        _norm_matcher(
            "layer norm",
            "(x - mu) / sqrt(sigma^2 + epsilon)",
            "mu = 1/{n} sum_(i=0)^({i}) x_i, quad sigma^2 = 1/{n} sum_(i=0)^({i}) (x_i - mu)^2",
            Term("mu", "mean of this position’s features (a scalar)"),
            Term("sigma^2", "population variance of this position’s features (a scalar)"),
        ),
        title="Layer normalisation",
        summary="Normalises each position’s vector to mean 0 and variance 1 over its features"
        "{learnt}.",
        notes=(
            "Each of the {size} features has its own {own}, shared by all positions: {total} "
            "parameters, regardless of the sequence length. An input of [1, 512, {width}] has 512 "
            "means and 512 variances, and feature i of every position is multiplied by element i "
            "of {applied}.",
            "Mean and variance are computed per position, over its features only. Batch "
            "normalisation instead uses the mean and variance of each feature over a batch; here, "
            "no other position or sequence is involved.",
            "PyTorch divides by √(variance + ε). Hand-written versions often divide by (standard "
            "deviation + ε) instead. Inside the root, ε also keeps the gradient finite: the slope "
            "of a square root grows without bound as its argument approaches 0.",
            "The variance is the population variance: the sum of squares is divided by {size}, "
            "not by {size} − 1. These features are the whole population, not a sample.",
        ),
        keys=("epsilon",),
        source="Ba et al. 2016, section 3.1; epsilon under the root as in torch.nn.LayerNorm",
    ),
    Template(
        "RMS norm",
        _norm_matcher(
            "rms norm",
            'x / (op("RMS")(x))',
            'op("RMS")(x) = sqrt(1/{n} sum_(i=0)^({i}) x_i^2 + epsilon)',
            Term('op("RMS")', "root mean square of this position’s features (a scalar)"),
        ),
        title="Root-mean-square normalisation",
        summary="Divides each position’s vector by its root mean square{learnt}.",
        notes=(
            "{one plus?} The scale is 1 + γ: the stored weight is added to 1, so that weights of "
            "0, the initial values, scale by 1.",
            "It is layer normalisation without its two shifts: no mean is subtracted, and no β is "
            "added. Before γ, a vector keeps its direction and gets a length of about √{length}.",
            "{not width?} It is layer normalisation without the mean, the scale and the shift.",
            "The mean square is computed per position, over its features only; unlike in batch "
            "normalisation, no other position or sequence is involved.",
            "All positions share the same {count} learnt parameters: feature i of every position "
            "is scaled with element i of γ. Layer normalisation would have {double}.",
        ),
        keys=("epsilon",),
        source="Zhang & Sennrich 2019, section 3",
    ),
    Template(
        "scale and shift",
        _norm_matcher("scale and shift", "x"),
        title="Scale and shift (NoNorm)",
        summary="Scales and shifts each feature with learnt parameters, in place of a norm.",
        notes=(
            "No mean and no variance are computed, so it is faster than layer normalisation; the "
            "vectors are not normalised.",
        ),
        source="Sun et al. 2020, section 3.3",
    ),
)
