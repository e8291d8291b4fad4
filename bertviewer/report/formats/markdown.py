"""A report as GitHub's Markdown, with pictures as SVG files."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from typing_extensions import override

from bertviewer.core.util.numbers import day_text
from bertviewer.core.util.text import POP_ISOLATE, isolated, markdown_text
from bertviewer.report import blocks
from bertviewer.report.blocks import Column, Row, Section, Text
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.maths import latex_maths
from bertviewer.report.formats.writer import (
    MAX_HEADING,
    Writer,
    anchor,
    named_formulas,
    one_line,
    picture_file,
)

_LEVEL = "\N{NO-BREAK SPACE}" * 2
_MAX_PADDED = 48
_BAR_LENGTH = 20
_ALIGNMENT = {"left": ("", ""), "center": (":", ":"), "right": ("", ":"), "decimal": ("", ":")}
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_BACKQUOTES = re.compile("`+")
# At the start of a line they would begin a list, a heading or a rule.
_START = re.compile(r"^( *)([-+](?= |$)|-(?=[- ]*$)|=(?==* *$)|\d+(?=[.)](?: |$)))")
_SIMPLE_CODE = re.compile(r"(?! )[^`|\\]+(?<! )")
_LINK = re.compile(r"https?://[^\s<>]+")


def markdown_of(document: ReportDocument, folder: str) -> str:
    """Return a document as Markdown; ``folder`` has its pictures, relative to the file."""
    writer = MarkdownWriter(document, folder)
    contents = tuple(writer.contents(document.listed, ""))
    lines = (
        *writer.front(),
        *writer.sections(document.summary, 2),
        *(("## Contents", "", *contents, "") if contents else ()),
        *writer.sections(document.body, 2),
        *("---", ""),
        writer.words(document.front.program),
    )
    return "\n".join((*lines, ""))


class MarkdownWriter(Writer):
    """Writes blocks and spans as Markdown; text of a document is never markup."""

    def __init__(self, document: ReportDocument, folder: str) -> None:
        super().__init__(document)
        self._folder = folder
        self._is_cell = False

    def front(self) -> Iterator[str]:
        """Yield the title."""
        front = self.document.front
        yield from (f"# {self.words(front.title)}", "")
        author = f"{self.words(front.author)}, " if front.author else ""
        for line in (self.words(front.subtitle), author + day_text(front.date)):
            yield from (_started(line), "") if line else ()
        if front.warning:
            yield from (*self.block(blocks.Paragraph.of(front.warning, look="warning")), "")
        if front.picture:
            yield from (self._picture(front.picture, "The stack of the model’s layers"), "")

    def contents(self, sections: Sequence[Section], indent: str) -> Iterator[str]:
        """Yield the table of contents."""
        for section in sections:
            title = self._numbered_title(section)
            yield f"{indent}- [{self.words(title)}](#{_slug(title)})"
            for name, formula in named_formulas(section):
                yield f"{indent}  - [{self.words(formula)}](#{anchor(name)})"
            yield from self.contents(section.sections, f"{indent}  ")

    def sections(self, sections: Sequence[Section], level: int) -> Iterator[str]:
        """Yield sections with headings of a level."""
        for section in sections:
            yield from (_heading(self.words(self._numbered_title(section)), level), "")
            for block in section.blocks:
                yield from (*self.block(block, level + 1), "")
            yield from self.sections(section.sections, level + 1)

    def _numbered_title(self, section: Section) -> str:
        return f"{self.numbers[section.name].number} {section.title}".lstrip()

    def _picture(self, name: str, alt: str) -> str:
        file = quote(f"{self._folder}/{picture_file(name, '.svg')}", errors="surrogateescape")
        return f"![{self.words(alt)}]({file})"

    def _lines(self, text: Text, indent: str = "") -> str:
        """Return a text whose further lines are indented."""
        lines = map(_started, self.text(text).split("\n"))
        return f"\n{indent}".join(lines)

    @override
    def paragraph(self, block: blocks.Paragraph) -> Iterator[str]:
        if block.look == "warning":
            yield "> [!WARNING]"
        marker = "> " if block.look in ("quote", "warning") else ""
        yield marker + self._lines(block.text, marker)

    @override
    def facts(self, block: blocks.Facts) -> Iterator[str]:
        for name, text in block.pairs:
            yield f"- {_started(self.words(name))}: {self._lines(text, '  ')}"

    @override
    def table(self, block: blocks.Table) -> Iterator[str]:
        if block.name:
            yield f"**{self.numbers[block.name].text}.** {self._lines(block.caption)}"
            yield ""
        rows = [self._row(row, len(block.columns)) for row in block.rows]
        yield from _table_lines([*map(self._column_title, block.columns)], rows, block.columns)

    def _column_title(self, column: Column) -> str:
        unit = f" ({self.words(column.unit)})" if column.unit else ""
        return self.words(column.title) + unit

    def _row(self, row: Row, count: int) -> list[str]:
        self._is_cell = True
        cells = [self.text(cell) for cell in row.cells]
        self._is_cell = False
        if row.look == "plain":
            cells[0] = _LEVEL * row.level + cells[0]
            return cells
        first, *others = map(_strong_cell, cells)
        return [first, *[""] * (count - len(cells)), *others]

    @override
    def figure(self, block: blocks.Figure) -> Iterator[str]:
        yield self._picture(block.picture, block.alt)
        yield ""
        yield f"**{self.numbers[block.name].text}.** {self._lines(block.caption)}"

    @override
    def formula(self, block: blocks.FormulaBlock, level: int) -> Iterator[str]:
        yield "\n\n".join(self._formula_paragraphs(block, level))

    def _formula_paragraphs(self, block: blocks.FormulaBlock, level: int) -> Iterator[str]:
        target = f'<a id="{anchor(block.name)}"></a>' if block.name else ""
        yield _heading(target + self.words(block.title), level)
        if block.about:
            yield self._lines(block.about)
        if block.summary:
            yield _started(self.words(block.summary))
        for place, source in enumerate(block.maths, 1):
            is_tagged = block.name and place == len(block.maths)
            tag = rf" \tag{{{self.numbers[block.name].number}}}" if is_tagged else ""
            yield f"$$\n{latex_maths(self.mathml(source, is_block=True))}{tag}\n$$"
        if block.where:
            yield self._lines(block.where)
        yield from (_started(self.cited(note)) for note in block.notes)
        if block.source:
            yield f"Source: {self.cited(block.source)}"

    @override
    def sum(self, block: blocks.Sum, level: int) -> Iterator[str]:
        lines = [self.strong(block.title)]
        if block.terms:
            lines.append(self._sum_line(block.terms, "letters"))
            lines.append(f"= {self._sum_line(block.terms, 'numbers')}")
            if len(block.terms) > 1:
                lines.append(f"= {self._sum_line(block.terms, 'value')}")
        if block.result:
            sign = "= " if block.terms else ""
            tick = f" {self.tick(True)}" if block.is_proven else ""
            lines.append(f"{sign}{self.strong(block.result)}{tick}")
        if block.reason:
            lines.append(self.words(block.reason))
        yield "\\\n".join(map(_started, lines))

    def _sum_line(self, terms: Sequence[blocks.SumTerm], attribute: str) -> str:
        words = (f"{term.sign} {getattr(term, attribute)}".strip() for term in terms)
        return self.words(" ".join(words))

    @override
    def answer(self, block: blocks.Answer) -> Iterator[str]:
        yield f"> {self.strong(block.question)}\\"
        yield f"> {_started(self.cited(block.text))}"
        source = f"({block.source})" if block.source else ""
        if further := " ".join(filter(None, (block.measured, source))):
            yield ">"
            yield f"> {_started(self.cited(further))}"

    @override
    def tokens(self, block: blocks.Tokens) -> Iterator[str]:
        sides = ([t for t in block.tokens if t.is_second == second] for second in (False, True))
        yield "\n\n".join(", ".join(map(self._token, side)) for side in sides if side)

    def _token(self, token: blocks.TokenBox) -> str:
        under = f" ({self.words(token.under)})" if token.under else ""
        return f"{self.code(token.text)}{under}"

    @override
    def listing(self, block: blocks.Listing) -> Iterator[str]:
        lines = [one_line(line) for line in block.lines]
        longest = max((len(q) for line in lines for q in _BACKQUOTES.findall(line)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from (fence, *lines, fence)

    @override
    def points(self, block: blocks.Points) -> Iterator[str]:
        yield from (f"- {self._lines(text, '  ')}" for text in block.points)

    @override
    def bibliography(self, block: blocks.Bibliography) -> Iterator[str]:
        for entry in block.entries:
            link = f" <{entry.link}>" if _LINK.fullmatch(entry.link) else ""
            target = f'<a id="work-{self.cite_keys[entry.key]}"></a>'
            yield f"- {target}{self.words(entry.text)}{link}"

    @override
    def words(self, text: str) -> str:
        return _in_isolates(text, markdown_text(one_line(text)))

    @override
    def code(self, text: str) -> str:
        line = one_line(text)
        if not line:
            return ""
        if _SIMPLE_CODE.fullmatch(line):
            return _in_isolates(line, f"`{line}`")
        return _in_isolates(line, f"<code>{markdown_text(line)}</code>")

    @override
    def maths(self, source: str) -> str:
        return f"${latex_maths(self.mathml(source))}$"

    @override
    def letters(self, text: str) -> str:
        return self.words(text)

    @override
    def strong(self, text: str) -> str:
        # Next to brackets, asterisks are not markup.
        if text[:1].isalnum() and text[-1:].isalnum():
            return f"**{self.words(text)}**"
        return f"<b>{self.words(text)}</b>" if text else ""

    @override
    def muted(self, text: str) -> str:
        return self.words(text)

    @override
    def reference(self, name: str) -> str:
        return self.numbers[name].text

    @override
    def citation(self, key: str) -> str:
        return f"[{self.words(key)}](#work-{self.cite_keys[key]})"

    @override
    def tick(self, holds: bool) -> str:
        return "✓" if holds else "✗"

    @override
    def bar(self, share: float) -> str:
        return "█" * max(round(share * _BAR_LENGTH), 0)

    @override
    def line_break(self) -> str:
        return "<br>" if self._is_cell else "\\\n"


def _table_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column]
) -> Iterator[str]:
    """Yield the lines of a table, with padded cells."""
    lines = (head, *rows)
    widths = [
        max((len(line[n]) for line in lines if 3 < len(line[n]) <= _MAX_PADDED), default=3)
        for n in range(len(columns))
    ]
    yield _table_line(head, widths, columns)
    rules = []
    for width, column in zip(widths, columns, strict=True):
        before, after = _ALIGNMENT[column.align]
        rules.append(f" {before}{'-' * (width - len(before + after))}{after} ")
    yield f"|{'|'.join(rules)}|"
    yield from (_table_line(row, widths, columns) for row in rows)


def _table_line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    padded = (
        cell.ljust(width) if column.align in ("left", "center") else cell.rjust(width)
        for cell, width, column in zip(cells, widths, columns, strict=True)
    )
    return f"| {' | '.join(padded)} |"


def _strong_cell(cell: str) -> str:
    """Return a cell in bold."""
    if not cell or cell[0] in "*█" or cell.startswith("<b>"):
        return cell
    # Next to brackets, asterisks are not markup.
    return f"**{cell}**" if cell[0].isalnum() and cell[-1].isalnum() else f"<b>{cell}</b>"


def _heading(title: str, level: int) -> str:
    return f"{'#' * min(level, MAX_HEADING)} {title}"


def _slug(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return quote(_NOT_IN_SLUG.sub("", one_line(title).lower()).replace(" ", "-"))


def _started(line: str) -> str:
    """Return a line whose start is not markup."""

    def escaped(match: re.Match[str]) -> str:
        spaces, sign = match.groups()
        return f"{spaces}{sign}\\" if sign.isdigit() else f"{spaces}\\{sign}"

    return _START.sub(escaped, line)


def _in_isolates(text: str, markup: str) -> str:
    """Return markup in directional isolates if its text needs them."""
    isolated_text = isolated(text)
    return markup if isolated_text is text else f"{isolated_text[0]}{markup}{POP_ISOLATE}"
