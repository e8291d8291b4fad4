"""Attention as the code carries it out: its scores in the order of what is done to them."""

import re
from collections.abc import Callable

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import Step, graph_of
from bertviewer.core.formulas.notation import SOFTMAX, number_maths, quoted
from bertviewer.core.formulas.steps.expression import ATOM, PRODUCT, SUM, Expression, call
from bertviewer.core.formulas.steps.words import of_word
from bertviewer.core.frozen import frozen

ROOT = "sqrt(d_k)"
_PRODUCTS = ("matmul", "einsum", "bmm", "baddbmm")
_CLOSE = 1e-4
_RAISED = re.compile(r"\^\(\(\d+\)\)$")


@frozen
class Roles:
    """What goes into an attention, each as it is written."""

    query: Expression
    key: Expression
    value: Expression
    mask: Expression
    bias: Expression
    other: Callable[[Operand], Expression]

    def of(self, role: str) -> Expression:
        """Return what has a role."""
        found = {"query": self.query, "key": self.key, "value": self.value, "bias": self.bias}
        return found.get(role, self.mask)


def attention_of(step: Step, roles: Roles, flows: Flows | None) -> Expression:
    """Return softmax(Q Kᵀ …) V as it was carried out.

    Raises:
        LookupError: its parts are not those of an attention.
    """
    node = step.node
    if node.operands:
        return _fused(step, roles)
    inner, holder = _inner(step, flows)
    return _Composed(inner, holder, roles, _head_size(node), holder is step).whole()


def _fused(step: Step, roles: Roles) -> Expression:
    """Return torch's scaled_dot_product_attention: the scale is 1 / sqrt(d) if none is given."""
    named = {each.key: each for each in step.node.operands if each.key}
    size = _head_size(step.node)
    given = named.get("scale")
    scale = None if given is None else _as_number(given.plain)
    product = f"{roles.query.within(PRODUCT)} {_turned(roles.key)}"
    scores = product
    if given is not None and scale is None:
        scores = f"{roles.other(given).text} thin {product}"
    elif scale is None or (size and abs(scale * size**0.5 - 1) < _CLOSE):
        scores = f"({product}) / {ROOT}"
    elif scale != 1:
        scores = f"{number_maths(scale)} thin {product}"
    for role in ("bias", "mask"):
        if role in step.roles:
            scores += f" + {roles.of(role).within(SUM)}"
    if "mask" not in step.roles and step.node.details.get("causal"):
        scores += " + M"
    return Expression(f"{SOFTMAX}({scores}) {roles.value.within(PRODUCT)}", PRODUCT)


def _inner(step: Step, flows: Flows | None) -> tuple[tuple[Step, ...], Step]:
    """Return the operations of an attention, of the module that does them all if it is one."""
    inner = step.inner
    if len(inner) == 1 and inner[0].node.kind == "module" and flows is not None:
        flow = flows.flow(inner[0].node.path or "")
        for below in () if flow is None else graph_of(flow).steps:
            if below.node.operation == "attention" and below.node.nodes:
                return below.inner, below
    return inner, step


@frozen
class _Composed:
    """Puts the operations of an attention together again."""

    inner: tuple[Step, ...]
    holder: Step
    roles: Roles
    size: int | None
    # Whether its nodes are those of the formula's own flow, and not of a module in it.
    is_own: bool

    def whole(self) -> Expression:
        """Return the last operation, and all before it in it."""
        if not any(step.node.operation == "softmax" for step in self.inner):
            raise LookupError("no softmax")
        return self._of(self.inner[-1])

    def _of(self, step: Step) -> Expression:
        word = step.node.operation or ""
        if word not in _PRODUCTS:
            return self._each(word, step)
        tensors = [each for each in step.operands if each.is_tensor]
        if word == "baddbmm" and len(tensors) == 3:
            return self._added(step, tensors)
        if len(tensors) != 2:
            raise LookupError("a product of more than two")
        return self._product(tensors[0], tensors[1])

    def _product(self, one: Operand, other: Operand) -> Expression:
        roles = [self._roles_of(each) for each in (one, other)]
        if "key" in roles[0] and "query" in roles[1]:
            one, other = other, one
        left, right = self._operand(one, "query"), self._operand(other, "key")
        if "value" in roles[0] or "value" in roles[1]:
            if "value" in roles[0]:
                one, other = other, one
            left, right = self._operand(one), self._operand(other, "value")
            return Expression(f"{left.within(PRODUCT)} {right.within(PRODUCT)}", PRODUCT)
        return Expression(f"{left.within(PRODUCT)} {_turned(right)}", PRODUCT)

    def _added(self, step: Step, tensors: list[Operand]) -> Expression:
        """Return torch's baddbmm: beta times the first, and alpha times the others' product."""
        numbers = {each.key: _as_number(each.plain) for each in step.operands if each.key}
        named = {key: number for key, number in numbers.items() if number is not None}
        product = self._product(tensors[1], tensors[2])
        alpha, beta = named.get("alpha", 1.0), named.get("beta", 1.0)
        scaled = product if alpha == 1 else self._scaled(product, alpha)
        if beta == 0:
            return scaled
        bias = self._operand(tensors[0])
        bias = bias if beta == 1 else self._scaled(bias, beta)
        return Expression(f"{scaled.within(SUM)} + {bias.within(SUM)}", SUM)

    def _each(self, word: str, step: Step) -> Expression:
        if word == "softmax":
            return call(SOFTMAX, self._operand(step.operands[0]).text)
        plain = [each.plain for each in step.operands if each.plain]
        tensors = [each for each in step.operands if each.is_tensor]
        if word in ("masked_fill", "where", "masked_fill_") and len(tensors) >= 1:
            whole = next((each for each in tensors if self._is_inner(each)), tensors[0])
            masks = [each for each in tensors if not self._is_inner(each) and each.node]
            mask = self._operand(masks[0]) if masks else self.roles.mask
            return Expression(f"{self._operand(whole).within(SUM)} + {mask.within(SUM)}", SUM)
        if word == "sub" and len(tensors) == 2 and self._is_largest_of(tensors[1], tensors[0]):
            return self._operand(tensors[0])  # a softmax is the same without it
        if word == "add" and plain == ["0"]:
            return self._operand(tensors[0])
        number = _as_number(plain[0]) if len(plain) == 1 else None
        if word in ("mul", "div") and number and len(tensors) == 1:
            return self._scaled(self._operand(tensors[0]), number if word == "mul" else 1 / number)
        operands = [
            self._operand(each) if each.is_tensor else self.roles.other(each)
            for each in step.operands
            if not each.key
        ]
        return of_word(word, operands, [])

    def _scaled(self, expression: Expression, factor: float) -> Expression:
        if self.size and abs(factor * self.size**0.5 - 1) < _CLOSE:
            return Expression(f"({expression.text}) / {ROOT}", PRODUCT)
        if factor == 1:
            return expression
        if factor > 0 and abs(1 / factor - round(1 / factor)) < _CLOSE < 1 < 1 / factor:
            return Expression(f"({expression.text}) / {round(1 / factor)}", PRODUCT)
        return Expression(f"{number_maths(factor)} thin {expression.within(PRODUCT)}", PRODUCT)

    def _operand(self, operand: Operand, role: str = "") -> Expression:
        inner = next((it for it in self.inner if it.node.id == operand.node), None)
        if inner is not None:
            found, told = (
                self._of(inner),
                [quoted(each.removeprefix("part ")) for each in operand.parts],
            )
            if not told:
                return found
            return Expression(" thin ".join((found.within(ATOM), *told)), PRODUCT)
        roles = self._roles_of(operand)
        if role in roles:
            return self.roles.of(role)
        if self.is_own or not roles:
            return self.roles.other(operand if self.is_own else Operand())
        return self.roles.of(roles[0])

    def _is_largest_of(self, one: Operand, other: Operand) -> bool:
        """Tell whether an operand is the largest number of another one, for each row."""
        step = next((it for it in self.inner if it.node.id == one.node), None)
        is_largest = step is not None and step.node.operation in ("max", "amax")
        return is_largest and step is not None and other.node in {o.node for o in step.tensors}

    def _is_inner(self, operand: Operand) -> bool:
        return any(it.node.id == operand.node for it in self.inner)

    def _roles_of(self, operand: Operand) -> tuple[str, ...]:
        if operand.role:
            return (operand.role,) if operand.role != "position" else ()
        found = [
            role
            for role, other in self.holder.roles.items()
            if operand.node and (other.node, other.parts) == (operand.node, operand.parts)
        ]
        inner = next((it for it in self.inner if it.node.id == operand.node), None)
        if inner is not None:  # a query that is scaled before the product
            for each in inner.tensors:
                found += self._roles_of(each) if not self._is_inner(each) else ()
            found = [role for role in found if role in ("query", "key", "value")]
            if inner.node.operation not in ("mul", "div"):
                return ()
        return tuple(found)


def _turned(key: Expression) -> str:
    """Return the keys, transposed."""
    inner = key.within(ATOM)
    return f"({inner})^top" if _RAISED.search(inner) else f"{inner}^top"


def _head_size(node: Node) -> int | None:
    size = node.details.get("head_size")
    return size if isinstance(size, int) else None


def _as_number(plain: str) -> float | None:
    """Return a number of the code, ``None`` for a word or a tensor."""
    try:
        return float(plain)
    except ValueError:
        return None
