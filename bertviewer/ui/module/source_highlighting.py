"""Syntax highlighting of Python source, for the light and the dark theme."""

import io
import keyword
import token
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from typing_extensions import override

Kind = Literal["keyword", "definition", "self", "decorator", "string", "number", "comment"]

# Contrast with the background is at least 4.5.
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

# Python 3.12 has separate tokens for the parts of an f-string.
_STRINGS = {token.STRING} | {
    getattr(token, name)
    for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if hasattr(token, name)
}


class Span(Struct, frozen=True):
    """A range of characters of one line."""

    start: int
    length: int
    kind: Kind


def spans_of(text: str) -> dict[int, list[Span]]:
    """Return spans by zero-based line; a text that is not Python has none."""
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
    """Highlights precomputed spans: they depend on more than one line."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._spans: Mapping[int, list[Span]] = {}
        self._formats: dict[Kind, QTextCharFormat] = {}

    def show_spans(self, spans: Mapping[int, list[Span]], colors: Mapping[Kind, str]) -> None:
        """Highlight other spans or colours."""
        self._spans = spans
        self._formats = {kind: _format(kind, color) for kind, color in colors.items()}
        self.rehighlight()

    @override
    def highlightBlock(self, text: str) -> None:
        for span in self._spans.get(self.currentBlock().blockNumber(), ()):
            self.setFormat(span.start, span.length, self._formats[span.kind])


def _format(kind: Kind, color: str) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(QColor(color))
    if kind in ("keyword", "definition"):
        made.setFontWeight(QFont.Weight.DemiBold)
    return made
