"""Ways to mix positions other than attention: convolutions, recurrences, Fourier transforms."""

import json
from functools import partial

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import GROUP, TOKENS, Term, sized
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.lines import match_of_steps
from bertviewer.core.formulas.steps.loops import fold_loop, loop_iterations
from bertviewer.core.formulas.template import Match, Template


def _convolution(view: ModuleView) -> Match | None:
    """One convolution, with the stride, padding, dilation and groups of the call."""
    step = view.only("convolution")
    stored = [] if step is None else [o.parameter for o in step.operands if o.parameter]
    shape = next((view.parameter_shape(name) for name in stored if name.endswith("weight")), ())
    if step is None or step.node.path != view.node.path or len(shape) < 3:
        return None
    outputs, each_reads, *sizes = shape
    axes = len(sizes)
    plain = [each.plain for each in step.operands if each.plain and each.plain != "None"]
    try:
        stride, padding, dilation, (groups, *_) = (_of_axes(text, axes) for text in plain)
    except ValueError:  # padding as a word: "same"; a transposed convolution has more settings
        return None
    inputs = each_reads * groups
    is_depthwise = groups == inputs == outputs
    bias = ("b" if groups == 1 else "b_j") if len(stored) > 1 else ""
    numbers = [""] if axes == 1 else [f"_{number}" for number in range(1, axes + 1)]
    inner, outer = ([f"{letter}{number}" for number in numbers] for letter in "ks")
    places = [
        f"{outer[i] if stride[i] == 1 else f'{stride[i]} {outer[i]}'} + "
        f"{inner[i] if dilation[i] == 1 else f'{dilation[i]} {inner[i]}'}"
        + (f" - {padding[i]}" if padding[i] else "")
        for i in range(axes)
    ]
    sums = " ".join(f"sum_({k}=0)^({size - 1})" for k, size in zip(inner, sizes, strict=True))
    # Indices of features in y, W and x.
    made = used = read = "" if groups == 1 else "j, "
    lines: tuple[str, ...] = ()
    if groups > 1 and not is_depthwise:
        read = f"{GROUP}(j), "
        if each_reads > 1:
            used, read = "j, i, ", f"{each_reads} {GROUP}(j) + i, "
            sums = f"sum_(i=0)^({each_reads - 1}) {sums}"
        lines = (f"{GROUP}(j) = floor(j \\/ {outputs // groups})",)
    vector, kernel = f"x_({read}{', '.join(places)})", f"_({used}{', '.join(inner)})"
    product = f"{vector} W{kernel}^top" if groups == 1 else f"w{kernel} {vector}"
    read_by_one = "in per group" if groups > 1 else "in"
    axis, each = ("position s", "") if axes == 1 else ("image location s", " of each axis")
    is_patch = axes > 1 and list(stride) == sizes and not any(padding)
    what = "image patch" if is_patch else "position and its neighbours" if axes == 1 else "window"
    return Match(
        maths=(
            f"y_({made}{', '.join(outer)}) = {sums} {product}{bias and f' + {bias}'}",
            *lines,
        ),
        terms=(
            Term("x", f"input, one vector for each {axis}; 0 beyond the edges", f"[{inputs}]"),
            Term(
                "W" if groups == 1 else f"w{kernel}",
                f"kernel, stored [out, {read_by_one}, kernel size{each}]",
                shape_text(shape),
            ),
            *((Term(bias, "bias, one per output feature", f"[{outputs}]"),) if bias else ()),
            *((Term(GROUP, "group of an output feature", f"{groups} groups"),) if lines else ()),
            Term("y", f"output, one vector for each {axis}", f"[{outputs}]"),
        ),
        values={
            "axes": axes,
            "outputs": outputs,
            "what": what,
            "pixels": " × ".join(map(str, sizes)) if is_patch else None,
            "stride": max(stride) if max(stride) > 1 and not is_patch else None,
            "depthwise": is_depthwise,
            "groups": groups if groups > 1 and not is_depthwise else None,
            "bias": bias,
        },
    )


def _of_axes(text: str, axes: int) -> list[int]:
    """Return a setting for each axis."""
    value = json.loads(text)
    value = value if isinstance(value, list) else [value]
    return value * axes if len(value) == 1 else value


CONVOLUTION = Template(
    "convolution",
    _convolution,
    title="{axes}D convolution",
    summary="Computes {outputs} features from each {what}, with the same weights everywhere.",
    notes=(
        "The stride equals the kernel size, so the patches do not overlap: this is one linear "
        "layer applied to each patch of {pixels} pixels.",
        "The stride is {stride}: the output has about 1/{stride} of the input’s positions along "
        "each axis.",
        "{depthwise?} Depthwise: every feature is convolved with its own kernel; features are not "
        "mixed.",
        "The features are divided into {groups} groups; each output feature reads one group only.",
        "{not bias?} This layer has no bias.",
    ),
    keys=("groups of features",),
    source="LeCun et al. 1989; torch.nn.Conv{axes}d",
)


def _fourier(view: ModuleView) -> Match | None:
    """FNet's mixing: a Fourier transform over both axes."""
    step = view.only("fft", "fft2", "fftn")
    if step is None or view.tensors:
        return None
    width = view.width_of(step)
    return Match(
        maths=(
            f'{sized("Y", "S", width)} = op("Re")(F_S X F_D)',
            "(F_n)_(j, k) = upright(e)^(-2 pi upright(i) j k \\/ n)",
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
    """A loop over positions with all operations and activations of one of these sets."""
    graph = view.graph
    if not loop_iterations(fold_loop(graph)):
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
        summary="Mixes positions with a recurrence: the input determines how fast the state decays "
        "and what is written to it; a gate scales the result.",
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
            "position in between; each feature has its own decay. The current position has a "
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
        summary="Processes positions one after another; each step reads the state left by the "
        "previous step.",
        notes=(_COST, "{steps}"),
        source="the code of the module",
    ),
)
