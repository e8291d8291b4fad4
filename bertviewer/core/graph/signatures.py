"""Equal layers: calls that do the same with tensors of their own."""

from collections.abc import Hashable

from bertviewer.core.graph.trace import Argument, Call, Ref
from bertviewer.core.graph.trace_graph import DATA, Graph


def signature(graph: Graph, call: Call) -> Hashable:
    """Return what two calls have in common if they are of equal layers.

    The operations, their plain operands, what they read of each other, the parameters by their
    names below the module; and which masks and positions they read from outside, as local and
    global attention differ in nothing else.
    """
    own: dict[int, Hashable] = {}
    outside: dict[int, int] = {}

    def described(operand: Argument) -> Hashable:
        if isinstance(operand, Ref):
            value = operand.value
            if value in own:
                return own[value]
            stored = graph.value(value)
            if stored.kind in ("parameter", "buffer"):
                return stored.name.removeprefix(f"{call.path}."), stored.shape
            if graph.level[value] != DATA:
                return "aside", graph.same(value)
            return "outside", outside.setdefault(value, len(outside)), stored.shape
        if isinstance(operand, tuple):
            return tuple(map(described, operand))
        if isinstance(operand, list):
            return "list", *map(described, operand)
        if isinstance(operand, slice):
            return "slice", *map(described, (operand.start, operand.stop, operand.step))
        # 1, 1.0 and True are equal, and mean other things.
        return type(operand).__name__, operand

    found = []
    for place, number in enumerate(call.operations):
        operation = graph.trace.operations[number]
        named = tuple((name, described(item)) for name, item in operation.kwargs)
        found.append((operation.function, described(operation.args), named))
        for order, value in enumerate(operation.makes):
            own[value] = "made", place, order
    return call.class_name, tuple(found)
