"""Softmax attention: softmax(Q·Kᵀ·scale + masks and biases)·V (Vaswani et al. 2017, section 3.2.1).

In one step (``scaled_dot_product_attention``, ``multi_head_attention_forward``), or written out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod

from bertviewer.core.graph.operation_names import ELEMENTWISE
from bertviewer.core.graph.patterns.linears import is_linear, is_weight, operand_of, weight_of
from bertviewer.core.graph.patterns.pattern import Pattern
from bertviewer.core.graph.trace_graph import (
    ACTIVATION,
    AUXILIARY,
    PARAMETER,
    Graph,
    Reading,
    closure,
)
from bertviewer.core.util.serialization import Scalar

_PRODUCTS = ("matmul", "einsum", "baddbmm")
_BETWEEN = ELEMENTWISE | {"cat", "max", "amax", "nan_to_num", "masked_fill", "tril", "triu"}
"""What may come between the scores and their softmax, and between that and V."""
_REPEATED = frozenset(
    ("view", "reshape", "expand", "repeat_interleave", "contiguous", "transpose", "unsqueeze")
)
_ROLES = ("query", "key", "value")

_Roles = dict[tuple[int, int], str]


def fused_attention(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield ``scaled_dot_product_attention``."""
    readings = graph.readings[number]
    given = zip(readings, _ROLES, strict=False)
    roles = {(number, reading.value): role for reading, role in given}
    roles |= {(number, each.value): _side(each) for each in readings[3:]}
    query, key = (graph.shape(reading.value) for reading in readings[:2])
    details: dict[str, Scalar] = {
        "heads": _heads(query),
        "head_size": query[-1],
        "key_value_heads": _heads_of_key(graph, readings[1], key),
    }
    is_causal = graph.option(number, "is_causal") is True
    yield _attention(graph, {number}, details, roles, is_causal=is_causal)


def called_attention(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield ``torch.nn.MultiheadAttention``, its projections included."""
    width, heads = graph.trace.operations[number].args[3:5]
    readings = graph.readings[number]
    # Where the same states are queries, keys and values, one edge says so: as queries.
    given = reversed(tuple(zip(readings, _ROLES, strict=False)))
    roles = {(number, reading.value): role for reading, role in given}
    roles |= {
        (number, each.value): "mask"
        for each in readings[3:]
        if each.level == AUXILIARY and graph.trace.values[each.value].kind != "parameter"
    }
    details: dict[str, Scalar] = {"projections": True}
    if isinstance(heads, int) and isinstance(width, int):
        details |= {"heads": heads, "head_size": width // heads, "key_value_heads": heads}
    yield _attention(graph, {number}, details, roles)


def written_attention(graph: Graph, softmax: int) -> Iterator[Pattern]:
    """Yield an attention around a softmax, and before it the bias that is computed for it alone."""
    if not graph.data(softmax):
        return
    region, products = _between(graph, softmax, graph.data_makers, graph.users)
    between, contexts = _between(graph, softmax, graph.users, graph.data_makers)
    if len(products) != 1 or not contexts:
        return
    scores, context = products[0], contexts[0]
    operations = {softmax, scores, context, *region, *between}
    query, key = graph.data(scores)
    values = [each for each in graph.data(context) if each.maker not in {softmax, *between}]
    if not values:
        return  # the weights are multiplied with themselves, as where their inverse is sought
    roles: _Roles = {
        (scores, query.value): "query",
        (scores, key.value): "key",
        (context, values[0].value): "value",
    }
    for reading in (query, key):
        if _is_scaled(graph, reading):
            operations.add(reading.maker)
            roles[reading.maker, graph.data(reading.maker)[0].value] = roles[scores, reading.value]
    for number in (*region, softmax, *between):
        for reading in graph.readings[number]:
            if is_weight(graph, reading) and is_linear(graph, number):
                continue
            if reading.maker in operations or (number, reading.value) in roles:
                continue
            roles[number, reading.value] = _side(reading)
            if reading.level == ACTIVATION and (bias := _bias(graph, reading.maker, operations)):
                positions = graph.positions(bias, {AUXILIARY})
                yield Pattern("position bias", frozenset(bias), roles=positions)
    shape = graph.shape(graph.made(scores))
    size = graph.shape(query.value)[-1]
    details: dict[str, Scalar] = {"heads": _heads(shape)}
    if graph.words[scores] == "matmul":
        details["head_size"] = size
        details["key_value_heads"] = _heads_of_key(graph, key, (*shape[:-2], shape[-1], size))
    yield _attention(graph, operations, details, roles)


def _side(reading: Reading) -> str:
    return "mask" if reading.level == AUXILIARY else "bias"


def _heads(shape: Sequence[int]) -> int:
    """Return the number of heads; the dimensions before them are sentences or windows."""
    return prod(shape[1:-2]) if len(shape) > 3 else prod(shape[:-2])


def _between(
    graph: Graph,
    softmax: int,
    there: Callable[[int], Iterable[int]],
    back: Callable[[int], Iterable[int]],
) -> tuple[set[int], list[int]]:
    """Return the operations from a softmax to the products on one side of it, and the products.

    Of these only those of two activations; what is no operation on scores ends the way.
    """

    def is_product(number: int) -> bool:
        return graph.words[number] in _PRODUCTS and not is_linear(graph, number)

    def following(number: int) -> list[int]:
        if is_product(number):
            return []
        return [n for n in there(number) if is_product(n) or _is_on_scores(graph, n)]

    reached = closure([softmax], following)
    products = sorted(filter(is_product, reached))
    # What leads to no product is no part of the scores: a bias's own sums.
    leading = closure(products, lambda n: [each for each in back(n) if each in reached])
    between = (reached & leading).difference(products, {softmax})
    return set(between), [each for each in products if len(graph.data(each)) == 2]


def _is_on_scores(graph: Graph, number: int) -> bool:
    """Return whether an operation may be one on the scores, or on the weights.

    Among these is a mix of several heads' scores (talking heads): a linear layer over the last of
    four axes, with as many outputs as inputs.
    """
    if graph.words[number] in _BETWEEN:
        return True
    weight, operand = weight_of(graph, number), operand_of(graph, number)
    if weight is None or operand is None or len(weight) != 2 or weight[0] != weight[1]:
        return False
    shape = graph.shape(operand.value)
    return len(shape) == 4 and shape[-1] == weight[0]


def _bias(graph: Graph, last: int, attention: set[int]) -> set[int]:
    """Return what computes a bias for one attention alone: it ends where others read it too."""
    found: set[int] = set()
    waiting = {last} - {-1}
    while waiting:
        number = max(waiting)  # what reads a value comes after it
        waiting.remove(number)
        if number in attention or is_linear(graph, number) or graph.words[number] == "embedding":
            continue
        if set(graph.users(number)) <= (attention if number == last else found):
            found.add(number)
            waiting.update(graph.data_makers(number))
    return found


def _is_scaled(graph: Graph, reading: Reading) -> bool:
    """Return whether something was only scaled, and only for this attention."""
    if reading.word not in ("mul", "div") or graph.sole_user(reading.maker) < 0:
        return False
    levels = [each.level for each in graph.readings[reading.maker]]
    return len(levels) <= 2 and sum(level != AUXILIARY for level in levels) == 1


def _heads_of_key(graph: Graph, key: Reading, shape: Sequence[int]) -> int:
    """Return the number of the keys' heads before they are repeated for the queries' heads.

    ``shape`` is theirs when they are used.
    """
    least = prod(graph.shape(key.value))
    for view in graph.views(key.value):
        if view.word not in _REPEATED:
            break
        least = min(least, prod(graph.shape(view.source)))
    return max(least * _heads(shape) // max(prod(shape), 1), 1)


def _attention(
    graph: Graph,
    operations: set[int],
    details: Mapping[str, Scalar],
    roles: _Roles,
    *,
    is_causal: bool = False,
) -> Pattern:
    """Return an attention; it is causal if a mask hides from each token what comes after it."""

    def read(value: int) -> list[int]:
        # A mask may be part of a bias of positions.
        maker = graph.maker(value) if graph.level[value] == PARAMETER else -1
        return [each.same for each in graph.readings[maker]] if maker >= 0 else []

    masks = [graph.same(value) for (_, value), role in roles.items() if role in ("mask", "bias")]
    is_causal |= any(
        graph.level[value] == AUXILIARY and graph.trace.values[value].is_causal
        for value in closure(masks, read)
    )
    causal: dict[str, Scalar] = {"causal": True} if is_causal else {}
    return Pattern("attention", frozenset(operations), "", {**details, **causal}, roles)
