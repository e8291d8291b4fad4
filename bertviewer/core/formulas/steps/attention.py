"""Softmax attention: what the code does to its scores, as data and as mathematics."""

import re
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from bertviewer.core.formulas.formula import SOFTMAX, number_maths
from bertviewer.core.formulas.steps.expression import (
    ATOM,
    FACTOR,
    Expression,
    call,
    over,
    plus,
    times,
)
from bertviewer.core.formulas.steps.writer import MASK, WriteOperand, Writer
from bertviewer.core.graph.module_graph import Step
from bertviewer.core.schema.flow import Operand

PRODUCTS = ("matmul", "einsum", "baddbmm")
ROOT = "sqrt(d_k)"
_NAME = '"Attention"'
_MASKS = ("masked_fill", "where")
_MASKINGS = ("add", "sub", "rsub", *_MASKS)
_LARGEST = ("max", "amax")
_FUSED = "scaled_dot_product_attention"
_KNOWN = ("softmax", _FUSED)
_RAISED = re.compile(r"\^\(\(\d+\)\)$")
_CLOSE = 1e-4


class Change(Struct, frozen=True):
    """One step between the product and the softmax.

    Attributes:
        kind: ``scale``, ``cap``, ``bias``, ``mask``, ``sinks``, or ``tanh`` as a part of a cap.
        number: the factor of a scale or bias, the bound of a cap; ``None`` if unknown.
        operand: the bias, mask, or learnt sinks.
    """

    kind: str
    number: float | None = 1.0
    operand: Operand = Operand()


class Scores(Struct, frozen=True):
    """The factor on the product of queries and keys, ``None`` if unknown, and further changes."""

    factor: float | None
    changes: tuple[Change, ...] = ()

    def of(self, kind: str) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(each for each in self.changes if each.kind == kind)


def scores_of(step: Step, biases: Collection[str] = ()) -> Scores | None:
    """Return what an attention does to its scores, ``None`` for unknown operations.

    ``biases`` are nodes with the role of a mask that are biases.
    """
    masks = {o.node for role, o in step.roles.items() if role == "mask" and o.node not in biases}
    words = [each.operation for each in step.inner]
    if words == [_FUSED]:
        given = [_number_of(each) for each in step.inner[0].operands if each.key == "scale"]
        size = step.node.details.get("head_size")
        usual = size**-0.5 if isinstance(size, int) else None
        added = [step.roles[role] for role in ("bias", "mask") if role in step.roles]
        changes = [Change("mask" if o.node in masks else "bias", operand=o) for o in added]
        return Scores(given[0] if given else usual, tuple(changes))
    end = words.index("softmax") if "softmax" in words else -1
    if end < 0 or words[-1] not in PRODUCTS or not set(words[end + 1 : -1]) <= set(_MASKS):
        return None
    try:
        found = _changes(step.inner[: end + 1], masks)
    except LookupError:
        return None
    factor = 1.0 if all(change.number is not None for change in found) else None
    while found and found[0].kind == "scale":
        scale = found.pop(0).number
        factor = factor and factor * (scale or 0.0)
    return Scores(factor, tuple(found))


def _changes(steps: tuple[Step, ...], masks: Collection[str]) -> list[Change]:
    """Return the changes of scores in steps up to the softmax, which is the last one.

    Raises:
        LookupError: an operation is unknown.
    """
    found: list[Change] = []
    others: dict[str, Step] = {}
    current = ""
    for each in steps[:-1]:
        read = [operand for operand in each.operands if operand.is_tensor]
        own = [operand for operand in read if operand.node == current != ""]
        if not current and each.operation in PRODUCTS:
            found += _product(each, others)
        elif not own or (each.operation in _LARGEST and len(read) == 1):
            others[each.node.id] = each
            continue
        elif len(own) > 1 or own[0].parts:
            raise LookupError
        else:
            found += _change(each, [o for o in read if o not in own], others, masks)
        current = each.node.id
        if [change.kind for change in found[-3:]] == ["scale", "tanh", "scale"]:
            first, bound = found[-3].number or 0, found[-1].number or 0
            found[-3:] = [Change("cap", bound)] if abs(first * bound - 1) < _CLOSE else found[-3:]
        elif [change.kind for change in found[-2:]] == ["scale", "scale"]:
            inverse = 1 / (found[-2].number or 1)
            found[-2:] = [] if found[-1].number == inverse else found[-2:]
    if steps[-1].operands[0] != Operand(current) or "tanh" in (each.kind for each in found):
        raise LookupError
    return found


def _product(product: Step, before: Mapping[str, Step]) -> list[Change]:
    """Return the factors of a product and of its operands, and baddbmm's bias."""
    named = {each.key: _number_of(each) for each in product.operands if each.key}
    changes = [Change("scale", named.get("alpha", 1.0))]
    for scaled in (before[o.node] for o in product.operands if o.node in before):
        if scaled.operation not in ("mul", "div") or len(scaled.tensors) > 1:
            raise LookupError
        changes.append(Change("scale", factor_of(scaled)))
    if product.operation == "baddbmm" and named.get("beta", 1.0):
        changes.append(Change("bias", named.get("beta", 1.0), product.operands[0]))
    return changes


def _change(
    step: Step, read: list[Operand], before: Mapping[str, Step], masks: Collection[str]
) -> list[Change]:
    """Return the change of scores in a step that reads further operands."""
    other = read[0] if read else Operand()
    made = before.get(other.node)
    is_mask = other.role == "mask" or other.node in masks
    match step.operation:
        case "sub" if made is not None and made.operation in _LARGEST:
            return []  # without effect on the softmax
        case "add" if made is not None and made.operation == "mul":  # a bias and its factor
            return [Change("bias", operand=made.tensors[0] if len(made.tensors) == 1 else other)]
        case _ if made is not None:
            raise LookupError
        case "mul" | "div" if not is_mask and not other.node:
            return [Change("scale", factor_of(step))]
        case "tanh":
            return [Change("tanh")]
        case "add" if not read and factor_of(step) == 0:
            return []
        case "max" if is_mask:
            return []  # the smallest number of the dtype
        case "cat" if other.parameter:
            return [Change("sinks", operand=other)]
        case "add" if read and not is_mask:
            return [Change("bias", operand=other)]
        case word if (read and word in _MASKINGS) or (is_mask and word in ("mul", "div")):
            return [Change("mask", operand=other)]
    raise LookupError


def factor_of(step: Step) -> float | None:
    """Return the literal that a step multiplies by or adds, ``None`` without one."""
    numbers = [_number_of(each) for each in step.operands if each.plain and not each.key]
    number = numbers[0] if numbers else None
    return 1 / number if step.operation == "div" and number else number


def _number_of(operand: Operand) -> float | None:
    """Return a literal number, ``None`` for other operands."""
    try:
        return float(operand.plain)
    except ValueError:
        return None


def score_maths(
    scores: Scores,
    product: Expression,
    size: object,
    added: Callable[[Change], Expression | None],
    factor: str = "",
) -> Expression:
    """Return the argument of the softmax.

    Args:
        scores: the changes of the product.
        product: queries times keys.
        size: the head size.
        added: returns a bias or mask, ``None`` to omit it.
        factor: a symbol for the factor on the product, by default the number itself.
    """
    found = scaled(product, scores.factor, size, factor)
    for change in scores.changes:
        number = number_maths(change.number or 1)
        if change.kind == "scale":
            found = scaled(found, change.number, size)
        elif change.kind == "cap":
            found = Expression(f"{number} tanh (({found.text}) / {number})", FACTOR)
        elif change.kind != "sinks" and (other := added(change)) is not None:
            found = plus(found, other if number == "1" else times(number, other))
    return found


def scaled(whole: Expression, factor: float | None, size: object, symbol: str = "") -> Expression:
    """Return an expression multiplied by a factor, which may have a symbol."""
    if factor is None:
        return times(symbol or "kappa", whole)
    if is_root(factor, size):
        return over(whole, ROOT)
    return whole if factor == 1 else times(symbol or number_maths(factor), whole)


def is_root(factor: float, size: object) -> bool:
    """Return whether a factor is 1 / √d_k."""
    return isinstance(size, int) and abs(factor * size**0.5 - 1) < _CLOSE


def attention(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    """Return softmax(Q Kᵀ …) V with the steps of the code."""
    is_whole = bool(step.node.details.get("projections"))
    if is_whole or not any(each.operation in _KNOWN for each in step.inner):
        meaning = "multi-head attention with its own projections"
        unknown = "attention; its internal steps could not be identified"
        writer.legend.add(_NAME, meaning if is_whole else unknown)
        return call(_NAME, *writer.arguments(step, of))
    found = _written(writer, step, of)
    writer.legend.add("M", MASK)
    size = str(step.node.details.get("head_size"))
    writer.legend.add("d_k", "head size; the scores are divided by its square root", size)
    writer.legend.add(SOFTMAX, "over all visible positions; each row sums to 1")
    return found


def learned_query(attention: Step) -> Operand | None:
    """Return the parameter that an attention uses as its query."""
    if "query" in attention.roles:
        return None
    products = (step for step in attention.inner if step.operation in (*PRODUCTS, _FUSED))
    first = next(products, None)
    return None if first is None else next((o for o in first.operands[:2] if o.parameter), None)


def _written(writer: Writer, step: Step, of: WriteOperand) -> Expression:
    scores, roles, inner = scores_of(step), step.roles, step.inner
    ids = [each.node.id for each in inner]
    if scores is None:

        def product(_writer: Writer, step: Step, of: WriteOperand) -> Expression:
            one, other = map(of, step.operands[:2])
            return times(one, other if step.node.id == ids[-1] else _transposed(other))

        return writer.group(inner, of, {"matmul": product})
    if scores.factor is None:
        writer.legend.add("kappa", "constants of the code, which do not depend on the text")
    known = {role: of(roles[role]) for role in ("query", "key", "value") if role in roles}
    # Queries, keys and values may be the same states, and queries may be learned.
    same = next(iter(known.values()), Expression("X"))
    query, key, value = (known.get(role, same) for role in ("query", "key", "value"))
    if (learned := learned_query(step)) is not None:
        query = of(learned)

    def added(change: Change) -> Expression:
        node = change.operand.node
        return writer.group(inner[: ids.index(node) + 1], of) if node in ids else of(change.operand)

    both, size = times(query, _transposed(key)), step.node.details.get("head_size")
    found = score_maths(scores, both, size, added)
    if step.node.details.get("causal") and not scores.of("mask"):
        found = plus(found, Expression("M"))
    sinks = [added(change).text for change in scores.of("sinks")]
    if sinks:  # without the probabilities of the sinks
        whole = call(SOFTMAX, call('op("Concat")', found.text, *sinks).text)
        return times(Expression(f'{whole.text} thin "[…, :-1]"', FACTOR), value)
    return times(call(SOFTMAX, found.text), value)


def _transposed(key: Expression) -> Expression:
    inner = key.within(ATOM)
    return Expression(f"({inner})^top" if _RAISED.search(inner) else f"{inner}^top")
