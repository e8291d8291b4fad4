"""Layer norm and its relatives, called by name or written out.

y = (x - mean) / sqrt(var + eps) * weight + bias (Ba et al. 2016, section 3), and without the mean
y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019, section 3).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import DATA, LEARNT, Graph, Reading
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.text.special_floats import Scalar

_CALLED: Mapping[str, KnownOperation] = {
    "layer_norm": "layer norm",
    "rms_norm": "rms norm",
    "group_norm": "group norm",
    "batch_norm": "batch norm",
    "instance_norm": "instance norm",
}


def find_norms(graph: Graph) -> Iterator[Group]:
    """Yield every norm of data."""
    for number, word in enumerate(graph.words):
        if graph.level_of(number) < (LEARNT if word in _CALLED else DATA):
            continue
        if word in _CALLED:
            eps = dict(graph.trace.operations[number].kwargs).get("eps")
            details = {"eps": eps} if isinstance(eps, float) else {}
            yield Group(_CALLED[word], frozenset((number,)), details=details)
        elif group := _written_out(graph, number):
            yield group


def _written_out(graph: Graph, root: int) -> Group | None:
    """Return the norm that divides by the root of a mean square, ``None`` if it is none."""
    word = graph.words[root]
    if word not in ("sqrt", "rsqrt") and (word != "pow" or graph.numbers(root) != (-0.5,)):
        return None
    operations: set[int] = {root}
    details: dict[str, Scalar] = {}
    inside = graph.data(root)[0].maker
    if inside is not None and graph.words[inside] in ("add", "clamp", "clamp_min", "maximum"):
        operations.add(inside)
        if numbers := graph.numbers(inside):
            details["eps"] = float(numbers[0])
        inside = next((each.maker for each in graph.data(inside)), None)
    if inside is None:
        return None
    operations.add(inside)
    kind: KnownOperation = "layer norm"
    if graph.words[inside] == "var":
        centred = graph.data(inside)[0].same
    elif graph.words[inside] == "mean" and (squared := _squared(graph, inside)) is not None:
        square, centred = squared
        operations.add(square)
        if not _centring(graph, graph.maker(centred)):
            kind = "rms norm"
    else:
        return None
    divided = _divided(graph, root, operations)
    if divided is None:
        return None
    operations.add(divided)
    for maker in graph.data_makers(divided):
        if means := _centring(graph, maker):
            operations |= means
            kind = "layer norm"
    operations |= _centring(graph, graph.maker(centred))
    if _add_affine(graph, divided, operations):
        details["one_plus"] = True
    return Group(kind, frozenset(operations), details=details)


def _squared(graph: Graph, mean: int) -> tuple[int, int] | None:
    """Return the operation that squares what is averaged, and the value that it squares."""
    maker = graph.data(mean)[0].maker
    if maker is None:
        return None
    taken = graph.data(maker)
    is_square = (
        graph.words[maker] == "square"
        or (graph.words[maker] == "pow" and graph.numbers(maker) == (2,))
        or (graph.words[maker] == "mul" and len(taken) == 2 and taken[0].same == taken[1].same)
    )
    return (maker, taken[0].same) if is_square else None


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
    is_inverse = graph.words[root] != "sqrt"
    users = [user for user in graph.users(root) if user not in operations]
    if not is_inverse and len(users) == 1 and graph.words[users[0]] == "reciprocal":
        operations.add(users[0])
        users, is_inverse = list(graph.users(users[0])), True
    wanted = "mul" if is_inverse else "div"
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


def find_affine(graph: Graph) -> Iterator[Group]:
    """Yield every product with a learnt vector that a learnt vector is added to."""
    for number, word in enumerate(graph.words):
        user = graph.sole_user(number) if word == "mul" else None
        if user is not None and graph.words[user] == "add":
            operations = frozenset((number, user))
            reads = [graph.readings[each] for each in operations]
            names = [[graph.parameter(each.value) for each in readings] for readings in reads]
            if all(len(each) == 2 and sum(map(bool, each)) == 1 for each in names):
                yield Group("scale and shift", operations)
