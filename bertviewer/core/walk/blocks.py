"""A flow as the steps that a teacher names, before anything is counted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bertviewer.core.architecture.flow import Edge, Flow, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.walk import notes
from bertviewer.core.walk.attentions import NORMS, AttentionNodes, attentions_of
from bertviewer.core.walk.closed_modules import ClosedModules
from bertviewer.core.walk.forms import ENDS, Block, Form, form_of, formed, innermost, path_around
from bertviewer.core.walk.naming import (
    DISTANCE_EMBEDDING,
    EMBEDDING_NORM,
    EMBEDDING_TABLE,
    SELF_ATTENTION,
    Section,
    name_of,
    table_of,
)
from bertviewer.core.walk.wires import Wires, is_data

_JOINING = ("add", "sub", "mul", "div", "cat", "stack", "maximum", "minimum", "matmul", "bmm")
"""What is a step wherever it joins two tensors with data."""
_FIRST_TOKEN = "part [:, 0"


class BlockReader:
    """Reads flows as blocks, and opens the modules in them that hold more than one."""

    def __init__(self, flows: Flows, *, has_head: bool) -> None:
        self._flows = flows
        self._has_head = has_head

    def read(self, flow: Flow, section: Section) -> Iterator[Block]:
        """Yield the blocks of a whole module."""
        return _Reading(self._flows, Wires(flow), section, has_head=self._has_head).of(flow.nodes)

    def part(self, wires: Wires, nodes: Iterable[Node], section: Section) -> Iterator[Block]:
        """Yield the blocks of some nodes of a flow."""
        return _Reading(self._flows, wires, section, has_head=self._has_head).of(nodes)

    def after(self, wires: Wires, node: Node, section: Section) -> Iterator[Block]:
        """Yield the dropouts that a node's result goes through."""
        reading = _Reading(self._flows, wires, section, has_head=self._has_head)
        return reading.dropouts(node, ())

    def asides(self, node: Node) -> Iterator[Block]:
        """Yield the tables outside of a module that it reads as a whole, as of distances."""
        return _asides(self._flows, node, node)


class _Reading:
    """One flow on its way to be blocks."""

    def __init__(self, flows: Flows, wires: Wires, section: Section, *, has_head: bool) -> None:
        self._flows, self._wires, self._section, self._has_head = flows, wires, section, has_head
        self._opening = ClosedModules(flows, section)
        self._done: set[str] = set()
        self._base = innermost(wires.flow)
        attentions = list(attentions_of(wires))
        self._attention_of = {node.id: each for each in attentions for node in each.nodes}
        self._has_cross = any(each.is_cross for each in attentions)

    def of(self, nodes: Iterable[Node]) -> Iterator[Block]:
        """Yield the blocks of nodes, in the order of execution."""
        for node in nodes:
            if node.id in self._done or node.kind in ENDS:
                continue
            attention = self._attention_of.get(node.id)
            if attention is not None:
                self._done |= {each.id for each in attention.nodes}
                yield self._attention(attention)
                for each in attention.nodes:
                    yield from self.dropouts(each, attention.nodes)
                continue
            before = set(self._done)
            yield from self._node(node)
            for each in (node, *(self._wires.nodes[it] for it in self._done - before)):
                yield from self.dropouts(each, ())

    def _node(self, node: Node) -> Iterator[Block]:
        inner = self._opening.flows_in(node, self._wires.flow)
        if inner:
            for flow in inner:
                reading = _Reading(self._flows, Wires(flow), self._section, has_head=self._has_head)
                yield from reading.of(flow.nodes)
        elif node.reads and node.operation in ("embedding", "look-up"):
            yield self._table(node)
        elif node.operation in ("residual", "add"):
            if (block := self._sum(node)) is not None:
                yield block
        elif self._is_step(node):
            if not self._wires.data(node) and node.operation in NORMS:
                yield from self._of_table(node)
            else:
                yield self._plain(node)

    def _is_step(self, node: Node) -> bool:
        if node.reads or node.kind in ("module", "group"):
            return True
        if node.operation == "activation":
            return self._section != "embeddings"
        return node.operation in _JOINING and len(self._wires.data(node)) > 1

    def _plain(self, node: Node) -> Block:
        name, nodes = name_of(node, self._section), [node]
        if self._opening.is_attending(node):
            name = SELF_ATTENTION
        elif self._section == "rest" and self._is_pooling(node):
            name = "Pooler"
            nodes += self._activation_after(node)
        elif self._section == "rest" and self._has_head and node.operation is None:
            name = "Head"
        path, is_module = node.path, _is_module(node)
        if not is_module and node.nodes:
            path = path_around(self._base, [each for each in node.nodes if each.path])
        block = Block(name, path, notes.of(name, node), is_whole=is_module)
        return formed(self._wires, block, nodes)

    def _attention(self, attention: AttentionNodes) -> Block:
        name = SELF_ATTENTION
        if attention.is_cross:
            name = "Multi-head cross-attention"
        elif self._has_cross and attention.is_masked:
            name = "Masked self-attention"
        nodes = attention.nodes
        modules = [node for node in nodes if node.kind not in ("constant", "parameter")]
        path = nodes[0].path if len(modules) == 1 else path_around(self._base, modules)
        return formed(self._wires, Block(name, path, notes.of_attention(nodes)), nodes)

    def _table(self, node: Node) -> Block:
        name, looked_up = table_of(node, self._wires)
        block = Block(name, node.path, notes.of(name, node), looked_up=looked_up, is_whole=True)
        # One vector for each index, so that its own shape says what it is looked up by.
        letters = node.symbolic_shape and node.symbolic_shape[:-1]
        return replace(formed(self._wires, block, (node,)), taken=Form(node.shape[:-1], letters))

    def _sum(self, node: Node) -> Block | None:
        """Return an addition; of a sum of several, one step that says so."""
        sources = [self._wires.source(edge) for edge in self._wires.into(node)]
        given = [each for each in sources if is_data(each) or each.operation == "positions"]
        if len(given) < 2 and not node.reads:
            return None
        is_sum = self._section == "embeddings" and node.operation == "add"
        if is_sum and any(each.operation == "add" for each in sources):
            return None if not node.reads else formed(self._wires, Block("Add", None), (node,))
        note = notes.RESIDUAL if node.operation == "residual" else notes.SUM
        if any(each.name == "sines and cosines" for each in sources):
            note = notes.SINUSOIDS
        elif is_sum:
            note = " ".join((note, *map(notes.added_too, self._added_later(node))))
        return formed(self._wires, Block("Add", None, note), (node,))

    def _added_later(self, node: Node) -> Iterator[str]:
        """Yield the names of the tables whose vectors are added to a sum right after it."""
        for user in self._wires.users(node):
            if user.operation == "add":
                for edge in self._wires.into(user):
                    source = self._wires.source(edge)
                    if source.operation == "embedding":
                        yield table_of(source, self._wires)[0]
                yield from self._added_later(user)

    def _of_table(self, node: Node) -> Iterator[Block]:
        """Yield a norm of a whole table, after the table itself."""
        user = next(iter(self._wires.users(node)), node)
        tables = list(_asides(self._flows, node, user))
        yield from tables
        name = f"{tables[-1].name} norm" if tables else EMBEDDING_NORM
        own = tuple(name for name in node.reads if name.startswith(f"{node.path}."))
        yield Block(name, node.path, reads=own)

    def dropouts(self, node: Node, within: Sequence[Node]) -> Iterator[Block]:
        """Yield the dropouts that what a node gives goes through, each once."""
        inside = {each.id for each in within}
        edges = [*self._last_edges(node)]
        edges += [edge for edge in self._wires.out(node) if edge.target not in inside]
        told: set[str | None] = set()
        for edge in edges:
            if "dropout" not in edge.movement:
                continue
            path = next(iter(edge.through), None)
            if path not in told:
                told.add(path)
                name = name_of(None, self._section)
                block = Block(name, path, notes.of(name, None), (), form_of(edge), form_of(edge))
                yield replace(block, flow=self._wires.flow.path, nodes=(node.id,))

    def _last_edges(self, node: Node) -> Iterator[Edge]:
        """Yield what leads to the results of a module that is one known block."""
        if node.kind != "group" or not _is_module(node) or node.path is None:
            return
        flow = self._flows.flow(node.path)
        if flow is not None:
            results = {each.id for each in flow.nodes if each.kind == "output"}
            yield from (edge for edge in flow.edges if edge.target in results)

    def _is_pooling(self, node: Node) -> bool:
        """Tell whether a node makes one vector of the first token's, as wide as that."""
        edges = list(self._wires.into(node))
        if node.kind == "module" and node.operation is None and node.path is not None:
            inner = self._flows.flow(node.path)
            edges += inner.edges if inner is not None else ()
        elif node.operation != "linear":
            return False
        taken = (edge for edge in edges if any(m.startswith(_FIRST_TOKEN) for m in edge.movement))
        return any(edge.shape[-1:] == node.shape[-1:] for edge in taken)

    def _activation_after(self, node: Node) -> Iterator[Node]:
        """Yield the activation of a pooler, where it is no part of a module of its own."""
        for user in self._wires.users(node):
            if user.operation == "activation":
                self._done.add(user.id)
                yield user


def _asides(flows: Flows, node: Node, user: Node) -> Iterator[Block]:
    """Yield the tables of no step of their own that a node reads, for what uses them."""
    for name in node.reads:
        owner = name.rpartition(".")[0]
        if name.startswith(f"{node.path}.") or flows.flow(owner) is not None:
            continue
        layer = flows.flow(user.path) if user.path is not None else None
        kinds = {each.operation for each in layer.all_nodes()} if layer is not None else set()
        if "position bias" in kinds:
            yield Block(DISTANCE_EMBEDDING, owner, notes.DISTANCES, (name,))
        else:
            yield Block(EMBEDDING_TABLE, owner, notes.ASIDE, (name,))


def _is_module(node: Node) -> bool:
    """Tell whether a node is all that a module does."""
    return node.kind == "module" or "parameters" in node.details
