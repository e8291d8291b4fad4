"""Typst mathematics that knows how tightly it binds, and torch's operations in it."""

from collections.abc import Callable, Mapping, Sequence

from bertviewer.core.formulas.notation import LAYER_NORM, RMS_NORM, SOFTMAX, number_maths, quoted
from bertviewer.core.formulas.templates.activation import ACTIVATIONS, FUNCTIONS
from bertviewer.core.frozen import frozen

SUM, EACH, PRODUCT, ATOM = 1, 2, 3, 4
"""How tightly an expression binds; ``EACH`` is an element-wise product."""

_MOST_ARGUMENTS = 6
_CLOSE = 1e-5


@frozen
class Expression:
    """Mathematics, and how tightly it binds."""

    text: str
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """Return it for a place that binds so tightly, in brackets where needed."""
        return self.text if self.binds >= binds else f"({self.text})"


def call(function: str, *arguments: str) -> Expression:
    """Return a function of its arguments; of many the first ones and the last."""
    is_short = len(arguments) <= _MOST_ARGUMENTS
    shown = arguments if is_short else (*arguments[:2], "dots", arguments[-1])
    return Expression(f"{function}({', '.join(shown)})")


def plus(one: Expression, other: Expression) -> Expression:
    """Return a sum."""
    return Expression(f"{one.within(SUM)} + {other.within(SUM)}", SUM)


def times(one: Expression | str, other: Expression) -> Expression:
    """Return a product of matrices, or with a number."""
    left = f"{one} thin" if isinstance(one, str) else one.within(PRODUCT)
    return Expression(f"{left} {other.within(PRODUCT)}", PRODUCT)


def over(one: Expression, other: str) -> Expression:
    """Return a fraction."""
    return Expression(f"({one.text}) / {other}", PRODUCT)


def _minus(one: Expression, other: Expression) -> Expression:
    return Expression(f"{one.within(SUM)} - {other.within(EACH)}", SUM)


def _mul(one: Expression, other: Expression) -> Expression:
    if _is_number(other.text):
        one, other = other, one
    if _is_number(one.text):
        return times(one.text, other)
    return Expression(f"{one.within(EACH)} dot.o {other.within(EACH)}", EACH)


def _power(one: Expression, other: Expression) -> Expression:
    base = one.text if len(one.text) == 1 else f"({one.text})"
    return Expression(f"{base}^({other.text})")


_OF_TWO: Mapping[str, Callable[[Expression, Expression], Expression]] = {
    "add": lambda one, other: one if other.text == "0" else plus(one, other),
    "sub": _minus,
    "rsub": lambda one, other: _minus(other, one),
    "mul": _mul,
    "div": lambda one, other: over(one, f"({other.text})"),
    "rdiv": lambda one, other: over(other, f"({one.text})"),
    "pow": _power,
    "rpow": lambda one, other: _power(other, one),
    "maximum": lambda one, other: call("max", one.text, other.text),
    "minimum": lambda one, other: call("min", one.text, other.text),
}
_OF_ONE: Mapping[str, Callable[[Expression], Expression]] = {
    "neg": lambda x: Expression(f"-{x.within(EACH)}", SUM),
    "exp": lambda x: Expression(f"e^({x.text})"),
    "rsqrt": lambda x: Expression(f"1 / sqrt({x.text})", PRODUCT),
    "reciprocal": lambda x: Expression(f"1 / ({x.text})", PRODUCT),
    "square": lambda x: Expression(f"({x.text})^2"),
}
_OF_FIRST = {
    "softmax": SOFTMAX,
    "layer_norm": LAYER_NORM,
    "rms_norm": RMS_NORM,
    **{word: word for word in ("sqrt", "abs", "log", "sin", "cos")},
    **{word: ACTIVATIONS[name].operator for word, name in FUNCTIONS.items()},
}
"""Functions of their first operand; the others say no more about them."""
_NAMES = {"cat": "Concat", "topk": "TopK", "__setitem__": "set"}


def operation(
    word: str, operands: Sequence[Expression], named: Sequence[tuple[str, str]] = ()
) -> Expression:
    """Return an operation by torch's word for it.

    Args:
        word: as of ``Node.operation``.
        operands: those without a name, in order, numbers too.
        named: those that the code gives by name: ``("dim", "-1")``.
    """
    if word in _OF_FIRST and operands:
        return call(_OF_FIRST[word], operands[0].text)
    if len(operands) == 2 and word in _OF_TWO and not named:
        return _OF_TWO[word](*operands)
    if len(operands) == 1 and word in _OF_ONE and not named:
        return _OF_ONE[word](*operands)
    texts = [each.text for each in operands]
    if word == "look-up" and len(operands) > 1 and not named:
        whole, rest = operands[0].within(ATOM), ", ".join(texts[1:])
        if rest.startswith('"['):
            return Expression(f"{whole} thin {rest}", PRODUCT)
        return Expression(f"{whole} [{rest}]")
    options = [f"{quoted(key)} = {value}" for key, value in named]
    return call(f"op({quoted(_NAMES.get(word, word))})", *texts, *options)


def plain_maths(text: str) -> str:
    """Return a number or a word of the code as mathematics."""
    try:
        number = float(text)
    except ValueError:
        return quoted(text)
    if abs(number) == float("inf"):
        return "oo" if number > 0 else "-oo"
    square = round(number * number)
    if number > 1 and number != round(number) and abs(number * number - square) < _CLOSE:
        return f"sqrt({square})"
    return number_maths(number) if number >= 0 else f"-{number_maths(-number)}"


def _is_number(text: str) -> bool:
    return text.replace(".", "").replace("-", "").isdecimal() or (
        " times 10^" in text and text[0].isdecimal()
    )
