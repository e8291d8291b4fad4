"""Which nodes of a graph belong together: attentions with their projections, and equal layers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Flows, Node
from bertviewer.core.schema.modules import ancestors

ENDS = ("input", "output", "constant", "parameter")
"""Kinds of nodes that compute nothing."""


class FlowEdges:
    """Adjacency lists of one graph, by the ids of nodes.

    Attributes:
        flow: the graph.
        into: the edges that lead to a node.
        out: the edges that lead away from it.
        inputs: the ids of the inputs with data that a node depends on.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._nodes = {node.id: node for node in flow.nodes}
        self.into: dict[str, list[Edge]] = defaultdict(list)
        self.out: dict[str, list[Edge]] = defaultdict(list)
        for edge in flow.edges:
            self.into[edge.target].append(edge)
            self.out[edge.source].append(edge)
        self.inputs: dict[str, set[str]] = {}
        for node in flow.nodes:
            own = {node.id} if node.kind == "input" and is_data(node) else set()
            before = (self.inputs.get(edge.source, set()) for edge in self.into[node.id])
            self.inputs[node.id] = own.union(*before)

    def sources(self, node: Node) -> list[Node]:
        """Return the nodes that a node reads, one for each edge."""
        return [self.source(edge) for edge in self.into[node.id]]

    def users(self, node: Node) -> list[Node]:
        """Return the nodes that read a node's result, without the outputs of the graph."""
        found = dict.fromkeys(edge.target for edge in self.out[node.id])
        return [self._nodes[each] for each in found if self._nodes[each].kind != "output"]

    def source(self, edge: Edge) -> Node:
        """Return the node that an edge comes from."""
        return self._nodes[edge.source]

    def data(self, node: Node) -> list[Edge]:
        """Return the edges into a node that carry activations: no masks, positions, parameters."""
        return [edge for edge in self.into[node.id] if is_data(self.source(edge))]


def is_data(node: Node) -> bool:
    """Return whether a node's result depends on the model's text, by more than its length."""
    is_side = node.kind == "input" and ("mask" in node.name or "position" in node.name)
    return not is_side and node.kind not in ("constant", "parameter")


SELF_ATTENTION = "Multi-head self-attention"
NORMS = frozenset(("layer norm", "rms norm", "layer_norm"))
TRANSFORMS = frozenset(("attention", "feed-forward", "gated feed-forward", "routing", "experts"))
BLOCKS = TRANSFORMS | {"residual"}
"""Operations that are always separate steps of a layer."""


def attentions_of(edges: FlowEdges, *, in_layer: bool) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """Yield the name of each attention of a graph, and its nodes in execution order.

    In a layer, the softmax of a module counts as an attention.
    """
    found: list[tuple[tuple[Node, ...], bool, bool]] = []
    for node in edges.flow.nodes:
        is_other = in_layer and node.operation == "softmax" and node.path != edges.flow.path
        if node.operation == "attention" or is_other:
            roles = {edge.role: edges.source(edge) for edge in edges.into[node.id]}
            nodes = _attention_nodes(edges, node)
            query, key = (edges.inputs[roles.get(r, node).id] for r in ("query", "key"))
            is_cross = bool(query - key)
            if "projections" in node.details:
                nodes, is_cross = (node,), len(edges.data(node)) > 1
            is_masked = bool(node.details.get("causal") or {"mask", "bias"} & roles.keys())
            found.append((nodes, is_cross, is_masked))
    has_cross = any(is_cross for _, is_cross, _ in found)
    for nodes, is_cross, is_masked in found:
        name = "Masked self-attention" if has_cross and is_masked else SELF_ATTENTION
        yield "Multi-head cross-attention" if is_cross else name, nodes


def _attention_nodes(edges: FlowEdges, node: Node) -> tuple[Node, ...]:
    """Return an attention's nodes: its module's, and the projections before and after it."""
    # If the attention is in the layer's own code, its path does not identify its nodes.
    holder = f"{node.path}." if node.path and node.path != edges.flow.path else None

    def is_end(each: Node) -> bool:
        return each.kind in ("input", "output") or each.operation in BLOCKS

    def is_inside(each: Node) -> bool:
        return holder is not None and f"{each.path}.".startswith(holder)

    chain = [node]  # on to the output projection
    while len(users := edges.users(chain[-1])) == 1 and not is_end(user := users[0]):
        is_linear = user.operation == "linear"
        if is_linear or is_inside(user):
            chain.append(user)
        if is_linear or not is_inside(user):
            break
    found = {each.id for each in chain}
    waiting = [(source, False) for each in chain for source in edges.sources(each)]
    while waiting:  # back to Q, K and V, and to other parts such as a gate
        each, is_projected = waiting.pop()
        is_own = is_inside(each) or each.kind in ("constant", "parameter")
        is_own |= not is_projected and each.operation not in {*NORMS, None}
        if each.id not in found and not is_end(each) and is_own:
            found.add(each.id)
            is_projected |= each.operation == "linear"
            waiting += [(source, is_projected) for source in edges.sources(each)]
    return tuple(each for each in edges.flow.nodes if each.id in found)


class EqualLayers(Struct, frozen=True):
    """Equal layers of one list, with separate tensors.

    Attributes:
        paths: the layers; the first is shown.
        calls: their number of calls.
        is_alone: whether no other layers of the list are shown.
    """

    paths: tuple[str, ...]
    calls: int
    is_alone: bool

    @property
    def title(self) -> str:
        """The title of the section that shows the first."""
        return "One layer" if self.is_alone else f"Layer {self.paths[0].rpartition('.')[2]}"

    @property
    def others_name(self) -> str:
        """The name of the step of the others: ``Layers 1–11``."""
        first, *others = (int(path.rpartition(".")[2]) for path in self.paths)
        if others[-1] - others[0] != len(others) - 1:
            text = f"{len(others)} other layers"
        else:
            text = f"Layers {others[0]}–{others[-1]}" if others[1:] else f"Layer {others[0]}"
        return text if self.is_alone else f"{text}, like layer {first}"


def with_single_layers(flows: Flows, nodes: Iterable[Node]) -> list[Node]:
    """Return a model's nodes with those of a layer that is alone in its list merged."""
    found: dict[str, Node] = {}
    for node in nodes:
        path = None if node.is_layer or node.kind in ENDS else _layer_around(flows, node)
        # The result of a layer is that of its last node.
        closed = node if path is None else replace(node, kind="module", path=path, operation=None)
        found[path or node.id] = closed
    return list(found.values())


def _layer_around(flows: Flows, node: Node) -> str | None:
    """Return the outermost member of a list that contains a node and has blocks of a layer."""
    for path in reversed(list(ancestors(node.path or ""))):
        is_numbered = "." in path and path.rpartition(".")[2].isdecimal()
        flow = flows.flow(path) if is_numbered else None
        if flow is not None and any(each.operation in BLOCKS for each in flow.nodes):
            return path
    return None


def equal_layers(
    architecture: Architecture, flows: Flows, nodes: Iterable[Node]
) -> dict[str, EqualLayers]:
    """Return the layers of a model by path; equal ones of a list share one entry."""
    calls: Counter[str] = Counter()
    for node in nodes:
        for path in node.layers if node.is_layer else ():
            calls[path] += max(1, node.repeat.count // len(node.layers)) if node.repeat else 1
    kinds: dict[tuple[str, str, int], list[str]] = {}
    for path in calls:
        layer = architecture.module(path)
        kind = (flows.like.get(path, path), layer.parameters if layer else 0)
        kinds.setdefault((path.rpartition(".")[0], *kind), []).append(path)
    found: dict[str, EqualLayers] = {}
    for (holder, *_), paths in kinds.items():
        of_list = [each for (other, *_), each in kinds.items() if other == holder]
        repeated = [each for each in of_list if len(each) > 1 or calls[each[0]] > 1]
        times = sum(calls[path] for path in paths)
        is_alone = len(of_list) == 1 or repeated == [paths]
        found |= dict.fromkeys(paths, EqualLayers(tuple(paths), times, is_alone))
    return found


def module_flows(architecture: Architecture) -> Flows:
    """Return a graph of the whole model and of each layer, with nodes but no edges.

    A module that holds layers is opened; others with tensors are one node each.
    """
    layers = {node.path: node for node in architecture.modules if node.name.isdecimal()}
    opened = {path for node in layers.values() for path in ancestors(node.parent or "")}

    def nodes(path: str, *, is_open: bool) -> Iterator[Node]:
        held = {child.path: child.name for child in architecture.children(path)}
        own = [tensor.name for tensor in architecture.tensors_below(path) if tensor.owner == path]
        if own:
            name = path.rpartition(".")[2] or architecture.root.class_name
            yield Node(f"{path}.", "operation", name, path, reads=tuple(own))
        for child, name in held.items():
            reads = tuple(tensor.name for tensor in architecture.tensors_below(child))
            if is_open and child in opened - layers.keys():
                yield from nodes(child, is_open=True)
            elif reads:
                yield Node(child, "module", name, child, reads=reads)

    root = Flow("", architecture.root.class_name, tuple(nodes("", is_open=True)), ())
    flows, like = {"": root}, dict[str, str]()
    for path in (node.id for node in root.nodes if node.id in layers):
        repeat = layers[path].repeat
        first = f"{path.rpartition('.')[0]}.{repeat.first}" if repeat is not None else path
        if first == path:
            flows[path] = Flow(path, "", tuple(nodes(path, is_open=False)), ())
        else:
            like[path] = first
    return Flows(flows, like)
