"""How queries, keys and values are made and stored: the layers, and their shares of one layer."""

import re
from collections.abc import Iterator, Sequence
from math import prod

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.formulas.steps.origins import REPEATS, Chain, chain_of
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.scores import number_of
from bertviewer.core.frozen import frozen

_VIEWS = ("view", "reshape", "unflatten")


@frozen
class Part:
    """Queries, keys or values: the layer that makes them, and what is done to its result.

    Attributes:
        layer: with this part's share of the outputs; ``None`` where they are an input.
        source: the input that the layer reads.
        holder: the name of the module or tensor that has the weight.
        taken: how its share of the weight is stored (``""`` for all of it, ``stacked``,
            ``interleaved`` head by head, ``of the first heads``, ``of the last heads`` or
            ``unknown``), and the order among the shares.
        steps: norms, rotations and other changes, in order.
    """

    layer: Affine | None
    source: str
    holder: str
    taken: tuple[str, int]
    steps: tuple[Step, ...]

    @property
    def is_convolution(self) -> bool:
        """Whether the layer is a convolution, whose tensors have the features first."""
        return self.layer is not None and bool(self.layer.convolution)

    @property
    def factor(self) -> float:
        """The number that they are multiplied by before the product."""
        return prod(_factors(self.steps))


def part_of(view: ModuleView, graph: ModuleGraph, operand: Operand, width: int) -> Part | None:
    """Return what a query, key or value of so many features is made of, ``None`` if unknown."""
    chain = chain_of(graph, operand)
    if chain.origin is None:
        return None
    step = graph.maker(chain.origin)
    if step is None:
        return Part(None, chain.origin.node, "", ("", 0), chain.steps)
    full = layer_of(view, step)
    if full is None:
        return None
    source = next((o.node for o in step.tensors if graph.maker(o) or o.node in graph.given), "")
    holder = (step.node.path or "").rpartition(".")[2]
    taken = ("", 0)
    layer = full
    if chain.origin.parts and full.outputs != width:
        taken = _taken(view, chain)
        shape = (width, full.inputs) if full.transposed else (full.inputs, width)
        layer = Affine(shape, full.bias, full.transposed)
    elif full.outputs != width:
        return None
    steps = []
    for each in chain.steps:
        if _is_bias(view, graph, step, each):
            layer = Affine(layer.shape, bias=True, transposed=layer.transposed)
        else:
            steps.append(each)
    return Part(layer, source, holder, taken, tuple(steps))


def layer_of(view: ModuleView, step: Step) -> Affine | None:
    """Return the layer that a step is: a module's, or a product with a parameter."""
    if step.operation != "linear":
        return None
    stored = next((o.parameter for o in step.operands if o.parameter), "")
    if step.node.details.get("function") == "einsum" and stored:
        shapes = {each.name: each.shape for each in view.architecture.parameters}
        return _of_einsum(step.operands[0].plain, shapes.get(stored, ()))
    return view.affine_of(step)


def _of_einsum(equation: str, shape: tuple[int, ...]) -> Affine | None:
    """Return a product whose weight has the features of each head apart."""
    found = re.fullmatch(r"(\w+),(\w+)->(\w+)", equation.replace(" ", ""))
    if found is None or len(found[2]) != len(shape):
        return None
    summed = [letter not in found[3] for letter in found[2]]
    inputs = prod(size for size, is_summed in zip(shape, summed, strict=True) if is_summed)
    outputs = prod(shape) // inputs
    if summed == sorted(summed, reverse=True):
        return Affine((inputs, outputs), bias=False, transposed=False)
    if summed == sorted(summed):
        return Affine((outputs, inputs), bias=False)
    return None


def _is_bias(view: ModuleView, graph: ModuleGraph, layer: Step, step: Step) -> bool:
    """Return whether a step adds a bias that the module stores apart from the layer.

    A vector that is added for one of several uses is none.
    """
    if step.operation != "add":
        return False
    names = {t.name: t.shape for t in view.architecture.parameters}
    given = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
    shapes = [names.get(o.parameter, ()) for o in step.operands if o.parameter]
    shapes += [node.shape for node in given if node.kind == "parameter"]
    read = next((o for o in step.tensors if o.node == layer.node.id), None)
    taken = Operand(layer.node.id, () if read is None else read.parts)
    users = [
        each
        for each in graph.users(layer)
        if any((o.node, o.parts) == (taken.node, taken.parts) for o in each.operands)
    ]
    return any(len(shape) == 1 for shape in shapes) and len(users) == 1


def _taken(view: ModuleView, chain: Chain) -> tuple[str, int]:
    """Return how a share of a layer's outputs is stored, and its place among the shares."""
    assert chain.origin is not None
    flows, (first, *_) = view.architecture.flows, chain.origin.parts
    flow = None if flows is None else flows.flow(view.node.path)
    number = re.search(r"-?\d+", first)
    place = int(number[0]) if number else 0
    if any(step.operation == "look-up" for step in chain.steps):
        return "of the last heads", 10**6 + place
    sources = {chain.origin.node, *(step.node.id for step in chain.steps)}
    for edge in () if flow is None else flow.edges:
        if edge.source in sources and first in edge.movement:
            at = edge.movement.index(first)
            return _layout(first, edge.movement[:at], edge.movement[at + 1 :]), place
    return "unknown", place


def _layout(part: str, before: Sequence[str], after: Sequence[str]) -> str:
    """Return how shares are stored that are taken by ``part`` of a view, or of the whole."""
    if not any(word in _VIEWS for word in before) or part.startswith("unbind"):
        return "stacked"
    if sum(word in _VIEWS for word in after) > 1:
        return "unknown"
    inner = part.removesuffix("]").split(", ")
    is_of_heads = inner[-1] == ":" and len(inner) > 1 and ":" in inner[-2]
    return "of the first heads" if is_of_heads else "interleaved"


def is_known(graph: ModuleGraph, step: Step) -> bool:
    """Return whether a step on the way from a projection to the scores can be written."""
    if step.operation in ("rotary", "look-up", "clamp", *REPEATS) or is_norm(step):
        return True
    if step.operation in ("mul", "div"):
        return sum(graph.maker(o) is not None for o in step.tensors) == 1
    given = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
    has_vector = any(o.parameter for o in step.operands) or any(
        node.kind == "parameter" for node in given
    )
    return step.operation == "add" and has_vector


def repeats_of(graph: ModuleGraph, operand: Operand) -> int:
    """Return how many times steps repeat each head of the keys."""
    found = 1
    for step in chain_of(graph, operand).steps:
        maker = graph.maker(next(iter(step.tensors), None))
        if step.operation in REPEATS and maker is not None:
            before, after = (prod(each.node.shape, start=1) for each in (maker, step))
            found *= max(after // max(before, 1), 1)
    return found


def _factors(steps: Sequence[Step]) -> Iterator[float]:
    for step in steps:
        if step.operation == "rotary":  # a scale before it counts as a part of it
            yield from _factors(step.inner)
        if step.operation in ("mul", "div"):
            number = next((number_of(o) for o in step.operands if o.plain and not o.key), None)
            if number:
                yield number if step.operation == "mul" else 1 / number
