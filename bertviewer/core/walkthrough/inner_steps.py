"""The steps inside attentions and feed-forward networks, from the projections to the output."""

from collections.abc import Iterator, Sequence

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.attention import PRODUCTS, Change, Scores, is_root, scores_of
from bertviewer.core.formulas.templates.heads import reads_text
from bertviewer.core.schema.flow import Edge, Node
from bertviewer.core.util.numbers import with_minus
from bertviewer.core.util.text import joined, upper_first
from bertviewer.core.walkthrough.node_groups import ENDS, NORMS, FlowEdges
from bertviewer.core.walkthrough.shapes import ShapeReader
from bertviewer.core.walkthrough.walkthrough import Step, StepShape

FEED_FORWARDS = ("feed-forward", "gated feed-forward")
_ROLES = {"query": "queries", "key": "keys", "value": "values"}
_SIDES = ("mask", "bias", "position")
_SPLIT, _CONCATENATE, _OUTPUT = "Split into heads", "Concatenate heads", "Output projection"
_SOFTMAX, _WEIGHTED = "Softmax over the keys", "Weighted sum of the values"
_MASK, _CAUSAL = "Mask", "Causal mask"
_CHANGES = {"bias": "Add the bias", "mask": _MASK, "sinks": "Append learned sinks"}
_OPERATIONS = {
    "rotary": "Rotary positions",
    "position bias": "Position bias",
    "embedding": "Distance embedding",
    "look-up": "Distance embedding",
    "softmax": _SOFTMAX,
    "mul": "Multiply",
    "div": "Divide",
    **dict.fromkeys(NORMS, "Norm"),
    **dict.fromkeys(PRODUCTS, "Matrix product"),
}


class InnerSteps:
    """Finds the steps inside the steps of one graph."""

    def __init__(self, edges: FlowEdges, shapes: ShapeReader, view: ModuleView) -> None:
        self._edges, self._shapes, self._view = edges, shapes, view

    def of(self, nodes: Sequence[Node]) -> tuple[Step, ...]:
        """Return the steps inside a step of these nodes, none if it is neither kind of block."""
        attentions = [node for node in nodes if node.operation == "attention"]
        if len(attentions) == 1:
            if attentions[0].details.get("projections"):
                return tuple(self._torch_attention(attentions[0]))
            return tuple(_Attention(self._edges, self._shapes, self._view, nodes).steps())
        if len(nodes) == 1 and nodes[0].operation in FEED_FORWARDS:
            return tuple(self._feed_forward(nodes[0]))
        return ()

    def _feed_forward(self, group: Node) -> Iterator[Step]:
        taken = next(iter(self._edges.data(group)), None)
        into = {edge.target: edge for edge in reversed(group.edges)}
        kinds = {node.id: node.operation for node in group.nodes or ()}
        for node in group.nodes or ():
            name = str(node.details.get("activation", "Activation"))
            users = [kinds[edge.target] for edge in group.edges if edge.source == node.id]
            if node.operation == "linear":
                name = "Up projection" if users else "Down projection"
                if group.operation == "gated feed-forward" and "activation" in users:
                    name = "Gate and up projection" if users[1:] else "Gate projection"
            elif node.operation == "mul":
                name = "Multiply by the gate"
            elif node.operation != "activation":
                name = _words(node)
            before: Node | Edge | None = into.get(node.id, taken)
            result = self._shapes.shape(node, taken)
            inputs = None if before is None else self._shapes.shape(before, taken)
            yield _step(name, inputs, result, node)

    def _torch_attention(self, node: Node) -> Iterator[Step]:
        """Yield the steps of ``torch.nn.MultiheadAttention``, which is one operation."""
        edges, shapes = self._edges.data(node), self._shapes
        heads, size = node.details.get("heads"), node.details.get("head_size")
        if not edges or not isinstance(heads, int) or not isinstance(size, int):
            return
        values, (first, last) = self._view.architecture.symbol_values, (edges[0], edges[-1])
        query, key = shapes.names(first), shapes.names(last)
        symbols = [name for name in ("A", "A_e", "A_d") if values.get(name) == heads]
        head = [symbols[0], f"{query[-1]}//{symbols[0]}"] if symbols else [str(heads), str(size)]
        is_after = [".out_proj." in f".{name}" for name in node.reads]
        before = tuple(n for n, after in zip(node.reads, is_after, strict=True) if not after)
        after = tuple(n for n, after in zip(node.reads, is_after, strict=True) if after)
        whole, split = shapes.of(query), shapes.of(["B", head[0], query[-2], head[1]])
        scores = shapes.of(["B", head[0], query[-2], key[-2]])
        same = whole if query == key else None
        yield Step("Query, key and value projection", (), node.path, whole, same, reads=before)
        yield Step(_SPLIT, (), None, whole, split)
        changes = Scores(size**-0.5)
        yield from _softmax(changes, size, (split, scores), mask_of(node, self._edges, self._view))
        yield Step(_WEIGHTED, (), None, scores, split)
        yield Step(_CONCATENATE, (), None, split, whole)
        yield Step(_OUTPUT, (), node.path, whole, whole, reads=after)


class _Attention:
    """The steps of one attention with its projections."""

    def __init__(
        self, edges: FlowEdges, shapes: ShapeReader, view: ModuleView, nodes: Sequence[Node]
    ) -> None:
        self._edges, self._shapes, self._view = edges, shapes, view
        self._nodes = [node for node in nodes if node.kind not in ENDS]
        self._node = next(node for node in nodes if node.operation == "attention")
        self._roles = {node.id: self._roles_of(node) for node in self._nodes}
        self._after = {self._node.id}
        for node in self._nodes:
            if any(source.id in self._after for source in edges.sources(node)):
                self._after.add(node.id)
        # A bias may be computed after the scores.
        self._nodes.sort(key=lambda node: node.id in self._after)

    def steps(self) -> Iterator[Step]:
        """Yield the steps in execution order."""
        splits = self._splits()
        for node in self._nodes:
            yield from splits.get(node.id, ())
            if node is self._node:
                yield from self._core()
                continue
            taken = next((e for e in self._edges.data(node) if e.role not in _SIDES), None)
            if taken is not None or node.reads:  # not angles of rotations
                inputs = None if taken is None else self._shape(taken)
                yield _step(self._name(node), inputs, self._shape(node), node)

    def _roles_of(self, node: Node) -> tuple[str, ...]:
        """Return what a node computes for the attention: ``query``, ``key``, ``bias`` …."""
        inside, found, waiting = {each.id for each in self._nodes}, set[str](), [node.id]
        seen: set[str] = set()
        while waiting:
            for edge in self._edges.out[waiting.pop()]:
                if edge.target == self._node.id:
                    found.add(edge.role or "")
                elif edge.target in inside - seen:
                    seen.add(edge.target)
                    waiting.append(edge.target)
        return tuple(role for role in (*_ROLES, *_SIDES) if role in found)

    def _name(self, node: Node) -> str:
        roles = [role for role in self._roles[node.id] if role in _ROLES]
        if node.operation == "linear":
            if roles:
                return f"{joined(roles).capitalize()} projection"
            is_side = bool(self._roles[node.id])
            is_output = node.id in self._after
            return _OUTPUT if is_output else "Position projection" if is_side else "Projection"
        name, of = _words(node), f" of the {joined([_ROLES[r] for r in roles])}" if roles else ""
        if node.operation in ("mul", "div") and len(self._edges.data(node)) == 1:
            name = "Scaling"
        return ("Bias" if node.operation == "add" and node.reads else name) + of

    def _shape(self, found: Node | Edge) -> StepShape | None:
        """Return a shape; of four dimensions the tokens are the third or the second."""
        if not found.shape:
            return None
        is_split = len(found.shape) > 3
        names = self._shapes.names(found, (0, 2) if is_split else None)
        if is_split and names[2].isdecimal():
            names = self._shapes.names(found, (0, 1))
        return self._shapes.of(names)

    def _splits(self) -> dict[str, list[Step]]:
        """Return the divisions into heads, by the node that first reads their result."""
        found: dict[tuple[StepShape, StepShape], tuple[str, set[str]]] = {}
        for node in self._nodes:
            for edge in self._edges.data(node):
                before = self._edges.source(edge)
                is_divided = len(edge.shape) > len(before.shape) or edge.shape[0] != before.shape[0]
                is_side = edge.role in _SIDES or node.operation == "position bias"
                if before.id not in self._roles or before.id in self._after or is_side:
                    continue
                whole, roles = (
                    self._shape(before),
                    {edge.role} if edge.role else self._roles[node.id],
                )
                if is_divided and whole is not None:
                    known = found.setdefault((whole, self._heads(edge)), (node.id, set()))
                    known[1].update(role for role in roles if role in _ROLES)
        steps: dict[str, list[Step]] = {}
        for (whole, heads), (reader, roles) in found.items():
            words = joined([_ROLES[role] for role in _ROLES if role in roles])
            name = f"Split the {words} into heads" if words and len(found) > 1 else _SPLIT
            steps.setdefault(reader, []).append(Step(name, (), None, whole, heads))
        return steps

    def _heads(self, edge: Edge) -> StepShape:
        """Return the shape of queries, keys or values by head; keys may be transposed."""
        size, sizes = self._node.details.get("head_size"), edge.shape
        is_turned = size not in (None, sizes[-1]) and size == sizes[-2]
        if is_turned:
            names = self._shapes.names(edge, (0, -1))
            return self._shapes.of([*names[:-2], names[-1], names[-2]])
        names = self._shapes.names(edge, (0, -2))
        if len(names) > 3 and names[-2].isdecimal():
            names = self._shapes.names(edge, (0, 1))
        # Often only a part of the features of a head is rotated.
        return self._shapes.of(
            [*names[:-1], str(size) if size not in (None, sizes[-1]) else names[-1]]
        )

    def _core(self) -> Iterator[Step]:
        """Yield the steps from the scores to the concatenated heads."""
        node, edges = self._node, self._edges
        roles = {edge.role: edge for edge in reversed(edges.into[node.id])}
        step = self._view.graph.by_id.get(node.id)
        query, value = roles.get("query"), roles.get("value")
        given = self._view.graph.given
        # A mask with an axis of heads is a bias, as in ALiBi.
        count = node.details.get("heads")
        biases = [at for at, each in given.items() if each.shape[-3:-2] == (count,) != (1,)]
        scores = None if step is None else scores_of(step, biases)
        if scores is None or query is None or value is None:
            yield from self._unknown()
        else:
            size = node.details.get("head_size")
            softmax = next((n for n in node.nodes or () if n.operation == "softmax"), None)
            if softmax is not None:
                square = self._shapes.names(softmax, (0, -2, -1))
            else:
                tokens = self._shapes.names(value, (0, -2))[-2]
                square = [*self._shapes.names(query, (0, -2))[:-1], tokens]
            mask, shape = mask_of(node, edges, self._view), self._shapes.of(square)
            yield from _softmax(scores, size, (self._heads(query), shape), mask, node.reads)
            yield Step(_WEIGHTED, (), None, shape, self._context())
        for edge in edges.out[node.id][:1]:
            if edge.shape != node.shape:
                yield Step(_CONCATENATE, (), None, self._context(), self._shape(edge))

    def _context(self) -> StepShape | None:
        return self._shapes.of(self._shapes.names(self._node, (0, -2)))

    def _unknown(self) -> Iterator[Step]:
        """Yield a step for each traced operation."""
        into = {edge.target: edge for edge in reversed(self._node.edges)}
        for node in self._node.nodes or ():
            edge = into.get(node.id)
            inputs = None if edge is None else self._shape(edge)
            yield _step(_words(node), inputs, self._shape(node), node)


def mask_of(node: Node, edges: FlowEdges, view: ModuleView) -> str:
    """Return the name of the mask that an attention adds to its scores, "" for none."""
    sources = {edge.role: edges.inputs[edge.source] for edge in edges.data(node)}
    is_cross = len(edges.data(node)) > 1 and bool(
        sources.get("query", sources.get(None, set())) - sources.get("key", set())
    )
    if node.details.get("causal") or (
        not is_cross and is_causal(view.architecture, node.path or "")
    ):
        return _CAUSAL
    is_masked = any(edge.role == "mask" for edge in edges.into[node.id])
    return _MASK if is_masked or reads_text(view) else ""


def _softmax(
    scores: Scores,
    size: object,
    shapes: tuple[StepShape, StepShape],
    mask: str,
    reads: tuple[str, ...] = (),
) -> Iterator[Step]:
    """Yield the scores, what is done to them, and the softmax.

    ``shapes`` are those of the queries and of the scores.
    """
    heads, shape = shapes
    product = "Q·Kᵀ"
    if scores.factor is None:
        product += ", scaled"
    elif is_root(scores.factor, size):
        product += f" / √{size}"
    elif scores.factor != 1:
        product = f"{with_minus(f'{scores.factor:.4g}')} · {product}"
    yield Step(f"Scores {product}", (), None, heads, shape)
    for change in scores.changes:
        if change.kind != "mask":
            own = reads if change.operand.parameter else ()
            yield Step(_change(change), (), None, shape, shape, reads=own)
    if mask:
        yield Step(mask, (), None, shape, shape)
    yield Step(_SOFTMAX, (), None, shape, shape)


def _change(change: Change) -> str:
    number = "a constant" if change.number is None else f"{change.number:.4g}"
    words = {"scale": f"Multiply by {number}", "cap": f"Limit to ±{number} by tanh"}
    return {**_CHANGES, **words}.get(change.kind, change.kind)


def _step(name: str, inputs: StepShape | None, output: StepShape | None, node: Node) -> Step:
    """Return the step of one node; only those with parameters have a module."""
    return Step(name, (), node.path if node.reads else None, inputs, output, reads=node.reads)


def _words(node: Node) -> str:
    operation = node.operation or node.name
    words = operation.replace("_", " ")
    return _OPERATIONS.get(operation, upper_first(words))
