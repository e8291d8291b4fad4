"""Texts as LaTeX, in which nothing is a command but what the spans say."""

import re
from collections.abc import Iterable

from bertviewer.core.util.text import isolated
from bertviewer.report import blocks
from bertviewer.report.formats.latex_maths import latex_maths
from bertviewer.report.formats.mathml import Line
from bertviewer.report.formats.maths_symbols import letter
from bertviewer.report.formats.plain import breakable, indexed, one_line
from bertviewer.report.formats.reading import Reading, anchor

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    # A line of a table must not start with them.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_ESCAPED = re.compile("|".join(map(re.escape, _ESCAPES)))
# They would become one sign with the next.
_JOINED = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)")
_MORE_SPACES = re.compile(r"(?:^ )|(?<= ) ")
_ISOLATES = re.compile("[\u2066-\u2069]")
_OWN = "–—‘’“”…•\N{MINUS SIGN}"
"""Signs beyond Latin-1 that every engine's usual font has."""
_OTHER = re.compile(f"[^\x00-\xff{_OWN}]+")
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_FROM_RIGHT = re.compile(f"[{_RIGHT_TO_LEFT}]+(?: +[{_RIGHT_TO_LEFT}]+)*")
_LONG = re.compile(r"[^ \0]{20,}")
_PIECE = 8
_BREAK = "\0"  # none of what is shown


def latex_text(text: blocks.Text, reading: Reading) -> str:
    """Return the spans of a text, one after the other."""
    return "".join(_span(span, reading) for span in text)


def latex_words(words: str) -> str:
    """Return plain words; very long ones can be broken anywhere."""
    return _marked(_escaped(_breakable(one_line(words))))


def latex_letters(words: str) -> str:
    """Return words of the program's own, in which ``N_e`` is an N with an index."""
    return "".join(
        rf"\textsubscript{{{latex_words(piece)}}}" if place % 2 else latex_words(piece)
        for place, piece in enumerate(indexed(words))
    )


def latex_code(code: str) -> str:
    """Return a path or a key with the places where it may break."""
    if not code:
        return ""
    broken = _breakable(_BREAK.join(breakable(one_line(code))))
    escaped = _escaped(broken).replace("'", r"\textquotesingle{}")
    return rf"\code{{{_marked(escaped)}}}"


def signs_used(body: str) -> Iterable[str]:
    """Return the signs of a document that a usual font may not have, in their order."""
    return sorted({sign for run in _OTHER.findall(body) for sign in run})


def sign_command(sign: str) -> str:
    """Return what stands for a sign where no font has it."""
    try:
        return rf"\ensuremath{{{letter(sign)}}}"
    except ValueError:
        return rf"\missing{{{ord(sign):04X}}}"


def maths(source: str, reading: Reading, *, is_block: bool = False) -> str:
    """Return a formula as LaTeX, without its dollar signs."""
    return _others(latex_maths(reading.mathml[Line(source, is_block)]))


def tick(holds: bool) -> str:
    """Return a drawn tick or cross."""
    return r"\tick{}" if holds else r"\cross{}"


def _span(span: blocks.Span, reading: Reading) -> str:
    match span:
        case str():
            return latex_words(span)
        case blocks.Code(text):
            return latex_code(text)
        case blocks.Maths(source):
            return f"${maths(source, reading)}$"
        case blocks.Letters(text):
            return latex_letters(text)
        case blocks.Strong(text):
            return rf"\textbf{{{latex_words(text)}}}"
        case blocks.Muted(text):
            return rf"\muted{{{latex_words(text)}}}"
        case blocks.See(name):
            label = anchor(name)
            return rf"\hyperref[{label}]{{{reading.numbers[name].noun}~\ref*{{{label}}}}}"
        case blocks.Tick(holds):
            return tick(holds)
        case blocks.Bar(share):
            return rf"\sharebar{{{min(max(share, 0.0), 1.0):.4f}}}"
        case blocks.Break():
            return r"\newline "


def _breakable(text: str) -> str:
    """Return a text with places to break it within words that no line could hold."""
    return _LONG.sub(
        lambda word: _BREAK.join(
            word[0][place : place + _PIECE] for place in range(0, len(word[0]), _PIECE)
        ),
        text,
    )


def _escaped(text: str) -> str:
    text = _MORE_SPACES.sub("\1", _JOINED.sub("\2", text))
    text = _ESCAPED.sub(lambda sign: _ESCAPES[sign[0]], text)
    return text.replace("\1", "\\ ").replace("\2", "{}")


def _marked(text: str) -> str:
    return _others(_ISOLATES.sub("", text)).replace(_BREAK, r"\brk{}")


def _others(text: str) -> str:
    """Return a text in which other scripts say so, for the engine to find a font."""
    if text.isascii():
        return text
    if isolated(text) is not text:
        text = _FROM_RIGHT.sub(lambda run: rf"\fromright{{{run[0]}}}", text)
    return _OTHER.sub(lambda run: rf"\uni{{{run[0]}}}", text)
