"""The steps of a graph: which nodes form one, its usual name, its note and its shapes."""

from collections.abc import Iterable, Iterator, Sequence
from math import isclose, sqrt
from typing import Literal

from msgspec.structs import replace

from bertviewer.core.formulas.embedding import index_kind
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.util.text import upper_first
from bertviewer.core.walkthrough.inner_steps import InnerSteps
from bertviewer.core.walkthrough.node_groups import (
    BLOCKS,
    ENDS,
    NORMS,
    SELF_ATTENTION,
    TRANSFORMS,
    FlowEdges,
    attentions_of,
    is_data,
)
from bertviewer.core.walkthrough.shapes import ShapeReader
from bertviewer.core.walkthrough.walkthrough import Step, common_path

Place = Literal["embeddings", "layer", "rest"]
"""The position of nodes: before the layers, in one, or after them."""

TOKEN_EMBEDDING, SEGMENT_EMBEDDING = "Token embedding", "Segment embedding"
_POSITION_EMBEDDING, _DISTANCE_EMBEDDING = "Position embedding", "Distance embedding"
_FEED_FORWARD = "Feed-forward network"
SINUSOIDS = (
    "Sines and cosines of the position are added to the token vectors; nothing is learned here."
)
RESIDUAL = "Residual connection: the block’s input is added to its output."
DISTANCES = "One vector per distance, used by the attention in every layer."
_SUM = "Element-wise sum of the vectors; nothing is learned here."
_PER_HEAD = "The Q, K, V and output projections, divided among the heads."
_NAMES = {
    **dict.fromkeys(NORMS, "Norm"),
    **dict.fromkeys(("feed-forward", "gated feed-forward"), _FEED_FORWARD),
    **dict.fromkeys(("mul", "matmul", "bmm"), "Multiply"),
    "routing": "Router",
    "cat": "Concatenate",
    "sub": "Subtract",
    "div": "Divide",
}
"""Names of steps by operation, if not the operation's name."""

_OF_EMBEDDINGS = {"Norm": "norm", "Linear": "projection", "Dropout": "dropout"}
"""Names of steps before the layers, after the word "Embedding"."""

_NOTES = {
    TOKEN_EMBEDDING: "One vector per token id.",
    SEGMENT_EMBEDDING: "One vector per segment type.",
    _POSITION_EMBEDDING: "One vector per position in the sequence.",
    _DISTANCE_EMBEDDING: DISTANCES,
    "Dropout": "Active only in training; nothing is learned here.",
    SELF_ATTENTION: "A special form of attention; its module contains the projections.",
    _FEED_FORWARD: "Widens each position’s vector and narrows it again.",
    "Router": "Selects {chosen} of {experts} experts for each token.",
    "Experts": "{experts} feed-forward networks; each token is routed to {chosen} of them.",
}
_TABLES = {"token": TOKEN_EMBEDDING, "segment": SEGMENT_EMBEDDING}
_JOINS = ("add", "sub", "mul", "div", "cat", "stack", "maximum", "minimum", "matmul", "bmm")
"""Operations that are steps if they join two activations."""

_FIXED = (
    ("Fixed positions", "One vector per position"),
    ("Sinusoidal positions", "Sines and cosines of each position"),
)
_FACTORS = {"mul": ("Scale", "multiplied"), "div": ("Divide", "divided")}
_MAX_NODES = 12
"""A module of a layer with norms and more nodes is one step."""


class StepReader:
    """Groups the nodes of one graph, and of modules with several steps, into steps.

    The steps have no ``paths`` and counts yet.
    """

    def __init__(
        self, architecture: Architecture, shapes: ShapeReader, flow: Flow, place: Place
    ) -> None:
        assert architecture.flows is not None
        self._architecture, self._flows = architecture, architecture.flows
        self._shapes, self._edges, self._place = shapes, FlowEdges(flow), place
        self._module = architecture.module(flow.path) or architecture.root
        self._base = common_path(n.path for n in flow.nodes if n.kind not in ENDS)
        attentions = attentions_of(self._edges, in_layer=place == "layer")
        self._attention_of = {n.id: (name, nodes) for name, nodes in attentions for n in nodes}
        self._done: set[str] = set()
        self._inner = InnerSteps(self._edges, shapes, ModuleView.of(self._module, architecture))

    def steps(self, nodes: Iterable[Node]) -> Iterator[Step]:
        """Yield the steps of some nodes of the graph, in execution order."""
        for node in nodes:
            if node.id in self._done or node.kind in ENDS:
                continue
            done: tuple[Node, ...] = (node,)
            if node.id in self._attention_of:
                name, done = self._attention_of[node.id]
                step = self._step(name, done, self._path_around(done), _PER_HEAD)
                yield replace(step, inner=self._inner.of(done))
            elif inner := self._opened(node):
                for flow in inner:
                    reader = StepReader(self._architecture, self._shapes, flow, self._place)
                    yield from reader.steps(flow.nodes)
            else:
                if node.operation == "linear" and self._name_of(node) == "Pooler":
                    users = self._edges.users(node)
                    done += tuple(user for user in users if user.operation == "activation")
                yield from self._steps_of(done)
            self._done |= {each.id for each in done}
            for each in done:
                yield from self.dropouts(each, done)

    def dropouts(self, node: Node, within: Sequence[Node] = ()) -> Iterator[Step]:
        """Yield the dropouts of a node's result, each once."""
        inside = {each.id for each in within}
        edges = list(self._edges.out[node.id])
        flow = self._flows.flow(node.path or "") if "parameters" in node.details else None
        if node.kind == "group" and flow is not None:  # the node is a whole module
            ends = {each.id for each in flow.nodes if each.kind == "output"}
            edges = [edge for edge in flow.edges if edge.target in ends] + edges
        found: dict[str | None, Edge] = {}
        for edge in edges:
            if "dropout" in edge.views and edge.target not in inside:
                found.setdefault(next(iter(edge.through), None), edge)
        for path, edge in found.items():
            name, shape = self._name("dropout"), self._shapes.shape(edge)
            step = self._step(name, (node,), path, _NOTES.get(name, ""))
            yield replace(step, input_shape=shape, output_shape=shape, reads=())

    def _opened(self, node: Node) -> list[Flow]:
        """Return the graphs of a closed module with several steps, and of equal modules."""
        found = self._closed(node)
        if found is None or self._attends(node):
            return []
        inside = self._operations(found)
        is_small = sum(each.kind not in ENDS for each in found.nodes) <= _MAX_NODES
        is_layer = self._place == "layer"
        is_open = bool(inside & (TRANSFORMS if is_layer else BLOCKS))
        is_open |= self._place == "embeddings" or (is_layer and is_small and bool(inside & NORMS))
        return [f for path in node.layers if (f := self._flows.flow(path))] if is_open else []

    def _closed(self, node: Node) -> Flow | None:
        """Return the graph of a module that is not a single known operation."""
        is_closed = node.kind == "module" and node.operation is None
        is_inside = node.path != self._edges.flow.path
        return self._flows.flow(node.path or "") if is_closed and is_inside else None

    def _operations(self, flow: Flow) -> set[str | None]:
        """Return the operations of a module, and of the closed modules in it."""
        inner = filter(None, map(self._closed, flow.nodes))
        return {node.operation for node in flow.nodes}.union(*map(self._operations, inner))

    def _attends(self, node: Node) -> bool:
        """Return whether a closed module of a layer computes an unrecognised attention."""
        found = self._closed(node) if self._place == "layer" else None
        return found is not None and any(each.operation == "softmax" for each in found.nodes)

    def _steps_of(self, nodes: Sequence[Node]) -> Iterator[Step]:
        """Yield the steps of a node that is not an attention, with the activation of a pooler."""
        node, data = nodes[0], self._edges.data(nodes[0])
        in_embeddings = self._place == "embeddings"
        is_shown = bool(node.reads) or node.kind in ("module", "group")
        is_shown |= node.operation in _JOINS and len(data) > 1
        is_shown |= node.operation == "activation" and not in_embeddings
        if node.reads and node.operation in ("embedding", "look-up"):
            name = self._table_name(node)
            step = self._step(name, nodes, node.path, _NOTES[name])
            yield replace(step, input_shape=self._shapes.shape(node, part=slice(-1)))
        elif node.operation in ("residual", "add"):
            yield from self._sum(node)
        elif in_embeddings and (factor := self._factor(node)) is not None:
            yield self._step(factor[0], nodes, node.path, factor[1])
        elif is_shown:
            name, path = self._name_of(node), node.path
            for table in self.tables_read(node) if node.operation in NORMS and not data else ():
                yield table
                name = f"{table.name} norm"
            if node.nodes and "parameters" not in node.details:
                path = self._path_around([each for each in node.nodes if each.path])
            step = self._step(name, nodes, path, _note_of(name, node))
            step = replace(step, inner=self._inner.of(nodes))
            if path and (name == "Experts" or self._closed(node) is not None):
                # Also unused tensors, such as those of experts without tokens.
                below = self._architecture.tensors_below(path)
                step = replace(step, reads=tuple(tensor.name for tensor in below))
            yield step

    def _table_name(self, node: Node) -> str:
        """Return the name of an embedding table by what its indices are."""
        view = ModuleView.of(self._module, self._architecture)
        found = view.graph.by_id.get(node.id)
        # One vector for each pair of positions is one for their distance.
        is_pairs = len(node.shape) > 2 and node.shape[0] == node.shape[1] > 1
        other = _DISTANCE_EMBEDDING if is_pairs else _POSITION_EMBEDDING
        return other if found is None else _TABLES.get(index_kind(found, view), other)

    def tables_read(self, node: Node) -> Iterator[Step]:
        """Yield the tables of distances that a layer reads, or a node for it."""
        readers = (node, *self._edges.users(node)[:1])
        flows = filter(None, (self._flows.flow(each.path) for each in readers if each.path))
        if any(each.operation == "position bias" for flow in flows for each in flow.all_nodes()):
            for tensor in node.reads:
                owner = tensor.rpartition(".")[0]
                if not tensor.startswith(f"{node.path}.") and self._flows.flow(owner) is None:
                    yield Step(_DISTANCE_EMBEDDING, (), owner, note=DISTANCES, reads=(tensor,))

    def _name(self, operation: str) -> str:
        words = operation.replace("_", " ")
        name = _NAMES.get(operation, upper_first(words))
        is_own = self._place == "embeddings" and name in _OF_EMBEDDINGS
        return f"Embedding {_OF_EMBEDDINGS[name]}" if is_own else name

    def _name_of(self, node: Node) -> str:
        if self._attends(node):
            return SELF_ATTENTION
        is_after = self._place == "rest" and bool(self._edges.flow.edges)  # as far as it is known
        is_pooler = any(name.endswith("pooler") for name in (node.path or "").split("."))
        if is_after and is_pooler and node.operation in (None, "linear"):
            return "Pooler"
        if node.operation is not None:
            return self._name(node.operation)
        return "Head" if is_after and self._architecture.source.task != "base" else node.name

    def _sum(self, node: Node) -> Iterator[Step]:
        """Yield an addition, after the constant vectors that it adds.

        A sum of several embeddings is one step that names all of them.
        """
        sources = self._edges.sources(node)
        is_plain = self._place == "embeddings" and node.operation == "add"
        fixed = [each for each in sources if is_plain and _is_position_vectors(each, node)]
        note = RESIDUAL if node.operation == "residual" else _SUM
        for each in fixed:
            name, what = _FIXED[each.name == "sines and cosines"]
            yield self._step(name, (each,), None, f"{what}; nothing is learned here.")
            note = SINUSOIDS if name == "Sinusoidal positions" else note
        if is_plain and not fixed:
            if any(each.operation == "add" for each in sources) and not node.reads:
                return
            later = (f"The {name.lower()} is added as well." for name in self._added_later(node))
            note = " ".join((_SUM, *later))
        if node.reads or sum(map(is_data, sources)) + len(fixed) > 1:
            yield self._step("Add", (node,), None, note)

    def _added_later(self, node: Node) -> Iterator[str]:
        """Yield the names of the tables whose vectors are added to a sum right after it."""
        for user in self._edges.users(node):
            if user.operation == "add":
                tables = (s for s in self._edges.sources(user) if s.operation == "embedding")
                yield from (self._table_name(table) for table in tables)
                yield from self._added_later(user)

    def _factor(self, node: Node) -> tuple[str, str] | None:
        """Return the name and note of a multiplication by a number other than 1."""
        numbers = [each.plain for each in node.operands if not each.node]
        name, verb = _FACTORS.get(node.operation or "", ("", ""))
        if not name or node.reads or not len(numbers) == len(self._edges.data(node)) == 1:
            return None
        width = node.shape[-1]
        module = self._architecture.module(node.path or "")
        values = module.attributes.values() if module is not None else ()
        # A buffer often has the value of an attribute.
        known = [v for v in values if isinstance(v, float) and isclose(v, sqrt(width))]
        if not numbers[0] and not known:
            return name, f"Each vector is {verb} by one number."
        factor = float(numbers[0] or known[0])
        text = equal = f"{factor:.6g}"
        if isclose(factor, sqrt(width), rel_tol=1e-4):
            symbol = node.symbolic_shape[-1] if node.symbolic_shape else ""
            text = f"√{symbol if symbol.isidentifier() else width}"
            sign = "=" if sqrt(width).is_integer() else "≈"
            equal = f"{' = '.join(dict.fromkeys((text, f'√{width}')))} {sign} {equal}"
        return None if factor == 1 else (f"{name} by {text}", f"Each vector is {verb} by {equal}.")

    def _step(
        self, name: str, nodes: Sequence[Node], path: str | None = None, note: str = ""
    ) -> Step:
        """Return a step of some nodes with its parameters, input and output."""
        inside = {node.id for node in nodes}
        read = (edge for node in nodes for edge in self._edges.data(node))
        taken = next((edge for edge in read if edge.source not in inside), None)
        source = None if taken is None else self._edges.source(taken)
        near = (taken, source, *self._edges.out[nodes[-1].id])
        tokens = next((each for each in near if each is not None and len(each.shape) > 2), None)
        return Step(
            name,
            module=path,
            input_shape=None if taken is None else self._shapes.shape(taken, source),
            output_shape=self._shapes.shape(nodes[-1], tokens),
            note=note,
            reads=tuple(dict.fromkeys(name for node in nodes for name in node.reads)),
            flow=self._edges.flow.path if self._edges.flow.edges else None,
            nodes=tuple(node.id for node in nodes),
        )

    def _path_around(self, nodes: Sequence[Node]) -> str | None:
        """Return the module that contains nodes; of several in the layer the first."""
        paths = [node.path for node in nodes if node.path is not None and node.kind not in ENDS]
        common = common_path(paths)
        if not paths or not f"{self._base}.".startswith(f"{common}." if common else ""):
            return common if paths else None
        first = paths[0][len(self._base) :].lstrip(".").partition(".")[0]
        return ".".join(filter(None, (self._base, first)))


def _note_of(name: str, node: Node) -> str:
    if name.lower().endswith("norm") and node.operation in NORMS:
        has_bias = any(read.endswith("bias") for read in node.reads)
        return "A scale and a bias per feature." if has_bias else "A scale per feature."
    numbers = {key: node.details.get(key, "some") for key in ("experts", "chosen")}
    return _NOTES.get(name, "").format(**numbers)


def _is_position_vectors(node: Node, total: Node) -> bool:
    """Return whether a constant in a sum has one vector per position."""
    is_vectors = len(node.shape) > 1 and node.shape[-1] == total.shape[-1] > 1
    is_known = node.operation in (None, "positions") and max(node.shape[:-1], default=1) > 1
    return node.kind == "constant" and is_vectors and is_known
