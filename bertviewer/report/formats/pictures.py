"""Drawings as files beside a report."""

import re
from collections.abc import Mapping

from bertviewer.report.formats.reading import anchor
from bertviewer.report.script_fonts import lettering_of
from bertviewer.report.typst_files import drawing_as


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
    return {
        picture_file(name, ".pdf"): drawing_as(
            lettering.printable(svg).encode(), with_system=lettering.with_system, format="pdf"
        )
        for name, svg in pictures.items()
    }
