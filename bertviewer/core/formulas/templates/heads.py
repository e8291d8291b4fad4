"""What an attention module is made of, read from its data-flow graph, however it stores it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import reads_target
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.steps.origins import REPEATS, Chain, chain_of
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.scores import (
    Scores,
    UnknownScoresError,
    factor_of,
    scores_of,
)
from bertviewer.core.frozen import frozen

_CLOSE = 1e-4
_VIEWS = ("view", "reshape", "unflatten")


@frozen
class Part:
    """Queries, keys or values: the layer that makes them, and what is done to its result.

    Attributes:
        layer: with this part's share of the outputs; ``None`` where they are an input.
        source: the input that the layer reads.
        holder: the name of the module or tensor that has the weight.
        layout: how its share of the weight is stored: "" for all of it, ``stacked``,
            ``interleaved`` head by head, or ``unknown``; ``torch`` for torch's own function.
        place: of its share among the others, in increasing order.
        steps: norms, rotations and other changes, in order.
    """

    layer: Affine | None
    source: str = ""
    holder: str = ""
    layout: str = ""
    place: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def outputs(self) -> int:
        """The features of all heads, 0 where they are an input."""
        return 0 if self.layer is None else self.layer.outputs

    @property
    def factor(self) -> float:
        """The number that they are multiplied by before the product."""
        scales = [*self.steps, *(i for s in self.steps if s.operation == "rotary" for i in s.inner)]
        return prod(factor_of(s) or 1.0 for s in scales if s.operation in ("mul", "div"))

    def step(self, operation: str) -> Step | None:
        """Return the first step that computes an operation, ``None`` without one."""
        return next((each for each in self.steps if each.operation == operation), None)


@frozen(slots=False)
class Heads:
    """An attention module.

    Attributes:
        parts: by role: ``query``, ``key`` and ``value``.
        count: heads of queries.
        key_heads: heads of keys and values.
        size: features of a query and a key, d_k.
        value_size: features of a value.
        scores: what is done to the scores.
        output: the output projection in this module.
        residual: the input that the module adds to the projected output, "" for none.
        norm: the norm of the sum.
        kernel: the positions that a convolution of the values reads whose result is added to the
            heads' outputs, 0 without one (Nyströmformer).
        is_cross: whether keys and values come from another input than queries.
        is_text: whether the positions are those of a text.
        is_masked: whether the scores can be masked.
    """

    view: ModuleView
    step: Step
    parts: Mapping[str, Part]
    count: int
    key_heads: int
    size: int
    value_size: int
    scores: Scores
    output: Affine | None = None
    residual: str = ""
    norm: Norm | None = None
    kernel: int = 0
    is_cross: bool = False
    is_text: bool = True
    is_masked: bool = True

    @property
    def query(self) -> Part:
        """What queries are made of."""
        return self.parts["query"]

    @property
    def key(self) -> Part:
        """What keys are made of."""
        return self.parts["key"]

    @property
    def value(self) -> Part:
        """What values are made of."""
        return self.parts["value"]

    @property
    def shared(self) -> int:
        """How many query heads share a head of keys and values."""
        return self.count // self.key_heads

    @property
    def width(self) -> int:
        """Features of the input that queries are made of."""
        return self.query.layer.inputs if self.query.layer else self.count * self.size

    @property
    def is_causal(self) -> bool | None:
        """Whether later positions are masked, ``None`` if not known."""
        return False if self.is_cross else is_causal(self.view.architecture, self.view.node.path)

    @property
    def first_scale(self) -> float | None:
        """The factor on the product before anything is added, ``None`` for the usual one."""
        return self.unless_usual(self.scores.factor or 0.0)

    def unless_usual(self, factor: float) -> float | None:
        """Return a factor on the scores, ``None`` if queries and it make 1 / sqrt(d_k)."""
        found = factor * self.query.factor * self.key.factor
        return None if abs(found * self.size**0.5 - 1) < _CLOSE else found

    @property
    def reads_encoder(self) -> bool:
        """Whether keys and values come from an encoder."""
        given = None if self.view.graph is None else self.view.graph.given.get(self.key.source)
        is_named = given is not None and "encoder" in given.name
        return self.is_cross and (is_named or reads_target(self.view.node, self.view.architecture))


def own_attentions(view: ModuleView) -> tuple[Step, ...]:
    """Return the attentions that a module's own code computes, not a module in it."""
    found = () if view.graph is None else view.graph.of("attention")
    return tuple(step for step in found if step.node.path == view.node.path)


def sole_heads(view: ModuleView) -> Heads | None:
    """Return what a module with one attention is made of, ``None`` if it does anything unknown."""
    own = own_attentions(view)
    is_torch = view.node.class_module.startswith("torch.nn.modules.")
    if view.graph is None and view.node.class_name == "MultiheadAttention" and is_torch:
        return _torch_heads(view, None)
    if view.graph is None or len(own) != 1 or len(view.graph.of("attention")) > 1:
        return None
    try:
        return heads_of(view, own[0])
    except UnknownScoresError:
        return None


def heads_of(view: ModuleView, step: Step) -> Heads | None:
    """Return what an attention module is made of, ``None`` if it does anything unknown.

    Raises:
        UnknownScoresError: the scores are not changed in a known way.
    """
    graph, details = view.graph, step.node.details
    count = details.get("heads")
    if details.get("projections"):
        return _torch_heads(view, step)
    if graph is None or not isinstance(count, int) or not step.node.shape:
        return None
    value_size = step.node.shape[-1]
    size, key_heads = (
        found if isinstance(found := details.get(name), int) else default
        for name, default in (("head_size", value_size), ("key_value_heads", count))
    )
    if not key_heads or count % key_heads:
        return None
    widths = {"query": count * size, "key": key_heads * size, "value": key_heads * value_size}
    parts = {}
    for role, width in widths.items():
        part = _part(view, graph, step.roles.get(role) or step.roles["query"], width)
        if part is None or part.source not in graph.given:
            return None
        parts[role] = part
    after = _after(view, graph, step)
    if after is None:
        return None
    is_cross = parts["query"].source != parts["key"].source and not _is_same_outside(view, step)
    # A mask with numbers of each head is a bias: that of ALiBi.
    is_of_heads = count > 1 and not is_cross
    biases = [i for i, n in graph.given.items() if is_of_heads and n.shape[-3:-2] == (count,)]
    is_text = reads_text(view)
    if parts["query"].layer and parts["query"].layer.convolution:
        is_text = is_text or _is_text(view, graph.inputs[0].shape[-1:])
    is_padded = _is_text(view, graph.given[parts["key"].source].shape[:-1]) if is_cross else is_text
    return Heads(
        *(view, step, parts, count, key_heads, size, value_size, scores_of(step, biases)),
        *(*after, is_cross, is_text, is_padded or "mask" in step.roles),
    )


def _torch_heads(view: ModuleView, step: Step | None) -> Heads | None:
    """Return what torch.nn.MultiheadAttention is made of: it projects within one function.

    Without a graph, torch's own name of a decoder's second attention shows what it reads.
    """
    count, size = view.integer("num_heads"), view.integer("head_dim")
    output = view.affine(f"{view.node.path}.out_proj")
    if not (count and size and output):
        return None
    if step is None:
        other = "memory" if view.node.name == "multihead_attn" else ""
        step = Step(Node("", "group", "attention"), (), {"query": Operand(), "key": Operand(other)})
    source = step.roles["query"].node if "query" in step.roles else ""
    other = step.roles["key"].node if "key" in step.roles else source
    parts = {}
    for role, node in (("query", source), ("key", other), ("value", other)):
        shape = view.shape(f"{role[0]}_proj_weight") or (output.outputs, output.outputs)
        layer = Affine(shape, view.shape("in_proj_bias") is not None)
        parts[role] = Part(layer, node, "in_proj_weight", "torch")
    return Heads(
        *(view, step, parts, count, count, size, size, Scores(size**-0.5), output),
        is_cross=source != other,
        is_text=reads_text(view),
    )


def layer_of(view: ModuleView, step: Step | None) -> Affine | None:
    """Return the layer that a step is: a module's, or a product with a parameter."""
    if step is None or step.operation != "linear":
        return None
    stored = next((o.parameter for o in step.operands if o.parameter), "")
    if step.node.details.get("function") == "einsum" and stored:
        return _of_einsum(step.operands[0].plain, view.parameter_shape(stored))
    return view.affine_of(step)


def _of_einsum(equation: str, shape: tuple[int, ...]) -> Affine | None:
    """Return a product whose weight has the features of each head apart (XLNet)."""
    _, weight, result = re.split(",|->", equation.replace(" ", ""))
    if len(weight) != len(shape):
        return None
    is_summed = [letter not in result for letter in weight]
    inputs = prod(size for size, summed in zip(shape, is_summed, strict=True) if summed)
    sizes = (inputs, prod(shape) // inputs)
    if is_summed == sorted(is_summed, reverse=True):
        return Affine(sizes, bias=False, transposed=False)
    return Affine(sizes[::-1], bias=False) if is_summed == sorted(is_summed) else None


def _part(view: ModuleView, graph: ModuleGraph, operand: Operand, width: int) -> Part | None:
    """Return what a query, key or value of so many features is made of, ``None`` if unknown."""
    chain = chain_of(graph, operand)
    step = graph.maker(chain.origin)
    layer = layer_of(view, step)
    biases = [each for each in chain.steps if _adds(view, graph, each) == 1]
    steps = tuple(each for each in chain.steps if each not in biases)
    if chain.origin is None or not all(_is_known(view, graph, each) for each in steps):
        return None
    if step is None:
        return Part(None, chain.origin.node, steps=steps)
    if layer is None or not (layer.outputs == width or chain.origin.parts):
        return None
    source = next((o.node for o in step.tensors if graph.maker(o) or o.node in graph.given), "")
    share = ("", 0) if layer.outputs == width else _share(view, chain)
    shape = (width, layer.inputs) if layer.transposed else (layer.inputs, width)
    layer = replace(layer, shape=shape, bias=layer.bias or bool(biases))
    return Part(layer, source, (step.node.path or "").rpartition(".")[2], *share, steps)


def _share(view: ModuleView, chain: Chain) -> tuple[str, int]:
    """Return how a share of a layer's outputs is stored, and its place among the shares."""
    assert chain.origin is not None
    flows, first = view.architecture.flows, chain.origin.parts[0]
    flow = None if flows is None else flows.flow(view.node.path)
    number = re.search(r"-?\d+", first)
    place = int(number[0]) if number else 0
    # Of the axis of heads: the first ones are queries, the last ones keys and values.
    is_of_heads = re.search(r":\S*, :\]$", first) or any(
        s.operation == "look-up" for s in chain.steps
    )
    if is_of_heads or first.startswith("unbind"):
        return "stacked", place
    sources = {chain.origin.node, *(step.node.id for step in chain.steps)}
    for edge in () if flow is None else flow.edges:
        if edge.source in sources and first in edge.movement:
            is_view = [word in _VIEWS for word in edge.movement]
            at = edge.movement.index(first)
            if not any(is_view[:at]):
                return "stacked", place
            return "interleaved" if sum(is_view[at:]) <= 1 else "unknown", place
    return "unknown", place


def _adds(view: ModuleView, graph: ModuleGraph, step: Step) -> int:
    """Return how many axes the parameter has that a step adds, 0 if it adds none.

    One of a single axis is a bias that the module stores apart from its layer.
    """
    if step.operation != "add":
        return 0
    given = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
    shapes = [view.parameter_shape(o.parameter) for o in step.operands if o.parameter]
    shapes += [node.shape for node in given if node.kind == "parameter"]
    return min(map(len, shapes), default=0)


def _is_known(view: ModuleView, graph: ModuleGraph, step: Step) -> bool:
    """Return whether a step on the way from a projection to the scores can be written."""
    if step.operation in ("mul", "div"):
        return sum(graph.maker(o) is not None for o in step.tensors) == 1
    is_simple = step.operation in ("rotary", "look-up", "clamp", *REPEATS) or is_norm(step)
    return is_simple or _adds(view, graph, step) > 0


def _after(
    view: ModuleView, graph: ModuleGraph, step: Step
) -> tuple[Affine | None, str, Norm | None, int] | None:
    """Return output projection, residual, norm and kernel; ``None`` if anything else follows."""
    output: Affine | None = None
    residual, norm, kernel, value = "", None, 0, step.roles.get("value")
    while not graph.is_result(step):
        users = graph.users(step)
        if len(users) != 1:
            return None
        user = users[0]
        other = next((o for o in user.tensors if o.node != step.node.id), None)
        layer, maker = layer_of(view, user), graph.maker(other)
        if layer is not None and output is None and not residual:
            output = layer
        elif user.operation == "residual" and output is not None and not residual:
            residual = other.node if other else ""
        elif is_norm(user) and residual and norm is None:
            norm = Norm.of(user)
        elif (user.operation, maker and maker.operation) == ("add", "convolution"):
            if maker is None or value not in maker.tensors:
                return None
            kernel = max(view.parameter_shape(f"{maker.node.path}.weight"), default=0)
        else:
            return None
        step = user
    return output, residual, norm, kernel


def source_of(graph: ModuleGraph, operand: Operand | None) -> str:
    """Return the input that an operand is computed from, by each step's first; "" for others."""
    for _ in graph.steps:
        maker = graph.maker(operand)
        operand = operand if maker is None else next(iter(maker.tensors), None)
    given = None if operand is None else graph.given.get(operand.node)
    return given.id if given is not None and given.kind == "input" else ""


def _is_same_outside(view: ModuleView, step: Step) -> bool:
    """Return whether queries and keys are made of one input of the module around (CANINE)."""
    place = next(places(view), None)
    for each in () if place is None else place.graph.of("attention"):
        if place is not None and each.node.path == step.node.path:
            sources = {source_of(place.graph, each.roles.get(role)) for role in ("query", "key")}
            return len(sources) == 1
    return False


def reads_text(view: ModuleView) -> bool:
    """Return whether a module reads one vector for each token of a text."""
    graph = view.graph
    return graph is not None and any(_is_text(view, node.shape[:-1]) for node in graph.inputs[:1])


def _is_text(view: ModuleView, sizes: tuple[int, ...]) -> bool:
    flows = view.architecture.flows
    return flows is not None and any(flows.lengths.get(name) in sizes for name in ("S", "S_d"))
