"""Sections of the user guide, from the Markdown chapters in ``resources/help``."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from bertviewer.core.util.files import resources_folder

CONTENTS = "README.md"
"""The first page, whose links give the order of the chapters."""

VIEWS_CHAPTER = "running-a-sentence.md"
"""The chapter with a table of the views of a run."""

TERMS = "| Term | Meaning |"
"""Head of a table whose rows are found like sections."""

_CHAPTER = re.compile(r"^- \[[^]]*\]\((\w[\w-]*\.md)\)", re.MULTILINE)
_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_MARKUP = re.compile(r"```\w*|^[ |:-]+$|^- |[`*|]|^#+ ", re.MULTILINE)


class Section(Struct, frozen=True):
    """A heading of the guide with the text below it.

    Attributes:
        chapter: title of the chapter.
        title: the heading; the chapter's title for the text before its first section.
        address: file name of the chapter, with ``#`` and the section's anchor.
        text: the text without Markdown.
    """

    chapter: str
    title: str
    address: str
    text: str


def guide_folder() -> Path:
    """Return the folder of the chapters."""
    return resources_folder() / "help"


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.casefold()).replace(" ", "-")


@cache
def guide_sections() -> tuple[Section, ...]:
    """Return the sections of all chapters, in the order of the guide."""
    contents = (guide_folder() / CONTENTS).read_text(encoding="utf-8")
    files = CONTENTS, *_CHAPTER.findall(contents)
    return tuple(section for file in files for section in _sections(file))


@cache
def table_rows(file: str) -> Mapping[str, str]:
    """Return the rows of a chapter's tables of two columns, as plain text."""
    text = (guide_folder() / file).read_text(encoding="utf-8")
    return {_plain(name): _plain(meaning) for name, meaning in _ROW.findall(text)}


def _sections(file: str) -> Iterator[Section]:
    """Yield the sections and terms of a chapter; the first one is the chapter's introduction."""
    text = (guide_folder() / file).read_text(encoding="utf-8")
    chapter, *parts = re.split(r"^#{1,2} ", text, flags=re.MULTILINE)[1:]
    title, _, introduction = chapter.partition("\n")
    yield Section(title, title, file, _plain(introduction))
    for part in parts:
        heading, _, body = part.partition("\n")
        text, _, terms = body.partition(TERMS)
        address = f"{file}#{anchor_of(heading)}"
        yield Section(title, heading, address, _plain(text))
        for term, meaning in _ROW.findall(terms):
            yield Section(title, term, address, _plain(meaning))


def _plain(markdown: str) -> str:
    return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", markdown)).split())
