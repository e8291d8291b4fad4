"""Layer norm and its relatives, called by name or written out.

y = (x - mean) / sqrt(var + eps) * weight + bias (Ba et al. 2016, section 3), and without the mean
y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019, section 3).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.graph.patterns.group import Group
from bertviewer.core.graph.trace_graph import DATA, LEARNT, Graph, Reading
from bertviewer.core.text.special_floats import Scalar

CALLED: Mapping[str, KnownOperation] = {
    "layer_norm": "layer norm",
    "rms_norm": "rms norm",
    "group_norm": "group norm",
    "batch_norm": "batch norm",
    "instance_norm": "instance norm",
}


def called_norm(graph: Graph, number: int) -> Iterator[Group]:
    """Yield a norm that torch has a function for."""
    if graph.level_of(number) >= LEARNT:
        eps = dict(graph.trace.operations[number].kwargs).get("eps")
        details = {"eps": eps} if isinstance(eps, float) else {}
        yield Group(CALLED[graph.words[number]], frozenset((number,)), details=details)


def written_norm(graph: Graph, root: int) -> Iterator[Group]:
    """Yield a norm that divides by the root of a mean square."""
    is_other_power = graph.words[root] == "pow" and graph.numbers(root) != (-0.5,)
    if graph.level_of(root) != DATA or is_other_power:
        return
    operations: set[int] = {root}
    details: dict[str, Scalar] = {}
    inside = graph.data(root)[0].maker
    if inside is not None and graph.words[inside] in ("add", "clamp", "clamp_min", "maximum"):
        operations.add(inside)
        if numbers := graph.numbers(inside):
            details["eps"] = float(numbers[0])
        inside = next((each.maker for each in graph.data(inside)), None)
    square = None if inside is None else _mean_square(graph, inside)
    if inside is None or square is None:
        return
    operations |= {inside, *square[0]}
    divided = _divided(graph, root, operations)
    if divided is None:
        return
    operations.add(divided)
    is_centred = graph.words[inside] == "var"
    for maker in (graph.maker(square[1]), *graph.data_makers(divided)):
        if centring := _centring(graph, maker):
            operations |= centring
            is_centred = True
    if _add_affine(graph, divided, operations):
        details["one_plus"] = True
    kind: KnownOperation = "layer norm" if is_centred else "rms norm"
    yield Group(kind, frozenset(operations), details=details)


def _mean_square(graph: Graph, number: int) -> tuple[set[int], int] | None:
    """Return the operation that squares before a mean, and what a variance or mean is of."""
    reading = graph.data(number)[0]
    if graph.words[number] == "var":
        return set(), reading.same
    square = reading.maker
    if square is None or graph.words[number] != "mean":
        return None
    word, taken = graph.words[square], graph.data(square)
    is_square = (
        word == "square"
        or (word == "pow" and graph.numbers(square) == (2,))
        or (word == "mul" and len(taken) == 2 and taken[0].same == taken[1].same)
    )
    return ({square}, taken[0].same) if is_square else None


def _centring(graph: Graph, operation: int | None) -> set[int]:
    """Return an operation that subtracts the mean of its operand, and that mean; else nothing."""
    if operation is None or graph.words[operation] != "sub":
        return set()
    taken = graph.data(operation)
    if len(taken) != 2 or (mean := taken[1].maker) is None or graph.words[mean] != "mean":
        return set()
    return {operation, mean} if graph.data(mean)[0].same == taken[0].same else set()


def _divided(graph: Graph, root: int, operations: set[int]) -> int | None:
    """Return the operation that divides by the root, or multiplies by its reciprocal."""
    wanted = "div" if graph.words[root] == "sqrt" else "mul"
    users = [user for user in graph.users(root) if user not in operations]
    if wanted == "div" and len(users) == 1 and graph.words[users[0]] == "reciprocal":
        operations.add(users[0])
        users, wanted = list(graph.users(users[0])), "mul"
    fitting = [user for user in users if graph.words[user] == wanted]
    return fitting[0] if len(fitting) == 1 else None


def _add_affine(graph: Graph, last: int, operations: set[int]) -> bool:
    """Add the scale and the shift that follow, each a parameter, or 1 and a parameter.

    Returns:
        Whether the scale is 1 and a parameter (Gemma).
    """
    one_plus = False
    for _ in range(2):
        user = graph.sole_user(last)
        if user is None or graph.words[user] not in ("mul", "add", "addcmul"):
            break
        others = [each for each in graph.readings[user] if each.level != DATA]
        if not others or any(not _is_of_weights(graph, each) for each in others):
            break
        last = user
        added = {each.maker for each in others if each.maker is not None}
        operations |= {last, *added}
        is_scale = graph.words[last] == "mul"
        one_plus |= is_scale and any(graph.numbers(each) == (1,) for each in added)
    return one_plus


def _is_of_weights(graph: Graph, reading: Reading) -> bool:
    """Tell whether a vector is a parameter, or a parameter and a number added to it."""
    if reading.level != LEARNT or len([n for n in graph.shape(reading.value) if n > 1]) > 1:
        return False
    if reading.maker is None:
        return True
    return graph.words[reading.maker] in ("add", "rsub", "sub") and not graph.data(reading.maker)


def affine(graph: Graph, number: int) -> Iterator[Group]:
    """Yield a product with a learnt vector that a learnt vector is added to."""
    user = graph.sole_user(number)
    if user is not None and graph.words[user] == "add":
        reads = [graph.readings[each] for each in (number, user)]
        names = [[graph.parameter(each.value) for each in readings] for readings in reads]
        if all(len(each) == 2 and sum(map(bool, each)) == 1 for each in names):
            yield Group("scale and shift", frozenset((number, user)))
