"""Finds blocks and texts in reports and in their PDFs."""

import io
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pypdf
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from bertviewer.core.util.numbers import MINUS
from bertviewer.report.blocks import Row, Section, Table, strings_in
from bertviewer.report.document import ReportDocument
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from tests.tools.pdf_text import page_texts

Found = TypeVar("Found")

PIXELS_PER_POINT = 0.25


class Report(Struct, frozen=True):
    """A PDF that was read. Texts have single spaces."""

    reader: pypdf.PdfReader
    pages: tuple[str, ...]

    @classmethod
    def of(cls, pdf: bytes) -> "Report":
        return cls(pypdf.PdfReader(io.BytesIO(pdf)), page_texts(pdf))

    @property
    def text(self) -> str:
        return " ".join(self.pages)

    @property
    def bodies(self) -> list[str]:
        """The texts of all pages without footers."""
        return [re.sub(r" bertviewer \S+ \d+ / \d+$", "", page) for page in self.pages]

    def headings(self) -> list[str]:
        def flat(entries: list[Any]) -> list[str]:
            found: list[str] = []
            for entry in entries:
                found += flat(entry) if isinstance(entry, list) else [entry.title]
            return found

        return flat(self.reader.outline)

    def check_pages(self) -> None:
        """Check that all pages have their numbers."""
        for number, text in enumerate(self.pages, start=1):
            assert text.endswith(f" {number} / {len(self.pages)}"), number


def drafted(chapter: Callable[[Subject], ChapterDraft | None], subject: Subject) -> Section:
    """Return a chapter that applies to a subject."""
    found = chapter(subject)
    assert found is not None
    return found.section


def words(value: object) -> str:
    """Return all strings of a span, a text, a block or a section, concatenated."""
    return "".join(strings_in(value))


def cells(row: Row) -> list[str]:
    return [words(cell) for cell in row.cells]


def rows(table: Table) -> list[list[str]]:
    return [cells(row) for row in table.rows]


def heads(table: Table) -> list[list[str]]:
    return [cells(row) for row in table.rows if row.look == "head"]


def each(section: Section, kind: type[Found]) -> list[Found]:
    """Return all blocks of a kind in a section and its sections, in order."""
    found = [block for block in section.blocks if isinstance(block, kind)]
    return found + [block for inner in section.sections for block in each(inner, kind)]


def table(section: Section, name: str) -> Table:
    (found,) = (one for one in each(section, Table) if one.name == f"table:{name}")
    return found


def number(text: str) -> float:
    return float(text.replace(MINUS, "-").replace(",", ""))


def with_texts(document: ReportDocument, *sections: Section, **front: Any) -> ReportDocument:
    """Return a document with other chapters and texts of the title."""
    return ReportDocument(replace(document.front, picture="", **front), sections, {})


def squeezed(text: str) -> str:
    """Return a text without spaces: a line of a PDF may end between any two characters."""
    return "".join(text.split())


def inked(page: bytes) -> NDArray[np.bool_]:
    """Return which pixels of one of ``TypesetReport.pages`` are not white, row by row."""
    renderer = QSvgRenderer(QByteArray(page))
    image = QImage(renderer.defaultSize() * PIXELS_PER_POINT, QImage.Format.Format_Grayscale8)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    pixels = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), -1)
    return pixels[:, : image.width()] < 235
