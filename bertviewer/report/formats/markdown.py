"""A report as GitHub's Markdown, with its pictures as SVG beside it."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from bertviewer.core.util.numbers import day_text
from bertviewer.report.blocks import Facts, Paragraph, Section
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.formats.markdown_blocks import DEEPEST, MarkdownBlocks
from bertviewer.report.formats.markdown_text import markdown_words, started
from bertviewer.report.formats.plain import one_line
from bertviewer.report.formats.reading import Reading

_NO_SLUG = re.compile(r"[^\w\- ]")


def markdown_of(document: ReportDocument, folder: str) -> str:
    """Return a document as Markdown; ``folder`` is that of its pictures, beside the file."""
    reading = Reading.of(document)
    blocks = MarkdownBlocks(reading, folder, [])
    lines = (
        *_front(document.front, blocks),
        *("## Contents", ""),
        *_contents(document.chapters, reading, ""),
        "",
        *_sections(document.chapters, blocks, 2),
        *("---", ""),
        markdown_words(document.front.program),
    )
    # They are known when all has been written.
    notes = (f"\n[^{n}]: {markdown_words(source)}" for n, source in enumerate(blocks.sources, 1))
    return "\n".join((*lines, *notes, ""))


def _front(front: Front, blocks: MarkdownBlocks) -> Iterator[str]:
    yield from (f"# {markdown_words(front.title)}", "")
    author = f"{markdown_words(front.author)}, " if front.author else ""
    for line in (markdown_words(front.subtitle), author + day_text(front.date)):
        yield from (started(line), "") if line else ()
    if front.warning:
        yield from (*blocks.lines(Paragraph.of(front.warning, look="warning"), 2), "")
    if front.picture:
        yield from (blocks.picture(front.picture, "The stack of the model’s layers"), "")
    if front.facts:
        yield from (*blocks.lines(Facts(front.facts), 2), "")


def _contents(sections: Sequence[Section], reading: Reading, indent: str) -> Iterator[str]:
    for section in sections:
        title = _title(section, reading)
        yield f"{indent}- [{markdown_words(title)}](#{_slug(title)})"
        yield from _contents(section.sections, reading, f"{indent}  ")


def _sections(sections: Sequence[Section], blocks: MarkdownBlocks, level: int) -> Iterator[str]:
    for section in sections:
        title = markdown_words(_title(section, blocks.reading))
        yield from (f"{'#' * min(level, DEEPEST)} {title}", "")
        for block in section.blocks:
            yield from (*blocks.lines(block, level + 1), "")
        yield from _sections(section.sections, blocks, level + 1)


def _title(section: Section, reading: Reading) -> str:
    return f"{reading.numbers[section.name].number} {section.title}"


def _slug(title: str) -> str:
    """Return what GitHub calls a heading."""
    return quote(_NO_SLUG.sub("", one_line(title).lower()).replace(" ", "-"))
