"""Convolutions over positions or over images (torch.nn.Conv1d, Conv2d)."""

import json

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import indices
from bertviewer.core.formulas.templates.linear import purpose_of
from bertviewer.core.formulas.templates.template import Match, Template


def _convolution(view: ModuleView) -> Match | None:
    """One convolution; its stride, padding, dilation and groups are those of the call."""
    step = view.only("convolution", "linear")
    stored = [] if step is None else [o.parameter for o in step.operands if o.parameter]
    shape = next((view.parameter_shape(name) for name in stored if name.endswith("weight")), ())
    if step is None or step.node.path != view.node.path or len(shape) < 3:
        return None
    outputs, inputs, *sizes = shape
    axes = len(sizes)
    plain = [each.plain for each in step.operands if each.plain and each.plain != "None"]
    try:
        stride, padding, dilation, (groups, *_) = (_of_axes(text, axes) for text in plain)
    except ValueError:  # padding as a word: "same"; a transposed convolution has more settings
        return None
    inputs *= groups
    is_depthwise = groups == inputs == outputs
    bias = ("b_c" if is_depthwise else "b") if len(stored) > 1 else ""
    inner, outer = "uvw"[:axes], "s" if axes == 1 else "ijk"[:axes]
    places = [
        f"{outer[i] if stride[i] == 1 else f'{stride[i]} {outer[i]}'} + "
        f"{inner[i] if dilation[i] == 1 else f'{dilation[i]} {inner[i]}'}"
        + (f" - {padding[i]}" if padding[i] else "")
        for i in range(axes)
    ]
    sums = " ".join(f"sum_({i}=0)^({size - 1})" for i, size in zip(inner, sizes, strict=True))
    channel, every = ("c, ", "c") if is_depthwise else ("", ":")
    product = f"W_({every}, {', '.join(inner)}) x_({channel}{', '.join(places)})"
    axis, each = ("position", "") if axes == 1 else ("place in the image", " of each axis")
    is_patch = axes > 1 and list(stride) == sizes and not any(padding)
    around = "position" if set(sizes) == {1} else "position and its neighbours"
    what = "image patch" if is_patch else around if axes == 1 else "window"
    maths = [f"y_({channel}{', '.join(outer)}) = {sums} {product}{bias and f' + {bias}'}"]
    kind, given = f"{axes}D convolution", f"input, one vector for each {axis}; 0 outside of it"
    purpose = f"Computes {outputs} features from each {what}, with the same weights everywhere."
    grouped: tuple[Term, ...] = ()
    layer = view.affine() if axes == 1 else None
    if layer is not None:  # of one position, maybe in groups (Iandola et al. 2020, section 3)
        kind, given = "Convolution with kernel size 1", "input vector of one position"
        purpose = purpose_of(view, layer)
        read, bias = f"x_({shape[1]} g(j) + i)" if groups > 1 else "x_i", bias and "b_j"
        product = f"sum_(i=0)^({shape[1] - 1}) {read} W_(j, i){bias and f' + {bias}'}"
        maths = [f"y_j = {product}, quad j = {indices(outputs)}"]
        if groups > 1:
            kind = "Grouped convolution with kernel size 1"
            maths.append(f"g(j) = floor(j \\/ {outputs // groups})")
            grouped = (Term("g(j)", "group of output feature j", f"{groups} groups"),)
    return Match(
        maths=tuple(maths),
        terms=(
            Term("x", given, f"[{inputs}]"),
            Term("W", f"kernel, stored [out, in, kernel size{each}]", shape_text(shape)),
            *((Term(bias, "bias, one per output feature", f"[{outputs}]"),) if bias else ()),
            *grouped,
            Term("y", f"output, one vector for each {axis}", f"[{outputs}]"),
        ),
        values={
            "kind": kind,
            "axes": axes,
            "purpose": purpose,
            "pixels": " × ".join(map(str, sizes)) if is_patch else None,
            "stride": max(stride) if max(stride) > 1 and not is_patch else None,
            "pointwise": set(sizes) == {1},
            "depthwise": is_depthwise,
            "groups": groups if groups > 1 and not is_depthwise else None,
            "bias": bias,
        },
    )


def _of_axes(text: str, axes: int) -> list[int]:
    """Return a setting for each axis; the code may have one number for all."""
    value = json.loads(text)
    value = value if isinstance(value, list) else [value]
    return value * axes if len(value) == 1 else value


CONVOLUTION = Template(
    "convolution",
    _convolution,
    title="{kind}",
    summary="{purpose}",
    notes=(
        "The stride equals the kernel size, so the patches do not overlap: this is one linear "
        "layer applied to each patch of {pixels} pixels.",
        "The stride is {stride}: the output has about 1/{stride} of the input’s positions along "
        "each axis.",
        "{pointwise?} The kernel size is 1, so it is equivalent to a linear layer: positions are "
        "not mixed.",
        "{depthwise?} Depthwise: every feature is convolved with its own kernel; features are not "
        "mixed.",
        "The features are divided into {groups} groups; each output feature reads one group only: "
        "{groups} times fewer weights and products.",
        "{not bias?} This layer has no bias.",
    ),
    keys=("groups of features",),
    source="LeCun et al. 1989; torch.nn.Conv{axes}d",
)
