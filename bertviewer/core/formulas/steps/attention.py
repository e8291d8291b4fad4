"""Attention as the code carries it out: its scores in the order of what is done to them."""

import re
from collections.abc import Mapping

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.notation import SOFTMAX, number_maths
from bertviewer.core.formulas.steps.expression import (
    ATOM,
    PRODUCT,
    Expression,
    call,
    over,
    plus,
    times,
)
from bertviewer.core.formulas.steps.writer import MASK, Of, Write, Writer
from bertviewer.core.graph.module_graph import Step

ROOT = "sqrt(d_k)"
_NAME = '"Attention"'
_PRODUCTS = ("matmul", "einsum", "bmm")
_MASKINGS = ("masked_fill", "masked_fill_", "where")
_GIVEN = {"query": "X", "mask": "M", "bias": "B"}
"""What goes into an attention where the graph does not know what computes it."""
_CLOSE = 1e-4

Roles = Mapping[str, Expression]
"""What goes into an attention, by its role."""

_RAISED = re.compile(r"\^\(\(\d+\)\)$")


def attention(writer: Writer, step: Step, of: Of) -> Expression:
    """Return softmax(Q Kᵀ …) V as it was carried out."""
    is_whole = bool(step.node.details.get("projections"))
    is_known = any(each.operation == "softmax" for each in step.inner)
    if is_whole or not (step.node.operands or is_known):
        meaning = "multi-head attention with its own projections"
        unknown = "attention; its internal steps could not be identified"
        writer.legend.add(_NAME, meaning if is_whole else unknown)
        return call(_NAME, *writer.arguments(step, of))
    roles = {role: _role(step, role, of) for role in ("query", "key", "value", "mask", "bias")}
    found = _fused(step, of, roles) if step.node.operands else _composed(writer, step, of, roles)
    writer.legend.add("M", MASK)
    size = str(step.node.details.get("head_size"))
    writer.legend.add("d_k", "head size; the scores are divided by its square root", size)
    writer.legend.add(SOFTMAX, "over all visible positions; each row sums to 1")
    return found


def _role(step: Step, role: str, of: Of) -> Expression:
    """Return what has a role in an attention; keys and values may be the queries."""
    operand = step.roles.get(role)
    if operand is None and role in ("key", "value"):
        return _role(step, "query", of)
    return Expression(_GIVEN[role]) if operand is None else of(operand)


def _fused(step: Step, of: Of, roles: Roles) -> Expression:
    """Return torch's scaled_dot_product_attention: the scale is 1 / sqrt(d) if none is given."""
    given = next((each for each in step.node.operands if each.key == "scale"), None)
    scale = None if given is None else _number(given)
    scores = times(roles["query"], _turned(roles["key"]))
    if given is not None and scale is None:
        scores = Expression(f"{of(given).text} thin {scores.text}", PRODUCT)
    elif scale is None or _is_root(scale, step):
        scores = over(scores, ROOT)
    elif scale != 1:
        scores = times(number_maths(scale), scores)
    for role in ("bias", "mask"):
        if role in step.roles:
            scores = plus(scores, roles[role])
    if "mask" not in step.roles and step.node.details.get("causal"):
        scores = plus(scores, Expression("M"))
    return times(call(SOFTMAX, scores.text), roles["value"])


def _composed(writer: Writer, step: Step, of: Of, roles: Roles) -> Expression:
    """Put the operations of an attention together."""
    inner = {each.node.id: each for each in step.inner}

    def roles_of(operand: Operand) -> tuple[str, ...]:
        """Return what an operand is to the attention; queries may be scaled before."""
        made = inner.get(operand.node)
        if made is not None:
            read = [each for each in made.tensors if each.node not in inner]
            is_scaled = made.operation in ("mul", "div")
            return tuple(role for each in read for role in roles_of(each)) if is_scaled else ()
        taken = (operand.node, operand.parts)
        found = (role for role, each in step.roles.items() if (each.node, each.parts) == taken)
        return tuple(found) if operand.node else (operand.role,)

    def outer(operand: Operand) -> Expression:
        return roles.get(operand.role) or of(operand)

    def product(writer: Writer, step: Step, of: Of) -> Expression:
        tensors = [each for each in step.operands if each.is_tensor]
        if len(tensors) != 2:
            return writer.step(step, of)
        one, other = tensors
        if "value" in roles_of(one) or ("key" in roles_of(one) and "query" in roles_of(other)):
            one, other = other, one
        is_value = "value" in roles_of(other)
        return times(of(one), of(other) if is_value else _turned(of(other)))

    def scale(writer: Writer, step: Step, of: Of) -> Expression:
        numbers = [_number(each) for each in step.operands if each.plain]
        factor = numbers[0] if len(numbers) == 1 and len(step.operands) == 2 else None
        if not factor:
            return writer.step(step, of)
        whole = of(next(each for each in step.operands if each.is_tensor))
        return scaled(whole, factor if step.operation == "mul" else 1 / factor)

    def scaled(whole: Expression, factor: float) -> Expression:
        if _is_root(factor, step):
            return over(whole, ROOT)
        if 0 < factor < 1 and abs(1 / factor - round(1 / factor)) < _CLOSE:
            return over(whole, str(round(1 / factor)))
        return whole if factor == 1 else times(number_maths(factor), whole)

    def masked(_writer: Writer, step: Step, of: Of) -> Expression:
        tensors = [each for each in step.operands if each.is_tensor]
        whole = next((each for each in tensors if each.node in inner), tensors[0])
        masks = (each for each in tensors if each.node and each.node not in inner)
        return plus(of(whole), of(next(masks, Operand(role="mask"))))

    special: dict[str, Write] = {
        **dict.fromkeys(_PRODUCTS, product),
        **dict.fromkeys(_MASKINGS, masked),
        **dict.fromkeys(("mul", "div"), scale),
    }
    return writer.group(step.inner, outer, special)


def _turned(key: Expression) -> Expression:
    """Return the keys, transposed."""
    inner = key.within(ATOM)
    return Expression(f"({inner})^top" if _RAISED.search(inner) else f"{inner}^top")


def _is_root(factor: float, step: Step) -> bool:
    """Return whether a factor is 1 / √d_k."""
    size = step.node.details.get("head_size")
    return isinstance(size, int) and abs(factor * size**0.5 - 1) < _CLOSE


def _number(operand: Operand) -> float | None:
    """Return a number of the code, ``None`` for a word or a tensor."""
    try:
        return float(operand.plain)
    except ValueError:
        return None
