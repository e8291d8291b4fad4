"""Convolutions over positions or over images (torch.nn.Conv1d, Conv2d)."""

import json

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.templates.template import Match, Template


def _convolution(view: ModuleView) -> Match | None:
    """One convolution; its stride, padding, dilation and groups are those of the call."""
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
    bias = ("b" if groups == 1 else "b_c") if len(stored) > 1 else ""
    inner, outer = "uvw"[:axes], "s" if axes == 1 else "ijk"[:axes]
    places = [
        f"{outer[i] if stride[i] == 1 else f'{stride[i]} {outer[i]}'} + "
        f"{inner[i] if dilation[i] == 1 else f'{dilation[i]} {inner[i]}'}"
        + (f" - {padding[i]}" if padding[i] else "")
        for i in range(axes)
    ]
    sums = " ".join(f"sum_({i}=0)^({size - 1})" for i, size in zip(inner, sizes, strict=True))
    # Indices of features in y, W and x: one of y reads all, its own one, or those of its group.
    made, used, read = ("", ":, ", "") if groups == 1 else ("c, ", "c, ", "c, ")
    lines: tuple[str, ...] = ()
    if groups > 1 and not is_depthwise:
        read = "g(c), "
        if each_reads > 1:
            used, read = "c, d, ", f"{each_reads} g(c) + d, "
            sums = f"sum_(d=0)^({each_reads - 1}) {sums}"
        lines = (f"g(c) = floor(c \\/ {outputs // groups})",)
    product = f"W_({used}{', '.join(inner)}) x_({read}{', '.join(places)})"
    read_by_one = "in per group" if groups > 1 else "in"
    axis, each = ("position", "") if axes == 1 else ("place in the image", " of each axis")
    is_patch = axes > 1 and list(stride) == sizes and not any(padding)
    what = "image patch" if is_patch else "position and its neighbours" if axes == 1 else "window"
    return Match(
        maths=(
            f"y_({made}{', '.join(outer)}) = {sums} {product}{bias and f' + {bias}'}",
            *lines,
        ),
        terms=(
            Term("x", f"input, one vector for each {axis}; 0 outside of it", f"[{inputs}]"),
            Term("W", f"kernel, stored [out, {read_by_one}, kernel size{each}]", shape_text(shape)),
            *((Term(bias, "bias, one per output feature", f"[{outputs}]"),) if bias else ()),
            *((Term("g(c)", "group of output feature c", f"{groups} groups"),) if lines else ()),
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
    """Return a setting for each axis; the code may have one number for all."""
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
