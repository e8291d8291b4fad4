"""Mixing of positions without attention: recurrences and Fourier transforms."""

from dataclasses import replace

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import graph_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.steps.loops import folded
from bertviewer.core.formulas.templates.template import Template

_FOURIER = ("fft", "fft2", "fftn")
_COST = (
    "A recurrence has a state of fixed size: each position costs the same, and a longer sequence "
    "needs no larger memory. Attention compares each position with all visible ones instead."
)


def _fourier(view: ModuleView) -> Formula | None:
    """FNet's mixing (Lee-Thorp et al. 2022, section 3): a Fourier transform over both axes."""
    step = None if view.graph is None else view.graph.only
    if step is None or step.operation not in _FOURIER or view.tensors:
        return None
    width = view.width_of(step)
    return Formula(
        title="Fourier mixing",
        summary="Mixes all positions and all features with a fixed Fourier transform, in place of "
        "attention.",
        maths=(
            f'{sized("Y", "S", width)} = op("Re")(F_S X F_D)',
            "(F_n)_(j, k) = e^(-2 pi i j k \\/ n)",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {width}]"),
            Term("F_S", "discrete Fourier transform over the positions", "[S, S]"),
            Term("F_D", "discrete Fourier transform over the features", f"[{width}, {width}]"),
            Term('op("Re")', "real part; the imaginary part is discarded"),
        ),
        notes=(
            "Every output depends on every position and feature, with fixed weights: nothing is "
            "learnt here. The feed-forward networks learn to use the mixture.",
            "It has no parameters, and a fast Fourier transform needs S log S steps where "
            "attention needs S².",
            "Unlike attention, the mixture does not depend on the content, and padding is mixed in "
            "like any other token.",
        ),
        source="Lee-Thorp et al. 2022, section 3.2",
    )


def _recurrence(view: ModuleView) -> Formula | None:
    """A loop over positions or chunks in which each round reads the one before."""
    flows = view.architecture.flows
    flow = None if flows is None else flows.flow(view.node.path)
    if flow is None or not folded(graph_of(flow)).rounds:
        return None
    written = formula_of_steps(view)
    if written is None:
        return None
    operations = {step.operation for step in graph_of(flow).steps}
    activations = {step.node.details.get("activation") for step in graph_of(flow).steps}
    title, summary, source, notes = _RECURRENCE
    if "convolution" in operations and "softplus" in activations and "exp" in operations:
        title, summary, source, notes = _STATE_SPACE
    elif {"exp", "max", "div"} <= operations or {"exp", "maximum", "div"} <= operations:
        title, summary, source, notes = _WEIGHTED_MEAN
    return replace(
        written, title=title, summary=summary, source=source, notes=(*notes, *written.notes)
    )


_Text = tuple[str, str, str, tuple[str, ...]]
"""Title, summary, source and notes."""

_RECURRENCE: _Text = (
    "Recurrence over positions",
    "Processes positions one after another; each step reads the state that the one before left.",
    "the code of the module",
    (_COST,),
)
_STATE_SPACE: _Text = (
    "Selective state-space mixer",
    "Mixes positions with a recurrence whose state decays and is written to as the input decides; "
    "a gate scales the result.",
    "Gu & Dao 2023, section 3",
    (
        "The input is projected to two parts: one goes through a short convolution and the "
        "recurrence, the other, after SiLU, gates the result.",
        "The convolution reads the current and a few preceding positions, before the recurrence "
        "carries information over longer distances.",
        "Selective: the step size (softplus of a projection of the input) determines how much of "
        "the state is kept and how much of the current position is written. Δ near 0 ignores the "
        "position; a large Δ resets the state to it.",
        "A is stored as log(−A), so that e^(ΔA) is between 0 and 1 and the state cannot grow "
        "without bound.",
        _COST,
    ),
)
_WEIGHTED_MEAN: _Text = (
    "Recurrent weighted mean (WKV)",
    "Each position forms a weighted mean of the values of all preceding positions; the weights "
    "decay with the distance, and the sum is carried along as a state.",
    "Peng et al. 2023, section 3.1",
    (
        "Each position’s weight is e to the power of its key, minus a learnt decay for each "
        "position in between; every feature has a decay of its own. The current position has a "
        "separate bonus.",
        "Numerator and denominator are both carried along. The largest exponent so far is "
        "subtracted from all exponents, so that no power overflows; this does not change the "
        "quotient.",
        _COST,
    ),
)


MIXING = (Template("Fourier mixing", _fourier), Template("recurrence", _recurrence))
