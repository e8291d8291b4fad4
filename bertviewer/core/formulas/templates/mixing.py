"""Mixing of positions without attention: recurrences and Fourier transforms."""

from functools import partial

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.steps.formula import match_of_steps
from bertviewer.core.formulas.steps.loops import folded, rounds_of
from bertviewer.core.formulas.templates.template import Match, Template


def _fourier(view: ModuleView) -> Match | None:
    """FNet's mixing: a Fourier transform over both axes."""
    step = view.only("fft", "fft2", "fftn")
    if step is None or view.tensors:
        return None
    width = view.width_of(step)
    return Match(
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
    )


def _recurrence(known: tuple[set[str], ...], view: ModuleView) -> Match | None:
    """A loop over positions that has all operations and activations of one of these sets."""
    graph = view.graph
    if graph is None or not rounds_of(folded(graph)):
        return None
    names = {step.operation for step in graph.steps}
    names |= {str(step.node.details.get("activation")) for step in graph.steps}
    return match_of_steps(view) if any(each <= names for each in known) else None


_SSM = ({"convolution", "softplus", "exp"},)
_WKV = ({"exp", "max", "div"}, {"exp", "maximum", "div"})
_COST = (
    "A recurrence has a state of fixed size: each position costs the same, and a longer sequence "
    "needs no larger memory. Attention compares each position with all visible ones instead."
)

MIXING = (
    Template(
        "Fourier mixing",
        _fourier,
        title="Fourier mixing",
        summary="Mixes all positions and all features with a fixed Fourier transform, in place of "
        "attention.",
        notes=(
            "Every output depends on every position and feature, with fixed weights: nothing is "
            "learnt here. The feed-forward networks learn to use the mixture.",
            "It has no parameters, and a fast Fourier transform needs S log S steps where "
            "attention needs S².",
            "Unlike attention, the mixture does not depend on the content, and padding is mixed in "
            "like any other token.",
        ),
        source="Lee-Thorp et al. 2022, section 3.2",
    ),
    Template(
        "recurrence",
        partial(_recurrence, _SSM),
        title="Selective state-space mixer",
        summary="Mixes positions with a recurrence whose state decays and is written to as the "
        "input decides; a gate scales the result.",
        notes=(
            "The input is projected to two parts: one goes through a short convolution and the "
            "recurrence, the other, after SiLU, gates the result.",
            "The convolution reads the current and a few preceding positions, before the "
            "recurrence carries information over longer distances.",
            "Selective: the step size (softplus of a projection of the input) determines how much "
            "of the state is kept and how much of the current position is written. Δ near 0 "
            "ignores the position; a large Δ resets the state to it.",
            "A is stored as log(−A), so that e^(ΔA) is between 0 and 1 and the state cannot grow "
            "without bound.",
            _COST,
            "{steps}",
        ),
        source="Gu & Dao 2023, section 3",
    ),
    Template(
        "recurrence",
        partial(_recurrence, _WKV),
        title="Recurrent weighted mean (WKV)",
        summary="Each position forms a weighted mean of the values of all preceding positions; the "
        "weights decay with the distance, and the sum is carried along as a state.",
        notes=(
            "Each position’s weight is e to the power of its key, minus a learnt decay for each "
            "position in between; every feature has a decay of its own. The current position has a "
            "separate bonus.",
            "Numerator and denominator are both carried along. The largest exponent so far is "
            "subtracted from all exponents, so that no power overflows; this does not change the "
            "quotient.",
            _COST,
            "{steps}",
        ),
        source="Peng et al. 2023, section 3.1",
    ),
    Template(
        "recurrence",
        partial(_recurrence, (set(),)),
        title="Recurrence over positions",
        summary="Processes positions one after another; each step reads the state that the one "
        "before left.",
        notes=(_COST, "{steps}"),
        source="the code of the module",
    ),
)
