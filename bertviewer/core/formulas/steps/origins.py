"""Where queries, keys and values come from: linear layers, and what is done to their results."""

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile

from msgspec import Struct

from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand

ROLES = {"query": "Q", "key": "K", "value": "V"}
"""The letters of what goes into an attention."""

_PASSED = (
    *("rms norm", "layer norm", "scale and shift", "mul", "div", "add", "clamp", "look-up"),
    *("cat", "broadcast_to"),
)
"""Through these a query is still a query."""
_NORMS = ("rms norm", "layer norm", "scale and shift")
_MOST = 8

Place = tuple[str, tuple[str, ...]]
"""A node's id, and what is taken of its result."""


class Chain(Struct, frozen=True):
    """How a query, key or value is made.

    Attributes:
        origin: the linear layer, or its part, or the module's input that it is; ``None`` if it is
            made of several.
        steps: what is done to the origin's result, in order of execution.
    """

    origin: Operand | None
    steps: tuple[Step, ...]


def chain_of(graph: ModuleGraph, operand: Operand) -> Chain:
    """Return how an operand is made, back to a linear layer or an input."""
    steps: tuple[Step, ...] = ()
    for _ in range(_MOST):
        step = graph.maker(operand)
        if step is None or step.operation == "linear":
            is_origin = step is not None or _is_data(graph, operand)
            return Chain(operand if is_origin else None, steps)
        steps = (step, *steps)
        if step.operation == "rotary":
            operand = turned_by(step)
            continue
        sources = {(o.node, o.parts): o for o in step.tensors if _is_data(graph, o)}
        if step.operation not in _PASSED or len(sources) != 1:
            break
        (source,) = sources.values()
        taken = [f"part {o.plain}" for o in step.operands if o.plain]
        taken = taken[:1] if step.operation == "look-up" else []
        operand = Operand(source.node, (*source.parts, *taken, *operand.parts))
    return Chain(None, steps)


def origins(graph: ModuleGraph) -> dict[Place, str]:
    """Return the linear layers, or parts of them, that make queries, keys and values."""
    found: dict[Place, str] = {}
    for number, step in enumerate(graph.of("attention")):
        for role, letter in ROLES.items():
            operand = step.roles.get(role)
            made = None if operand is None else chain_of(graph, operand).origin
            if made is not None and graph.maker(made) is not None:
                found.setdefault((made.node, made.parts), letter + "'" * number)
    return found


def projections(graph: ModuleGraph) -> Mapping[str, frozenset[str]]:
    """Return what linear layers compute for attentions, by node: letters of ``ROLES``.

    Other than ``origins``, it follows queries, keys and values that are put together from the
    results of several layers.
    """
    found: dict[str, set[str]] = {}
    for step in graph.of("attention"):
        for role, letter in ROLES.items():
            operand = step.roles.get(role) or step.roles.get("query")
            made = {} if operand is None else graph.sources(operand, stop="linear")
            for node, source in made.items():
                if source.operation == "linear":
                    found.setdefault(node, set()).add(letter)
    return {node: frozenset(letters) for node, letters in found.items()}


def layer_before(graph: ModuleGraph, step: Step) -> tuple[Step | None, tuple[Step, ...]]:
    """Return the linear layer whose result a step reads, and the norms between them."""
    chain = chain_of(graph, next(iter(step.tensors), Operand()))
    layer = graph.maker(chain.origin)
    is_near = layer is not None and all(each.operation in _NORMS for each in chain.steps)
    return (layer, chain.steps) if is_near else (None, ())


def compressed_for(graph: ModuleGraph, step: Step) -> frozenset[str]:
    """Return the projections whose input a linear layer prepares, by letter."""
    found = (
        letters
        for node, letters in projections(graph).items()
        if layer_before(graph, graph.by_id[node])[0] is step
    )
    return frozenset().union(*found)


def turned_by(step: Step) -> Operand:
    """Return what a rotation turns: what all the parts that it reads are parts of."""
    position = step.roles.get("position", Operand())
    inside = {position.node, *(each.node.id for each in step.inner)}
    all_read = [o for each in step.inner or (step,) for o in each.tensors if o.node not in inside]
    # Sines and cosines may be separate tensors, which are read whole.
    of_parts = [o for o in all_read if any(_PART.match(part) for part in o.parts)]
    read = next((some for some in (all_read, of_parts) if len({o.node for o in some}) == 1), None)
    if read is None:
        return Operand()
    together = zip(*(o.parts for o in read), strict=False)
    common = takewhile(lambda parts: len(set(parts)) == 1, together)
    return Operand(read[0].node, tuple(parts[0] for parts in common))


_PART = re.compile(r"part |chunk |split |unbind |select ")


def _is_data(graph: ModuleGraph, operand: Operand, depth: int = _MOST) -> bool:
    """Return whether an operand depends on an input, and not on parameters alone."""
    given, maker = graph.given.get(operand.node), graph.maker(operand)
    if maker is None or not depth:
        return given is not None and given.kind == "input"
    is_layer = maker.operation in ("linear", "embedding", "rotary")
    return is_layer or any(_is_data(graph, each, depth - 1) for each in maker.tensors)


def expert_choice(experts: Step) -> tuple[Operand | None, Operand | None]:
    """Return which experts are chosen, and their weights, where a mixture is given both."""
    inner = experts.inner
    inside = {each.node.id for each in inner}

    def given_to(operation: str, steps: Iterable[Step]) -> Operand | None:
        read = (o for step in steps if step.operation == operation for o in step.tensors)
        return next((operand for operand in read if operand.node not in inside), None)

    return given_to("look-up", inner), given_to("mul", reversed(inner))
