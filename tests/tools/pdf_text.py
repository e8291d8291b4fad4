"""The words of a PDF."""

from pathlib import Path

import pypdfium2


def page_texts(pdf: bytes | Path) -> tuple[str, ...]:
    """Return the text of each page, with single spaces where lines end.

    pdfium reads the pages of a report much faster than pypdf does.
    """
    with pypdfium2.PdfDocument(pdf) as document:
        texts = (page.get_textpage().get_text_range() for page in document)
        return tuple(" ".join(text.split()) for text in texts)


def text_of(pdf: bytes | Path) -> str:
    """Return the text of all pages."""
    return " ".join(page_texts(pdf))
