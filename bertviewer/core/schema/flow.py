"""The data flow of modules: nodes, and edges along which tensors pass.

Plain data, the same as its JSON form ``bertviewer.flow/1``; ``core.graph`` derives it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import field
from msgspec.structs import replace

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.modules import Repeat
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.serialization import Document, Scalar

SCHEMA = "bertviewer.flow/1"

NodeKind = Literal["input", "output", "module", "operation", "group", "parameter", "constant"]

KnownOperation = Literal[
    "linear",
    "embedding",
    "look-up",
    "convolution",
    "layer norm",
    "rms norm",
    "group norm",
    "batch norm",
    "instance norm",
    "scale and shift",
    "attention",
    "rotary",
    "position bias",
    "feed-forward",
    "gated feed-forward",
    "activation",
    "routing",
    "experts",
    "residual",
    "mask",
    "positions",
]
"""Recognised operations; ``residual`` is the sum that ends one. Others have torch's names."""

PARTS = ("part ", "chunk ", "split", "unbind ", "tensor_split ", "narrow ", "select ", "unfold ")
"""How the names of operations that take a part of a tensor begin."""
TRANSPOSED = "transposed"
"""Marks a parameter that is transposed before it is used."""

Shape = tuple[int, ...]
SymbolicShape = tuple[str, ...]


class Operand(Document, frozen=True):
    """One argument of an operation: one of ``node``, ``parameter``, ``role`` and ``plain``.

    Attributes:
        node: the id of the node that produces it.
        parts: the parts taken of that, in order: ``chunk 0 of 2``; of a parameter ``TRANSPOSED``.
        parameter: the full name of the parameter.
        role: its role in the enclosing group, if no node produces it.
        plain: a number or word in the code. If all four are empty it is an unidentified tensor:
            a constant of the code, a scalar, or one that no node produces.
        key: the keyword, "" for a positional argument.
    """

    JSON = "node?node parts?parts parameter?parameter role?role plain?plain key?key"

    node: str = ""
    parts: tuple[str, ...] = ()
    parameter: str = ""
    role: str = ""
    plain: str = ""
    key: str = ""

    @property
    def is_tensor(self) -> bool:
        """Whether it is not a plain number or word."""
        return not self.plain


class Node(Document, frozen=True, rename={"class_name": "class"}):
    """One node of a data-flow graph.

    Attributes:
        id: its name in ``Edge``, unique in the flow.
        kind: an ``input`` or ``output`` of the module; a submodule as a whole (``module``); one
            torch ``operation``; a recognised ``group`` of operations; a ``parameter`` that is
            not used by a submodule; a ``constant`` that depends only on token ids, masks and
            positions, such as the attention mask or rotary angles.
        name: a readable name.
        path: the module that it is or belongs to; ``None`` for inputs and outputs.
        class_name: that module's class.
        operation: a ``KnownOperation``, or torch's name (``add``, ``softmax``) of a single
            operation; ``None`` if unknown.
        shape: of its first output.
        symbolic_shape: the same in the configuration's symbols, ``None`` if unknown.
        macs: multiply-adds for these shapes, including the nodes in it.
        nodes: the nodes of a group, ``None`` for other kinds.
        edges: the edges between those.
        details: values for drawings: ``heads``, ``key_value_heads``, ``head_size``, ``causal``,
            ``in_features``, ``inner_features``, ``out_features``, ``activation``, ``experts``,
            ``chosen``, ``eps``, ``parameters``; ``projections`` of an attention that torch projects
            for; ``one_plus`` of a norm that scales by 1 + weight; torch's ``function`` of a
            residual and of a product without a module.
        repeat: the equal layers that it represents, ``None`` for itself alone.
        reads: the full names of the parameters that it uses, in order of first use; of equal layers
            those of the first.
        operands: the arguments of a single operation, in the order of the code; else empty.
    """

    JSON = (
        "id kind name path class_name operation shape symbolic_shape macs nodes details"
        " repeat reads operands edges?nodes"
    )

    id: str
    kind: NodeKind
    name: str
    path: str | None = None
    class_name: str | None = None
    operation: str | None = None
    shape: Shape = ()
    symbolic_shape: SymbolicShape | None = None
    macs: int = 0
    nodes: tuple["Node", ...] | None = None
    edges: tuple["Edge", ...] = ()
    details: Mapping[str, Scalar] = field(default_factory=dict)
    repeat: Repeat | None = None
    reads: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()

    @property
    def is_layer(self) -> bool:
        """Whether it is a numbered module of a list and not a single known operation."""
        name = (self.path or "").rpartition(".")[2]
        return self.kind == "module" and self.operation is None and name.isdecimal()

    @property
    def layers(self) -> tuple[str, ...]:
        """The paths of the modules that it represents: one without ``repeat``."""
        path = self.path or ""
        if self.repeat is None:
            return (path,)
        above = path.rpartition(".")[0]
        return tuple(f"{above}.{at}" for at in range(self.repeat.first, self.repeat.last + 1))


class Edge(Document, frozen=True, rename={"source": "from", "target": "to", "views": "movement"}):
    """A tensor that one node passes to another.

    Attributes:
        source: the id of the node that produces it.
        target: the id of the node that uses it.
        shape: as it arrives.
        symbolic_shape: the same in the configuration's symbols, ``None`` if unknown.
        role: ``residual``, ``query``, ``key``, ``value``, ``mask``, ``position``, ``bias``,
            ``gate``, ``routing``; ``None`` for others.
        views: the view operations on the way, in order. They change the tensor's form and not
            its values (``view``, ``transpose``, a cast, a copy, dropout in evaluation), or take a
            part of it (``chunk 0 of 2``).
        through: the paths of the modules (dropouts) among those operations.
    """

    source: str
    target: str
    shape: Shape = ()
    symbolic_shape: SymbolicShape | None = None
    role: str | None = None
    views: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


class Flow(Document, frozen=True, rename={"class_name": "class"}):
    """The data flow of one module.

    ``repeat`` is the run of equal layers that it belongs to.
    """

    JSON = "path class_name repeat nodes edges"

    path: str
    class_name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    repeat: Repeat | None = None

    @property
    def macs(self) -> int:
        """The multiply-adds of one call for these shapes."""
        return sum(node.macs for node in self.nodes)

    def all_nodes(self) -> Iterator[Node]:
        """Yield every node, those in groups after the group."""
        waiting = list(reversed(self.nodes))
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.nodes or ())

    @property
    def is_consistent(self) -> bool:
        """Whether ids are unique, and every edge joins two nodes."""
        names = [node.id for node in self.all_nodes()]
        known = set(names)
        edges = [*self.edges, *(edge for node in self.all_nodes() for edge in node.edges)]
        is_joined = all({edge.source, edge.target} <= known for edge in edges)
        return is_joined and len(known) == len(names)

    def relocated(self, path: str) -> "Flow":
        """Return the flow of the module at ``path``, which does the same as this flow's module."""
        if path == self.path:
            return self
        nodes = tuple(_relocated_node(node, self.path, path) for node in self.nodes)
        edges = tuple(_relocated_edge(edge, self.path, path) for edge in self.edges)
        return replace(self, path=path, nodes=nodes, edges=edges)

    def at(self, values: Mapping[str, int]) -> "Flow":
        """Return the flow with the shapes of its nodes for these values of the symbols.

        A shape without formulas is left out: it is only known for the lengths of the trace.
        """
        nodes = (replace(each, shape=_shape_at(each.symbolic_shape, values)) for each in self.nodes)
        return replace(self, nodes=tuple(nodes))

    def document(self, source: SourceInfo) -> dict[str, Any]:
        """Return the document ``bertviewer.flow/1``."""
        return {"schema": SCHEMA, "source": source.to_json(), **self.to_json()}


class Flows(Document, frozen=True, rename={"distinct": "kinds"}):
    """The flows of all modules of a model, without repetitions.

    Attributes:
        distinct: the different flows, by the path of the first module that has each.
        like: for every other called module, the first module with the same flow.
        missing: why a module has no flow, one line, by path. Modules that were not called have no
            entry.
        lengths: the values of B, S and S_d that shapes and multiply-adds are for.
    """

    distinct: Mapping[str, Flow]
    like: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    def flow(self, path: str) -> Flow | None:
        """Return the flow of the module at ``path``, ``None`` if there is none."""
        found = self.distinct.get(self.like.get(path, path))
        return None if found is None else found.relocated(path)

    def reason_for(self, path: str) -> str:
        """Return why a module has no flow, in one line."""
        if path in self.missing:
            return self.missing[path]
        stopped = self.missing.get("")
        if stopped:
            return f"the forward pass stopped before reaching it: {stopped}"
        below = f"{path}."
        if any(other.startswith(below) for other in (*self.distinct, *self.like)):
            return "it is not called itself; only its submodules are"
        return "it is not called"


def _shape_at(shape: SymbolicShape | None, values: Mapping[str, int]) -> Shape:
    try:
        return tuple(evaluate(size, values) for size in shape or ())
    except FormulaError:
        return ()


def _relocated_node(node: Node, first: str, path: str) -> Node:
    """Return a node of the module ``first`` as one of the module ``path``."""
    return replace(
        node,
        path=node.path and _renamed(node.path, first, path),
        nodes=node.nodes and tuple(_relocated_node(each, first, path) for each in node.nodes),
        edges=tuple(_relocated_edge(edge, first, path) for edge in node.edges),
        reads=tuple(_renamed(name, first, path) for name in node.reads),
        operands=tuple(
            replace(each, parameter=_renamed(each.parameter, first, path)) for each in node.operands
        ),
    )


def _relocated_edge(edge: Edge, first: str, path: str) -> Edge:
    if not edge.through:
        return edge
    return replace(edge, through=tuple(_renamed(each, first, path) for each in edge.through))


def _renamed(name: str, first: str, path: str) -> str:
    """Return a name in the module ``first`` as the one in the module ``path``."""
    return path + name[len(first) :] if name == first or name.startswith(f"{first}.") else name
