"""Patches of an image as the positions of a sequence."""

import re

from msgspec.structs import replace

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import listing
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.embedding import index_kind
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Node

_LEARNT = ['x_"cls"', 'x_"dist"', "x_3", "x_4", "x_5"]
_FIRST = {
    0: None,
    1: "The first position is a learnt vector instead of a patch",
}
_KEYS = ("image_size", "patch_size", "num_channels")
_MEANINGS = {
    "I": "the image: channels, height, width",
    "W": "kernel of the convolution, one for each feature",
    "ast": "convolution: here one product for each patch",
    "b": "bias of the convolution",
    "Z": "one row for each patch",
    "Y": "output",
    **dict.fromkeys(_LEARNT, "learnt vector that is put before the patches"),
}


def _patches(view: ModuleView) -> Match | None:
    """Patches of an image mapped linearly, with learnt vectors (Dosovitskiy et al. 2021, 3.1)."""
    graph = view.graph
    if graph is None or len(graph.results) != 1:
        return None
    step, after = graph.maker(graph.results[0][1]), list[Step]()
    while step is not None and step.operation != "convolution":
        after.append(step)
        step = graph.maker(next((o for o in step.tensors if graph.maker(o) is not None), None))
    if step is None or step.node.path in (None, view.node.path) or len(step.operands) < 2:
        return None
    image, shape = step.operands[0].node, view.parameter_shape(step.operands[1].parameter)
    is_image = image in graph.given and len(graph.given[image].shape) == len(shape) == 4
    if not is_image or str(list(shape[2:])) not in {operand.plain for operand in step.operands}:
        return None  # patches overlap
    learnt, tables, joins = list[Node](), list[Node](), 0
    for each in after:
        parameters = [
            graph.given[operand.node]
            for operand in each.tensors
            if operand.node in graph.given and graph.given[operand.node].kind == "parameter"
        ]
        if each.operation == "cat" and len(parameters) == len(each.tensors) - 1:
            learnt, joins = [*learnt, *parameters], joins + 1
        elif each.operation in ("add", "residual"):
            parameters += _looked_up(view, graph, each)
            if not parameters:
                return None
            tables += parameters
        elif not is_norm(each):
            return None
    width, channels, high, wide = shape
    *_, down, across = step.node.shape
    rows = replace(step.node, shape=(1, down * across, width), symbolic_shape=None)
    given = {node.id: replace(node, shape=node.shape[-1:]) for node in learnt}
    given |= {node.id: replace(node, shape=node.shape[-2:]) for node in tables}
    steps = [replace(each, node=rows) if each is step else each for each in graph.steps]
    drawn = replace(
        graph,
        given={**graph.given, **given},
        steps=tuple(each for each in steps if each.node.id not in given),
    )
    symbols: dict[Place, str] = {(image, ()): "I"}
    for node, symbol in zip([*tables, *learnt], ["P"] * len(tables) + _LEARNT, strict=False):
        symbols[node.id, ()] = symbol
    if after:
        symbols[step.node.id, ()] = "Z"
    known = {"P": f"learnt position vectors “{tables[0].name}”"} if tables else {}
    written = write(drawn, view, Naming(("Y",), symbols, meanings=_MEANINGS | known))
    # The learnt vectors and the patches are rows of one matrix.
    joined = re.compile(rf'(?:op\("Concat"\)\(.*?){{{joins}}}\bZ\){{{joins}}}')
    listed = f"({', '.join((*_LEARNT[: len(learnt)], listing('z_{}', down * across)))})"
    maths = (joined.sub(listed, line) if joins else line for line in written.maths)
    values = {
        "then": ", then adds a vector for its position" if tables else "",
        "patch": f"{high} × {wide} pixels in {channels} channels",
        "count": f"{down} × {across} = {down * across}",
        "first": _FIRST.get(
            len(learnt), f"The first {len(learnt)} positions are learnt vectors instead of patches"
        ),
        "positions": "position vectors" if tables else "",
    }
    keys = (*(key for key in _KEYS if key in view.config), *view.keys("width"))
    return replace(written, maths=tuple(maths), values=values, keys=keys)


def _looked_up(view: ModuleView, graph: ModuleGraph, step: Step) -> list[Node]:
    """Return the tables of positions whose rows a step adds, as the parameters that they are."""
    made = [maker for operand in step.tensors if (maker := graph.maker(operand)) is not None]
    return [
        replace(each.node, kind="parameter", shape=view.parameter_shape(operand.parameter))
        for each in made
        if each.operation == "embedding" and index_kind(each, view) == "position"
        for operand in each.operands
        if operand.parameter
    ]


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
