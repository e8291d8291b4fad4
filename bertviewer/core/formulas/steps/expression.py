"""Typst expressions with operator precedence, and torch's operations as expressions."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bertviewer.core.formulas.activation import ACTIVATIONS, FUNCTIONS
from bertviewer.core.formulas.formula import LAYER_NORM, RMS_NORM, SOFTMAX, number_maths, quoted

SUM, NO_SUM, EACH, PRODUCT, FACTOR, ATOM = 1, 2, 3, 4, 5, 6
"""Precedence of expressions, from low to high.

``EACH`` is an element-wise product, ``PRODUCT`` one of matrices, ``FACTOR`` a fraction, a part or a
product with a number; ``NO_SUM`` may follow a minus.
"""

_MAX_ARGUMENTS = 6
_CLOSE = 1e-5


class Expression(Struct, frozen=True):
    """Mathematics with its precedence."""

    text: str
    precedence: int = ATOM

    def within(self, precedence: int) -> str:
        """Return it as an operand of an operator with this precedence, in brackets if needed.

        A product of matrices has brackets within an element-wise product.
        """
        is_ambiguous = precedence == EACH and self.precedence == PRODUCT
        return f"({self.text})" if self.precedence < precedence or is_ambiguous else self.text

    def __format__(self, precedence: str) -> str:
        """Return ``within`` for an f-string: ``f"{x:4}"``; without a number, the text."""
        return self.within(int(precedence)) if precedence else self.text


def call(function: str, *arguments: str) -> Expression:
    """Return a function call; of many arguments the first two and the last."""
    is_short = len(arguments) <= _MAX_ARGUMENTS
    shown = arguments if is_short else (*arguments[:2], "dots", arguments[-1])
    return Expression(f"{function}({', '.join(shown)})")


def plus(left: Expression, right: Expression) -> Expression:
    """Return a sum."""
    return Expression(f"{left:1} + {right:1}", SUM)


def times(left: Expression | str, right: Expression) -> Expression:
    """Return a product of two matrices, or of a number or symbol with an expression."""
    if isinstance(left, Expression):
        return Expression(f"{left:4} {right:4}", PRODUCT)
    return Expression(f"{left} thin {right:4}", PRODUCT if right.precedence == PRODUCT else FACTOR)


def over(numerator: Expression, denominator: str) -> Expression:
    """Return a fraction."""
    return Expression(f"({numerator}) / {denominator}", FACTOR)


_PATTERNS: Mapping[str, tuple[str, int]] = {
    "add": ("{0:1} + {1:1}", SUM),
    "sub": ("{0:1} - {1:2}", SUM),
    "rsub": ("{1:1} - {0:2}", SUM),
    "mul": ("{0:3} dot.o {1:3}", EACH),
    **dict.fromkeys(("matmul", "bmm"), ("{0:4} {1:4}", PRODUCT)),
    "div": ("({0}) / ({1})", FACTOR),
    "rdiv": ("({1}) / ({0})", FACTOR),
    "maximum": ("max({0}, {1})", ATOM),
    "minimum": ("min({0}, {1})", ATOM),
    "neg": ("-{0:2}", SUM),
    "exp": ("upright(e)^({0})", ATOM),
    "rsqrt": ("1 / sqrt({0})", FACTOR),
    "reciprocal": ("1 / ({0})", FACTOR),
    "square": ("({0})^2", ATOM),
}
"""Operations of one or two operands, with the precedence of the result."""

_OF_FIRST = {
    "softmax": SOFTMAX,
    "layer_norm": LAYER_NORM,
    "rms_norm": RMS_NORM,
    **{word: word for word in ("sqrt", "abs", "log", "sin", "cos")},
    **{word: ACTIVATIONS[name].operator for word, name in FUNCTIONS.items()},
}
"""Functions that are written with their first operand only."""

_NAMES = {"cat": "Concat", "topk": "TopK", "__setitem__": "set"}
_JOINS = ("cat", "stack")
"""Operations whose axis is not written."""


def operation(
    word: str, operands: Sequence[Expression], named: Sequence[tuple[str, str]] = ()
) -> Expression:
    """Return an operation by its canonical name; ``named`` operands: ``("dim", "-1")``."""
    texts = [each.text for each in operands]
    if word in _OF_FIRST and operands:
        return call(_OF_FIRST[word], texts[0])
    if word in ("pow", "rpow") and len(operands) == 2 and not named:
        base, power = texts if word == "pow" else texts[::-1]
        return Expression(f"{base if len(base) == 1 else f'({base})'}^({power})")
    pattern, precedence = _PATTERNS.get(word, ("", ATOM))
    if pattern and len(operands) == 1 + ("{1" in pattern) and not named:
        numbers = [number for number, text in enumerate(texts) if _is_number(text)]
        if word == "add" and texts[1] == "0":
            return operands[0]
        if word == "mul" and numbers:
            return times(texts[numbers[-1]], operands[1 - numbers[-1]])
        return Expression(pattern.format(*operands), precedence)
    if word == "look-up" and len(operands) > 1 and not named:
        rest = ", ".join(texts[1:])
        is_part = rest.startswith('"[')
        whole = f"{operands[0]:6} thin {rest}" if is_part else f"{operands[0]:6} [{rest}]"
        return Expression(whole, FACTOR if is_part else ATOM)
    if word in _JOINS:
        texts, named = [text for text in texts if not _is_number(text)], ()
    options = [f"{quoted(key)} = {value}" for key, value in named]
    return call(f"op({quoted(_NAMES.get(word, word))})", *texts, *options)


def plain_maths(text: str) -> str:
    """Return a literal of the code as mathematics."""
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
    mantissa = text.partition(" times 10^")[0]
    return mantissa.replace(".", "").replace("-", "").isdecimal()
