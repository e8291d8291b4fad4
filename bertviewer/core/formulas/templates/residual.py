"""Residual connections: how a module's sub-layers are chained, read from its graph."""

from collections.abc import Iterator
from typing import Literal

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.templates.feed_forward import KINDS
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.frozen import frozen

BranchKind = Literal["attention", "cross-attention", "feed-forward", "experts", "other"]


@frozen
class Scale:
    """A factor on a branch: a number, or a learnt vector if ``number`` is ``None``."""

    number: float | None = None


@frozen
class Branch:
    """What is added to a residual path: a norm, a core, and a norm, as far as there are any.

    Attributes:
        kind: what the core is.
        core: its steps.
        before: the norm of its input.
        norm_step: the id of that norm's step; parallel branches can share one.
        inside: the norm of its output, before the addition.
        scale: what the output is multiplied by before the addition, if anything.
    """

    kind: BranchKind
    core: tuple[Step, ...]
    before: Norm | None = None
    norm_step: str = ""
    inside: Norm | None = None
    scale: Scale | None = None

    @property
    def last(self) -> Step:
        """The step that computes the core's result."""
        return self.core[-1]


@frozen
class SubLayer:
    """One residual connection.

    Attributes:
        branches: what is added to the path; several in parallel layers.
        after: the norm of the sum.
    """

    branches: tuple[Branch, ...]
    after: Norm | None = None


@frozen
class ResidualPath:
    """A chain of sub-layers from a module's input to its output.

    Attributes:
        source: the node that the path starts from.
        sub_layers: the residual connections in order.
        entry: a step before the first residual connection: a norm, as in RWKV's first layer, or a
            module that is explained on its own page.
    """

    source: str
    sub_layers: tuple[SubLayer, ...]
    entry: Step | None = None

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches in order."""
        return tuple(branch for each in self.sub_layers for branch in each.branches)


def residual_path(graph: ModuleGraph) -> ResidualPath | None:
    """Return the chain of sub-layers that a module is, ``None`` if it is anything else."""
    residuals = graph.of("residual")
    first = residuals[0].roles.get("residual") if residuals else None
    if first is None or first.parts or not graph.results:
        return None
    entry = graph.maker(first)
    if entry is not None and not is_norm(entry) and not _is_closed(entry):
        return None
    state = first.node
    found: list[SubLayer] = []
    for residual in residuals:
        sub_layer = _sub_layer(graph, residual, state)
        if sub_layer is None:
            return None
        state, made = sub_layer
        found.append(made)
    if graph.results[0][1].node != state or not _is_covered(graph, state):
        return None
    source = first.node if entry is None else main_input(graph, entry)
    return None if not source else ResidualPath(source, tuple(found), entry)


def _is_covered(graph: ModuleGraph, state: str) -> bool:
    """Return whether all that is computed from the residual path goes into its end."""
    covered: set[str] = set()
    waiting = [state]
    while waiting:
        step = graph.by_id.get(waiting.pop())
        if step is not None and step.node.id not in covered:
            covered.add(step.node.id)
            waiting += [operand.node for operand in _read(step)]
    path = {node.id for node in graph.inputs}
    path |= {s.node.id for s in graph.steps if s.operation == "residual" or is_norm(s)}
    return not any(
        operand.node in path
        for step in graph.steps
        if step.node.id not in covered
        for operand in step.tensors
    )


def _is_closed(step: Step) -> bool:
    return step.node.kind == "module" and not step.operation


def main_input(graph: ModuleGraph, step: Step) -> str:
    """Return the input of the module that a step reads, "" if it reads none."""
    inputs = {node.id for node in graph.inputs}
    return next((o.node for o in step.tensors if o.node in inputs), "")


def _sub_layer(graph: ModuleGraph, residual: Step, state: str) -> tuple[str, SubLayer] | None:
    """Return the node that the path continues from, and the residual connection before it."""
    skip = residual.roles.get("residual")
    if skip is None or skip.node != state:
        return None
    branches = []
    for operand in residual.tensors:
        if operand.node != state:
            branch = _branch(graph, operand, state)
            if branch is None:
                return None
            branches.append(branch)
    if not branches:
        return None
    branches.sort(key=lambda branch: "attention" not in branch.kind)
    users = graph.users(residual)
    is_normed = len(users) == 1 and is_norm(users[0]) and not graph.is_result(residual)
    if not is_normed:
        return residual.node.id, SubLayer(tuple(branches))
    return users[0].node.id, SubLayer(tuple(branches), Norm.of(users[0]))


def _branch(graph: ModuleGraph, operand: Operand, state: str) -> Branch | None:
    """Return what is between the path and a residual connection, ``None`` if nothing is."""
    last = graph.maker(operand)
    inside, scale = None, None
    if last is not None and is_norm(last) and last.tensors:
        inside = Norm.of(last)
        last = graph.maker(last.tensors[0])
    elif last is not None and last.operation == "mul":
        scaled = _scaled(graph, last)
        if scaled is not None:
            scale, last = scaled[0], graph.maker(scaled[1])
    if last is None:
        return None
    core, norm = _core(graph, last, state)
    before = None if norm is None else Norm.of(norm)
    if before is None and not any(o.node == state for step in core for o in _read(step)):
        return None
    norm_step = "" if norm is None else norm.node.id
    return Branch(_kind(graph, core, state), core, before, norm_step, inside, scale)


def _scaled(graph: ModuleGraph, product: Step) -> tuple[Scale, Operand] | None:
    """Return the factor and what it scales, ``None`` if a product is of two computed values."""
    factors, values = [], []
    for operand in product.operands:
        given = graph.given.get(operand.node)
        if operand.parameter or (given is not None and given.kind == "parameter"):
            factors.append(Scale())
        elif operand.plain:
            factors.append(Scale(float(operand.plain)))
        else:
            values.append(operand)
    return (factors[0], values[0]) if len(factors) == len(values) == 1 else None


def _core(graph: ModuleGraph, last: Step, state: str) -> tuple[tuple[Step, ...], Step | None]:
    """Return the steps from the path to ``last``, and the norm that they read the path through."""
    seen: dict[str, Step] = {}
    before: Step | None = None
    waiting = [last]
    while waiting:
        step = waiting.pop()
        if step.node.id in seen:
            continue
        if is_norm(step) and [o.node for o in step.tensors] == [state]:
            before = step
            continue
        seen[step.node.id] = step
        waiting += [
            made for o in _read(step) if o.node != state and (made := graph.maker(o)) is not None
        ]
    return tuple(step for step in graph.steps if step.node.id in seen), before


def _kind(graph: ModuleGraph, core: tuple[Step, ...], state: str) -> BranchKind:
    operations = {step.operation for step in core}
    if "attention" in operations:
        attention = next(step for step in core if step.operation == "attention")
        is_cross = _reads_other(graph, attention, state)
        return "cross-attention" if is_cross else "attention"
    if "experts" in operations:
        return "experts"
    return "feed-forward" if operations & set(KINDS) and len(operations) == 1 else "other"


def _read(step: Step) -> tuple[Operand, ...]:
    return (*step.tensors, *step.roles.values())


def _reads_other(graph: ModuleGraph, attention: Step, state: str) -> bool:
    """Return whether an attention's keys come from another input than its queries."""
    query, key = attention_inputs(attention)
    queries, keys = set(_sources(graph, query, state)), set(_sources(graph, key, state))
    return bool(keys) and not keys & queries


def attention_inputs(attention: Step) -> tuple[Operand | None, Operand | None]:
    """Return what an attention computes its queries and its keys from."""
    if attention.node.details.get("projections"):
        operands = attention.inner[0].tensors
        return (operands[0], operands[1]) if len(operands) > 1 else (None, None)
    return attention.roles.get("query"), attention.roles.get("key")


def _sources(graph: ModuleGraph, operand: Operand | None, state: str) -> Iterator[str]:
    """Yield the nodes that a value is computed from, up to inputs and the residual path."""
    waiting = [] if operand is None else [operand]
    seen: set[str] = set()
    while waiting:
        each = waiting.pop()
        if each.node in seen or not each.node:
            continue
        seen.add(each.node)
        given = graph.given.get(each.node)
        if each.node == state or (given is not None and given.kind == "input"):
            yield each.node
            continue
        maker = graph.maker(each)
        if maker is not None:
            waiting += maker.tensors
