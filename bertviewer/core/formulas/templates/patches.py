"""Patches of an image as the positions of a sequence."""

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import sized
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.vector_sum import read_lookup
from bertviewer.core.frozen import frozen

_LEARNT = ('x_"cls"', 'x_"dist"', "x_3", "x_4", "x_5")


def patches(view: ModuleView) -> Formula | None:
    """Patches of an image mapped linearly, with learnt vectors (Dosovitskiy et al. 2021, 3.1)."""
    graph = view.graph
    if graph is None or len(graph.results) != 1:
        return None
    step, after, positions, learnt = graph.maker(graph.results[0][1]), [], None, 0
    while step is not None and step.operation != "convolution":
        if is_norm(step):
            after.append(Norm.of(step))
        elif step.operation in ("add", "residual"):
            positions = _position_vectors(view, graph, step)
            if positions is None:
                return None
        elif step.operation == "cat":
            learnt = sum(_is_parameter(graph, operand) for operand in step.tensors)
            if learnt != len(step.tensors) - 1:
                return None
        else:
            return None
        step = graph.maker(next((o for o in step.tensors if graph.maker(o) is not None), None))
    if step is None or step.node.path in (None, view.node.path):
        return None
    kernel = view.parameter_shape(step.operands[1].parameter) if len(step.operands) > 1 else ()
    image = graph.given.get(step.operands[0].node)
    if len(kernel) != 4 or image is None or len(image.shape) != 4:
        return None
    if str(list(kernel[2:])) not in {operand.plain for operand in step.operands}:
        return None  # patches overlap
    return _patch_formula(view, _Patches(step, kernel, image.shape[1:], learnt, positions), after)


@frozen
class _Patches:
    """A convolution that maps the patches of an image, and what is added to its result.

    Attributes:
        step: the convolution.
        kernel: the shape of its weight.
        image: channels, height and width of the image.
        learnt: how many learnt vectors are put before the patches.
        positions: the position vectors' tensor, if there are any: its name and shape.
    """

    step: Step
    kernel: tuple[int, ...]
    image: tuple[int, ...]
    learnt: int
    positions: tuple[str, tuple[int, ...]] | None

    @property
    def count(self) -> int:
        """The number of patches."""
        *_, height, width = self.step.node.shape
        return height * width

    @property
    def has_bias(self) -> bool:
        """Whether the convolution has a bias."""
        return any(operand.parameter.endswith("bias") for operand in self.step.operands)


def _is_parameter(graph: ModuleGraph, operand: Operand) -> bool:
    given = graph.given.get(operand.node)
    return given is not None and given.kind == "parameter"


def _position_vectors(
    view: ModuleView, graph: ModuleGraph, step: Step
) -> tuple[str, tuple[int, ...]] | None:
    """Return name and shape of the learnt position vectors that a step adds."""
    for operand in step.tensors:
        if _is_parameter(graph, operand):
            node = graph.given[operand.node]
            return node.name, node.shape[-2:]
        made = graph.maker(operand)
        lookup = None if made is None else read_lookup(view, made)
        if lookup is not None and lookup.kind == "position":
            return lookup.name, (lookup.rows, lookup.width)
    return None


def _patch_formula(view: ModuleView, found: _Patches, after: list[Norm]) -> Formula:
    width, channels, high, wide = found.kernel
    count, rows = found.count, found.count + found.learnt
    bias = " + b" if found.has_bias else ""
    result = "Z" if found.learnt or found.positions or after else "Y"
    maths = [f"{sized(result, count, width)} = W ast I{bias}"]
    joined = "Z"
    if found.learnt:
        joined = f"({', '.join(_LEARNT[: found.learnt])}, z_0, dots, z_{count - 1})"
    if found.positions:
        joined += f" + {sized('P', *found.positions[1])}"
    for norm in reversed(after):
        joined = f"{norm.operator}({joined})"
    if result == "Z":
        maths.append(f"{sized('Y', rows, width)} = {joined}")
    terms = [
        Term("I", "the image: channels, height, width", shape_text(found.image)),
        Term("W", "kernel of the convolution, one for each feature", shape_text(found.kernel)),
        Term("ast", "convolution: here one product for each patch"),
    ]
    if found.has_bias:
        terms.append(Term("b", "bias of the convolution", shape_text((width,))))
    terms += [
        Term(symbol, "learnt vector that is put before the patches", shape_text((width,)))
        for symbol in _LEARNT[: found.learnt]
    ]
    if result == "Z":
        terms.append(Term("Z", "one row for each patch", shape_text((count, width))))
    if found.positions:
        name, shape = found.positions
        terms.append(Term("P", f"learnt position vectors “{name}”", shape_text(shape)))
    for norm in after:
        terms += norm.terms
    *_, down, across = found.step.node.shape
    notes = [
        f"Each patch of {high} × {wide} pixels in {channels} channels is one position of the "
        f"sequence: {down} × {across} = {count} patches. The convolution’s stride equals its "
        "kernel, so patches do not overlap, and each is multiplied by the same matrix.",
    ]
    if found.learnt:
        notes.append(
            (
                "The first position is a learnt vector instead of a patch"
                if found.learnt == 1
                else f"The first {found.learnt} positions are learnt vectors instead of patches"
            )
            + ", like [CLS] in BERT: attention gathers information from all patches there."
        )
    if found.positions:
        notes.append(
            "The position vectors are learnt, one for each patch: without them the order of the "
            "patches would not matter to attention."
        )
    return Formula(
        title="Patch embeddings",
        summary="Cuts an image into patches and maps each to a vector"
        + (", then adds a vector for its position" if found.positions else "")
        + ".",
        maths=tuple(maths),
        terms=tuple(terms),
        notes=tuple(notes),
        config_keys=tuple(
            key for key in ("image_size", "patch_size", "num_channels") if key in view.config
        )
        + view.keys("width"),
        source="Dosovitskiy et al. 2021, section 3.1",
    )
