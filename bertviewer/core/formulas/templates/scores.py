"""The scores of an attention: what is done to the product before the softmax."""

from collections.abc import Iterator
from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import Step
from bertviewer.core.frozen import frozen

_PRODUCTS = ("matmul", "einsum", "bmm", "baddbmm")
_MASKS = ("masked_fill", "masked_fill_", "where")
_CLOSE = 1e-4


@frozen
class Change:
    """One step between the product and the softmax.

    Attributes:
        kind: ``scale``, ``cap``, ``bias``, ``mask``, ``sinks`` or ``mix`` (of several heads).
        number: the factor of a scale or of a bias, the bound of a cap; ``None`` if not known.
        operand: the bias, or the learnt numbers that compete with the scores.
    """

    kind: str
    number: float | None = 1.0
    operand: Operand = Operand()


@frozen
class Scores:
    """The scores of an attention.

    Attributes:
        factor: the factor on the product of queries and keys, ``None`` if not known.
        changes: what follows, in order.
        mixers: the linear layers that mix the heads’ scores, and their probabilities, by name;
            ``("", "")`` for none.
    """

    factor: float | None
    changes: tuple[Change, ...] = ()
    mixers: tuple[str, str] = ("", "")

    def of(self, kind: str) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(each for each in self.changes if each.kind == kind)


class UnknownScoresError(LookupError):
    """The scores are not those of a softmax attention with known changes."""


def scores_of(step: Step) -> Scores:
    """Return what an attention does to its scores.

    Raises:
        UnknownScoresError: it does something else too.
    """
    inner = step.inner
    if len(inner) == 1 and inner[0].operation == "scaled_dot_product_attention":
        return _fused(step)
    last = next((each for each in inner if each.operation == "softmax"), None)
    if last is None or not _is_plain_after(inner, last):
        raise UnknownScoresError
    scores = _folded(tuple(_changes(step, last.operands[0])))
    at = inner.index(last)
    return replace(scores, mixers=(_mixer(inner[:at]), _mixer(inner[at:])))


def _mixer(steps: tuple[Step, ...]) -> str:
    paths = [each.node.path or "" for each in steps if each.operation == "linear"]
    return paths[0].rpartition(".")[2] if paths else ""


def _fused(step: Step) -> Scores:
    named = {each.key: each for each in step.node.operands if each.key}
    size = step.node.details.get("head_size")
    scale = named.get("scale")
    factor = size**-0.5 if isinstance(size, int) else None
    if scale is not None:
        factor = number_of(scale)
    changes = tuple(
        Change(role, operand=step.roles[role]) for role in ("bias", "mask") if role in step.roles
    )
    return Scores(factor, changes)


def _is_plain_after(inner: tuple[Step, ...], softmax: Step) -> bool:
    """Return whether the probabilities are multiplied with the values as they are."""
    *between, last = inner[inner.index(softmax) + 1 :] or (softmax,)
    return last.operation in _PRODUCTS and all(
        each.operation in (*_MASKS, "linear") for each in between
    )


def _changes(step: Step, operand: Operand) -> Iterator[Change]:
    """Yield what is done to the scores, up to an operand within the attention."""
    inner = {each.node.id: each for each in step.inner}
    maker = inner.get(operand.node)
    if maker is None:
        raise UnknownScoresError
    word = maker.operation
    if word in _PRODUCTS:
        yield from _of_product(step, maker, inner)
        return
    tensors = [each for each in maker.operands if each.is_tensor and not each.key]
    own = [each for each in tensors if each.node in inner]
    others = [each for each in tensors if each.node not in inner]
    if word == "sub" and len(own) == 2:  # the largest score, for numerical stability
        yield from _changes(step, own[0])
        return
    if len(own) == 2 and word == "add":
        yield from _with_factored_bias(step, own, inner)
        return
    if len(own) != 1 or operand.parts:
        raise UnknownScoresError
    yield from _changes(step, own[0])
    if (change := _change(step, maker, others)) is not None:
        yield change


def _with_factored_bias(step: Step, own: list[Operand], inner: dict[str, Step]) -> Iterator[Change]:
    """Yield the changes of a sum of scores and a bias that is multiplied within the attention."""
    for scores, bias in (own, own[::-1]):
        maker = inner[bias.node]
        outer = [each for each in maker.tensors if each.node not in inner]
        if maker.operation == "mul" and len(outer) == len(maker.tensors):
            yield from _changes(step, scores)
            yield Change("bias", operand=outer[0])
            return
    raise UnknownScoresError


def _change(step: Step, maker: Step, others: list[Operand]) -> Change | None:
    word = maker.operation
    plain = [each for each in maker.operands if each.plain and not each.key]
    if word in ("mul", "div"):
        number = number_of(plain[0]) if plain else None
        if number is None and others and _role(step, others[0]) == "mask":
            return Change("mask", operand=others[0])
        if number is None and others and others[0].node:
            raise UnknownScoresError
        return Change("scale", number if word == "mul" or not number else 1 / number)
    if word == "linear":
        return Change("mix")
    if word == "tanh":
        return Change("tanh")
    if word in ("add", "sub", "rsub", *_MASKS):
        if not others:
            is_zero = bool(plain) and number_of(plain[0]) == 0
            if word == "add" and is_zero:
                return None
            raise UnknownScoresError
        is_mask = word in _MASKS or word != "add" or _role(step, others[0]) == "mask"
        return Change("mask" if is_mask else "bias", operand=others[0])
    if word == "max" and others and _role(step, others[0]) == "mask":
        return None  # the smallest number there is, for what the mask made smaller
    if word == "cat" and others and others[0].parameter:
        return Change("sinks", operand=others[0])
    raise UnknownScoresError


def _of_product(step: Step, maker: Step, inner: dict[str, Step]) -> Iterator[Change]:
    named = {each.key: each for each in maker.operands if each.key}
    factor: float | None = 1.0
    for operand in maker.operands:
        scaled = inner.get(operand.node)
        if scaled is None:
            continue
        plain = [each for each in scaled.operands if each.plain]
        number = number_of(plain[0]) if plain else None
        if scaled.operation not in ("mul", "div") or (number is None and len(scaled.tensors) > 1):
            raise UnknownScoresError
        if number is None or factor is None:
            factor = None
        else:
            factor *= number if scaled.operation == "mul" else 1 / number
    alpha = number_of(named["alpha"]) if "alpha" in named else 1.0
    yield Change("scale", None if factor is None or alpha is None else factor * alpha)
    if maker.operation == "baddbmm":
        beta = number_of(named["beta"]) if "beta" in named else 1.0
        if beta:
            yield Change("bias", beta, maker.operands[0])


def _folded(changes: tuple[Change, ...]) -> Scores:
    """Return the changes with a cap's three steps as one, and the first factors as one."""
    found: list[Change] = []
    for change in changes:
        found.append(change)
        if [each.kind for each in found[-3:]] == ["scale", "tanh", "scale"]:
            one, _, two = found[-3:]
            if not one.number or not two.number or abs(one.number * two.number - 1) > _CLOSE:
                raise UnknownScoresError
            found[-3:] = [Change("cap", two.number)]
    if any(each.kind == "tanh" for each in found):
        raise UnknownScoresError
    factor: float | None = 1.0
    while found and found[0].kind == "scale":
        number = found.pop(0).number
        factor = None if number is None or factor is None else factor * number
    return Scores(factor, tuple(found))


def _role(step: Step, operand: Operand) -> str:
    if operand.role:
        return operand.role
    named = step.roles.items()
    return next((role for role, each in named if each.node and each.node == operand.node), "")


def number_of(operand: Operand) -> float | None:
    """Return a number of the code, ``None`` for a word or a tensor."""
    try:
        return float(operand.plain)
    except ValueError:
        return None
