"""Patches of an image as the positions of a sequence."""

from msgspec.structs import replace

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.embedding import index_kind
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import Step

_LEARNT = ('x_"cls"', 'x_"dist"', "x_3", "x_4", "x_5")
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
    "P": "learnt position vectors",
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
    learnt, positions, symbols = 0, False, dict[Place, str]()
    for each in after:
        given = [o for o in each.tensors if o.node in graph.given]
        parameters = [o for o in given if graph.given[o.node].kind == "parameter"]
        if each.operation == "cat" and len(parameters) == len(each.tensors) - 1:
            symbols |= {(o.node, ()): _LEARNT[learnt + n] for n, o in enumerate(parameters)}
            learnt += len(parameters)
        elif each.operation in ("add", "residual"):
            makers = [maker for o in each.tensors if (maker := graph.maker(o)) is not None]
            lookups = [made for made in makers if made.operation == "embedding"]
            if not parameters and "position" not in [index_kind(made, view) for made in lookups]:
                return None
            positions, symbols = True, symbols | {(o.node, ()): "P" for o in parameters}
        elif not is_norm(each):
            return None
    width, channels, high, wide = shape
    *_, down, across = step.node.shape
    rows = replace(step.node, shape=(1, down * across, width), symbolic_shape=None)
    steps = tuple(replace(each, node=rows) if each is step else each for each in graph.steps)
    if after:
        symbols[step.node.id, ()] = "Z"
    naming = Naming(("Y",), symbols | {(image, ()): "I"}, meanings=_MEANINGS)
    values = {
        "then": ", then adds a vector for its position" if positions else "",
        "patch": f"{high} × {wide} pixels in {channels} channels",
        "count": f"{down} × {across} = {down * across}",
        "first": _FIRST.get(
            learnt, f"The first {learnt} positions are learnt vectors instead of patches"
        ),
        "positions": "position vectors" if positions else "",
    }
    keys = (*(key for key in _KEYS if key in view.config), *view.keys("width"))
    return replace(write(replace(graph, steps=steps), view, naming), values=values, keys=keys)


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
