"""A report as GitHub's Markdown, with its pictures as SVG beside it."""

import re
from collections.abc import Iterator, Sequence
from typing import assert_never
from urllib.parse import quote

from bertviewer.core.frozen import frozen
from bertviewer.core.text.day_text import day_text
from bertviewer.report.blocks import (
    Answer,
    Bibliography,
    Block,
    Column,
    Entry,
    Facts,
    Figure,
    FormulaBlock,
    Listing,
    Paragraph,
    Points,
    Section,
    Sum,
    SumTerm,
    Table,
    Text,
    TokenBox,
    Tokens,
)
from bertviewer.report.document import Front, ReportDocument
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

_DEEPEST = 6
_LEGEND = (Column("Symbol"), Column("Meaning"), Column("Value"))
_NO_SLUG = re.compile(r"[^\w\- ]")
_TICKS = re.compile("`+")


def markdown_of(document: ReportDocument, folder: str) -> str:
    """Return a document as Markdown; ``folder`` is that of its pictures, beside the file."""
    return "\n".join(_Writer(Reading.of(document), folder, []).lines()) + "\n"


@frozen(eq=False)
class _Writer:
    """Writes a document; ``sources`` are those of formulas, which footnotes name."""

    reading: Reading
    folder: str
    sources: list[str]

    def lines(self) -> Iterator[str]:
        document = self.reading.document
        yield from self._front(document.front)
        yield "## Contents"
        yield ""
        yield from self._contents(document.chapters, "")
        yield ""
        yield from self._sections(document.chapters, 2)
        yield "---"
        yield ""
        yield markdown_words(document.front.program)
        for number, source in enumerate(self.sources, 1):
            yield ""
            yield f"[^{number}]: {markdown_words(source)}"

    def _front(self, front: Front) -> Iterator[str]:
        yield f"# {markdown_words(front.title)}"
        yield ""
        author = f"{markdown_words(front.author)}, " if front.author else ""
        for line in (markdown_words(front.subtitle), author + day_text(front.date)):
            yield from (started(line), "") if line else ()
        if front.warning:
            yield from ("> [!WARNING]", f"> {started(markdown_words(front.warning))}", "")
        if front.picture:
            yield from (self._picture(front.picture, "The stack of the model's layers"), "")
        if front.facts:
            yield from self._facts(front.facts)
            yield ""

    def _contents(self, sections: Sequence[Section], indent: str) -> Iterator[str]:
        for section in sections:
            title = self._title(section)
            yield f"{indent}- [{markdown_words(title)}](#{_slug(title)})"
            yield from self._contents(section.sections, f"{indent}  ")

    def _sections(self, sections: Sequence[Section], level: int) -> Iterator[str]:
        for section in sections:
            yield f"{'#' * min(level, _DEEPEST)} {markdown_words(self._title(section))}"
            yield ""
            for block in section.blocks:
                yield from self._block(block, level + 1)
                yield ""
            yield from self._sections(section.sections, level + 1)

    def _title(self, section: Section) -> str:
        return f"{self.reading.numbers[section.name].number} {section.title}"

    def _block(self, block: Block, level: int) -> Iterator[str]:
        match block:
            case Paragraph(text, look):
                yield from self._paragraph(text, look)
            case Facts(pairs):
                yield from self._facts(pairs)
            case Table():
                yield from markdown_table(block, self.reading)
            case Figure():
                yield self._picture(block.picture, block.alt)
                yield ""
                yield f"**{self.reading.numbers[block.name].text}.** {self._text(block.caption)}"
            case FormulaBlock():
                yield "\n\n".join(self._formula(block, level))
            case Sum():
                yield from _sum(block)
            case Answer():
                yield "\n>\n".join(_answer(block))
            case Tokens(tokens):
                yield "\n\n".join(_tokens(tokens))
            case Listing(lines):
                yield from _listing(lines)
            case Points(points):
                yield from (f"- {self._text(text, '  ')}" for text in points)
            case Bibliography(entries):
                yield from map(_entry, entries)
            case _:
                assert_never(block)

    def _text(self, text: Text, indent: str = "") -> str:
        return markdown_spans(text, self.reading).replace("\n", f"\n{indent}")

    def _paragraph(self, text: Text, look: str) -> Iterator[str]:
        if look == "warning":
            yield "> [!WARNING]"
        marked = "> " if look in ("quote", "warning") else ""
        yield marked + self._text(text, marked)

    def _facts(self, pairs: Sequence[tuple[str, Text]]) -> Iterator[str]:
        for name, text in pairs:
            yield f"- {started(markdown_words(name))}: {self._text(text, '  ')}"

    def _picture(self, picture: str, alt: str) -> str:
        file = f"{self.folder}/{picture_file(picture, '.svg')}"
        return f"![{markdown_words(alt)}]({quote(file, errors='surrogateescape')})"

    def _formula(self, block: FormulaBlock, level: int) -> Iterator[str]:
        """Yield its paragraphs."""
        yield f"{'#' * min(level, _DEEPEST)} {markdown_words(block.title)}"
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


def _sum(block: Sum) -> Iterator[str]:
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


def _answer(block: Answer) -> Iterator[str]:
    """Yield the question, and what is said to it."""
    yield f"> {markdown_strong(block.question)}\\\n> {started(markdown_words(block.text))}"
    said = " ".join(filter(None, (block.measured, f"({block.source})" if block.source else "")))
    if said:
        yield f"> {started(markdown_words(said))}"


def _joined(terms: Sequence[SumTerm], line: str) -> str:
    words = (f"{term.sign} {getattr(term, line)}".strip() for term in terms)
    return markdown_words(" ".join(words))


def _tokens(tokens: Sequence[TokenBox]) -> Iterator[str]:
    """Yield the tokens of each text."""
    for is_second in (False, True):
        those = [token for token in tokens if token.is_second == is_second]
        if those:
            yield ", ".join(map(_token, those))


def _token(token: TokenBox) -> str:
    under = f" ({markdown_words(token.under)})" if token.under else ""
    return f"{markdown_code(token.text)}{under}"


def _listing(lines: Sequence[str]) -> Iterator[str]:
    shown = [one_line(line) for line in lines]
    fence = "`" * max(3, *(len(ticks) + 1 for line in shown for ticks in _TICKS.findall(line)), 3)
    yield from (fence, *shown, fence)


def _entry(entry: Entry) -> str:
    link = f" <{entry.link}>" if re.fullmatch(r"https?://[^\s<>]+", entry.link) else ""
    return f"- {started(markdown_words(entry.text))}{link}"


def _slug(title: str) -> str:
    """Return what GitHub calls a heading."""
    return quote(_NO_SLUG.sub("", one_line(title).lower()).replace(" ", "-"))
