"""A report read back, and documents to make one of."""

import io
from dataclasses import dataclass, replace
from typing import Any

import pypdf

from bertviewer.report.document import ReportDocument


@dataclass(frozen=True)
class Report:
    """A PDF as pypdf sees it. Texts have single spaces, and none where a line may only break."""

    reader: pypdf.PdfReader
    pages: tuple[str, ...]

    @classmethod
    def of(cls, pdf: bytes) -> "Report":
        reader = pypdf.PdfReader(io.BytesIO(pdf))
        texts = (page.extract_text().replace("\u200b", "") for page in reader.pages)
        return cls(reader, tuple(" ".join(text.split()) for text in texts))

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
        """Every page has its number, and no bitmap."""
        for number, (page, text) in enumerate(
            zip(self.reader.pages, self.pages, strict=True), start=1
        ):
            assert text.endswith(f" {number} / {len(self.pages)}"), number
            assert list(page.images) == [], number


def changed(document: ReportDocument, run: dict[str, Any], **data: Any) -> ReportDocument:
    """Return the document with other texts, and without what takes time to set."""
    run = {**document.data["run"], "document": None, **run}
    short: dict[str, Any] = {"formulas": [], "modules": [], "config": [], "run": run}
    return replace(document, data={**document.data, **short, **data})


def short(document: ReportDocument) -> ReportDocument:
    return changed(document, {})


def squeezed(text: str) -> str:
    """Return the text without spaces: lines may end between any two signs."""
    return "".join(text.split())
