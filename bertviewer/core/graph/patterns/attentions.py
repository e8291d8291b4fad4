"""Softmax attention, and rotary positions of its queries and keys.

softmax(Q·Kᵀ·scale + masks and biases)·V (Vaswani et al. 2017, section 3.2.1), in one function
(``scaled_dot_product_attention``, ``multi_head_attention_forward``) or written out. Rotary: x cos +
rotate(x) sin (Su et al. 2021, section 3.4.2), with halves or neighbours as pairs, written with
sines or with complex numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod

from bertviewer.core.graph.operation_names import ELEMENTWISE
from bertviewer.core.graph.trace_graph import (
    ACTIVATION,
    AUXILIARY,
    PARAMETER,
    Graph,
    Pattern,
    Reading,
    closure,
    is_linear,
    is_weight,
    operand_of,
    weight_of,
)
from bertviewer.core.util.serialization import Scalar

_Rotation = tuple[set[int], set[int]]
"""Operations, and the values that they rotate."""


def rotary_sum(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield x cos + rotate(x) sin."""
    operations, wholes = _sum_of_products(graph, number)
    if len(wholes) != 1 or not {"neg", "cat", "stack"} & {graph.words[it] for it in operations}:
        return
    user = graph.sole_user(number)
    # If only some of the features are rotated, they are concatenated with the others.
    if graph.word(user) == "cat":
        others = {graph.whole(each.value) for each in graph.data(user) if each.maker != number}
        if others and others <= wholes:
            operations.add(user)
    yield _pattern(graph, operations)


def rotary_pairs(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield (a cos - b sin, b cos + a sin), concatenated."""
    taken = graph.data(number)
    if all(reading.word in ("add", "sub") for reading in taken):
        found = [_sum_of_products(graph, reading.maker) for reading in taken]
        if len(taken) > 1 and all(wholes for _, wholes in found):
            operations, wholes = _joined(found, {number})
            if len(wholes) == 1:
                yield _pattern(graph, operations)


def rotary_complex(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield the product of two complex numbers."""
    readings = graph.readings[number]
    levels = sorted(each.level for each in readings)
    values = (graph.trace.values[each.value] for each in readings)
    if levels == [AUXILIARY, ACTIVATION] and all(v.dtype.startswith("complex") for v in values):
        yield _pattern(graph, {number})


def _pattern(graph: Graph, operations: set[int]) -> Pattern:
    roles = graph.positions(operations, {AUXILIARY, PARAMETER})
    return Pattern("rotary", frozenset(operations), roles=roles)


def _joined(found: list[_Rotation], operations: set[int]) -> _Rotation:
    return operations.union(*(it for it, _ in found)), set[int]().union(*(it for _, it in found))


def _sum_of_products(graph: Graph, number: int) -> _Rotation:
    """Return a sum of two products with sines and cosines, and the rotated values; else nothing."""
    found: list[_Rotation] = []
    for reading in graph.data(number):
        data = graph.data(reading.maker) if reading.word == "mul" else ()
        if len(data) != 1 or not any(map(_is_angle, graph.readings[reading.maker])):
            return set(), set()
        operations, wholes = _rotated(graph, data[0].value)
        found.append(({reading.maker, *operations}, wholes))
    return _joined(found, {number}) if len(found) == 2 else (set(), set())


def _is_angle(reading: Reading) -> bool:
    """Return whether a factor depends only on positions; sines may be rows of a table."""
    return reading.level == AUXILIARY or (reading.level == PARAMETER and bool(reading.word))


def _rotated(graph: Graph, value: int) -> _Rotation:
    """Return the operations that rotate a value (signs, pairs, numbers), and the rotated values."""
    whole = graph.whole(value)
    maker = graph.maker(whole)
    word = graph.word(maker)
    if word not in ("neg", "cat", "stack", "mul") or not graph.data(maker):
        return set(), {whole}
    if word == "mul" and not graph.numbers(maker):
        return set(), {whole}
    return _joined([_rotated(graph, each.value) for each in graph.data(maker)], {maker})


_PRODUCTS = ("matmul", "einsum", "baddbmm")
_BETWEEN = ELEMENTWISE | {"cat", "max", "amax", "nan_to_num", "masked_fill", "tril", "triu"}
"""Operations between the scores, the softmax and the product with V."""

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
    roles |= {(number, each.value): _mask_or_bias(each) for each in readings[3:]}
    query, key = (graph.shape(reading.value) for reading in readings[:2])
    details: dict[str, Scalar] = {
        "heads": _heads(query),
        "head_size": query[-1],
        "key_value_heads": _heads_of_key(graph, readings[1], key),
    }
    is_causal = graph.option(number, "is_causal") is True
    yield _attention(graph, {number}, details, roles, is_causal=is_causal)


def called_attention(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield ``torch.nn.MultiheadAttention``, including its projections."""
    width, heads = graph.trace.operations[number].args[3:5]
    readings = graph.readings[number]
    # If queries, keys and values are the same states, their only edge is that of queries.
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
    """Yield an attention around a softmax, after the bias that is computed for it only."""
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
        return  # the weights are multiplied by themselves, as to invert them
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
            roles[number, reading.value] = _mask_or_bias(reading)
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


def _mask_or_bias(reading: Reading) -> str:
    return "mask" if reading.level == AUXILIARY else "bias"


def _heads(shape: Sequence[int]) -> int:
    """Return the number of heads; the first dimension are sentences or windows."""
    return prod(shape[1:-2]) if len(shape) > 3 else prod(shape[:-2])


def _between(
    graph: Graph,
    softmax: int,
    there: Callable[[int], Iterable[int]],
    back: Callable[[int], Iterable[int]],
) -> tuple[set[int], list[int]]:
    """Return the operations from a softmax to the products on one side of it, and the products.

    Only products of two activations; paths end at operations that are not on scores.
    """

    def is_product(number: int) -> bool:
        return graph.words[number] in _PRODUCTS and not is_linear(graph, number)

    def following(number: int) -> list[int]:
        if is_product(number):
            return []
        return [n for n in there(number) if is_product(n) or _is_on_scores(graph, n)]

    reached = closure([softmax], following)
    products = sorted(filter(is_product, reached))
    # Without operations that lead to no product, as in a bias.
    leading = closure(products, lambda n: [each for each in back(n) if each in reached])
    between = (reached & leading).difference(products, {softmax})
    return set(between), [each for each in products if len(graph.data(each)) == 2]


def _is_on_scores(graph: Graph, number: int) -> bool:
    """Return whether an operation may be on the scores or weights.

    That includes talking heads: a linear layer over the last of four axes, with as many outputs as
    inputs.
    """
    if graph.words[number] in _BETWEEN:
        return True
    weight, operand = weight_of(graph, number), operand_of(graph, number)
    if weight is None or operand is None or len(weight) != 2 or weight[0] != weight[1]:
        return False
    shape = graph.shape(operand.value)
    return len(shape) == 4 and shape[-1] == weight[0]


def _bias(graph: Graph, last: int, attention: set[int]) -> set[int]:
    """Return the operations that compute a bias for one attention only."""
    found: set[int] = set()
    waiting = {last} - {-1}
    while waiting:
        number = max(waiting)  # users before producers
        waiting.remove(number)
        if number in attention or is_linear(graph, number) or graph.words[number] == "embedding":
            continue
        if set(graph.users(number)) <= (attention if number == last else found):
            found.add(number)
            waiting.update(graph.data_makers(number))
    return found


def _is_scaled(graph: Graph, reading: Reading) -> bool:
    """Return whether a value was scaled for this attention only."""
    if reading.word not in ("mul", "div") or graph.sole_user(reading.maker) < 0:
        return False
    levels = [each.level for each in graph.readings[reading.maker]]
    return len(levels) <= 2 and sum(level != AUXILIARY for level in levels) == 1


def _heads_of_key(graph: Graph, key: Reading, shape: Sequence[int]) -> int:
    """Return the number of heads of keys before they are repeated; ``shape`` is theirs after it."""
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
    """Return an attention, which is causal if a mask hides later tokens."""

    def read(value: int) -> list[int]:
        # A mask may be part of a position bias.
        maker = graph.maker(value) if graph.level[value] == PARAMETER else -1
        return [each.same for each in graph.readings[maker]] if maker >= 0 else []

    masks = [graph.same(value) for (_, value), role in roles.items() if role in ("mask", "bias")]
    is_causal |= any(
        graph.level[value] == AUXILIARY and graph.trace.values[value].is_causal
        for value in closure(masks, read)
    )
    causal: dict[str, Scalar] = {"causal": True} if is_causal else {}
    return Pattern("attention", frozenset(operations), "", {**details, **causal}, roles)
