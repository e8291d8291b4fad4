"""Softmax attention: softmax(Q·Kᵀ·scale + masks and biases)·V (Vaswani et al. 2017, section 3.2.1).

In one step (``scaled_dot_product_attention``, ``multi_head_attention_forward``), or written out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod

from bertviewer.core.graph.operation_names import ELEMENTWISE
from bertviewer.core.graph.patterns.group import Group
from bertviewer.core.graph.patterns.linears import is_linear, is_weight, operand_of, weight_of
from bertviewer.core.graph.trace_graph import ASIDE, DATA, Graph, Reading
from bertviewer.core.text.special_floats import Scalar

_PRODUCTS = ("matmul", "einsum", "baddbmm")
_BETWEEN = ELEMENTWISE | {"cat", "max", "amax", "nan_to_num", "masked_fill", "tril", "triu"}
"""What may come between the scores and their softmax, and between that and V."""
_REPEATED = frozenset(
    ("view", "reshape", "expand", "repeat_interleave", "contiguous", "transpose", "unsqueeze")
)


def fused_attention(graph: Graph, number: int) -> Iterator[Group]:
    """Yield ``scaled_dot_product_attention``."""
    readings = graph.readings[number]
    roles = {
        (number, reading.value): role
        for reading, role in zip(readings, ("query", "key", "value"), strict=False)
    }
    for reading in readings[3:]:
        roles[number, reading.value] = "mask" if reading.level == ASIDE else "bias"
    query, key = (graph.shape(reading.value) for reading in readings[:2])
    details: dict[str, Scalar] = {
        "heads": _heads(query),
        "head_size": query[-1],
        "key_value_heads": _heads_of_key(graph, readings[1], key),
    }
    is_causal = dict(graph.trace.operations[number].kwargs).get("is_causal") is True
    yield _attention(graph, {number}, details, roles, is_causal=is_causal)


def _heads(shape: Sequence[int]) -> int:
    """Return the number of heads; the dimensions before them are sentences or windows."""
    return prod(shape[1:-2]) if len(shape) > 3 else prod(shape[:-2])


def called_attention(graph: Graph, number: int) -> Iterator[Group]:
    """Yield ``torch.nn.MultiheadAttention``, its projections included."""
    width, heads = graph.trace.operations[number].args[3:5]
    readings = graph.readings[number]
    roles: dict[tuple[int, int], str] = {}
    # Where the same states are queries, keys and values, one edge says so.
    for reading, role in zip(readings, ("query", "key", "value"), strict=False):
        roles.setdefault((number, reading.value), role)
    roles |= {
        (number, each.value): "mask"
        for each in readings[3:]
        if each.level == ASIDE and graph.value(each.value).kind != "parameter"
    }
    details: dict[str, Scalar] = {"projections": True}
    if isinstance(heads, int) and isinstance(width, int):
        details |= {"heads": heads, "head_size": width // heads, "key_value_heads": heads}
    yield _attention(graph, {number}, details, roles)


def written_attention(graph: Graph, softmax: int) -> Iterator[Group]:
    """Yield an attention around a softmax, and before it the bias that is computed for it alone."""
    if not graph.data(softmax):
        return
    region, products = _before(graph, softmax)
    both = [each for each in products if len(graph.data(each)) == 2]
    context, between = _after(graph, softmax)
    if len(both) != 1 or context is None:
        return
    scores = both[0]
    operations = {softmax, scores, context, *region, *between}
    query, key = graph.data(scores)
    values = [each for each in graph.data(context) if each.maker not in {softmax, *between}]
    if not values:
        return  # the weights are multiplied with themselves, as where their inverse is sought
    roles = {
        (scores, query.value): "query",
        (scores, key.value): "key",
        (context, values[0].value): "value",
    }
    for reading in (query, key):
        if reading.maker is not None and _is_scaled(graph, reading.maker):
            operations.add(reading.maker)
            roles[reading.maker, graph.data(reading.maker)[0].value] = roles[scores, reading.value]
    for number in (*region, softmax, *between):
        for reading in graph.readings[number]:
            if is_weight(graph, reading) and is_linear(graph, number):
                continue
            if reading.maker in operations or (number, reading.value) in roles:
                continue
            roles[number, reading.value] = "mask" if reading.level == ASIDE else "bias"
            if reading.level == DATA and (bias := _bias(graph, reading.maker, operations)):
                yield Group("position bias", frozenset(bias), roles=graph.positions(bias, {ASIDE}))
    shape = graph.shape(graph.made(scores))
    size = graph.shape(query.value)[-1]
    details: dict[str, Scalar] = {"heads": _heads(shape)}
    if graph.words[scores] == "matmul":
        details["head_size"] = size
        details["key_value_heads"] = _heads_of_key(graph, key, (*shape[:-2], shape[-1], size))
    yield _attention(graph, operations, details, roles)


def _walk(
    graph: Graph, softmax: int, following: Callable[[int], Iterable[int]]
) -> Iterator[tuple[int, bool]]:
    """Yield the operations on one side of a softmax, each with whether it is a product.

    Products end the walk, and so do operations that don't belong to an attention.
    """
    waiting, seen = [softmax], {softmax}
    while waiting:
        for each in following(waiting.pop()):
            if each in seen:
                continue
            is_product = graph.words[each] in _PRODUCTS and not is_linear(graph, each)
            if is_product or graph.words[each] in _BETWEEN or _mixes_heads(graph, each):
                seen.add(each)
                if not is_product:
                    waiting.append(each)
                yield each, is_product


def _before(graph: Graph, softmax: int) -> tuple[set[int], list[int]]:
    """Return the operations on the scores before their softmax, and the products before these."""
    found = dict(_walk(graph, softmax, graph.data_makers))
    products = [each for each, is_product in found.items() if is_product]
    # What leads to no product is no part of the scores: a bias's own sums.
    useful = {softmax, *products}
    kept: set[int] = set()
    for number in sorted(found.keys() - products):
        if not useful.isdisjoint(graph.data_makers(number)):
            useful.add(number)
            kept.add(number)
    return kept, products


def _after(graph: Graph, softmax: int) -> tuple[int | None, set[int]]:
    """Return the product of the weights and V, and the operations on the weights before it."""
    between: set[int] = set()
    for each, is_product in _walk(graph, softmax, graph.users):
        if not is_product:
            between.add(each)
        elif len(graph.data(each)) == 2:
            return each, between
    return None, between


def _mixes_heads(graph: Graph, number: int) -> bool:
    """Return whether an operation mixes the scores of several heads (talking heads).

    It is a linear layer over the last of four axes, with as many outputs as inputs.
    """
    weight, operand = weight_of(graph, number), operand_of(graph, number)
    if weight is None or operand is None or len(weight) != 2 or weight[0] != weight[1]:
        return False
    shape = graph.shape(operand.value)
    return len(shape) == 4 and shape[-1] == weight[0]


def _bias(graph: Graph, last: int | None, attention: set[int]) -> set[int]:
    """Return what computes a bias for one attention alone: it ends where others read it too."""
    found: set[int] = set()
    waiting = set() if last is None else {last}
    while waiting:
        number = max(waiting)  # what reads a value comes after it
        waiting.remove(number)
        if number in attention or is_linear(graph, number) or graph.words[number] == "embedding":
            continue
        if set(graph.users(number)) <= (attention if number == last else found):
            found.add(number)
            waiting.update(graph.data_makers(number))
    return found


def _is_scaled(graph: Graph, number: int) -> bool:
    """Tell whether an operation only scales what this attention alone reads."""
    levels = [each.level for each in graph.readings[number]]
    return (
        graph.words[number] in ("mul", "div")
        and len(levels) <= 2
        and sum(level != ASIDE for level in levels) == 1
        and graph.sole_user(number) is not None
    )


def _heads_of_key(graph: Graph, key: Reading, shape: Sequence[int]) -> int:
    """Return the number of the keys' heads before they are repeated for the queries' heads.

    ``shape`` is theirs when they are used.
    """
    value = key.value
    least = prod(graph.shape(value))
    while (step := graph.back(value)) is not None and step[1] in _REPEATED:
        value = step[0]
        least = min(least, prod(graph.shape(value)))
    return max(least * _heads(shape) // max(prod(shape[:-2]) * prod(shape[-2:]), 1), 1)


def _attention(
    graph: Graph,
    operations: set[int],
    details: Mapping[str, Scalar],
    roles: Mapping[tuple[int, int], str],
    *,
    is_causal: bool = False,
) -> Group:
    """Return an attention; it is causal if a mask hides from each token what comes after it."""
    waiting = [value for (_, value), role in roles.items() if role in ("mask", "bias")]
    seen: set[int] = set()
    while waiting and not is_causal:
        value = graph.same(waiting.pop())
        level = graph.level[value]
        if value in seen or level == DATA:
            continue
        seen.add(value)
        is_causal = level == ASIDE and graph.value(value).is_causal
        maker = graph.maker(value)
        if maker is not None and level != ASIDE:
            # A mask may be part of a bias of positions.
            waiting += [each.value for each in graph.readings[maker]]
    causal: dict[str, Scalar] = {"causal": True} if is_causal else {}
    return Group("attention", frozenset(operations), "", {**details, **causal}, roles)
