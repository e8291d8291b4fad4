"""The parts of an attention module, read from its data-flow graph."""

import re
from collections.abc import Mapping
from functools import cached_property
from math import prod

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.formula import Affine, Term
from bertviewer.core.formulas.module_view import ModuleView, places, reads_target
from bertviewer.core.formulas.norm import Norm, is_norm
from bertviewer.core.formulas.steps.attention import Scores, factor_of, scores_of
from bertviewer.core.formulas.steps.graph_analysis import ROLES, Chain, chain_of
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Node, Operand

_VIEWS = ("view", "reshape", "unflatten")


class Projection(Struct, frozen=True):
    """Queries, keys or values: the layer that computes them, and further steps.

    Attributes:
        layer: the layer with this part's share of the outputs.
        source: the input that the layer reads.
        holder: the name of the tensor with the weight.
        layout: how the share of the weight is stored: "" for the whole weight, ``stacked``,
            ``interleaved`` by head, or ``unknown``.
        index: the index of the share.
        all_outputs: the number of all outputs of the layer, 0 if the share is all of them.
        steps: norms, rotations and others, in order.
    """

    layer: Affine
    source: str = ""
    holder: str = ""
    layout: str = ""
    index: int = 0
    all_outputs: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def factor(self) -> float:
        """The factor before the product."""
        scales = [*self.steps, *(i for s in self.steps if s.operation == "rotary" for i in s.inner)]
        return prod(factor_of(s) or 1.0 for s in scales if s.operation in ("mul", "div"))

    def step(self, *operations: str) -> Step | None:
        """Return the first step with one of these operations, ``None`` without one."""
        return next((each for each in self.steps if each.operation in operations), None)

    def norms(self, *, of_heads: bool) -> list[Step]:
        """Return the norms of each head's features, or those of all features."""
        norms = (each for each in self.steps if is_norm(each))
        return [each for each in norms if (each.node.shape[-1] != self.layer.outputs) is of_heads]


class Heads(Struct, frozen=True, dict=True):
    """The parts of an attention module.

    Attributes:
        count: the number of heads of queries.
        key_heads: the number of heads of keys and values.
        size: the features of a query and a key, d_k.
        value_size: the features of a value.
        scores: the changes of the product of queries and keys, and of its operands.
        output: the output projection in this module.
        residual: the input that is added to the projected output, "" for none.
        norm: of that sum.
        kernel: the size of a convolution of values that is added to the heads' outputs, 0 without
            one (Nyströmformer).
        is_cross: whether keys and values come from another input than queries.
        is_text: whether the positions are those of a text.
        is_masked: whether the scores can be masked.
    """

    view: ModuleView
    step: Step
    query: Projection
    key: Projection
    value: Projection
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
    def projections(self) -> Mapping[str, Projection]:
        """Queries, keys and values by role."""
        return {"query": self.query, "key": self.key, "value": self.value}

    @property
    def shared(self) -> int:
        """The number of query heads per head of keys and values."""
        return self.count // self.key_heads

    @cached_property
    def is_causal(self) -> bool | None:
        """Whether later positions are masked, ``None`` if unknown."""
        return False if self.is_cross else is_causal(self.view.architecture, self.view.node.path)

    @cached_property
    def reads_encoder(self) -> bool:
        """Whether keys and values come from an encoder."""
        given = self.view.graph.given.get(self.key.source)
        is_named = given is not None and "encoder" in given.name
        return self.is_cross and (is_named or reads_target(self.view.node, self.view.architecture))


class Variant(Struct, frozen=True):
    """How an attention differs from the common one.

    Attributes:
        lines: after those of the scores, or before them if ``scores`` has no ``{}``.
        last: the last lines.
        terms: of changes of the scores; texts may have placeholders.
        values: for the texts, instead of the usual ones.
        keys: further configuration keys.
        scores: the argument of the softmax, with ``{}`` for that in the graph.
        projection_lines: the lines of queries, keys and values, if not those of three layers.
        layer_terms: the terms of further layers.
        purposes: the purposes of these layers, by path.
    """

    lines: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    scores: str = "{}"
    projection_lines: tuple[str, ...] = ()
    layer_terms: tuple[Term, ...] = ()
    purposes: Mapping[str, str] = field(default_factory=dict)


def own_attentions(view: ModuleView) -> tuple[Step, ...]:
    """Return the attentions in a module's own code."""
    return tuple(s for s in view.graph.of("attention") if s.node.path == view.node.path)


def sole_heads(view: ModuleView) -> Heads | None:
    """Return the parts of a module with one attention, ``None`` for unknown operations."""
    own, graph = own_attentions(view), view.graph
    if len(own) != 1 or len(graph.of("attention")) > 1 or "query" not in own[0].roles:
        return None
    (step,) = own
    details, roles = step.node.details, step.roles
    if details.get("projections"):
        return _torch_heads(view, step)
    count = details.get("heads")
    value_size = step.node.shape[-1] if step.node.shape else 0
    size, key_heads = details.get("head_size", value_size), details.get("key_value_heads", count)
    if not (isinstance(count, int) and isinstance(size, int) and isinstance(key_heads, int)):
        return None
    if not key_heads or count % key_heads:
        return None
    widths = {"query": count * size, "key": key_heads * size, "value": key_heads * value_size}
    found = [
        _projection(view, graph, roles.get(role, roles["query"]), n) for role, n in widths.items()
    ]
    parts = [part for part in found if part is not None and part.source in graph.given]
    after = _after(view, graph, step)
    if after is None or len(parts) < len(found):
        return None
    query, key, value = parts
    is_cross = query.source != key.source and not _is_same_outside(view, step)
    # A mask with an axis of heads is a bias, as in ALiBi.
    is_of_heads = count > 1 and not is_cross
    biases = [i for i, n in graph.given.items() if is_of_heads and n.shape[-3:-2] == (count,)]
    scores = scores_of(step, biases)
    makes_more = any(
        part.all_outputs not in (0, sum(p.layer.outputs for p in parts if p.holder == part.holder))
        for part in parts
    )
    if scores is None or makes_more:
        return None
    factor = None if scores.factor is None else scores.factor * query.factor * key.factor
    is_text = reads_text(view, has_columns=bool(query.layer.convolution))
    is_padded = (
        is_text if not is_cross else not view.lengths.isdisjoint(graph.given[key.source].shape[:-1])
    )
    return Heads(
        *(view, step, query, key, value, count, key_heads, size, value_size),
        *(replace(scores, factor=factor), *after),
        is_cross=is_cross,
        is_text=is_text,
        is_masked=is_padded or "mask" in roles,
    )


def _torch_heads(view: ModuleView, step: Step) -> Heads | None:
    """Return the parts of torch.nn.MultiheadAttention, which is one operation."""
    count, size = view.integer("num_heads"), view.integer("head_dim")
    output = view.affine(f"{view.node.path}.out_proj")
    if not (count and size and output):
        return None
    query = step.roles["query"]
    key = step.roles.get("key", query)
    bias, square = view.shape("in_proj_bias") is not None, (output.outputs, output.outputs)
    stored = ("The tensor in_proj_weight", "stacked" if view.shape("in_proj_weight") else "")
    queries, keys, values = (
        Projection(Affine(view.shape(f"{q}_proj_weight") or square, bias), source.node, *stored)
        for q, source in (("q", query), ("k", key), ("v", key))
    )
    return Heads(
        *(view, step, queries, keys, values, count, count, size, size),
        *(Scores(size**-0.5), output),
        is_cross=query.node != key.node,
        is_text=reads_text(view),
    )


def sparse_heads(view: ModuleView) -> Heads | None:
    """Return the parts of an attention to some positions (BigBird, Longformer).

    It is recognised by its attributes, as the code multiplies blocks and bands.
    """
    path = f"{view.node.path}." if view.node.path else ""
    layers = {role: view.affine(f"{path}{role}") for role in ROLES}
    parts = [Projection(layer, "", role) for role, layer in layers.items() if layer]
    count = view.integer("num_attention_heads", "num_heads", "n_heads")
    is_sparse = view.integer("num_random_blocks", "one_sided_attn_window_size") is not None
    if not is_sparse or len(parts) < len(ROLES) or not count:
        return None
    size = parts[0].layer.outputs // count
    query, key, value = parts
    step = Step(Node(view.node.path, "group", "attention"), (), {})
    return Heads(view, step, query, key, value, count, count, size, size, Scores(size**-0.5))


def layer_of(view: ModuleView, step: Step | None) -> Affine | None:
    """Return the linear layer of a step, ``None`` for other steps."""
    if step is None or step.operation != "linear":
        return None
    details = step.node.details
    sizes = details.get("in_features"), details.get("out_features")
    if details.get("function") != "einsum" or not all(isinstance(size, int) for size in sizes):
        return view.affine_of(step)
    # The weight may have an axis of heads: "ibh,hnd->ibnd" (XLNet).
    _, weight, result = step.operands[0].plain.replace(" ", "").replace("->", ",").split(",")
    shape = tuple(int(str(size)) for size in sizes)
    is_out_in = weight[0] in result
    return Affine(shape[::-1] if is_out_in else shape, bias=False, transposed=is_out_in)


def _projection(
    view: ModuleView, graph: ModuleGraph, operand: Operand, width: int
) -> Projection | None:
    """Return the projection to queries, keys or values, ``width`` features; or ``None``."""
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
    return Projection(layer, source, holder, *share, steps)


def _share(view: ModuleView, chain: Chain) -> tuple[str, int]:
    """Return how a share of a layer's outputs is stored, and its index."""
    assert chain.origin is not None
    first, flow = chain.origin.parts[0], view.flows.flow(view.node.path)
    number = re.search(r"-?\d+", first)
    place = int(number[0]) if number else 0
    # Parts along the axis of heads.
    is_of_heads = re.search(r"^unbind|:\S*, :\]$", first)
    if is_of_heads or any(step.operation == "look-up" for step in chain.steps):
        return "stacked", place
    sources = {chain.origin.node, *(step.node.id for step in chain.steps)}
    for edge in () if flow is None else flow.edges:
        if edge.source in sources and first in edge.views:
            is_view = [word in _VIEWS for word in edge.views]
            at = edge.views.index(first)
            many = "interleaved" if sum(is_view[at:]) <= 1 else "unknown"
            return many if any(is_view[:at]) else "stacked", place
    return "unknown", place


def _kind(view: ModuleView, graph: ModuleGraph, step: Step) -> str:
    """Return the kind of a step between a projection and the scores, "" if unknown.

    A parameter that is added is a ``bias`` if it is a vector.
    """
    if step.operation == "add":
        given = [graph.given[o.node] for o in step.tensors if o.node in graph.given]
        shapes = [view.parameter_shape(o.parameter) for o in step.operands if o.parameter]
        shapes += [node.shape for node in given if node.kind == "parameter"]
        return "bias" if 1 in map(len, shapes) else "vector" if shapes else ""
    if step.operation in ("mul", "div"):
        return "factor" if sum(graph.maker(o) is not None for o in step.tensors) == 1 else ""
    return "" if step.operation == "cat" else step.operation


def _after(
    view: ModuleView, graph: ModuleGraph, step: Step
) -> tuple[Affine | None, str, Norm | None, int] | None:
    """Return ``Heads``' output, residual, norm and kernel; ``None`` if anything else follows."""
    output: Affine | None = None
    residual, norm, kernel = "", None, 0
    while not graph.is_result(step):
        users = graph.users(step)
        if len(users) != 1:
            return None
        user = users[0]
        layer = layer_of(view, user)
        other = next((o for o in user.tensors if o.node != step.node.id), None)
        maker = graph.maker(other)
        if layer is not None and output is None and not residual:
            output = layer
        elif user.operation == "residual" and output is not None and not residual:
            residual = other.node if other else ""
        elif is_norm(user) and residual and norm is None:
            norm = Norm.of(user)
        elif user.operation == "add" and maker and maker.operation == "convolution":
            if step.roles.get("value") not in maker.tensors:
                return None
            kernel = max(view.parameter_shape(f"{maker.node.path}.weight")[2:], default=0)
        else:
            return None
        step = user
    return output, residual, norm, kernel


def input_of(graph: ModuleGraph, operand: Operand | None) -> str:
    """Return the input at the start of the chain of first operands, or ""."""
    while (maker := graph.maker(operand)) is not None:
        operand = next(iter(maker.tensors), None)
    given = None if operand is None else graph.given.get(operand.node)
    return given.id if given is not None and given.kind == "input" else ""


def _is_same_outside(view: ModuleView, step: Step) -> bool:
    """Return whether queries and keys depend on one input of the enclosing module (CANINE)."""
    for graph in (place.graph for place in places(view)):
        for each in graph.of("attention"):
            if each.node.path == step.node.path:
                query, key = (input_of(graph, each.roles.get(role)) for role in ("query", "key"))
                return query == key
    return False


def reads_text(view: ModuleView, *, has_columns: bool = False) -> bool:
    """Return whether a module reads a vector for each token, perhaps as columns."""
    first = view.graph.inputs[0].shape if view.graph.inputs else ()
    return not view.lengths.isdisjoint(first[-1:] if has_columns else first[:-1])
