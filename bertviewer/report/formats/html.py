"""A report as one HTML page, which needs nothing from elsewhere and has no scripts."""

from collections.abc import Iterator, Sequence
from html import escape

from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.core.util.numbers import day_text
from bertviewer.report.blocks import Facts, Paragraph, Section
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.formats.html_blocks import DEEPEST, html_block
from bertviewer.report.formats.html_picture import inline_svg
from bertviewer.report.formats.html_text import attribute, element, html_words
from bertviewer.report.formats.plain import one_line
from bertviewer.report.formats.reading import Reading, anchor
from bertviewer.report.formats.style_sheet import style_sheet

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_COVER = "cover"


def html_of(document: ReportDocument, theme: Theme = LIGHT) -> str:
    """Return a document as a page in the colours of a theme, in the light one dark as well."""
    reading = Reading.of(document)
    front = document.front
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        *_head(front, theme),
        "<body>",
        '<a class="skip" href="#report">Skip to the report</a>',
        *_front(front, reading),
        *_contents(reading),
        '<main id="report">',
        *_sections(document.chapters, reading, 2),
        "</main>",
        f"<footer>{html_words(front.program)}</footer>",
        "</body>",
        "</html>",
        "",
    )
    return "\n".join(lines)


def _head(front: Front, theme: Theme) -> Iterator[str]:
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    schemes = "light dark" if theme is LIGHT else "light"
    yield f'<meta name="color-scheme" content="{schemes}">'
    yield f'<meta name="generator" content={attribute(front.program)}>'
    if front.author:
        yield f'<meta name="author" content={attribute(front.author)}>'
    yield f"<title>{escape(one_line(front.title))}</title>"
    yield f"<style>{style_sheet(theme)}</style>"
    yield "</head>"


def _front(front: Front, reading: Reading) -> Iterator[str]:
    yield "<header>"
    if front.picture:
        alt = "The stack of the model’s layers"
        svg = reading.document.pictures[front.picture]
        yield f'<div class="cover">{inline_svg(svg, _COVER, alt)}</div>'
    yield element("h1", front.title)
    if front.subtitle:
        yield f'<p class="subtitle">{html_words(front.subtitle)}</p>'
    day = front.date
    written = f'<time datetime="{day.isoformat()}">{day_text(day)}</time>'
    author = f"{html_words(front.author)}, " if front.author else ""
    yield f'<p class="author">{author}{written}</p>'
    if front.warning:
        yield from html_block(Paragraph.of(front.warning, look="warning"), reading, 2)
    if front.facts:
        yield from html_block(Facts(front.facts), reading, 2)
    yield "</header>"


def _contents(reading: Reading) -> Iterator[str]:
    yield '<nav aria-labelledby="contents">'
    yield '<h2 id="contents">Contents</h2>'
    yield from _listed(reading.document.chapters, reading)
    yield "</nav>"


def _listed(sections: Sequence[Section], reading: Reading) -> Iterator[str]:
    if not sections:
        return
    yield "<ol>"
    for section in sections:
        number = reading.numbers[section.name].number
        title = html_words(section.title)
        yield f'<li><a href="#{anchor(section.name)}"><span>{number}</span> {title}</a>'
        yield from _listed(section.sections, reading)
        yield "</li>"
    yield "</ol>"


def _sections(sections: Sequence[Section], reading: Reading, level: int) -> Iterator[str]:
    for section in sections:
        target = anchor(section.name)
        number = reading.numbers[section.name].number
        name = f"h{min(level, DEEPEST)}"
        yield f'<section id="{target}">'
        yield f'<{name}><span class="number">{number}</span> {html_words(section.title)}</{name}>'
        for block in section.blocks:
            yield from html_block(block, reading, level + 1)
        yield from _sections(section.sections, reading, level + 1)
        yield "</section>"
