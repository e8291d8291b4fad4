"""A report as LaTeX, for XeLaTeX, LuaLaTeX and pdfLaTeX, with its pictures as PDF beside it."""

from collections.abc import Iterator, Mapping, Sequence

from bertviewer.charts.theme import PAPER, Theme
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.numbers import day_text
from bertviewer.report.blocks import Facts, Paragraph, Section
from bertviewer.report.choices import Paper
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.formats.latex_blocks import LatexBlocks
from bertviewer.report.formats.latex_text import (
    latex_words,
    sign_command,
    signs_used,
)
from bertviewer.report.formats.pictures import picture_file
from bertviewer.report.formats.plain import one_line
from bertviewer.report.formats.reading import Reading, anchor

_LEVELS = ("chapter", "section", "subsection", "subsubsection")
_MARGIN = 142.26
"""Both margins of a page, 25 mm each, in TeX's points."""
_WIDTHS: Mapping[Paper, float] = {"a4": 597.51, "letter": 614.3}
_MOST_IN_HEAD = 60
_ROOM_OF_CHAPTER = "65mm"
_ROOM = "120pt"
"""What a heading and the start of what follows need."""


def latex_of(
    document: ReportDocument, folder: str, paper: Paper = "a4", theme: Theme = PAPER
) -> str:
    """Return a document as a ``.tex`` file.

    Args:
        document: the report.
        folder: that of its pictures, relative to the file.
        paper: the size of its pages.
        theme: their colours.
    """
    reading = Reading.of(document)
    blocks = LatexBlocks(reading, folder, _WIDTHS[paper] - _MARGIN)
    front = document.front
    body = "\n".join(
        (
            r"\begin{document}",
            *_title_page(front, blocks),
            r"\tableofcontents",
            r"\clearpage",
            "",
            *_sections(document.chapters, blocks, 0),
            r"\end{document}",
            "",
        )
    )
    settings = "\n".join(_settings(front, theme))
    signs = (rf"\sign{{{ord(s):04X}}}{{{sign_command(s)}}}" for s in signs_used(settings + body))
    start = rf"\documentclass[10pt,{paper}paper]{{report}}"
    return "\n".join((start, _preamble(), *signs, settings, body))


def _preamble() -> str:
    return (resources_folder() / "report" / "preamble.tex").read_text(encoding="utf-8")


def _settings(front: Front, theme: Theme) -> Iterator[str]:
    """Yield what the preamble is told of this report."""
    for name, color in _colors(theme).items():
        yield rf"\definecolor{{{name}}}{{HTML}}{{{color[1:].upper()}}}"
    title = latex_words(front.title)
    yield rf"\hypersetup{{pdftitle={{{title}}},pdfauthor={{{latex_words(front.author)}}}}}"
    yield rf"\newcommand\runningtitle{{{_shortened(front.title)}}}"
    if front.running_warning:
        warning = _shortened(front.running_warning)
        yield rf"\newcommand\runningright{{\textcolor{{warning}}{{{warning}}}}}"
    else:
        yield rf"\newcommand\runningright{{{_shortened(front.subtitle)}}}"
    yield rf"\newcommand\program{{{_shortened(front.program)}}}"


def _shortened(text: str) -> str:
    line = one_line(text)
    return latex_words(line if len(line) <= _MOST_IN_HEAD else f"{line[: _MOST_IN_HEAD - 1]}…")


def _title_page(front: Front, blocks: LatexBlocks) -> Iterator[str]:
    yield r"\begin{titlepage}"
    yield rf"\reporttitle{{{latex_words(front.title)}}}"
    yield rf"\reportsubtitle{{{latex_words(front.subtitle)}}}"
    if front.author:
        yield rf"\reportauthor{{{latex_words(front.author)}}}"
    yield rf"\reportauthor{{{day_text(front.date)}}}"
    if front.warning:
        yield from blocks.lines(Paragraph.of(front.warning, look="warning"))
    if front.picture:
        yield rf"\cover{{{blocks.folder}/{picture_file(front.picture, '.pdf')}}}"
    yield r"\vfill"
    yield from blocks.lines(Facts(front.facts))
    yield r"\end{titlepage}"


def _sections(sections: Sequence[Section], blocks: LatexBlocks, level: int) -> Iterator[str]:
    for section in sections:
        name = _LEVELS[min(level, len(_LEVELS) - 1)]
        yield rf"\room{{{_ROOM if level else _ROOM_OF_CHAPTER}}}"
        yield rf"\{name}{{{latex_words(section.title)}}}\label{{{anchor(section.name)}}}"
        yield ""
        for block in section.blocks:
            yield from blocks.lines(block)
        yield from _sections(section.sections, blocks, level + 1)


def _colors(theme: Theme) -> Mapping[str, str]:
    """Return the colours by the names that the preamble has for them."""
    return {
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
