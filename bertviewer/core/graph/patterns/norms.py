"""Layer norm and other norms, called by name or written out.

y = (x - mean) / sqrt(var + eps) * weight + bias (Ba et al. 2016, section 3), and without the mean
y = x / sqrt(mean(x²) + eps) * weight (Zhang & Sennrich 2019, section 3).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.graph.trace_graph import ACTIVATION, PARAMETER, Graph, Pattern, Reading
from bertviewer.core.schema.flow import KnownOperation
from bertviewer.core.util.serialization import Scalar

CALLED: Mapping[str, KnownOperation] = {
    "layer_norm": "layer norm",
    "rms_norm": "rms norm",
    "group_norm": "group norm",
    "batch_norm": "batch norm",
    "instance_norm": "instance norm",
}


def called_norm(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield a norm that is a function of torch."""
    if graph.level_of(number) >= PARAMETER:
        eps = graph.option(number, "eps")
        details = {"eps": eps} if isinstance(eps, float) else {}
        yield Pattern(CALLED[graph.words[number]], frozenset((number,)), details=details)


def written_norm(graph: Graph, root: int) -> Iterator[Pattern]:
    """Yield a norm that divides by the root of a mean square."""
    is_other_power = graph.words[root] == "pow" and graph.numbers(root) != (-0.5,)
    if graph.level_of(root) != ACTIVATION or is_other_power:
        return
    operations = {root}
    details: dict[str, Scalar] = {}
    mean = graph.data(root)[0]
    if mean.word in ("add", "clamp", "clamp_min", "maximum"):
        operations.add(mean.maker)
        if numbers := graph.numbers(mean.maker):
            details["eps"] = float(numbers[0])
        mean = graph.data(mean.maker)[0]
    if mean.word not in ("var", "mean"):
        return
    operations.add(mean.maker)
    states = graph.data(mean.maker)[0]
    if mean.word == "mean":
        if not _is_square(graph, states):
            return
        operations.add(states.maker)
        states = graph.data(states.maker)[0]
    divided = _divided(graph, root, operations)
    if divided < 0:
        return
    operations.add(divided)
    centrings = [_centring(graph, each) for each in (states, *graph.data(divided))]
    operations = operations.union(*centrings)
    if _add_affine(graph, divided, operations):
        details["one_plus"] = True
    is_centred = mean.word == "var" or any(centrings)
    yield Pattern(
        "layer norm" if is_centred else "rms norm", frozenset(operations), details=details
    )


def _is_square(graph: Graph, reading: Reading) -> bool:
    if reading.word not in ("square", "pow", "mul"):
        return False
    factors = [each.same for each in graph.data(reading.maker)]
    return (
        reading.word == "square"
        or (reading.word == "pow" and graph.numbers(reading.maker) == (2,))
        or (reading.word == "mul" and len(factors) == 2 and factors[0] == factors[1])
    )


def _centring(graph: Graph, reading: Reading) -> set[int]:
    """Return the operations that subtract the mean of an operand; empty for other operations."""
    taken = graph.data(reading.maker) if reading.word == "sub" else ()
    if len(taken) != 2 or taken[1].word != "mean":
        return set()
    is_of_it = graph.data(taken[1].maker)[0].same == taken[0].same
    return {reading.maker, taken[1].maker} if is_of_it else set()


def _divided(graph: Graph, root: int, operations: set[int]) -> int:
    """Return the operation that divides by the root or multiplies by its reciprocal, else -1."""
    wanted = "div" if graph.words[root] == "sqrt" else "mul"
    users = [user for user in graph.users(root) if user not in operations]
    if wanted == "div" and len(users) == 1 and graph.words[users[0]] == "reciprocal":
        operations.add(users[0])
        users, wanted = list(graph.users(users[0])), "mul"
    fitting = [user for user in users if graph.words[user] == wanted]
    return fitting[0] if len(fitting) == 1 else -1


def _add_affine(graph: Graph, last: int, operations: set[int]) -> bool:
    """Add the scale and shift that follow, each a parameter, or 1 plus a parameter.

    Returns:
        Whether the scale is 1 plus a parameter (Gemma).
    """
    one_plus = False
    for _ in range(2):
        last = graph.sole_user(last)
        if graph.word(last) not in ("mul", "add", "addcmul"):
            break
        others = [each for each in graph.readings[last] if each.level != ACTIVATION]
        if not others or not all(_is_of_weights(graph, each) for each in others):
            break
        added = {each.maker for each in others if each.maker >= 0}
        operations |= {last, *added}
        one_plus |= graph.words[last] == "mul" and any(graph.numbers(n) == (1,) for n in added)
    return one_plus


def _is_of_weights(graph: Graph, reading: Reading) -> bool:
    """Return whether a vector is a parameter, or a parameter plus a number."""
    if reading.level != PARAMETER or sum(n > 1 for n in graph.shape(reading.value)) > 1:
        return False
    return not reading.word or reading.word in ("add", "rsub", "sub")


def affine(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield a product with a learned vector, plus a learned vector."""
    user = graph.sole_user(number)
    if graph.word(user) == "add":
        reads = [graph.readings[each] for each in (number, user)]
        names = [[graph.parameter(each.value) for each in readings] for readings in reads]
        if all(len(each) == 2 and sum(map(bool, each)) == 1 for each in names):
            yield Pattern("scale and shift", frozenset((number, user)))
