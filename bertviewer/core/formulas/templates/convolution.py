"""Convolutions over positions or over images (torch.nn.Conv1d, Conv2d)."""

import json

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

_INDICES = ("u", "v", "w")


@frozen
class Kernel:
    """A convolution's settings, one number for each spatial axis.

    Attributes:
        shape: the weight's shape, [out, in / groups, kernel size ...].
        stride: how far the kernel moves for the next output.
        padding: zeros added on each side.
        groups: blocks of features that are convolved separately.
        bias: whether there is one.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    groups: int
    bias: bool

    @property
    def size(self) -> tuple[int, ...]:
        """The kernel's extent along each axis."""
        return self.shape[2:]

    @property
    def inputs(self) -> int:
        """The features that are read."""
        return self.shape[1] * self.groups


def kernel_of(step: Step, view: ModuleView) -> Kernel | None:
    """Return the convolution that a step is, ``None`` if its settings are not in the graph."""
    weight = next((o.parameter for o in step.operands if o.parameter.endswith("weight")), "")
    tensor = next((t for t in view.architecture.parameters if t.name == weight), None)
    plain = [each.plain for each in step.operands if each.plain and each.plain != "None"]
    if tensor is None or len(tensor.shape) < 3 or len(plain) < 2:
        return None
    try:
        stride, padding = (tuple(json.loads(text)) for text in plain[:2])
    except (ValueError, TypeError):  # padding as a word: "same"
        return None
    bias = sum(bool(each.parameter) for each in step.operands) > 1
    groups = int(plain[3]) if len(plain) > 3 and plain[3].isdecimal() else 1
    return Kernel(tensor.shape, stride, padding, groups, bias)


def _convolution(view: ModuleView) -> Formula | None:
    """One convolution (torch.nn.Conv1d and its relatives; LeCun et al. 1989)."""
    step = None if view.graph is None else view.graph.only
    if step is None or step.operation != "convolution" or step.node.path != view.node.path:
        return None
    kernel = kernel_of(step, view)
    if kernel is None:
        return None
    axes = len(kernel.size)
    is_patch = kernel.stride == kernel.size and not any(kernel.padding) and axes > 1
    what = "image patch" if is_patch else "position and its neighbours" if axes == 1 else "window"
    return Formula(
        title=f"{axes}D convolution",
        summary=f"Computes {kernel.shape[0]} features from each {what}, with the same weights "
        "everywhere.",
        maths=(_maths(kernel),),
        terms=_terms(kernel),
        notes=_notes(kernel, is_patch=is_patch),
        source="LeCun et al. 1989; torch.nn.Conv" + f"{axes}d",
    )


def _maths(kernel: Kernel) -> str:
    names = _INDICES[: len(kernel.size)]
    letters = ("s",) if len(names) == 1 else ("i", "j", "k")[: len(names)]
    places = []
    for letter, name, stride, padding in zip(
        letters, names, kernel.stride, kernel.padding, strict=True
    ):
        moved = letter if stride == 1 else f"{stride} {letter}"
        places.append(f"{moved} + {name}" + (f" - {padding}" if padding else ""))
    sums = " ".join(
        f"sum_({name}=0)^({size - 1})" for name, size in zip(names, kernel.size, strict=True)
    )
    out, below = ", ".join(letters), ", ".join(names)
    if kernel.groups == kernel.inputs == kernel.shape[0]:
        product = f"{sums} W_(c, {below}) x_(c, {', '.join(places)})"
        bias = " + b_c" if kernel.bias else ""
        return f"y_(c, {out}) = {product}{bias}"
    bias = " + b" if kernel.bias else ""
    return f"y_({out}) = {sums} W_(:, {below}) x_({', '.join(places)}){bias}"


def _terms(kernel: Kernel) -> tuple[Term, ...]:
    axis = "position" if len(kernel.size) == 1 else "place in the image"
    each = "kernel size" if len(kernel.size) == 1 else "kernel size of each axis"
    features, outputs = shape_text((kernel.inputs,)), kernel.shape[0]
    return (
        Term("x", f"input, one vector for each {axis}; outside of the input it is 0", features),
        Term("W", f"kernel, stored [out, in, {each}]", shape_text(kernel.shape)),
        *(
            (Term("b", "bias, one per output feature", f"[{kernel.shape[0]}]"),)
            if kernel.bias
            else ()
        ),
        Term("y", f"output, one vector for each {axis}", shape_text((outputs,))),
    )


def _notes(kernel: Kernel, *, is_patch: bool) -> tuple[str, ...]:
    notes = []
    if is_patch:
        notes.append(
            "The stride equals the kernel size, so the patches do not overlap: this is one linear "
            f"layer applied to each patch of {' × '.join(map(str, kernel.size))} pixels."
        )
    elif max(kernel.stride) > 1:
        notes.append(
            f"The stride is {max(kernel.stride)}: the output has about 1/{max(kernel.stride)} of "
            "the input’s positions along each axis."
        )
    if kernel.groups == kernel.inputs == kernel.shape[0]:
        notes.append(
            "Depthwise: every feature is convolved with its own kernel; features are not mixed."
        )
    elif kernel.groups > 1:
        notes.append(
            f"The features are divided into {count_text(kernel.groups, '1 group', '{0} groups')}; "
            "each output feature reads one group only."
        )
    if not kernel.bias:
        notes.append("This layer has no bias.")
    return tuple(notes)


CONVOLUTION = Template("convolution", _convolution)
