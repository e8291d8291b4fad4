"""Residual connections: the chain of a module's sub-layers, read from its graph."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norm import is_norm
from bertviewer.core.formulas.steps.graph_analysis import NETWORKS
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.graph.trace_graph import closure
from bertviewer.core.schema.flow import Operand

BranchKind = Literal["attention", "cross-attention", "feed-forward", "experts", "input", "other"]


class Branch(Struct, frozen=True):
    """A term that is added to a residual path: a core with optional norms.

    Attributes:
        kind: of the core; ``input`` for another input of the module, or a linear layer on it.
        core: its steps.
        sum: the addition; the same for parallel branches.
        before: the norm of its input, perhaps shared by parallel branches.
        inside: the norm of its output, before the addition.
        after: the norm of the sum.
        scale: the product of the output with a constant, before the addition.
        reads: the node that the core reads.
    """

    kind: BranchKind
    core: tuple[Step, ...]
    sum: Step
    before: Step | None = None
    inside: Step | None = None
    after: Step | None = None
    scale: Step | None = None
    reads: str = ""

    @property
    def last(self) -> Step:
        """The step that computes the core's result."""
        return self.core[-1]


class ResidualPath(Struct, frozen=True):
    """A chain of residual connections from a module's input to its output.

    Attributes:
        start: the input.
        branches: in order.
        entry: a step before the first residual connection: a norm, as in RWKV's first layer, or a
            call.
    """

    start: str
    branches: tuple[Branch, ...]
    entry: Step | None = None

    @property
    def norms(self) -> tuple[Step, ...]:
        """All norms in order."""
        around = [step for b in self.branches for step in (b.before, b.inside, b.after)]
        return tuple(step for step in (self.entry, *around) if is_norm(step))

    @property
    def order(self) -> str:
        """The positions of norms in branches, as in ``Branch``; ``mixed`` if they differ.

        ``bare`` if only the first branch has none, and the others have norms before.
        """
        found = [
            " ".join(name for name in ("before", "inside", "after") if getattr(branch, name))
            for branch in self.branches
        ]
        if found[0] == "" and {*found} == {"", "before"}:
            return "bare"
        return found[0] if len({*found}) == 1 else "mixed"


def residual_path(view: ModuleView) -> ResidualPath | None:
    """Return a module's chain of sub-layers, ``None`` for other modules."""
    graph = view.graph
    residuals = graph.of("residual")
    first = residuals[0].roles.get("residual") if residuals else None
    if first is None or first.parts or not graph.results:
        return None
    inputs = {node.id for node in graph.inputs}
    entry, state, found = graph.maker(first), first.node, list[Branch]()
    reads_input = entry is None or any(o.node in inputs for o in entry.tensors)
    if not reads_input or not (entry is None or entry.is_call or is_norm(entry)):
        return None
    for residual in residuals:
        skip = residual.roles.get("residual")
        addends = [operand for operand in residual.tensors if operand.node != state]
        users = () if graph.is_result(residual) else graph.users(residual)
        after = users[0] if len(users) == 1 and is_norm(users[0]) else None
        branches = [_branch(graph, each, state, residual, after) for each in addends]
        known = [branch for branch in branches if branch is not None]
        if skip is None or skip.node != state or not 0 < len(known) == len(addends):
            return None
        found += sorted(known, key=lambda branch: "attention" not in branch.kind)
        state = (after or residual).node.id
    # Nothing else may be computed from the path.
    path = inputs | {s.node.id for s in graph.steps if s.operation == "residual" or is_norm(s)}
    within = _ancestors(graph, state)
    others = [step for step in graph.steps if step.node.id not in within]
    is_left = any(operand.node in path for step in others for operand in step.tensors)
    is_whole = graph.results[0][1].node == state and not is_left
    read = [first] if entry is None else entry.tensors
    start = next((o.node for o in read if o.node in inputs), first.node)
    return ResidualPath(start, tuple(found), entry) if is_whole else None


def child_of(view: ModuleView, step: Step) -> str:
    """Return the name of the child that a step is part of, "" for the module's own operations."""
    start = f"{view.node.path}." if view.node.path else ""
    name = step.path.removeprefix(start).partition(".")[0]
    return name if name in view.children else ""


def _branch(
    graph: ModuleGraph, addend: Operand, state: str, total: Step, after: Step | None
) -> Branch | None:
    """Return the branch that computes an addend, ``None`` for other forms."""
    inside = scale = None
    made = graph.maker(addend)
    if is_norm(made) and made.tensors:
        inside, addend = made, made.tensors[0]
    elif made is not None and (scaled := _scaled(graph, made)) is not None:
        scale, addend = made, scaled
    found = _ancestors(graph, addend.node, until=state)
    steps = [step for step in graph.steps if step.node.id in found - {state}]
    norms = [step for step in steps if is_norm(step) and [o.node for o in step.tensors] == [state]]
    core = tuple(step for step in steps if step not in norms)
    if state not in found:
        operations = [step.operation for step in core]
        is_input = operations == ["linear"] or (not core and after is not None)
        reads = core[0].tensors[0].node if core else addend.node
        is_input = is_input and len(graph.inputs) == 2
        return Branch("input", core, total, after=after, reads=reads) if is_input else None
    if not core:
        return None
    before, kind = norms[0] if norms else None, _kind(graph, core, state)
    reads = before.node.id if before else state
    return Branch(kind, core, total, before, inside, after, scale, reads)


def _scaled(graph: ModuleGraph, product: Step) -> Operand | None:
    """Return the operand that is scaled by a constant or parameter, ``None`` for other steps."""
    computed = [operand for operand in product.operands if graph.maker(operand) is not None]
    is_scale = product.operation == "mul" and len(product.operands) == 2
    return computed[0] if is_scale and len(computed) == 1 else None


def _ancestors(graph: ModuleGraph, node: str, until: str = "") -> frozenset[str]:
    """Return a node and its ancestors, up to and including another one."""

    def read(each: str) -> list[str]:
        step = None if each == until else graph.by_id.get(each)
        return [] if step is None else [operand.node for operand in step.read if operand.node]

    return closure([node], read)


def _kind(graph: ModuleGraph, core: Iterable[Step], state: str) -> BranchKind:
    attention = next((step for step in core if step.operation == "attention"), None)
    if attention is not None:
        return "cross-attention" if _reads_other(graph, attention, state) else "attention"
    operations = {step.operation for step in core}
    if "experts" in operations:
        return "experts"
    return "feed-forward" if operations <= set(NETWORKS) and len(operations) == 1 else "other"


def _reads_other(graph: ModuleGraph, attention: Step, state: str) -> bool:
    """Return whether an attention's keys come from another input than its queries."""
    key = attention.roles.get("key")
    if attention.node.details.get("projections"):
        key = attention.inner[0].tensors[1]
    return key is not None and state not in _ancestors(graph, key.node, until=state)
