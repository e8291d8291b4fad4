"""Patches of an image as the positions of a sequence."""

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import sized
from bertviewer.core.formulas.templates.embeddings import read_lookup
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step

_LEARNT = ('x_"cls"', 'x_"dist"', "x_3", "x_4", "x_5")


def _patches(view: ModuleView) -> Match | None:
    """Patches of an image mapped linearly, with learnt vectors (Dosovitskiy et al. 2021, 3.1)."""
    graph = view.graph
    if graph is None or len(graph.results) != 1:
        return None
    step = graph.maker(graph.results[0][1])
    done: dict[str, list[Step]] = {}
    while step is not None and step.operation != "convolution":
        done.setdefault("norm" if is_norm(step) else step.operation, []).append(step)
        step = graph.maker(next((o for o in step.tensors if graph.maker(o) is not None), None))
    norms = [Norm.of(each) for each in done.pop("norm", ())]
    joins, sums = done.pop("cat", []), [*done.pop("add", ()), *done.pop("residual", ())]
    learnt = sum(_is_parameter(graph, operand) for each in joins for operand in each.tensors)
    positions = next((_positions(view, graph, each) for each in sums), None)
    if done or learnt != sum(len(each.tensors) - 1 for each in joins) or (sums and not positions):
        return None
    if step is None or step.node.path in (None, view.node.path) or len(step.operands) < 2:
        return None
    image, kernel = graph.given.get(step.operands[0].node), step.operands[1].parameter
    shape = view.parameter_shape(kernel)
    if len(shape) != 4 or image is None or len(image.shape) != 4:
        return None
    if str(list(shape[2:])) not in {operand.plain for operand in step.operands}:
        return None  # patches overlap
    width, channels, high, wide = shape
    *_, down, across = step.node.shape
    count = down * across
    has_bias = any(operand.parameter.endswith("bias") for operand in step.operands)
    symbols = _LEARNT[:learnt]
    joined = f"({', '.join(symbols)}, z_0, dots, z_{count - 1})" if learnt else "Z"
    joined += f" + {sized('P', *positions[1])}" if positions else ""
    for norm in reversed(norms):
        joined = f"{norm.operator}({joined})"
    result = "Y" if joined == "Z" else "Z"
    maths = [f"{sized(result, count, width)} = W ast I{' + b' if has_bias else ''}"]
    terms = [
        Term("I", "the image: channels, height, width", shape_text(image.shape[1:])),
        Term("W", "kernel of the convolution, one for each feature", shape_text(shape)),
        Term("ast", "convolution: here one product for each patch"),
    ]
    if has_bias:
        terms.append(Term("b", "bias of the convolution", shape_text((width,))))
    what = "learnt vector that is put before the patches"
    terms += [Term(symbol, what, shape_text((width,))) for symbol in symbols]
    if result == "Z":
        maths.append(f"{sized('Y', count + learnt, width)} = {joined}")
        terms.append(Term("Z", "one row for each patch", shape_text((count, width))))
    if positions:
        what = f"learnt position vectors “{positions[0]}”"
        terms.append(Term("P", what, shape_text(positions[1])))
    terms += [term for norm in norms for term in norm.terms]
    return Match(
        tuple(maths),
        tuple(terms),
        values={
            "then": ", then adds a vector for its position" if positions else "",
            "patch": f"{high} × {wide} pixels in {channels} channels",
            "count": f"{down} × {across} = {count}",
            "first": {
                0: None,
                1: "The first position is a learnt vector instead of a patch",
            }.get(learnt, f"The first {learnt} positions are learnt vectors instead of patches"),
            "positions": positions and "position vectors",
        },
        keys=(
            *(key for key in ("image_size", "patch_size", "num_channels") if key in view.config),
            *view.keys("width"),
        ),
    )


def _is_parameter(graph: ModuleGraph, operand: Operand) -> bool:
    given = graph.given.get(operand.node)
    return given is not None and given.kind == "parameter"


def _positions(
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


PATCHES = Template(
    "embeddings",
    _patches,
    title="Patch embeddings",
    summary="Cuts an image into patches and maps each to a vector{then}.",
    notes=(
        "Each patch of {patch} is one position of the sequence: {count} patches. The convolution’s "
        "stride equals its kernel, so patches do not overlap, and each is multiplied by the same "
        "matrix.",
        "{first}, like [CLS] in BERT: attention gathers information from all patches there.",
        "The {positions} are learnt, one for each patch: without them the order of the patches "
        "would not matter to attention.",
    ),
    source="Dosovitskiy et al. 2021, section 3.1",
)
