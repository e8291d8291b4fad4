"""What a module computes as a person would draw it: nodes, and edges along which tensors go.

Plain data, free of torch, the same as its JSON export ``bertviewer.flow/1``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import field

from bertviewer.core.schema.module_node import Repeat
from bertviewer.core.schema.operand import Operand
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.serialization import Document
from bertviewer.core.util.special_floats import Scalar

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
"""What is recognised; ``residual`` is the sum that ends one. All else goes by torch's word."""

Shape = tuple[int, ...]
Letters = tuple[str, ...]


class Node(Document, frozen=True, rename={"class_name": "class"}):
    """One box of the drawing.

    Attributes:
        id: its name in ``Edge``, unique in the flow.
        kind: an ``input`` or ``output`` of the module; a ``module`` below it, closed; one
            ``operation`` of torch; a ``group`` of operations that is known as a whole; a
            ``parameter`` that no module of its own multiplies; a ``constant``: what follows from
            token ids, masks and positions alone, as the mask and rotary angles do.
        name: what a person calls it.
        path: the module that it is, or that does it; ``None`` for inputs and outputs.
        class_name: that module's class.
        operation: what it computes: a ``KnownOperation``, of a single operation that is none
            torch's word (``add``, ``softmax``); ``None`` where nothing is known.
        shape: of the first tensor that it gives.
        symbolic_shape: the same in the configuration's symbols, ``None`` where not known.
        macs: multiply-adds for these shapes, of all that is in it.
        nodes: what is in a group, ``None`` for all else.
        edges: between those.
        details: what its drawing shows beside: ``heads``, ``key_value_heads``, ``head_size``,
            ``causal``, ``in_features``, ``inner_features``, ``out_features``, ``activation``,
            ``experts``, ``chosen``, ``eps``, ``parameters``; of an attention that torch projects
            for as well ``projections``; of a norm that scales by 1 + weight ``one_plus``; of a
            product without a module of its own and of a residual torch's ``function``.
        repeat: the equal layers that it stands for, ``None`` for itself alone.
        reads: the parameters that it computes with, by the names that the model has for them, each
            at its first use; of equal layers those of the first.
        operands: what one operation is carried out on, in the order of the code; empty for all
            that is more than one.
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
    symbolic_shape: Letters | None = None
    macs: int = 0
    nodes: tuple["Node", ...] | None = None
    edges: tuple["Edge", ...] = ()
    details: Mapping[str, Scalar] = field(default_factory=dict)
    repeat: Repeat | None = None
    reads: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()

    @property
    def is_layer(self) -> bool:
        """Whether it is a numbered module of a list and no single known operation."""
        name = (self.path or "").rpartition(".")[2]
        return self.kind == "module" and self.operation is None and name.isdecimal()

    @property
    def layers(self) -> tuple[str, ...]:
        """The paths of the modules that it represents, one without ``repeat``."""
        path = self.path or ""
        if self.repeat is None:
            return (path,)
        above = path.rpartition(".")[0]
        return tuple(f"{above}.{at}" for at in range(self.repeat.first, self.repeat.last + 1))


class Edge(Document, frozen=True, rename={"source": "from", "target": "to"}):
    """A tensor on its way from one node to another.

    Attributes:
        source: the node that gives it, by id.
        target: the node that takes it.
        shape: as it arrives.
        symbolic_shape: the same in the configuration's symbols, ``None`` where not known.
        role: ``residual``, ``query``, ``key``, ``value``, ``mask``, ``position``, ``bias``,
            ``gate``, ``routing``; ``None`` for all else.
        movement: what changes its form and none of its numbers on the way (``view``,
            ``transpose``, a cast, a copy, dropout in evaluation), or takes a part of it (``chunk
            0 of 2``), in order.
        through: the modules of those movements that have one, dropouts, by their paths.
    """

    source: str
    target: str
    shape: Shape = ()
    symbolic_shape: Letters | None = None
    role: str | None = None
    movement: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


class Flow(Document, frozen=True, rename={"class_name": "class"}):
    """One module's flow.

    ``repeat`` is the run of equal layers that it is one of.
    """

    JSON = "path class_name repeat nodes edges"

    path: str
    class_name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    repeat: Repeat | None = None

    @property
    def macs(self) -> int:
        """Its multiply-adds for the shapes that it has, in one call."""
        return sum(node.macs for node in self.nodes)

    def all_nodes(self) -> Iterator[Node]:
        """Yield every node, those in groups after the group."""
        waiting = list(reversed(self.nodes))
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.nodes or ())

    @property
    def hangs_together(self) -> bool:
        """Whether nodes have names of their own, and every edge leads from one to another."""
        names = [node.id for node in self.all_nodes()]
        known = set(names)
        edges = [*self.edges, *(edge for node in self.all_nodes() for edge in node.edges)]
        hangs = all({edge.source, edge.target} <= known for edge in edges)
        return hangs and len(known) == len(names)

    def document(self, source: SourceInfo) -> dict[str, Any]:
        """Return the document ``bertviewer.flow/1``."""
        return {"schema": SCHEMA, "source": source.to_json(), **self.to_json()}
