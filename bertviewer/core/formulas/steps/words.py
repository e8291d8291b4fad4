"""torch's words for operations as mathematics."""

from collections.abc import Callable, Mapping, Sequence

from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM, SOFTMAX, quoted
from bertviewer.core.formulas.steps.expression import ATOM, EACH, PRODUCT, SUM, Expression, call
from bertviewer.core.formulas.templates.activation import ACTIVATIONS, FUNCTIONS


def operator(word: str) -> str:
    """Return a word as an operator."""
    return f"op({quoted(word)})"


def _sum(one: Expression, other: Expression) -> Expression:
    return Expression(f"{one.within(SUM)} + {other.within(SUM)}", SUM)


def _difference(one: Expression, other: Expression) -> Expression:
    return Expression(f"{one.within(SUM)} - {other.within(EACH)}", SUM)


def _product(one: Expression, other: Expression) -> Expression:
    return Expression(f"{one.within(EACH)} dot.o {other.within(EACH)}", EACH)


def _quotient(one: Expression, other: Expression) -> Expression:
    return Expression(f"({one.text}) / ({other.text})", PRODUCT)


def _power(one: Expression, other: Expression) -> Expression:
    base = one.text if len(one.text) == 1 else f"({one.text})"
    return Expression(f"{base}^({other.text})", ATOM)


_OF_TWO: Mapping[str, Callable[[Expression, Expression], Expression]] = {
    "add": _sum,
    "sub": _difference,
    "rsub": lambda one, other: _difference(other, one),
    "mul": _product,
    "div": _quotient,
    "rdiv": lambda one, other: _quotient(other, one),
    "pow": _power,
    "rpow": lambda one, other: _power(other, one),
    "maximum": lambda one, other: call("max", one.text, other.text),
    "minimum": lambda one, other: call("min", one.text, other.text),
}
_OF_ONE: Mapping[str, Callable[[Expression], Expression]] = {
    "neg": lambda x: Expression(f"-{x.within(EACH)}", SUM),
    "exp": lambda x: Expression(f"e^({x.text})"),
    "sqrt": lambda x: call("sqrt", x.text),
    "rsqrt": lambda x: Expression(f"1 / sqrt({x.text})", PRODUCT),
    "reciprocal": lambda x: Expression(f"1 / ({x.text})", PRODUCT),
    "square": lambda x: Expression(f"({x.text})^2"),
    "abs": lambda x: call("abs", x.text),
    "log": lambda x: call("log", x.text),
    "sin": lambda x: call("sin", x.text),
    "cos": lambda x: call("cos", x.text),
}
_NAMED = {
    "softmax": SOFTMAX,
    "cat": 'op("Concat")',
    "matmul": 'op("matmul")',
    "topk": 'op("TopK")',
    "__setitem__": 'op("set")',
}
_FIRST_ALONE = {"layer_norm": LAYER_NORM, "rms_norm": RMS_NORM}


def of_word(
    word: str, operands: Sequence[Expression], plain: Sequence[tuple[str, str]]
) -> Expression:
    """Return an operation by torch's word for it.

    Args:
        word: as of ``Node.operation``.
        operands: what it is carried out on, in order, numbers too.
        plain: what the code says beside, by name: ``("dim", "-1")``.
    """
    if word in FUNCTIONS and operands:
        return call(ACTIVATIONS[FUNCTIONS[word]].operator, operands[0].text)
    if len(operands) == 2 and word in _OF_TWO and not plain:
        one, other = operands
        if word == "add" and "0" in (one.text, other.text):
            return other if one.text == "0" else one
        if word == "mul" and _is_number(other):
            one, other = other, one
        if word == "mul" and _is_number(one):
            return Expression(f"{one.text} thin {other.within(PRODUCT)}", PRODUCT)
        return _OF_TWO[word](one, other)
    if len(operands) == 1 and word in _OF_ONE and not plain:
        return _OF_ONE[word](operands[0])
    if word in _FIRST_ALONE and operands:
        return call(_FIRST_ALONE[word], operands[0].text)
    if word == "look-up" and len(operands) > 1 and not plain:
        rest = ", ".join(each.text for each in operands[1:])
        if rest.startswith('"['):
            return Expression(f"{operands[0].within(ATOM)} thin {rest}", PRODUCT)
        return Expression(f"{operands[0].within(ATOM)} [{rest}]")
    if word == "softmax":
        return call(SOFTMAX, *(each.text for each in operands[:1]))
    told = [f"{quoted(key)} = {value}" for key, value in plain]
    return call(_NAMED.get(word) or operator(word), *(each.text for each in operands), *told)


def _is_number(expression: Expression) -> bool:
    return expression.text.replace(".", "").replace("-", "").isdecimal() or (
        " times 10^" in expression.text and expression.text[0].isdecimal()
    )
