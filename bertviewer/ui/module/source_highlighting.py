"""Colours for Python source, in a light and a dark palette."""

import io
import keyword
import token
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

Kind = Literal["keyword", "definition", "self", "decorator", "string", "number", "comment"]

# Each has a contrast of at least 4.5 with the colour that text is read on.
LIGHT_COLORS: Mapping[Kind, str] = {
    "keyword": "#8a1c7c",
    "definition": "#1a5fa3",
    "self": "#7a4a12",
    "decorator": "#6b5900",
    "string": "#1d6b33",
    "number": "#a84300",
    "comment": "#66727f",
}
DARK_COLORS: Mapping[Kind, str] = {
    "keyword": "#d79bf2",
    "definition": "#7cc0f5",
    "self": "#dcb98a",
    "decorator": "#e0c46c",
    "string": "#8fd19e",
    "number": "#f0a35e",
    "comment": "#93a0ad",
}

# Python 3.12 gives the pieces of an f-string tokens of their own.
_STRINGS = {token.STRING} | {
    getattr(token, name)
    for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if hasattr(token, name)
}


class Span(Struct, frozen=True):
    """A piece of one line, counted in characters from 0."""

    start: int
    length: int
    kind: Kind


def spans_of(text: str) -> dict[int, list[Span]]:
    """Return what is to be coloured, by line from 0; a text that is no Python is left plain."""
    spans: dict[int, list[Span]] = defaultdict(list)
    lines = text.splitlines()
    for found, kind in _kinds(text):
        (first, start), (last, end) = found.start, found.end
        for line in range(first - 1, last):
            left = start if line == first - 1 else 0
            right = end if line == last - 1 else len(lines[line])
            if right > left:
                spans[line].append(Span(left, right - left, kind))
    return dict(spans)


def _kinds(text: str) -> Iterator[tuple[tokenize.TokenInfo, Kind]]:
    before = ""
    try:
        for found in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = _kind(found, before)
            if kind is not None:
                yield found, kind
            if found.type not in (token.NL, token.COMMENT, token.INDENT, token.DEDENT):
                before = found.string
    except (tokenize.TokenError, SyntaxError):
        return


def _kind(found: tokenize.TokenInfo, before: str) -> Kind | None:
    if found.type == token.COMMENT:
        return "comment"
    if found.type in _STRINGS:
        return "string"
    if found.type == token.NUMBER:
        return "number"
    if found.string == "@" and not found.line[: found.start[1]].strip():
        return "decorator"
    if found.type != token.NAME:
        return None
    if keyword.iskeyword(found.string):
        return "keyword"
    if before in ("class", "def"):
        return "definition"
    if before == "@" and found.line.lstrip().startswith("@"):
        return "decorator"
    return "self" if found.string in ("self", "cls") else None


class SourceHighlighter(QSyntaxHighlighter):
    """Colours a document by spans that are worked out for the whole text at once."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._spans: Mapping[int, list[Span]] = {}
        self._formats: dict[Kind, QTextCharFormat] = {}

    def show_spans(self, spans: Mapping[int, list[Span]], colors: Mapping[Kind, str]) -> None:
        """Colour these spans from now on."""
        self._spans = spans
        self._formats = {kind: _format(kind, color) for kind, color in colors.items()}
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        """Colour one line; Qt calls it."""
        for span in self._spans.get(self.currentBlock().blockNumber(), ()):
            self.setFormat(span.start, span.length, self._formats[span.kind])


def _format(kind: Kind, color: str) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(QColor(color))
    if kind in ("keyword", "definition"):
        made.setFontWeight(QFont.Weight.DemiBold)
    return made
