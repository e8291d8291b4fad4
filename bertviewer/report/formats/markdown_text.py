"""Texts as Markdown, in which nothing is markup but what the spans say."""

import re

from bertviewer.core.util.text import POP_ISOLATE, isolated, markdown_text
from bertviewer.report import blocks
from bertviewer.report.formats.latex_maths import latex_maths
from bertviewer.report.formats.mathml import Line
from bertviewer.report.formats.plain import one_line
from bertviewer.report.formats.reading import Reading

BAR_LETTERS = 20
# At the start of a line they begin a list, a heading or a rule.
_START = re.compile(r"^( *)([-+](?= |$)|-(?=[- ]*$)|=(?==* *$)|\d+(?=[.)](?: |$)))")
_SIMPLE_CODE = re.compile(r"(?! )[^`|\\]+(?<! )")


def markdown_spans(text: blocks.Text, reading: Reading, *, is_cell: bool = False) -> str:
    """Return the spans of a text, one after the other; ``is_cell`` for one line, in a table."""
    line = "".join(_span(span, reading, is_cell=is_cell) for span in text)
    return line if is_cell else "\n".join(map(started, line.split("\n")))


def markdown_words(words: str) -> str:
    """Return plain words on one line, which keep their own direction within others."""
    return _turned(words, markdown_text(one_line(words)))


def started(line: str) -> str:
    """Return a line that begins as it does and not with a list or a rule."""
    return _START.sub(_escaped_start, line)


def markdown_strong(words: str) -> str:
    """Return words that stand out; stars alone would not do beside brackets."""
    if words[:1].isalnum() and words[-1:].isalnum():
        return f"**{markdown_words(words)}**"
    return f"<b>{markdown_words(words)}</b>" if words else ""


def markdown_code(code: str) -> str:
    """Return a path or a key: in backquotes where they can hold it."""
    line = one_line(code)
    if not line:
        return ""
    if _SIMPLE_CODE.fullmatch(line):
        return _turned(line, f"`{line}`")
    return _turned(line, f"<code>{markdown_text(line)}</code>")


def markdown_tick(holds: bool) -> str:
    """Return a tick or a cross."""
    return "✓" if holds else "✗"


def _span(span: blocks.Span, reading: Reading, *, is_cell: bool) -> str:
    match span:
        case str():
            return markdown_words(span)
        case blocks.Code(text):
            return markdown_code(text)
        case blocks.Maths(source):
            return f"${latex_maths(reading.mathml[Line(source)])}$"
        case blocks.Strong(text):
            return markdown_strong(text)
        case blocks.Muted(text) | blocks.Letters(text):
            return markdown_words(text)
        case blocks.See(name):
            return reading.numbers[name].text
        case blocks.Tick(holds):
            return markdown_tick(holds)
        case blocks.Bar(share):
            return "█" * max(round(share * BAR_LETTERS), 0)
        case blocks.Break():
            return "<br>" if is_cell else "\\\n"


def _turned(words: str, marked: str) -> str:
    turned = isolated(words)
    return marked if turned is words else f"{turned[0]}{marked}{POP_ISOLATE}"


def _escaped_start(match: re.Match[str]) -> str:
    spaces, sign = match.groups()
    return f"{spaces}{sign}\\" if sign.isdigit() else f"{spaces}\\{sign}"
