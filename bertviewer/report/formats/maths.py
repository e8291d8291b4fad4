"""MathML as LaTeX, which Markdown uses, too."""

import re
from collections.abc import Callable, Mapping, Sequence
from xml.etree.ElementTree import Element, fromstring

from bertviewer.report.formats.maths_symbols import ACCENTS, CLOSING, FENCES, OPENING, SIGNS, letter

_SPACES = (
    (0.0, ""),
    (0.1667, r"\,"),
    (0.2222, r"\:"),
    (0.2778, r"\;"),
    (1.0, r"\quad "),
    (2.0, r"\qquad "),
)
_PLAIN = re.compile(r"[A-Za-z0-9 ,.;:()!?/=+'-]+|[^\W\d_]+")
"""Text that LaTeX and MathJax read the same way, including letters of any script."""
_TALL = frozenset({"mfrac", "mtable", "munderover", "msqrt", "mroot"})
_LARGE = frozenset("∑∏∫⋃⋂")
_ONE = re.compile(r"[A-Za-z0-9]+|\\[a-zA-Z]+\*?(\{[^{}]*\})?")
"""A base that needs no braces before an index."""
_CLOSE_AFTER, _CLOSE_BEFORE = ("(", "["), (",", ")", "]", ";")
_VARIATION = "\ufe00"  # asks for the script form of a letter


def latex_maths(mathml: str) -> str:
    """Return a MathML element as LaTeX, without dollar signs.

    Raises:
        ValueError: an element or a sign has no LaTeX.
    """
    return _tidied(_row(fromstring(mathml)))


def _row(element: Element) -> str:
    """Return the children of an element, one after another."""
    children = list(element)
    if _opens(children) and (_is_tall(element) or not _closes(children)):
        return _fenced(children)
    if _opens(children) and _closes(children):
        first, *middle, last = children
        start = OPENING.get(_sign(first), SIGNS[_sign(first)])
        end = CLOSING.get(_sign(last), SIGNS[_sign(last)])
        return f"{_before(start)}{_joined(middle)}{_after(end)}"
    return _joined(children)


def _joined(children: Sequence[Element]) -> str:
    text = ""
    for child in children:
        more = _latex(child)
        is_close = text.endswith(_CLOSE_AFTER) or more.startswith(_CLOSE_BEFORE)
        text += more if not text or is_close else f" {more}"
    return text


def _before(start: str) -> str:
    """Return an opening bracket, with a space if it is a command."""
    return start if start in _CLOSE_AFTER else f"{start} "


def _after(end: str) -> str:
    return end if end in _CLOSE_BEFORE else f" {end}"


def _fenced(children: Sequence[Element]) -> str:
    """Return the contents of brackets of matching height; a missing bracket is a dot."""
    first, *rest = children
    end = "."
    if _closes(children):
        end = CLOSING.get(_sign(rest[-1]), SIGNS[_sign(rest[-1])])
        rest = rest[:-1]
    start = OPENING.get(_sign(first), SIGNS[_sign(first)])
    return rf"\left{start} {_joined(rest)} \right{end}"


def _latex(element: Element) -> str:
    writer = _WRITERS.get(element.tag)
    if writer is None:
        raise ValueError(f"no LaTeX is known for the element {element.tag}")
    return writer(element)


def _letters(element: Element) -> str:
    """Return a letter, or the name of a function."""
    text = _text(element).replace(_VARIATION, "")
    if len(text) == 1:
        if element.get("mathvariant") == "normal" or element.tag == "mo":
            return letter(text)
        return text if text.isascii() and text.isalpha() else letter(text)
    return _named(text)


def _named(text: str) -> str:
    if text.isascii() and text.isalnum():
        return rf"\operatorname{{{text}}}"
    return _words(text)


def _operator(element: Element) -> str:
    text = _text(element)
    if text in SIGNS:
        return SIGNS[text]
    return letter(text) if len(text) == 1 else _signs(text)


def _signs(text: str) -> str:
    """Return signs, or the name of a function, which is an operator in Typst."""
    return " ".join(map(letter, text)) if not text[0].isalpha() else _named(text)


def _number(element: Element) -> str:
    text = _text(element)
    return text if text.isascii() else " ".join(map(letter, text))


def _words(text: str) -> str:
    """Return text; signs that are special in LaTeX or MathJax are outside of the text command."""
    parts: list[str] = []
    place = 0
    for words in _PLAIN.finditer(text):
        parts += map(letter, text[place : words.start()])
        parts.append(rf"\text{{{words[0]}}}")
        place = words.end()
    parts += map(letter, text[place:])
    return " ".join(parts) or "{}"


def _space(element: Element) -> str:
    width = element.get("width", "0em")
    if not width.endswith("em"):
        raise ValueError(f"no LaTeX is known for a space of {width}")
    size = float(width.removesuffix("em"))
    for known, command in _SPACES:
        if abs(size - known) < 0.01:
            return command
    return rf"\hspace{{{size:g}em}}"


def _scripts(below: int | None, above: int | None) -> Callable[[Element], str]:
    """Return a function that writes sub- and superscripts, the children at these indices."""

    def write(element: Element) -> str:
        base = _latex(element[0])
        text = base if _ONE.fullmatch(base) else f"{{{base}}}"
        if below is not None:
            text += f"_{{{_latex(element[below])}}}"
        if above is not None:
            primes = element[above].tag == "mo" and set(_text(element[above])) == {"′"}
            text += "'" * len(_text(element[above])) if primes else f"^{{{_latex(element[above])}}}"
        return text

    return write


def _limits(below: int | None, above: int | None) -> Callable[[Element], str]:
    """Return a function that writes limits below and above, the children at these indices."""
    scripts = _scripts(below, above)

    def write(element: Element) -> str:
        base = element[0]
        if _text(base) in _LARGE:
            return scripts(element)
        if len(_text(base)) > 1 and base.tag in ("mo", "mi") and _text(base).isalpha():
            operator = rf"\operatorname*{{{_text(base)}}}"
            script = f"_{{{_latex(element[below])}}}" if below is not None else ""
            return operator + script + (f"^{{{_latex(element[above])}}}" if above else "")
        accent = element[-1]
        if len(element) == 2 and accent.tag == "mo" and _text(accent) in ACCENTS:
            return f"{ACCENTS[_text(accent)]}{{{_latex(base)}}}"
        if base.tag == "mover" and _text(base[-1]) == "⏞" and above is not None:
            return f"{_latex(base)}^{{{_latex(element[above])}}}"
        if base.tag == "munder" and _text(base[-1]) == "⏟" and below is not None:
            return f"{_latex(base)}_{{{_latex(element[below])}}}"
        text = _latex(base)
        if below is not None:
            text = rf"\underset{{{_latex(element[below])}}}{{{text}}}"
        return text if above is None else rf"\overset{{{_latex(element[above])}}}{{{text}}}"

    return write


def _fraction(element: Element) -> str:
    if element.get("linethickness") == "0":
        return rf"{{{_latex(element[0])} \atop {_latex(element[1])}}}"
    return rf"\frac{{{_latex(element[0])}}}{{{_latex(element[1])}}}"


def _table(element: Element) -> str:
    """Return the lines of a formula, or a matrix."""
    classes = element.get("class", "").split()
    rows = [[_tidied(_row(cell)) for cell in row] for row in element]
    if "multiline-equation" in classes:
        start = "" if "aligned" in classes else "& "
        lines = ((start + " & ".join(row)).lstrip() for row in rows)
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
    columns = ("l" if "cases" in classes else "c") * max(map(len, rows))
    # LaTeX would read a bracket after \\ as a distance.
    lines = ("{}" * row[0].startswith("[") + " & ".join(row) for row in rows)
    return rf"\begin{{array}}{{{columns}}} " + r" \\ ".join(lines) + r" \end{array}"


_WRITERS: Mapping[str, Callable[[Element], str]] = {
    "mrow": _row,
    "mstyle": _row,
    "mpadded": _row,
    "mi": _letters,
    "mo": _operator,
    "mn": _number,
    "mtext": lambda element: _words(_text(element)),
    "mspace": _space,
    "msub": _scripts(1, None),
    "msup": _scripts(None, 1),
    "msubsup": _scripts(1, 2),
    "munder": _limits(1, None),
    "mover": _limits(None, 1),
    "munderover": _limits(1, 2),
    "mfrac": _fraction,
    "msqrt": lambda element: rf"\sqrt{{{_row(element)}}}",
    "mroot": lambda element: rf"\sqrt[{_latex(element[1])}]{{{_latex(element[0])}}}",
    "mtable": _table,
}


def _text(element: Element) -> str:
    return element.text or ""


def _sign(element: Element) -> str:
    return _text(element) if element.tag == "mo" else ""


def _opens(children: Sequence[Element]) -> bool:
    return len(children) > 1 and _sign(children[0]) in FENCES - frozenset(")]}⌋⌉⟩")


def _closes(children: Sequence[Element]) -> bool:
    return len(children) > 1 and _sign(children[-1]) in FENCES - frozenset("([{⌊⌈⟨")


def _is_tall(element: Element) -> bool:
    return any(inner.tag in _TALL for inner in element.iter())


_DOUBLE = re.compile(r"(?<!\\) {2,}")


def _tidied(text: str) -> str:
    return _DOUBLE.sub(" ", text).strip()
