"""The blocks of a report as Markdown."""

import re
from collections.abc import Iterator, Sequence
from typing import assert_never
from urllib.parse import quote

from msgspec import Struct

from bertviewer.report import blocks
from bertviewer.report.formats.latex_maths import latex_maths
from bertviewer.report.formats.markdown_table import markdown_table, table_lines
from bertviewer.report.formats.markdown_text import (
    markdown_code,
    markdown_spans,
    markdown_strong,
    markdown_tick,
    markdown_words,
    started,
)
from bertviewer.report.formats.mathml import Line
from bertviewer.report.formats.pictures import picture_file
from bertviewer.report.formats.plain import one_line
from bertviewer.report.formats.reading import Reading

DEEPEST = 6
"""The last level of headings."""
_LEGEND = (blocks.Column("Symbol"), blocks.Column("Meaning"), blocks.Column("Value"))
_TICKS = re.compile("`+")


class MarkdownBlocks(Struct, frozen=True, eq=False):
    """Writes blocks.

    Attributes:
        reading: the document.
        folder: of the pictures, beside the file.
        sources: those of formulas, which footnotes name; it grows with each new one.
    """

    reading: Reading
    folder: str
    sources: list[str]

    def lines(self, block: blocks.Block, level: int) -> Iterator[str]:
        """Yield a block's lines; ``level`` is that of a heading within it."""
        match block:
            case blocks.Paragraph(text, look):
                yield from self._paragraph(text, look)
            case blocks.Facts(pairs):
                yield from self._facts(pairs)
            case blocks.Table():
                yield from markdown_table(block, self.reading)
            case blocks.Figure():
                yield self.picture(block.picture, block.alt)
                yield ""
                yield f"**{self.reading.numbers[block.name].text}.** {self._text(block.caption)}"
            case blocks.FormulaBlock():
                yield "\n\n".join(self._formula(block, level))
            case blocks.Sum():
                yield from _sum(block)
            case blocks.Answer():
                yield "\n>\n".join(_answer(block))
            case blocks.Tokens(tokens):
                yield "\n\n".join(_tokens(tokens))
            case blocks.Listing(lines):
                yield from _listing(lines)
            case blocks.Points(points):
                yield from (f"- {self._text(text, '  ')}" for text in points)
            case blocks.Bibliography(entries):
                yield from map(_entry, entries)
            case _:
                assert_never(block)

    def _text(self, text: blocks.Text, indent: str = "") -> str:
        return markdown_spans(text, self.reading).replace("\n", f"\n{indent}")

    def _paragraph(self, text: blocks.Text, look: str) -> Iterator[str]:
        if look == "warning":
            yield "> [!WARNING]"
        marked = "> " if look in ("quote", "warning") else ""
        yield marked + self._text(text, marked)

    def _facts(self, pairs: Sequence[tuple[str, blocks.Text]]) -> Iterator[str]:
        for name, text in pairs:
            yield f"- {started(markdown_words(name))}: {self._text(text, '  ')}"

    def picture(self, picture: str, alt: str) -> str:
        """Return a picture as it is linked."""
        file = f"{self.folder}/{picture_file(picture, '.svg')}"
        return f"![{markdown_words(alt)}]({quote(file, errors='surrogateescape')})"

    def _formula(self, block: blocks.FormulaBlock, level: int) -> Iterator[str]:
        """Yield its paragraphs."""
        yield f"{'#' * min(level, DEEPEST)} {markdown_words(block.title)}"
        if block.about:
            yield self._text(block.about)
        if block.summary or block.source:
            note = f"[^{self._source(block.source)}]" if block.source else ""
            yield started(markdown_words(block.summary)) + note
        for source in block.maths:
            maths = latex_maths(self.reading.mathml[Line(source, is_block=True)])
            yield f"$$\n{maths}\n$$"
        if block.terms:
            rows = [
                (
                    f"${latex_maths(self.reading.mathml[Line(term.symbol)])}$",
                    markdown_words(term.meaning),
                    markdown_words(term.value or ""),
                )
                for term in block.terms
            ]
            yield "\n".join(table_lines([column.title for column in _LEGEND], rows, _LEGEND))
        yield from (started(markdown_words(note)) for note in block.notes)

    def _source(self, source: str) -> int:
        """Return the number of its footnote."""
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source) + 1


def _sum(block: blocks.Sum) -> Iterator[str]:
    """Yield a count line by line: in letters, in numbers, in values, and what comes out."""
    lines = [markdown_strong(block.title)]
    if block.terms:
        lines += [_joined(block.terms, "letters"), f"= {_joined(block.terms, 'numbers')}"]
        if len(block.terms) > 1:
            lines.append(f"= {_joined(block.terms, 'value')}")
    if block.result:
        sign = "= " if block.terms else ""
        tick = f" {markdown_tick(True)}" if block.is_proven else ""
        lines.append(f"{sign}{markdown_strong(block.result)}{tick}")
    if block.reason:
        lines.append(markdown_words(block.reason))
    yield "\\\n".join(map(started, lines))


def _answer(block: blocks.Answer) -> Iterator[str]:
    """Yield the question, and what is said to it."""
    yield f"> {markdown_strong(block.question)}\\\n> {started(markdown_words(block.text))}"
    said = " ".join(filter(None, (block.measured, f"({block.source})" if block.source else "")))
    if said:
        yield f"> {started(markdown_words(said))}"


def _joined(terms: Sequence[blocks.SumTerm], line: str) -> str:
    words = (f"{term.sign} {getattr(term, line)}".strip() for term in terms)
    return markdown_words(" ".join(words))


def _tokens(tokens: Sequence[blocks.TokenBox]) -> Iterator[str]:
    """Yield the tokens of each text."""
    for is_second in (False, True):
        those = [token for token in tokens if token.is_second == is_second]
        if those:
            yield ", ".join(map(_token, those))


def _token(token: blocks.TokenBox) -> str:
    under = f" ({markdown_words(token.under)})" if token.under else ""
    return f"{markdown_code(token.text)}{under}"


def _listing(lines: Sequence[str]) -> Iterator[str]:
    shown = [one_line(line) for line in lines]
    fence = "`" * max(3, *(len(ticks) + 1 for line in shown for ticks in _TICKS.findall(line)), 3)
    yield from (fence, *shown, fence)


def _entry(entry: blocks.Entry) -> str:
    link = f" <{entry.link}>" if re.fullmatch(r"https?://[^\s<>]+", entry.link) else ""
    return f"- {started(markdown_words(entry.text))}{link}"
