"""A report as LaTeX, for XeLaTeX, LuaLaTeX and pdfLaTeX, with pictures as PDF files."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from typing_extensions import override

from bertviewer.charts.theme import PAPER, Theme
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.numbers import day_text
from bertviewer.core.util.text import isolated
from bertviewer.report import blocks
from bertviewer.report.blocks import Column, Row, Section, Text
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.formats.latex_columns import LEVEL, LatexColumns, text_width, words_width
from bertviewer.report.formats.maths import latex_maths
from bertviewer.report.formats.maths_symbols import letter
from bertviewer.report.formats.writer import (
    BETWEEN_WORDS,
    Writer,
    anchor,
    breakable_parts,
    one_line,
    picture_file,
    split_indices,
    split_number,
)
from bertviewer.report.options import Paper

_LEVELS = ("chapter", "section", "subsection", "subsubsection")
_MARGINS = 142.26
"""Both margins of a page, 25 mm each, in TeX's points."""
_WIDTHS: Mapping[Paper, float] = {"a4": 597.51, "letter": 614.3}
_MAX_IN_HEADER = 60
_CHAPTER_SPACE = "65mm"
_SECTION_SPACE = "120pt"
"""The space for a heading and the start of its text; a page ends where there is less."""
_TABLE_SPACE = "80pt"
"""The space for a caption, a header and two rows."""
_LINK = re.compile(r"https?://[A-Za-z0-9./_~:?=@+-]+")

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
    "'": r"\textquotesingle{}",
    # They have a meaning at the start of a table's row.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_ESCAPED = re.compile("|".join(map(re.escape, _ESCAPES)))
# Two of these would become a ligature.
_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=,)(?=,)")
_MORE_SPACES = re.compile(r"(?:^ )|(?<= ) ")
_ISOLATES = re.compile("[\u2066-\u2069]")
_COMMON = "–—‘’“”„…•‹›\N{MINUS SIGN}ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŊŋŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž"
"""Signs beyond Latin-1 in the default font of every engine."""
_UNCOMMON = re.compile(f"[^\x00-\xff{_COMMON}]+")
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
_FROM_RIGHT = re.compile(f"[{_RIGHT_TO_LEFT}]+(?: +[{_RIGHT_TO_LEFT}]+)*")
_LONG = re.compile(r"[^ \0]{20,}")
_PIECE = 8
_BREAK = "\0"  # not a visible character


def latex_of(
    document: ReportDocument, folder: str, paper: Paper = "a4", theme: Theme = PAPER
) -> str:
    """Return a document as a ``.tex`` file.

    Args:
        document: the report.
        folder: folder of its pictures, relative to the file.
        paper: page size.
        theme: colours.
    """
    writer = LatexWriter(document, folder, _WIDTHS[paper] - _MARGINS)
    body = "\n".join(
        (
            r"\begin{document}",
            *writer.title(),
            *writer.sections(document.summary),
            *((r"\clearpage",) if document.summary and document.body else ()),
            *((r"\tableofcontents",) if document.listed else ()),
            "",
            *writer.sections(document.body),
            r"\end{document}",
            "",
        )
    )
    settings = "\n".join(_settings(document.front, theme))
    preamble = (resources_folder() / "report" / "preamble.tex").read_text(encoding="utf-8")
    signs = (
        rf"\sign{{{ord(sign):04X}}}{{{_sign_command(sign)}}}"
        for sign in _uncommon_signs(settings + body)
    )
    start = rf"\documentclass[10pt,{paper}paper]{{report}}"
    return "\n".join((start, preamble, *signs, settings, body))


def _settings(front: Front, theme: Theme) -> Iterator[str]:
    """Yield the definitions that the preamble expects."""
    colors = {
        "ink": theme.text,
        "mutedink": theme.muted,
        "line": theme.line,
        "accent": theme.accent,
        "warning": theme.warning,
        "right": theme.right,
        "track": theme.field,
        "firsttoken": theme.selection,
        "secondtoken": theme.fill("feed-forward"),
    }
    for name, color in colors.items():
        yield rf"\definecolor{{{name}}}{{HTML}}{{{color[1:].upper()}}}"
    title, author = _words(front.title), _words(front.author)
    subject, keywords = _words(front.subject), _words(", ".join(front.keywords))
    yield rf"\hypersetup{{pdftitle={{{title}}},pdfauthor={{{author}}},pdflang={{en}},"
    yield rf"  pdfsubject={{{subject}}},pdfkeywords={{{keywords}}}}}"
    yield rf"\newcommand\runningtitle{{{_shortened(front.title)}}}"
    if front.running_warning:
        warning = _shortened(front.running_warning)
        yield rf"\newcommand\runningright{{\textcolor{{warning}}{{{warning}}}}}"
    else:
        yield rf"\newcommand\runningright{{{_shortened(front.subtitle)}}}"
    yield rf"\newcommand\program{{{_shortened(front.program)}}}"


def _shortened(text: str) -> str:
    line = one_line(text)
    return _words(line if len(line) <= _MAX_IN_HEADER else f"{line[: _MAX_IN_HEADER - 1]}…")


class LatexWriter(Writer):
    """Writes blocks and spans as LaTeX; text of a document is never a command."""

    def __init__(self, document: ReportDocument, folder: str, width: float) -> None:
        """Write pictures from a folder on pages whose text is ``width`` points wide."""
        super().__init__(document)
        self._folder = folder
        self._width = width
        self._is_appendix = False

    def title(self) -> Iterator[str]:
        """Yield the title."""
        front = self.document.front
        if front.picture:
            yield rf"\cover{{{self._folder}/{picture_file(front.picture, '.pdf')}}}"
        yield rf"\reporttitle{{{_words(front.title)}}}"
        yield rf"\reportsubtitle{{{_words(front.subtitle)}}}"
        author = f"{_words(front.author)}, " if front.author else ""
        yield rf"\reportauthor{{{author}{day_text(front.date)}}}"
        yield r"\thispagestyle{first}"
        if front.warning:
            yield from self._separated(blocks.Paragraph.of(front.warning, look="warning"))

    def sections(self, sections: Sequence[Section], level: int = 0) -> Iterator[str]:
        """Yield sections with headings of a level, 0 for chapters."""
        for section in sections:
            name = _LEVELS[min(level, len(_LEVELS) - 1)]
            yield rf"\room{{{_SECTION_SPACE if level else _CHAPTER_SPACE}}}"
            if section.numbering == "appendix" and level == 0 and not self._is_appendix:
                self._is_appendix = True
                yield r"\appendix"
            title = _words(section.title)
            if self.numbers[section.name].number:
                yield rf"\{name}{{{title}}}\label{{{anchor(section.name)}}}"
            else:
                is_listed = section not in self.document.summary
                yield rf"\{'unnumbered' if is_listed else 'unlisted'}{{{name}}}{{{title}}}"
                yield rf"\label{{{anchor(section.name)}}}"
            yield ""
            for block in section.blocks:
                yield from self._separated(block, level + 1)
            yield from self.sections(section.sections, level + 1)

    def _separated(self, block: blocks.Block, level: int = 0) -> Iterator[str]:
        """Yield a block's lines and an empty one."""
        yield from self.block(block, level)
        yield ""

    @override
    def paragraph(self, block: blocks.Paragraph) -> Iterator[str]:
        text = self.text(block.text)
        if block.look != "plain":
            text = rf"\begin{{{block.look}block}}{text}\end{{{block.look}block}}"
        yield text

    @override
    def facts(self, block: blocks.Facts) -> Iterator[str]:
        for name, text in block.pairs:
            yield rf"\fact{{{_words(name)}}}{{{self.text(text)}}}"

    @override
    def table(self, block: blocks.Table) -> Iterator[str]:
        columns = LatexColumns.of(block, self._width)
        yield rf"\room{{{_TABLE_SPACE}}}"
        if block.name:
            yield rf"\tablecaption{{{self.text(block.caption)}}}{{{anchor(block.name)}}}"
        environment = "fulltable" if columns.is_full else "datatable"
        yield rf"\begin{{{environment}}}{{{columns.preamble}}}"
        for end in ("first", ""):
            yield r"\toprule"
            if any(column.title or column.unit for column in block.columns):
                yield " & ".join(map(_column_title, block.columns)) + r" \\"
                yield r"\midrule"
            yield rf"\end{end}head"
        yield r"\midrule\endfoot"
        yield r"\bottomrule\endlastfoot"
        for place, row in enumerate(block.rows):
            # A page does not end between a total and the row above it.
            is_kept = [after.look for after in block.rows[place + 1 : place + 2]] == ["total"]
            yield from self._row(row, columns, is_first=place == 0, is_kept=is_kept)
        yield rf"\end{{{environment}}}"

    def _row(
        self, row: Row, columns: LatexColumns, *, is_first: bool, is_kept: bool
    ) -> Iterator[str]:
        """Yield the lines of a row; a page does not end after a head or a row that is kept."""
        if row.look == "head":
            if not is_first:
                yield r"\addlinespace"
            yield rf"{' & '.join(self._head_cells(row, len(columns.columns)))} \\*"
            return
        if row.look == "total":
            yield r"\midrule"
        cells = (
            self._cell(cell, row, place, columns.fractions[place])
            for place, cell in enumerate(row.cells)
        )
        yield " & ".join(cells) + (r" \\*\noalign{\nobreak}" if is_kept else r" \\")

    def _head_cells(self, row: Row, count: int) -> Iterator[str]:
        first, *others = row.cells
        space = self._width - sum(map(text_width, others)) * 1.2
        is_line = text_width(first) * 1.2 < space
        form = "l" if is_line else rf"p{{{space - 20:.1f}pt}}"
        span = count - len(others)
        yield rf"\multicolumn{{{span}}}{{@{{}}{form}}}{{\textbf{{{self.text(first)}}}}}"
        for cell in others:
            yield rf"\multicolumn{{1}}{{r@{{}}}}{{\textbf{{{self.text(cell)}}}}}"

    def _cell(self, cell: Text, row: Row, place: int, widest: str) -> str:
        split = split_number(cell) if widest else None
        if split is None:
            text = self.text(cell)
        else:
            whole, fraction = self.text(split.whole), self.text(split.fraction)
            text = rf"\dec{{{whole}}}{{{fraction}}}{{{_words(widest)}}}"
        if row.look == "total" and text:
            text = rf"\textbf{{{text}}}"
        if place == 0 and row.level:
            text = rf"\hspace*{{{row.level * LEVEL:.0f}pt}}{text}"
        return text

    @override
    def figure(self, block: blocks.Figure) -> Iterator[str]:
        file = f"{self._folder}/{picture_file(block.picture, '.pdf')}"
        yield rf"\drawing{{{min(block.width, 1.0):.4f}}}{{{file}}}{{{_words(block.alt)}}}"
        yield rf"{{{self.text(block.caption)}}}{{{anchor(block.name)}}}"

    @override
    def formula(self, block: blocks.FormulaBlock, level: int) -> Iterator[str]:
        yield r"\begin{formulablock}"
        name = _LEVELS[min(level, len(_LEVELS) - 1)]
        yield rf"\formulatitle{{{name}}}{{{_words(block.title)}}}{{{self.text(block.about)}}}"
        if block.summary:
            yield self.letters(block.summary) + r"\par"
        for place, source in enumerate(block.maths, 1):
            label = anchor(block.name) if place == len(block.maths) else ""
            yield rf"\formula[{label}]{{{self._latex(source, is_block=True)}}}"
        if block.where:
            yield rf"\formulanote{{{self.text(block.where)}}}"
        yield r"\end{formulablock}"
        yield from (rf"\formulanote{{{self.cited(note)}}}" for note in block.notes)
        if block.source:
            yield rf"\formulanote{{\muted{{Source: {self.cited(block.source)}}}}}"

    @override
    def sum(self, block: blocks.Sum, level: int) -> Iterator[str]:
        yield r"\begin{countsum}"
        yield rf"\sumtitle{{{_words(block.title)}}}"
        yield from (self._sum_term(term, len(block.terms) == 1) for term in block.terms)
        if block.result:
            sign = "= " if block.terms else ""
            tick = f" {self.tick(True)}" if block.is_proven else ""
            yield rf"\sumresult{{{sign}{self.strong(block.result)}{tick}}}"
        if block.reason:
            yield rf"\sumresult{{{_words(block.reason)}}}"
        yield r"\end{countsum}"

    def _sum_term(self, term: blocks.SumTerm, is_only: bool) -> str:
        # The value of an only term is the result.
        lines = [term.letters, term.numbers] + ([] if is_only else [term.value])
        is_wide = max(map(words_width, lines)) * 1.15 > self._width - 20
        command = "widesumterm" if is_wide else "sumterm"
        words = (self.letters(line).replace("+", r"+\brk{}") for line in lines)
        letters, numbers, *value = words
        others = rf"\\&\muted{{{numbers}}}" + "".join(rf"\\&{each}" for each in value)
        return rf"\{command}{{{_words(term.sign)}}}{{{letters}}}{{{others}}}"

    @override
    def answer(self, block: blocks.Answer) -> Iterator[str]:
        source = self.cited(f"{block.source}.") if block.source else ""
        parts = (_words(block.question), self.cited(block.text), _words(block.measured), source)
        yield r"\answer" + "".join(f"{{{part}}}" for part in parts)

    @override
    def tokens(self, block: blocks.Tokens) -> Iterator[str]:
        yield r"\begin{tokens}"
        for token in block.tokens:
            color = "secondtoken" if token.is_second else "firsttoken"
            yield rf"\token{{{color}}}{{{_words(token.text)}}}{{{_words(token.under)}}}"
        yield r"\end{tokens}"

    @override
    def listing(self, block: blocks.Listing) -> Iterator[str]:
        yield r"\begin{listing}"
        yield from (rf"\listed{{{self.code(line)}}}" for line in block.lines)
        yield r"\end{listing}"

    @override
    def points(self, block: blocks.Points) -> Iterator[str]:
        yield r"\begin{points}"
        yield from (rf"\item {self.text(text)}" for text in block.points)
        yield r"\end{points}"

    @override
    def bibliography(self, block: blocks.Bibliography) -> Iterator[str]:
        yield r"\begin{works}"
        for entry in block.entries:
            link = self.code(entry.link)
            if _LINK.fullmatch(entry.link):
                link = rf"\href{{{entry.link}}}{{{link}}}"
            key = self.cite_keys[entry.key]
            yield rf"\work{{{_words(entry.key)}}}{{{key}}}{{{_words(entry.text)}}}{{{link}}}"
        yield r"\end{works}"

    @override
    def words(self, text: str) -> str:
        return _words(text)

    @override
    def code(self, text: str) -> str:
        if not text:
            return ""
        parts = _BREAK.join(breakable_parts(one_line(text)))
        # A part that is too long may end between its words, or else anywhere.
        parts = _LONG.sub(lambda part: BETWEEN_WORDS.sub(_BREAK, part[0]), parts)
        return rf"\code{{{_marked(_escaped(_with_breaks(parts)))}}}"

    @override
    def maths(self, source: str) -> str:
        return f"${self._latex(source)}$"

    def _latex(self, source: str, *, is_block: bool = False) -> str:
        return _with_fonts(latex_maths(self.mathml(source, is_block=is_block)))

    @override
    def letters(self, text: str) -> str:
        return "".join(
            rf"\textsubscript{{{_words(part)}}}" if place % 2 else _words(part)
            for place, part in enumerate(split_indices(text))
        )

    @override
    def strong(self, text: str) -> str:
        return rf"\textbf{{{_words(text)}}}"

    @override
    def muted(self, text: str) -> str:
        return rf"\muted{{{_words(text)}}}"

    @override
    def reference(self, name: str) -> str:
        label, found = anchor(name), self.numbers[name]
        text = _words(found.noun) + (rf"~\ref*{{{label}}}" if found.number else "")
        return rf"\hyperref[{label}]{{{text}}}"

    @override
    def citation(self, key: str) -> str:
        return rf"\cite{{{self.cite_keys[key]}}}"

    @override
    def tick(self, holds: bool) -> str:
        return r"\tick{}" if holds else r"\cross{}"

    @override
    def bar(self, share: float) -> str:
        return rf"\sharebar{{{min(max(share, 0.0), 1.0):.4f}}}"

    @override
    def line_break(self) -> str:
        return r"\newline "


def _column_title(column: Column) -> str:
    unit = rf" ({_words(column.unit)})" if column.unit else ""
    return rf"\head{{{_words(column.title)}{unit}}}"


def _words(text: str) -> str:
    """Return plain text; very long words may break anywhere."""
    return _marked(_escaped(_with_breaks(one_line(text))))


def _with_breaks(text: str) -> str:
    """Return a text with ``_BREAK`` within words that are wider than a line."""
    return _LONG.sub(
        lambda word: _BREAK.join(
            word[0][place : place + _PIECE] for place in range(0, len(word[0]), _PIECE)
        ),
        text,
    )


def _escaped(text: str) -> str:
    text = _MORE_SPACES.sub("\1", _LIGATURE.sub("\2", text))
    text = _ESCAPED.sub(lambda sign: _ESCAPES[sign[0]], text)
    return text.replace("\1", "\\ ").replace("\2", "{}")


def _marked(text: str) -> str:
    return _with_fonts(_ISOLATES.sub("", text)).replace(_BREAK, r"\brk{}")


def _with_fonts(text: str) -> str:
    """Return a text whose other scripts are marked, so that the engine finds a font."""
    if text.isascii():
        return text
    if isolated(text) is not text:
        text = _FROM_RIGHT.sub(lambda run: rf"\fromright{{{run[0]}}}", text)
    return _UNCOMMON.sub(lambda run: rf"\uni{{{run[0]}}}", text)


def _uncommon_signs(text: str) -> Iterable[str]:
    """Return the signs that the default font may not have."""
    return sorted({sign for run in _UNCOMMON.findall(text) for sign in run})


def _sign_command(sign: str) -> str:
    """Return the command for a sign that no font has."""
    kind, *codes = unicodedata.decomposition(sign).split() or ("",)
    base = "".join(chr(int(code, 16)) for code in codes) if kind in ("<super>", "<sub>") else ""
    if base and base.isascii():
        return rf"\text{kind[1:-1]}script{{{_escaped(base)}}}"
    try:
        return rf"\ensuremath{{{letter(sign)}}}"
    except ValueError:
        return rf"\missing{{{ord(sign):04X}}}"
