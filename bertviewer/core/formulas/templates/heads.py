"""What an attention module is made of, read from its data-flow graph, however it stores it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import prod

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import reads_target
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.steps.attention import Scores, factor_of, scores_of
from bertviewer.core.formulas.steps.origins import REPEATS, ROLES, Chain, chain_of
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.module_graph import ModuleGraph, Step

_CLOSE = 1e-4
_VIEWS = ("view", "reshape", "unflatten")
_IN_PROJ = "The tensor in_proj_weight"


@frozen
class Part:
    """Queries, keys or values: the layer that makes them, and what is done to its result.

    Attributes:
        layer: with this part's share of the outputs.
        source: the input that the layer reads.
        holder: the name of the tensor that has the weight.
        layout: how its share of the weight is stored: "" for all of it, ``stacked``,
            ``interleaved`` head by head, or ``unknown``.
        place: of its share among the others, in increasing order.
        whole: all outputs of the layer, 0 if this part has them all.
        steps: norms, rotations and other changes, in order.
    """

    layer: Affine
    source: str = ""
    holder: str = ""
    layout: str = ""
    place: int = 0
    whole: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def factor(self) -> float:
        """The number that they are multiplied by before the product."""
        scales = [*self.steps, *(i for s in self.steps if s.operation == "rotary" for i in s.inner)]
        return prod(factor_of(s) or 1.0 for s in scales if s.operation in ("mul", "div"))

    def step(self, *operations: str) -> Step | None:
        """Return the first step that computes one of these operations, ``None`` without one."""
        return next((each for each in self.steps if each.operation in operations), None)


@frozen(slots=False)
class Heads:
    """An attention module.

    Attributes:
        count: heads of queries.
        key_heads: heads of keys and values.
        size: features of a query and a key, d_k.
        value_size: features of a value.
        output: the output projection in this module.
        residual: the input that the module adds to the projected output, "" for none.
        norm: of that sum.
        kernel: the positions that a convolution of the values reads whose result is added to the
            heads' outputs, ``None`` without one (Nyströmformer).
        is_cross: whether keys and values come from another input than queries.
        is_text: whether the positions are those of a text.
        is_masked: whether the scores can be masked.
    """

    view: ModuleView
    step: Step
    query: Part
    key: Part
    value: Part
    count: int
    key_heads: int
    size: int
    value_size: int
    scores: Scores
    output: Affine | None = None
    residual: str = ""
    norm: Norm | None = None
    kernel: int | None = None
    is_cross: bool = False
    is_text: bool = True
    is_masked: bool = True

    @property
    def parts(self) -> Mapping[str, Part]:
        """Queries, keys and values by role."""
        return {"query": self.query, "key": self.key, "value": self.value}

    @property
    def shared(self) -> int:
        """How many query heads share a head of keys and values."""
        return self.count // self.key_heads

    @cached_property
    def is_causal(self) -> bool | None:
        """Whether later positions are masked, ``None`` if not known."""
        return False if self.is_cross else is_causal(self.view.architecture, self.view.node.path)

    @cached_property
    def reads_encoder(self) -> bool:
        """Whether keys and values come from an encoder."""
        given = self.view.graph.given.get(self.key.source) if self.view.graph else None
        is_named = given is not None and "encoder" in given.name
        return self.is_cross and (is_named or reads_target(self.view.node, self.view.architecture))

    @property
    def first_scale(self) -> float | None:
        """The factor on the product before anything is added, ``None`` for the usual one."""
        return self.unless_usual(self.scores.factor or 0.0)

    def unless_usual(self, factor: float) -> float | None:
        """Return a factor on the scores, ``None`` if queries and it make 1 / sqrt(d_k)."""
        found = factor * self.query.factor * self.key.factor
        return None if abs(found * self.size**0.5 - 1) < _CLOSE else found


def own_attentions(view: ModuleView) -> tuple[Step, ...]:
    """Return the attentions that a module's own code computes, not a module in it."""
    found = () if view.graph is None else view.graph.of("attention")
    return tuple(step for step in found if step.node.path == view.node.path)


def sole_heads(view: ModuleView) -> Heads | None:
    """Return what a module with one attention is made of, ``None`` if it does anything unknown."""
    own = own_attentions(view)
    if view.graph is None or len(own) != 1 or len(view.graph.of("attention")) > 1:
        return None
    return heads_of(view, own[0])


def heads_of(view: ModuleView, step: Step) -> Heads | None:
    """Return what an attention module is made of, ``None`` if it does anything unknown."""
    graph, details, roles = view.graph, step.node.details, step.roles
    count = details.get("heads")
    if details.get("projections"):
        return _torch_heads(view, step)
    if graph is None or not isinstance(count, int) or not step.node.shape:
        return None
    value_size = step.node.shape[-1]
    size, key_heads = (
        known if isinstance(known := details.get(name), int) else default
        for name, default in (("head_size", value_size), ("key_value_heads", count))
    )
    if not key_heads or count % key_heads:
        return None
    widths = {"query": count * size, "key": key_heads * size, "value": key_heads * value_size}
    found = [_part(view, graph, roles.get(role, roles["query"]), n) for role, n in widths.items()]
    parts = [part for part in found if part is not None and part.source in graph.given]
    after = _after(view, graph, step)
    if after is None or len(parts) < len(found):
        return None
    query, key, value = parts
    if any(
        part.whole not in (0, sum(p.layer.outputs for p in parts if p.holder == part.holder))
        for part in parts
    ):
        return None  # a layer makes something else too
    is_cross = query.source != key.source and not _is_same_outside(view, step)
    # A mask with numbers of each head is a bias: that of ALiBi.
    is_of_heads = count > 1 and not is_cross
    biases = [i for i, n in graph.given.items() if is_of_heads and n.shape[-3:-2] == (count,)]
    scores = scores_of(step, biases)
    if scores is None:
        return None
    has_columns = bool(query.layer.convolution)
    is_text = _is_text(view, graph.inputs[0].shape[-1:]) if has_columns else reads_text(view)
    is_padded = _is_text(view, graph.given[key.source].shape[:-1]) if is_cross else is_text
    return Heads(
        *(view, step, query, key, value, count, key_heads, size, value_size),
        *(scores, *after, is_cross, is_text, is_padded or "mask" in roles),
    )


def _torch_heads(view: ModuleView, step: Step) -> Heads | None:
    """Return what torch.nn.MultiheadAttention is made of: it projects within one function."""
    count, size = view.integer("num_heads"), view.integer("head_dim")
    output = view.affine(f"{view.node.path}.out_proj")
    if not (count and size and output):
        return None
    source = step.roles["query"].node
    other = step.roles["key"].node if "key" in step.roles else source
    bias, square = view.shape("in_proj_bias") is not None, (output.outputs, output.outputs)
    layout = "stacked" if view.shape("in_proj_weight") else ""
    query, key, value = (
        Part(Affine(view.shape(f"{name}_proj_weight") or square, bias), node, _IN_PROJ, layout)
        for name, node in (("q", source), ("k", other), ("v", other))
    )
    return Heads(
        *(view, step, query, key, value, count, count, size, size, Scores(size**-0.5), output),
        is_cross=source != other,
        is_text=reads_text(view),
    )


def sparse_heads(view: ModuleView) -> Heads | None:
    """Return the heads of an attention to some positions only (BigBird, Longformer).

    It is recognised by the numbers that set the pattern, as its code multiplies blocks and bands.
    """
    path = f"{view.node.path}." if view.node.path else ""
    layers = {role: view.affine(f"{path}{role}") for role in ROLES}
    parts = [Part(layer, "", role) for role, layer in layers.items() if layer]
    count = view.integer("num_attention_heads", "num_heads", "n_heads")
    is_sparse = view.integer("num_random_blocks", "one_sided_attn_window_size") is not None
    if not is_sparse or len(parts) < len(ROLES) or not count:
        return None
    size = parts[0].layer.outputs // count
    step = Step(Node(view.node.path, "group", "attention"), (), {})
    query, key, value = parts
    return Heads(view, step, query, key, value, count, count, size, size, Scores(size**-0.5))


def layer_of(view: ModuleView, step: Step | None) -> Affine | None:
    """Return the layer that a step is: a module's, or a product with a parameter."""
    if step is None or step.operation != "linear":
        return None
    details = step.node.details
    sizes = details.get("in_features"), details.get("out_features")
    if details.get("function") != "einsum" or not all(isinstance(size, int) for size in sizes):
        return view.affine_of(step)
    # The weight may have the features of each head apart: "ibh,hnd->ibnd" (XLNet).
    _, weight, result = step.operands[0].plain.replace(" ", "").replace("->", ",").split(",")
    shape = tuple(int(str(size)) for size in sizes)
    is_out_in = weight[0] in result
    return Affine(shape[::-1] if is_out_in else shape, bias=False, transposed=is_out_in)


def _part(view: ModuleView, graph: ModuleGraph, operand: Operand, width: int) -> Part | None:
    """Return what a query, key or value of so many features is made of, ``None`` if unknown."""
    chain = chain_of(graph, operand)
    step = graph.maker(chain.origin)
    layer = layer_of(view, step)
    if step is None or layer is None or chain.origin is None:
        return None
    kinds = [_kind(view, graph, each) for each in chain.steps]
    if "" in kinds or not (layer.outputs == width or chain.origin.parts):
        return None
    steps = tuple(s for s, kind in zip(chain.steps, kinds, strict=True) if kind != "bias")
    source = next((o.node for o in step.tensors if graph.maker(o) or o.node in graph.given), "")
    share = ("", 0, 0) if layer.outputs == width else (*_share(view, chain), layer.outputs)
    shape = (width, layer.inputs) if layer.transposed else (layer.inputs, width)
    layer = replace(layer, shape=shape, bias=layer.bias or "bias" in kinds)
    holder = f"{(step.node.path or '').rpartition('.')[2]}.weight"
    return Part(layer, source, holder, *share, steps)


def _share(view: ModuleView, chain: Chain) -> tuple[str, int]:
    """Return how a share of a layer's outputs is stored, and its place among the shares."""
    assert chain.origin is not None
    flows, first = view.architecture.flows, chain.origin.parts[0]
    flow = None if flows is None else flows.flow(view.node.path)
    number = re.search(r"-?\d+", first)
    place = int(number[0]) if number else 0
    # Of the axis of heads: the first ones are queries, the last ones keys and values.
    words = [step.operation for step in chain.steps]
    if re.search(r"^unbind|:\S*, :\]$", first) or "look-up" in words:
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


def _kind(view: ModuleView, graph: ModuleGraph, step: Step) -> str:
    """Return what a step between a projection and the scores is, "" if it cannot be written.

    A vector that is added is a ``bias``, which the module stores apart from its layer.
    """
    if step.operation == "add":
        given = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
        shapes = [view.parameter_shape(o.parameter) for o in step.operands if o.parameter]
        shapes += [node.shape for node in given if node.kind == "parameter"]
        return "bias" if 1 in map(len, shapes) else "vector" if shapes else ""
    if step.operation in ("mul", "div"):
        return "factor" if sum(graph.maker(o) is not None for o in step.tensors) == 1 else ""
    is_known = step.operation in ("rotary", "look-up", "clamp", *REPEATS) or is_norm(step)
    return step.operation if is_known else ""


def _after(
    view: ModuleView, graph: ModuleGraph, step: Step
) -> tuple[Affine | None, str, Norm | None, int | None] | None:
    """Return output projection, residual, norm and kernel; ``None`` if anything else follows."""
    output: Affine | None = None
    residual, norm, kernel, value = "", None, None, step.roles.get("value")
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
    for graph in (place.graph for place in places(view)):
        for each in graph.of("attention"):
            if each.node.path == step.node.path:
                query, key = (source_of(graph, each.roles.get(role)) for role in ("query", "key"))
                return query == key
    return False


def reads_text(view: ModuleView) -> bool:
    """Return whether a module reads one vector for each token of a text."""
    graph = view.graph
    return graph is not None and any(_is_text(view, node.shape[:-1]) for node in graph.inputs[:1])


def _is_text(view: ModuleView, sizes: tuple[int, ...]) -> bool:
    flows = view.architecture.flows
    return flows is not None and any(flows.lengths.get(name) in sizes for name in ("S", "S_d"))
