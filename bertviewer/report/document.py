"""A report as plain data, which every format writes, with the numbers of its parts."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any

from msgspec import Struct

from bertviewer.report.blocks import (
    Bibliography,
    Block,
    Entry,
    Figure,
    FormulaBlock,
    Numbering,
    Section,
    See,
    Table,
    Text,
)

SCHEMA = "bertviewer.report/1"
SUMMARY = "summary"
"""Name of the chapter on the first page, before the contents."""
_NOUNS: Mapping[Numbering, str] = {"chapter": "Chapter", "appendix": "Appendix"}


class Front(Struct, frozen=True):
    """The title, the header of all pages but the first, and the metadata of the file.

    Attributes:
        title: title of the report.
        subtitle: class and task of the model.
        author: "" for none.
        date: date of the report.
        facts: names and values: origin of the model, versions, the command. They are metadata of
            the JSON format; the others have them in a chapter.
        warning: a warning of random weights, "" for none.
        running_warning: the same in a few words, for the header.
        picture: name of the picture of the model's layers, "" for none.
        program: name and version of the program.
        subject: what the report is about, in one sentence, for the file's metadata.
        keywords: keywords, for the file's metadata.
    """

    title: str
    subtitle: str
    author: str
    date: date
    facts: tuple[tuple[str, Text], ...]
    warning: str
    running_warning: str
    picture: str
    program: str
    subject: str = ""
    keywords: tuple[str, ...] = ()


class Numbered(Struct, frozen=True):
    """The number of a part of the report: ``Table`` and ``3.1``.

    A chapter without a number has its title and "".
    """

    noun: str
    number: str

    @property
    def text(self) -> str:
        """The text of a reference."""
        return f"{self.noun} {self.number}".rstrip()


class ReportDocument(Struct, frozen=True, eq=False, dict=True):
    """A report; ``pictures`` are self-contained SVG drawings by name."""

    front: Front
    chapters: tuple[Section, ...]
    pictures: Mapping[str, str]

    @property
    def summary(self) -> tuple[Section, ...]:
        """The chapters before the contents: the summary, if it was chosen."""
        return tuple(chapter for chapter in self.chapters if chapter.name == SUMMARY)

    @property
    def body(self) -> tuple[Section, ...]:
        """The chapters after the contents."""
        return tuple(chapter for chapter in self.chapters if chapter.name != SUMMARY)

    @property
    def listed(self) -> tuple[Section, ...]:
        """The chapters in the contents; () for a report that needs none."""
        return self.body if len(self.body) > 1 else ()

    @cached_property
    def numbers(self) -> Mapping[str, Numbered]:
        """The numbers of sections, tables, figures and formulas by name.

        Tables, figures and formulas are numbered separately in each chapter. Appendices have
        letters.

        Raises:
            ValueError: two of them have the same name.
        """
        found: dict[str, Numbered] = {}

        def add(name: str, noun: str, number: str) -> None:
            if name in found:
                raise ValueError(f"two parts of the report are named {name}")
            found[name] = Numbered(noun, number)

        chapters: Counter[Numbering] = Counter()
        for chapter in self.chapters:
            chapters[chapter.numbering] += 1
            number = _chapter_number(chapter.numbering, chapters[chapter.numbering])
            add(chapter.name, _NOUNS.get(chapter.numbering, chapter.title), number)
            for section, inner in _numbered(chapter.sections, number):
                add(section.name, "Section" if inner else section.title, inner)
            blocks: Counter[str] = Counter()
            for block in _blocks(chapter):
                if isinstance(block, Table | Figure | FormulaBlock) and block.name:
                    noun = "Equation" if isinstance(block, FormulaBlock) else type(block).__name__
                    blocks[noun] += 1
                    add(block.name, noun, f"{number}.{blocks[noun]}".lstrip("."))
        return found

    @cached_property
    def works(self) -> tuple[Entry, ...]:
        """The works of the bibliography."""
        lists = (b for s in self.chapters for b in _blocks(s) if isinstance(b, Bibliography))
        return tuple(entry for each in lists for entry in each.entries)

    @cached_property
    def citations(self) -> re.Pattern[str]:
        """Matches the keys of these works in a text, as its only group."""
        # The longest first: a key may be the end of another.
        keys = sorted((re.escape(work.key) for work in self.works), key=len, reverse=True)
        return re.compile(rf"\b({'|'.join(keys)})" if keys else "($.)")

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.report/1``.

        - ``front``: the title and the file's metadata;
        - ``chapters``: sections, each with its ``blocks`` and ``sections``;
        - ``pictures``: SVG drawings by name.

        Every block, row and span has a ``kind``, and the attributes of the class of that name in
        ``bertviewer.report.blocks``; plain text is a string. A reference (``see``) has its
        ``text``; sections, tables, figures and formulas have their ``number``. Formulas are in
        Typst's notation.
        """
        return {
            "schema": SCHEMA,
            "front": _data(self.front, self.numbers),
            "chapters": _data(self.chapters, self.numbers),
            "pictures": dict(self.pictures),
        }


def _chapter_number(numbering: Numbering, place: int) -> str:
    """Return the number of a chapter: "2", "B", or "" if it has none."""
    if numbering == "none":
        return ""
    return str(place) if numbering == "chapter" else chr(ord("A") + place - 1)


def _numbered(sections: Sequence[Section], above: str) -> Iterator[tuple[Section, str]]:
    """Yield sections and their numbers in order; "" below a chapter without a number."""
    for place, section in enumerate(sections, 1):
        number = f"{above}.{place}" if above else ""
        yield section, number
        yield from _numbered(section.sections, number)


def _blocks(section: Section) -> Iterator[Block]:
    yield from section.blocks
    for inner in section.sections:
        yield from _blocks(inner)


def _data(value: object, numbers: Mapping[str, Numbered]) -> Any:
    if isinstance(value, tuple):
        return [_data(each, numbers) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, Struct):
        return value
    data = {"kind": kind_of(value)} | {
        name: _data(getattr(value, name), numbers) for name in value.__struct_fields__
    }
    match value:
        case See(name):
            data["text"] = numbers[name].text
        case Table() | Figure() | FormulaBlock() | Section() if value.name in numbers:
            data["number"] = numbers[value.name].number
    return data


def kind_of(value: Struct) -> str:
    """Return the kind of a block or a span: "formula-block" for a ``FormulaBlock``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(value).__name__).lower()
