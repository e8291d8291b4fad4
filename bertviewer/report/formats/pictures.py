"""Drawings as files beside a report."""

import re
from collections.abc import Mapping

from bertviewer.report.formats.reading import anchor
from bertviewer.report.script_fonts import Lettering, compiler, lettering_of

_PAGE = b"""\
#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image("drawing.svg")
"""


def files_ending(suffix: str) -> re.Pattern[str]:
    """Return what the names of pictures are like; ``suffix`` is an expression."""
    return re.compile(f"figure-[A-Za-z0-9._-]*{suffix}")


FILES = files_ending(r"\.(svg|pdf)")


def picture_file(name: str, suffix: str) -> str:
    """Return what a picture's file is called; ``suffix`` has its point."""
    return f"figure-{anchor(name).replace(':', '_3a_')}{suffix}"


def svg_files(pictures: Mapping[str, str]) -> dict[str, bytes]:
    """Return drawings as they are, by the names of their files."""
    return {picture_file(name, ".svg"): svg.encode() for name, svg in pictures.items()}


def pdf_files(pictures: Mapping[str, str]) -> dict[str, bytes]:
    """Return drawings as PDFs of one page, as large as the drawing, by the names of their files."""
    lettering = lettering_of("".join(pictures.values()))
    return {picture_file(name, ".pdf"): _pdf(svg, lettering) for name, svg in pictures.items()}


def _pdf(svg: str, lettering: Lettering) -> bytes:
    sources: dict[str, bytes] = {
        "main.typ": _PAGE,
        "drawing.svg": lettering.printable(svg).encode(),
    }
    setter = compiler(with_system=lettering.with_system)
    # typst's annotations know files in memory under one name for paths only.
    page = setter.compile(sources, format="pdf")  # type: ignore[type-var]
    if not isinstance(page, bytes):
        raise TypeError("a drawing gave no single page")
    return page
