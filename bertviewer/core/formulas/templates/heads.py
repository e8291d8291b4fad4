"""What an attention module is made of, read from its data-flow graph, however it stores it."""

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
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.projections import (
    Part,
    is_known,
    layer_of,
    part_of,
    repeats_of,
)
from bertviewer.core.formulas.templates.rotation import Rotation, rotation_of
from bertviewer.core.formulas.templates.scores import Scores, scores_of
from bertviewer.core.frozen import frozen

_CLOSE = 1e-4
_VIEWS = ("view", "reshape", "unflatten")


@frozen(slots=False)
class Heads:
    """An attention module.

    Attributes:
        parts: by role: ``query``, ``key`` and ``value``.
        count: heads of queries.
        key_heads: heads of keys and values.
        size: features of a query and a key, d_k.
        value_size: features of a value.
        output: the output projection in this module.
        residual: the input that the module adds to the projected output, "" for none.
        norm: the norm of the sum.
        is_cross: whether keys and values come from another input than queries.
        is_causal: whether later positions are masked, ``None`` if not known.
        is_text: whether the positions are those of a text.
        is_masked: whether the scores can be masked.
        scores: what is done to the scores.
        rotation: of queries and keys.
        projections: whether torch's function projects too.
        kernel: the shape of the kernel of a convolution over positions, one per head, whose result
            with the values is added to the heads' outputs; ``()`` for none.
    """

    view: ModuleView
    step: Step
    parts: Mapping[str, Part]
    count: int
    key_heads: int
    size: int
    value_size: int
    output: Affine | None
    residual: str
    norm: Norm | None
    is_cross: bool
    is_causal: bool | None
    is_text: bool
    is_masked: bool
    scores: Scores
    rotation: Rotation | None
    projections: bool = False
    kernel: tuple[int, ...] = ()

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
    def scale(self) -> float | None:
        """The whole factor on the product, ``None`` for the usual 1 / sqrt(d_k)."""
        later = (change.number or 0.0 for change in self.scores.of("scale"))
        return self.unless_usual((self.scores.factor or 0.0) * prod(later))

    @property
    def first_scale(self) -> float | None:
        """The factor on the product before anything is added, ``None`` for the usual one."""
        return self.unless_usual(self.scores.factor or 0.0)

    def unless_usual(self, factor: float) -> float | None:
        """Return a factor on the scores, ``None`` if queries and it make 1 / sqrt(d_k)."""
        found = factor * self.query.factor * self.key.factor
        return None if abs(found * self.size**0.5 - 1) < _CLOSE else found

    @property
    def reads_given(self) -> bool:
        """Whether queries, keys and values are inputs of the module."""
        return self.query.layer is None and not self.projections

    @property
    def width(self) -> int:
        """Features of the input that queries are made of."""
        return self.query.layer.inputs if self.query.layer else self.count * self.size


def own_attentions(view: ModuleView) -> tuple[Step, ...]:
    """Return the attentions that a module's own code computes, not a module in it."""
    graph = view.graph
    return (
        ()
        if graph is None
        else tuple(step for step in graph.of("attention") if step.node.path == view.node.path)
    )


def heads_of(view: ModuleView, step: Step) -> Heads | None:
    """Return what an attention module is made of, ``None`` if it does anything unknown.

    Raises:
        UnknownScoresError: the scores are not changed in a known way.
    """
    graph = view.graph
    count = step.node.details.get("heads")
    if graph is None or not isinstance(count, int) or not step.node.shape:
        return None
    value_size = step.node.shape[-1]
    size = step.node.details.get("head_size")
    size = size if isinstance(size, int) else value_size
    key_heads = step.node.details.get("key_value_heads")
    key_heads = key_heads if isinstance(key_heads, int) else count
    repeats = repeats_of(graph, step.roles.get("key") or step.roles["query"])
    key_heads //= repeats
    if not key_heads or count % key_heads:
        return None
    parts = {}
    for role, width in (
        ("query", count * size),
        ("key", key_heads * size),
        ("value", key_heads * value_size),
    ):
        part = part_of(view, graph, step.roles.get(role) or step.roles["query"], width)
        if part is None or not all(is_known(graph, each) for each in part.steps):
            return None
        parts[role] = part
    sources = {part.source for part in parts.values()}
    if not sources <= set(graph.given) or not _fills_layers(view, graph, parts):
        return None
    convolution = _convolution_of_values(graph, step)
    after = _after(view, graph, convolution or step)
    if after is None:
        return None
    is_cross = parts["query"].source != parts["key"].source and not _is_same_outside(view, step)
    scores = scores_of(step)
    is_text = reads_text(view)
    if not is_text and parts["query"].is_convolution:
        is_text = _is_text(view, graph.inputs[0], positions=-1)
    source = graph.given.get(parts["key"].source)
    can_be_padded = is_text if source is None or not is_cross else _is_text(view, source)
    return Heads(
        view,
        step,
        parts,
        count,
        key_heads,
        size,
        value_size,
        *after,
        is_cross,
        False if is_cross else is_causal(view.architecture, view.node.path),
        is_text,
        can_be_padded or "mask" in step.roles,
        scores if is_cross else _with_biases(graph, scores, count),
        rotation_of(view, parts["query"].steps, parts["value"].steps, size),
        kernel=_kernel(view, graph, convolution),
    )


def _with_biases(graph: ModuleGraph, scores: Scores, count: int) -> Scores:
    """Return scores whose masks with a number of each head are a bias: those of ALiBi."""
    changes = []
    for change in scores.changes:
        given = graph.given.get(change.operand.node)
        is_of_heads = given is not None and given.shape[-3:-2] == (count,) and count > 1
        changes.append(
            replace(change, kind="bias") if change.kind == "mask" and is_of_heads else change
        )
    return replace(scores, changes=tuple(changes))


def _fills_layers(view: ModuleView, graph: ModuleGraph, parts: Mapping[str, Part]) -> bool:
    """Return whether the shares of each layer are all of its outputs."""
    shares: dict[str, int] = {}
    for part in parts.values():
        if part.taken[0] and part.layer is not None:
            shares[part.holder] = shares.get(part.holder, 0) + part.layer.outputs
    layers = {(s.node.path or "").rpartition(".")[2]: s for s in graph.of("linear")}
    for holder, outputs in shares.items():
        layer = layer_of(view, layers[holder])
        if layer is None or layer.outputs != outputs:
            return False
    return True


def torch_heads(view: ModuleView, step: Step | None) -> Heads | None:
    """Return what torch.nn.MultiheadAttention is made of: it projects within one function.

    Without a graph, torch's own name of a decoder's second attention shows what it reads.
    """
    count, size = view.integer("num_heads"), view.integer("head_dim")
    output = view.affine(f"{view.node.path}.out_proj")
    if not isinstance(count, int) or not isinstance(size, int) or output is None:
        return None
    width, bias = output.outputs, view.shape("in_proj_bias") is not None
    if step is None:
        other = "memory" if view.node.name == "multihead_attn" else ""
        step = Step(Node("", "group", "attention"), (), {"query": Operand(), "key": Operand(other)})
    source = step.roles["query"].node if "query" in step.roles else ""
    other = step.roles["key"].node if "key" in step.roles else source
    parts = {}
    for role, node in (("query", source), ("key", other), ("value", other)):
        shape = view.shape(f"{role[0]}_proj_weight") or (width, width)
        parts[role] = Part(Affine(shape, bias), node, "in_proj_weight", ("stacked", 0), ())
    is_cross = source != other
    causal = False if is_cross else is_causal(view.architecture, view.node.path)
    scores = Scores(size**-0.5, ())
    return Heads(
        *(view, step, parts, count, count, size, size, output, "", None, is_cross, causal),
        is_text=reads_text(view),
        is_masked=True,
        scores=scores,
        rotation=None,
        projections=True,
    )


def _is_same_outside(view: ModuleView, step: Step) -> bool:
    """Return whether queries and keys are made of one value, by the graph around the module."""
    place = next(places(view), None)
    if place is None:
        return False
    for each in place.graph.of("attention"):
        if each.node.path == step.node.path and {"query", "key"} <= set(each.roles):
            query, key = (_ancestors(place.graph, each.roles[role]) for role in ("query", "key"))
            layers = query & key
            return bool(layers)
    return False


def _ancestors(graph: ModuleGraph, operand: Operand) -> set[str]:
    """Return all that an operand is computed from, but for masks, positions and parameters."""
    found: set[str] = set()
    waiting = [operand.node]
    while waiting:
        node = waiting.pop()
        step = graph.by_id.get(node)
        if node in found or (step is None and graph.given[node].kind != "input"):
            continue
        found.add(node)
        waiting += [] if step is None else [o.node for o in (*step.tensors, *step.roles.values())]
    return found


def _convolution_of_values(graph: ModuleGraph, step: Step) -> Step | None:
    """Return the sum of the heads' outputs and a convolution of their values."""
    users, value = graph.users(step), step.roles.get("value")
    if len(users) != 1 or users[0].operation != "add" or value is None:
        return None
    makers = [graph.maker(o) for o in users[0].tensors if o.node != step.node.id]
    is_of_values = len(makers) == 1 and makers[0] is not None
    if not is_of_values or makers[0] is None or makers[0].operation != "convolution":
        return None
    read = [o for o in makers[0].tensors if not o.parameter and o.node]
    return users[0] if [o.node for o in read] == [value.node] else None


def _kernel(view: ModuleView, graph: ModuleGraph, added: Step | None) -> tuple[int, ...]:
    makers = [] if added is None else [graph.maker(o) for o in added.tensors]
    path = next((m.node.path for m in makers if m and m.operation == "convolution"), None)
    shapes = {t.name: t.shape for t in view.architecture.parameters}
    return shapes.get(f"{path}.weight", ())


def _after(
    view: ModuleView, graph: ModuleGraph, step: Step
) -> tuple[Affine | None, str, Norm | None] | None:
    """Return output projection, residual and norm that follow; ``None`` if anything else does."""
    output: Affine | None = None
    residual, norm = "", None
    for _ in range(4):
        if graph.is_result(step):
            return output, residual, norm
        users = graph.users(step)
        if len(users) != 1:
            return None
        (user,) = users
        if user.operation == "linear" and output is None and not residual:
            output = layer_of(view, user)
            if output is None:
                return None
        elif user.operation == "residual" and output is not None and not residual:
            residual = next((o.node for o in user.tensors if o.node != step.node.id), "")
        elif is_norm(user) and residual and norm is None:
            norm = Norm.of(user)
        else:
            return None
        step = user
    return None


def reads_text(view: ModuleView) -> bool:
    """Return whether a module reads one vector for each token of a text."""
    return view.graph is not None and any(_is_text(view, node) for node in view.graph.inputs[:1])


def _is_text(view: ModuleView, node: Node, positions: int | None = None) -> bool:
    """Return whether an axis of an input, any but the last by default, has the text's length."""
    flows = view.architecture.flows
    lengths = {} if flows is None else flows.lengths
    sizes = node.shape[:-1] if positions is None else node.shape[positions:]
    return any(lengths.get(name) in sizes for name in ("S", "S_d"))


def reads_encoder(heads: Heads) -> bool:
    """Return whether keys and values come from an encoder."""
    graph = heads.view.graph
    given = None if graph is None else graph.given.get(heads.key.source)
    return (given is not None and "encoder" in given.name) or reads_target(
        heads.view.node, heads.view.architecture
    )
