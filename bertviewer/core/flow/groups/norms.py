"""Layer norm and its kin, called by name or written out.

y = (x - mean) / sqrt(var + eps) * weight + bias (Ba et al. 2016, section 3), and without the mean
y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019, section 3).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import DATA, LEARNT, Graph, Reading
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.text.special_floats import Scalar

LAYER_NORM: KnownOperation = "layer norm"
RMS_NORM: KnownOperation = "rms norm"

_CALLED: Mapping[str, KnownOperation] = {
    "layer_norm": LAYER_NORM,
    "rms_norm": RMS_NORM,
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
            operation = graph.trace.operations[number]
            eps = dict(operation.kwargs).get("eps")
            details = {"eps": eps} if isinstance(eps, float) else {}
            yield Group(_CALLED[word], frozenset((number,)), details=details)
        elif word in ("sqrt", "rsqrt") or (word == "pow" and graph.numbers(number) == (-0.5,)):
            group = _written_out(graph, number)
            if group is not None:
                yield group


def _written_out(graph: Graph, root: int) -> Group | None:
    """Return the norm that divides by the root of a mean square, ``None`` if it is none."""
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
    centred = None
    if graph.words[inside] == "var":
        centred = graph.data(inside)[0].same
        kind = LAYER_NORM
    elif graph.words[inside] == "mean" and (squared := _squared(graph, inside)) is not None:
        square, centred = squared
        operations.add(square)
        kind = LAYER_NORM if _centring(graph, graph.maker(centred)) else RMS_NORM
    else:
        return None
    divided = _divided(graph, root, operations)
    if divided is None:
        return None
    operations.add(divided)
    for reading in graph.data(divided):
        if reading.maker is not None and (means := _centring(graph, reading.maker)):
            operations |= {reading.maker, *means}
            kind = LAYER_NORM
    if (maker := graph.maker(centred)) is not None and (means := _centring(graph, maker)):
        operations |= {maker, *means}
    if _take_affine(graph, divided, operations):
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
    """Return the means that an operation takes from what they are the means of."""
    if operation is None or graph.words[operation] != "sub":
        return set()
    taken = graph.data(operation)
    if len(taken) != 2 or (mean := taken[1].maker) is None or graph.words[mean] != "mean":
        return set()
    return {mean} if graph.data(mean)[0].same == taken[0].same else set()


def _divided(graph: Graph, root: int, operations: set[int]) -> int | None:
    """Return the operation that divides by the root, or multiplies with what is one over it."""
    is_inverse = graph.words[root] != "sqrt"
    users = [user for user in graph.users.get(root, ()) if user not in operations]
    if not is_inverse and len(users) == 1 and graph.words[users[0]] == "reciprocal":
        operations.add(users[0])
        users, is_inverse = list(graph.users.get(users[0], ())), True
    wanted = "mul" if is_inverse else "div"
    fitting = [user for user in users if graph.words[user] == wanted]
    return fitting[0] if len(fitting) == 1 else None


def _take_affine(graph: Graph, last: int, operations: set[int]) -> bool:
    """Take the scale and the shift that follow, each a parameter, or 1 and a parameter.

    Returns:
        Whether the scale is 1 and a parameter (Gemma).
    """
    one_plus = False
    for _ in range(2):
        users = graph.users.get(last, ())
        if len(users) != 1 or graph.words[users[0]] not in ("mul", "add", "addcmul"):
            break
        others = [each for each in graph.readings[users[0]] if each.level != DATA]
        if not others or any(not _is_of_weights(graph, each) for each in others):
            break
        last = users[0]
        operations.add(last)
        added = {each.maker for each in others if each.maker is not None}
        operations |= added
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


AFFINE: KnownOperation = "scale and shift"


def find_affine(graph: Graph) -> Iterator[Group]:
    """Yield every product with a learnt vector that a learnt vector is added to."""
    for number, word in enumerate(graph.words):
        users = graph.users.get(number, ())
        if word != "mul" or len(users) != 1 or graph.words[users[0]] != "add":
            continue
        if _has_vector(graph, number) and _has_vector(graph, users[0]):
            yield Group(AFFINE, frozenset((number, users[0])))


def _has_vector(graph: Graph, number: int) -> bool:
    names = [graph.parameter(each.value) for each in graph.readings[number]]
    return len(names) == 2 and sum(map(bool, names)) == 1
