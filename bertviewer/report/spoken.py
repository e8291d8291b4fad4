"""Formulas in words, for screen readers: "Y equals softmax of x"."""

import re
import unicodedata
from collections.abc import Sequence
from xml.etree.ElementTree import Element, fromstring

_SIGNS = {
    "+": "plus",
    "-": "minus",
    "\N{MINUS SIGN}": "minus",
    "±": "plus or minus",
    "×": "times",
    "·": "times",
    "⋅": "times",
    "⊙": "times element by element",
    "∗": "convolved with",
    "/": "divided by",
    ":": "colon",
    "=": "equals",
    "≠": "does not equal",
    "≈": "is approximately",
    "∝": "is proportional to",
    "<": "is less than",
    ">": "is greater than",
    "≤": "is at most",
    "≥": "is at least",
    "∈": "in",
    "∉": "not in",
    "∑": "the sum",
    "∏": "the product",
    "∞": "infinity",
    "→": "to",
    "←": "becomes",
    "↦": "maps to",
    "…": "and so on",
    "⋯": "and so on",
    "⋮": "and so on",
    "∥": "concatenated with",
    "⊤": "transposed",
    "′": "prime",
    "ℝ": "the real numbers",
    "(": "open parenthesis",
    ")": "close parenthesis",
    "[": "open bracket",
    "]": "close bracket",
    "{": "open brace",
    "}": "close brace",
    "|": "vertical bar",
    "‖": "double bar",
    "⌊": "the floor of",
    "⌋": "end floor",
    "⌈": "the ceiling of",
    "⌉": "end ceiling",
}
_POWERS = {"2": "squared", "3": "cubed", "⊤": "transposed", "′": "prime"}
_ACCENTS = {"^": "hat", "\u0302": "hat", "~": "tilde", "\u0303": "tilde", "¯": "bar", "‾": "bar"}
_BRACES = frozenset("⏞⏟")
_ADDED = frozenset("+-±\N{MINUS SIGN}")
_LARGE = frozenset("∑∏")
_PAUSES = re.compile(r"(\s*[,;])+")


def spoken(mathml: str) -> str:
    """Return a MathML element in words."""
    words = " ".join(_row(list(fromstring(mathml))).split())
    return _PAUSES.sub(lambda pauses: pauses[0].strip()[-1], words).rstrip(",")


def _row(children: Sequence[Element]) -> str:
    words: list[str] = []
    for before, element in zip((None, *children), children, strict=False):
        is_argument = before is not None and _is_function(before) and _is_in(element, "()")
        if is_argument:
            inner = element[1:-1]
            is_sum = any(_text(one) in _ADDED for part in inner for one in (part, *part))
            words.append(f"of {_said(element) if is_sum else _row(inner)}")
        elif before is not None and _is_in(element, "[]"):
            words.append(f"at {_row(element[1:-1])}")
        else:
            words.append(_said(element))
    return " ".join(words)


def _said(element: Element) -> str:
    """Return an element in words; of an unknown one its parts."""
    parts = [_said(part) if part.tag != "mrow" else _row(list(part)) for part in element]
    match element.tag:
        case "mi" | "mo" | "mn" | "mtext":
            return _letter(_text(element))
        case "msub":
            return f"{parts[0]} sub {parts[1]}"
        case "msup":
            return f"{parts[0]} {_power(element[1], parts[1])}"
        case "msubsup":
            return f"{parts[0]} sub {parts[1]} {_power(element[2], parts[2])}"
        case "munder" | "mover" | "munderover":
            return _with_limits(element, parts)
        case "mfrac":
            is_short = not any(len(part) for part in element)
            fraction = f"{parts[0]} over {parts[1]}"
            return fraction if is_short else f"the fraction {fraction}, end fraction,"
        case "msqrt":
            root = f"the square root of {_row(list(element))}"
            return root if len(element) == 1 and not len(element[0]) else f"{root}, end root,"
        case "mroot":
            return f"the root of order {parts[1]} of {parts[0]}, end root,"
        case "mtable":
            rows = ([_row(list(cell)) for cell in row] for row in element)
            return "; ".join(" ".join(cells) for cells in rows)
        case "mspace":
            return ""
        case _:
            return _row(list(element))


def _with_limits(element: Element, parts: Sequence[str]) -> str:
    base, *others = element
    said, *limits = parts
    if element.tag == "mover" and _text(others[0]) in _ACCENTS:
        return f"{said} {_ACCENTS[_text(others[0])]}"
    if _text(others[0]) in _BRACES:
        return said
    if any(_text(part) in _BRACES for part in base):
        return f"{said}, that is {limits[0]},"
    if _text(base) in _LARGE:
        below, *above = limits
        return f"{said} from {below} to {above[0]} of" if above else f"{said} over {below} of"
    if _is_function(base):
        return f"{said} over {limits[0]}"
    # The size of a tensor is below its symbol.
    return f"{said} of size {limits[0].replace(' times ', ' by ')}"


def _power(element: Element, said: str) -> str:
    return _POWERS.get(_text(element), f"to the power of {said},")


def _letter(text: str) -> str:
    if text in _SIGNS:
        return _SIGNS[text]
    plain = unicodedata.normalize("NFKC", text)
    if len(plain) != 1 or plain.isascii():
        return _SIGNS.get(plain, plain)
    name = unicodedata.name(plain, plain)
    if name.startswith("GREEK"):
        last = name.removesuffix(" SYMBOL").rsplit(" ", 1)[-1]
        return last.capitalize() if "CAPITAL" in name else last.lower()
    return name.lower() if not plain.isalnum() else plain


def _is_function(element: Element) -> bool:
    """Return whether an element is the name of a function: softmax, or Φ."""
    if element.tag in ("msub", "msup", "msubsup", "munder"):
        return _is_function(element[0])
    text = _text(element)
    is_name = element.tag in ("mo", "mtext", "mi") and len(text) > 1 and text.isalnum()
    return is_name or (element.get("mathvariant") == "normal" and text.isalpha())


def _is_in(element: Element, brackets: str) -> bool:
    """Return whether an element is in a pair of brackets."""
    is_row = element.tag == "mrow" and len(element) > 1
    return is_row and _text(element[0]) + _text(element[-1]) == brackets


def _text(element: Element) -> str:
    return (element.text or "").replace("\ufe00", "")
