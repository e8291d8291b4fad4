"""A report read back, its blocks found, and documents to make one of."""

import io
from typing import Any, TypeVar

import pypdf
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.report.blocks import Row, Section, Table, Text, strings_in
from bertviewer.report.document import ReportDocument
from tests.tools.pdf_text import page_texts

Found = TypeVar("Found")


class Report(Struct, frozen=True):
    """A PDF that was read back. Texts have single spaces."""

    reader: pypdf.PdfReader
    pages: tuple[str, ...]

    @classmethod
    def of(cls, pdf: bytes) -> "Report":
        reader = pypdf.PdfReader(io.BytesIO(pdf))
        return cls(reader, page_texts(pdf))

    @property
    def text(self) -> str:
        return " ".join(self.pages)

    def headings(self) -> list[str]:
        def flat(entries: list[Any]) -> list[str]:
            found: list[str] = []
            for entry in entries:
                found += flat(entry) if isinstance(entry, list) else [entry.title]
            return found

        return flat(self.reader.outline)

    def check_pages(self) -> None:
        """Every page but the title has its number."""
        for number, text in enumerate(self.pages[1:], start=2):
            assert text.endswith(f" {number} / {len(self.pages)}"), number


def said(value: object) -> str:
    """All words of a span, a text, a block or a section, one after the other."""
    return "".join(strings_in(value))


def cells(row: Row) -> list[str]:
    return [said(cell) for cell in row.cells]


def rows(table: Table) -> list[list[str]]:
    return [cells(row) for row in table.rows]


def each(section: Section, kind: type[Found]) -> list[Found]:
    """All blocks of a kind in a section and in what is below it, in their order."""
    found = [block for block in section.blocks if isinstance(block, kind)]
    return found + [block for inner in section.sections for block in each(inner, kind)]


def table(section: Section, name: str) -> Table:
    (found,) = (one for one in each(section, Table) if one.name == f"table:{name}")
    return found


def with_texts(document: ReportDocument, *sections: Section, **front: Any) -> ReportDocument:
    """The document with other chapters, and with other words on its first page."""
    return ReportDocument(replace(document.front, picture="", **front), sections, {})


def a_text(*spans: Any) -> Text:
    return spans


def squeezed(text: str) -> str:
    """Return the text without spaces: lines may end between any two signs."""
    return "".join(text.split())
