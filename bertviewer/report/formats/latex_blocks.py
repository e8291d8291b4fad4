"""The blocks of a report as LaTeX."""

import re
from collections.abc import Iterator
from typing import assert_never

from msgspec import Struct

from bertviewer.core.formulas.formula import Term
from bertviewer.report import blocks
from bertviewer.report.formats.latex_table import latex_table
from bertviewer.report.formats.latex_text import (
    latex_code,
    latex_letters,
    latex_text,
    latex_words,
    maths,
    tick,
)
from bertviewer.report.formats.pictures import picture_file
from bertviewer.report.formats.reading import Reading, anchor
from bertviewer.report.formats.text_widths import words_width

_LINK = re.compile(r"https?://[A-Za-z0-9./_~:?=@+-]+")


class LatexBlocks(Struct, frozen=True, eq=False):
    """Writes blocks.

    Attributes:
        reading: the document.
        folder: of the pictures, as the document names it.
        room: the width of the text, in points.
    """

    reading: Reading
    folder: str
    room: float

    def lines(self, block: blocks.Block) -> Iterator[str]:
        """Yield a block's lines, and an empty one at the end."""
        yield from self._lines(block)
        yield ""

    def _lines(self, block: blocks.Block) -> Iterator[str]:  # noqa: PLR0912  one branch for each kind
        match block:
            case blocks.Paragraph(text, "plain"):
                yield self._text(text)
            case blocks.Paragraph(text, look):
                yield rf"\begin{{{look}block}}{self._text(text)}\end{{{look}block}}"
            case blocks.Facts(pairs):
                for name, text in pairs:
                    yield rf"\fact{{{latex_words(name)}}}{{{self._text(text)}}}"
            case blocks.Table():
                yield from latex_table(block, self.reading, self.room)
            case blocks.Figure():
                yield from self._figure(block)
            case blocks.FormulaBlock():
                yield from self._formula(block)
            case blocks.Sum():
                yield from self._sum(block)
            case blocks.Answer(question, text, measured, source):
                said = (
                    latex_words(question),
                    latex_letters(text),
                    *map(latex_words, (measured, source)),
                )
                yield r"\answer" + "".join(f"{{{words}}}" for words in said)
            case blocks.Tokens(tokens):
                yield r"\begin{tokens}"
                yield from map(_token, tokens)
                yield r"\end{tokens}"
            case blocks.Listing(lines):
                yield r"\begin{listing}"
                yield from (rf"\listed{{{latex_code(line)}}}" for line in lines)
                yield r"\end{listing}"
            case blocks.Points(points):
                yield r"\begin{points}"
                yield from (rf"\item {self._text(text)}" for text in points)
                yield r"\end{points}"
            case blocks.Bibliography(entries):
                yield r"\begin{works}"
                yield from map(_entry, entries)
                yield r"\end{works}"
            case _:
                assert_never(block)

    def _text(self, text: blocks.Text) -> str:
        return latex_text(text, self.reading)

    def _figure(self, figure: blocks.Figure) -> Iterator[str]:
        file = f"{self.folder}/{picture_file(figure.picture, '.pdf')}"
        yield rf"\drawing{{{min(figure.width, 1.0):.4f}}}{{{file}}}{{{latex_words(figure.alt)}}}"
        yield rf"{{{self._text(figure.caption)}}}{{{anchor(figure.name)}}}"

    def _formula(self, block: blocks.FormulaBlock) -> Iterator[str]:
        yield r"\begin{formulablock}"
        yield rf"\formulatitle{{{latex_words(block.title)}}}{{{self._text(block.about)}}}"
        if block.summary:
            yield latex_letters(block.summary) + r"\par"
        for source in block.maths:
            yield rf"\formula{{{maths(source, self.reading, is_block=True)}}}"
        if block.terms:
            yield r"\begin{legend}"
            yield from map(self._term, block.terms)
            yield r"\end{legend}"
        yield r"\end{formulablock}"
        yield from (rf"\formulanote{{{latex_letters(note)}}}" for note in block.notes)
        if block.source:
            yield rf"\formulanote{{\muted{{Source: {latex_words(block.source)}}}}}"

    def _term(self, term: Term) -> str:
        value = latex_letters(term.value or "")
        return rf"${maths(term.symbol, self.reading)}$ & {latex_letters(term.meaning)} & {value} \\"

    def _sum(self, block: blocks.Sum) -> Iterator[str]:
        yield r"\begin{countsum}"
        yield rf"\sumtitle{{{latex_words(block.title)}}}"
        for term in block.terms:
            yield self._sum_term(term, is_one=len(block.terms) == 1)
        after = f" {tick(True)}" if block.is_proven else ""
        sign = "= " if block.terms else ""
        if block.result:
            yield rf"\sumresult{{{sign}\textbf{{{latex_words(block.result)}}}{after}}}"
        if block.reason:
            yield rf"\sumresult{{{latex_words(block.reason)}}}"
        yield r"\end{countsum}"

    def _sum_term(self, term: blocks.SumTerm, *, is_one: bool) -> str:
        # The value of an only term is the result.
        lines = [term.letters, term.numbers] + ([] if is_one else [term.value])
        is_wide = max(map(words_width, lines)) * 1.15 > self.room - 20
        command = "widesumterm" if is_wide else "sumterm"
        words = (latex_letters(line).replace("+", r"+\brk{}") for line in lines)
        letters, numbers, *value = words
        others = rf"\\&\muted{{{numbers}}}" + "".join(rf"\\&{one}" for one in value)
        return rf"\{command}{{{latex_words(term.sign)}}}{{{letters}}}{{{others}}}"


def _token(token: blocks.TokenBox) -> str:
    color = "secondtoken" if token.is_second else "firsttoken"
    return rf"\token{{{color}}}{{{latex_words(token.text)}}}{{{latex_words(token.under)}}}"


def _entry(entry: blocks.Entry) -> str:
    link = latex_code(entry.link) if entry.link else ""
    if _LINK.fullmatch(entry.link):
        link = rf"\href{{{entry.link}}}{{{link}}}"
    return rf"\work{{{latex_words(entry.text)}}}{{{link}}}"
