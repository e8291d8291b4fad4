"""Softmax attention: softmax(Q·Kᵀ·scale + masks and biases)·V (Vaswani et al. 2017, section 3.2.1).

In one step (``scaled_dot_product_attention``, ``multi_head_attention_forward``), or written out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import ASIDE, DATA, Graph, Reading
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.groups.linears import is_linear, is_weight, operand_of, weight_of
from bertviewer.core.flow.operation_names import ELEMENTWISE
from bertviewer.core.text.special_floats import Scalar

ATTENTION: KnownOperation = "attention"
POSITION_BIAS: KnownOperation = "position bias"

_PRODUCTS = ("matmul", "einsum", "baddbmm")
_BETWEEN = ELEMENTWISE | {"cat", "max", "amax", "nan_to_num", "masked_fill", "tril", "triu"}
"""What may stand between the scores and their softmax, and between that and V."""


def find_attentions(graph: Graph) -> Iterator[Group]:
    """Yield every attention, and before it the bias that is computed for it alone."""
    for number, word in enumerate(graph.words):
        found: Iterable[Group] = ()
        if word == "scaled_dot_product_attention":
            found = (_fused(graph, number),)
        elif word == "multi_head_attention_forward":
            found = (_whole(graph, number),)
        elif word == "softmax" and graph.data(number):
            found = _written_out(graph, number)
        for group in found:
            yield _masked(graph, group) if group.operation == ATTENTION else group


def _masked(graph: Graph, group: Group) -> Group:
    """Return an attention that says so where its mask hides what comes after each token."""
    waiting = [value for (_, value), role in group.roles.items() if role in ("mask", "bias")]
    seen: set[int] = set()
    while waiting:
        value = graph.same(waiting.pop())
        level = graph.level[value]
        if value in seen or level == DATA:
            continue
        seen.add(value)
        if level == ASIDE and graph.value(value).is_causal:
            return replace(group, details={**group.details, "causal": True})
        maker = graph.maker(value)
        if maker is not None and level != ASIDE:
            # A mask may be put into a bias of positions.
            waiting += [each.value for each in graph.readings[maker]]
    return group


def _fused(graph: Graph, number: int) -> Group:
    readings = graph.readings[number]
    named = dict(graph.trace.operations[number].kwargs)
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
    if named.get("is_causal") is True:
        details["causal"] = True
    return Group(ATTENTION, frozenset((number,)), details=details, roles=roles)


def _heads(shape: Sequence[int]) -> int:
    """Return how many heads there are; what stands before them are sentences, or windows."""
    return prod(shape[1:-2]) if len(shape) > 3 else prod(shape[:-2])


def _whole(graph: Graph, number: int) -> Group:
    """torch.nn.MultiheadAttention, its projections included."""
    operation = graph.trace.operations[number]
    query, key, value = graph.readings[number][:3]
    heads, width = operation.args[4], operation.args[3]
    roles = {(number, query.value): "query"}
    # Where the same states are queries, keys and values, one edge says so.
    for reading, role in ((key, "key"), (value, "value")):
        roles.setdefault((number, reading.value), role)
    roles |= {
        (number, each.value): "mask"
        for each in graph.readings[number][3:]
        if each.level == ASIDE and graph.value(each.value).kind != "parameter"
    }
    details: dict[str, Scalar] = {"projections": True}
    if isinstance(heads, int) and isinstance(width, int):
        details |= {"heads": heads, "head_size": width // heads, "key_value_heads": heads}
    return Group(ATTENTION, frozenset((number,)), details=details, roles=roles)


def _written_out(graph: Graph, softmax: int) -> Iterator[Group]:
    region, products = _before(graph, softmax)
    both = [each for each in products if _is_of_data(graph, each)]
    context, between = _after(graph, softmax)
    if len(both) != 1 or context is None:
        return
    scores = both[0]
    operations = {softmax, scores, context, *region, *between}
    query, key = graph.data(scores)[:2]
    values = [each for each in graph.data(context) if each.maker not in {softmax, *between}]
    if not values:
        return  # the weights are multiplied with themselves, as where their inverse is sought
    value = values[0]
    roles = {
        (scores, query.value): "query",
        (scores, key.value): "key",
        (context, value.value): "value",
    }
    for reading in (query, key):
        if reading.maker is not None and _is_scaled(graph, reading.maker):
            operations.add(reading.maker)
            roles[reading.maker, graph.data(reading.maker)[0].value] = roles[scores, reading.value]
    for number in (*region, softmax, *between):
        for reading in graph.readings[number]:
            if is_weight(graph, reading) and is_linear(graph, number):
                continue
            if reading.maker not in operations and (number, reading.value) not in roles:
                roles[number, reading.value] = "mask" if reading.level == ASIDE else "bias"
                if reading.level == DATA and reading.maker is not None:
                    bias = _bias(graph, reading.maker, operations)
                    if bias:
                        yield Group(POSITION_BIAS, frozenset(bias), roles=_places(graph, bias))
    shape = graph.shape(graph.made(scores))
    size = graph.shape(query.value)[-1]
    details: dict[str, Scalar] = {"heads": _heads(shape)}
    if graph.words[scores] == "matmul":
        details["head_size"] = size
        details["key_value_heads"] = _heads_of_key(graph, key, (*shape[:-2], shape[-1], size))
    yield Group(ATTENTION, frozenset(operations), details=details, roles=roles)


def _places(graph: Graph, bias: set[int]) -> dict[tuple[int, int], str]:
    return {
        (number, reading.value): "position"
        for number in bias
        for reading in graph.readings[number]
        if reading.level == ASIDE
    }


def _before(graph: Graph, softmax: int) -> tuple[set[int], list[int]]:
    """Return what is done to the scores before their softmax, and the products that it is of."""
    region: set[int] = set()
    products: list[int] = []
    waiting = [softmax]
    while waiting:
        for reading in graph.data(waiting.pop()):
            maker = reading.maker
            if maker is None or maker in region or maker in products:
                continue
            if graph.words[maker] in _PRODUCTS and not is_linear(graph, maker):
                products.append(maker)
            elif graph.words[maker] in _BETWEEN or _mixes_heads(graph, maker):
                region.add(maker)
                waiting.append(maker)
    # What leads to no product is no part of the scores: a bias's own sums.
    useful = {softmax, *products}
    kept: set[int] = set()
    for number in sorted(region):
        if any(each.maker in useful for each in graph.data(number)):
            useful.add(number)
            kept.add(number)
    return kept, products


def _after(graph: Graph, softmax: int) -> tuple[int | None, set[int]]:
    """Return the product of the weights and V, and what is done to the weights before it."""
    between: set[int] = set()
    waiting = [softmax]
    while waiting:
        for user in graph.users.get(waiting.pop(), ()):
            if graph.words[user] in _PRODUCTS and not is_linear(graph, user):
                if len(graph.data(user)) == 2:
                    return user, between
            elif user not in between and (
                graph.words[user] in _BETWEEN or _mixes_heads(graph, user)
            ):
                between.add(user)
                waiting.append(user)
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


def _bias(graph: Graph, last: int, attention: set[int]) -> set[int]:
    """Return what computes a bias for one attention alone: it stops where others read it too."""
    found: set[int] = set()
    waiting = [last]
    while waiting:
        number = max(waiting)  # what reads a value comes after it
        waiting = [each for each in waiting if each != number]
        users = set(graph.users.get(number, ()))
        if number in attention or is_linear(graph, number) or graph.words[number] == "embedding":
            continue
        if not users <= (attention if number == last else found):
            continue
        found.add(number)
        waiting += [each.maker for each in graph.data(number) if each.maker is not None]
    return found


def _is_of_data(graph: Graph, product: int) -> bool:
    return len(graph.data(product)) == 2


def _is_scaled(graph: Graph, number: int) -> bool:
    """Tell whether an operation does no more than multiply what this attention reads alone."""
    is_scale = graph.words[number] in ("mul", "div") and len(graph.readings[number]) <= 2
    others = [each for each in graph.readings[number] if each.level != ASIDE]
    return is_scale and len(others) == 1 and len(graph.users.get(number, ())) == 1


def _heads_of_key(graph: Graph, key: Reading, shape: Sequence[int]) -> int:
    """Return how many heads the keys have before they are repeated for the queries' heads.

    ``shape`` is theirs when they are used.
    """
    value = key.value
    least = prod(graph.shape(value))
    while (step := graph.back(value)) is not None and step[1] in _REPEATED:
        value = step[0]
        least = min(least, prod(graph.shape(value)))
    return max(least * _heads(shape) // max(prod(shape[:-2]) * prod(shape[-2:]), 1), 1)


_REPEATED = frozenset(
    ("view", "reshape", "expand", "repeat_interleave", "contiguous", "transpose", "unsqueeze")
)
