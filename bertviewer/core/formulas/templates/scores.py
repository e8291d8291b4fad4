"""The scores of an attention: what is done to the product before the softmax."""

from collections.abc import Collection, Mapping

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.module_graph import Step

PRODUCTS = ("matmul", "einsum", "bmm", "baddbmm")
_MASKS = ("masked_fill", "masked_fill_", "where")
_SUMS = ("add", "sub", "rsub", *_MASKS)
_LARGEST = ("max", "amax")
_CLOSE = 1e-4


@frozen
class Change:
    """One step between the product and the softmax.

    Attributes:
        kind: ``scale``, ``cap``, ``bias``, ``mask`` or ``sinks``.
        number: the factor of a scale or of a bias, the bound of a cap; ``None`` if not known.
        operand: the bias, or the learnt numbers that compete with the scores.
    """

    kind: str
    number: float | None = 1.0
    operand: Operand = Operand()


@frozen
class Scores:
    """The factor on the product of queries and keys, and what follows.

    The factor is ``None`` if not all factors are known.
    """

    factor: float | None
    changes: tuple[Change, ...] = ()

    def of(self, kind: str) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(each for each in self.changes if each.kind == kind)


class UnknownScoresError(LookupError):
    """The scores are not those of a softmax attention with known changes."""


def scores_of(step: Step, biases: Collection[str] = ()) -> Scores | None:
    """Return what an attention does to its scores, some of whose masks are biases.

    ``None`` if it does anything unknown.
    """
    try:
        return _scores(step, biases)
    except UnknownScoresError:
        return None


def _scores(step: Step, biases: Collection[str]) -> Scores:
    words = [each.operation for each in step.inner]
    masks = {o.node for role, o in step.roles.items() if role == "mask" and o.node not in biases}
    if words == ["scaled_dot_product_attention"]:
        given = [number_of(each) for each in step.inner[0].operands if each.key == "scale"]
        size = step.node.details.get("head_size")
        added = [step.roles[role] for role in ("bias", "mask") if role in step.roles]
        usual = size**-0.5 if isinstance(size, int) else None
        return Scores(
            given[0] if given else usual,
            tuple(Change("mask" if o.node in masks else "bias", operand=o) for o in added),
        )
    end = words.index("softmax") if "softmax" in words else -1
    if end < 0 or words[-1] not in PRODUCTS or not set(words[end + 1 : -1]) <= set(_MASKS):
        raise UnknownScoresError
    found: list[Change] = []
    others: dict[str, Step] = {}
    current = ""
    for each in step.inner[:end]:
        read = [operand for operand in each.operands if operand.is_tensor]
        own = [operand for operand in read if operand.node == current != ""]
        if not current and each.operation in PRODUCTS:
            found += _product(each, others)
        elif not own or (each.operation in _LARGEST and len(read) == 1):
            others[each.node.id] = each
            continue
        elif len(own) > 1 or own[0].parts:
            raise UnknownScoresError
        else:
            found += _change(each, [o for o in read if o not in own], others, masks)
        current = each.node.id
        if [change.kind for change in found[-3:]] == ["scale", "tanh", "scale"]:
            first, bound = found[-3].number or 0, found[-1].number or 0
            found[-3:] = [Change("cap", bound)] if abs(first * bound - 1) < _CLOSE else found[-3:]
    if step.inner[end].operands[0] != Operand(current) or "tanh" in (each.kind for each in found):
        raise UnknownScoresError
    is_known = all(change.number is not None for change in found)
    factor = 1.0
    while found and found[0].kind == "scale":
        factor *= found.pop(0).number or 0.0
    return Scores(factor if is_known else None, tuple(found))


def _product(product: Step, before: Mapping[str, Step]) -> list[Change]:
    """Return the factors of a product, also those of what it multiplies, and baddbmm's bias."""
    named = {each.key: number_of(each) for each in product.operands if each.key}
    changes = [Change("scale", named.get("alpha", 1.0))]
    for scaled in (before[o.node] for o in product.operands if o.node in before):
        if scaled.operation not in ("mul", "div") or len(scaled.tensors) > 1:
            raise UnknownScoresError
        changes.append(Change("scale", factor_of(scaled)))
    if product.operation == "baddbmm" and named.get("beta", 1.0):
        changes.append(Change("bias", named.get("beta", 1.0), product.operands[0]))
    return changes


def _change(
    step: Step, read: list[Operand], before: Mapping[str, Step], masks: Collection[str]
) -> list[Change]:
    """Return what a step does to the scores, besides which it reads operands."""
    word, number = step.operation, factor_of(step)
    other = read[0] if read else None
    is_mask = other is not None and (other.role == "mask" or other.node in masks)
    made = before.get(other.node) if other else None
    if made is not None and other is not None:
        if word == "sub" and made.operation in _LARGEST:
            return []  # for numerical stability: softmax is the same without it
        if word == "add" and made.operation == "mul":  # a bias and its factor
            return [Change("bias", operand=made.tensors[0])]
    elif word in ("mul", "div") and not is_mask and (other is None or not other.node):
        return [Change("scale", number)]
    elif word == "tanh":
        return [Change("tanh")]
    elif word == "add" and other is None and number == 0:
        return []
    elif word == "max" and is_mask:
        return []  # the smallest number of the format, for what the mask made smaller
    elif word == "cat" and other is not None and other.parameter:
        return [Change("sinks", operand=other)]
    elif other is not None and (word in _SUMS or (is_mask and word in ("mul", "div"))):
        return [Change("mask" if is_mask or word != "add" else "bias", operand=other)]
    raise UnknownScoresError


def factor_of(step: Step) -> float | None:
    """Return the number that a step multiplies by, or adds; ``None`` if it is not in the code."""
    numbers = [number_of(each) for each in step.operands if each.plain and not each.key]
    number = numbers[0] if numbers else None
    return 1 / number if step.operation == "div" and number else number


def number_of(operand: Operand) -> float | None:
    """Return a number of the code, ``None`` for a word or a tensor."""
    try:
        return float(operand.plain)
    except ValueError:
        return None
