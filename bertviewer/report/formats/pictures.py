"""Drawings as files beside a report."""

import re

from bertviewer.report.formats.compiler import compiled
from bertviewer.report.formats.reading import anchor

_PAGE = b"""\
#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image("drawing.svg")
"""
_FOREIGN = re.compile(r"[^\u0000-\u04ff\u2000-\u2bff]")
"""What the program's own fonts may not have: anything but Latin, Greek, Cyrillic, and signs."""


def files_ending(suffix: str) -> re.Pattern[str]:
    """Return what the names of pictures are like; ``suffix`` is an expression."""
    return re.compile(f"figure-[A-Za-z0-9_-]*{suffix}")


FILES = files_ending(r"\.(svg|pdf)")


def picture_file(name: str, suffix: str) -> str:
    """Return what a picture's file is called; ``suffix`` has its point."""
    return f"figure-{anchor(name)}{suffix}"


def picture_pdf(svg: str) -> bytes:
    """Return a drawing as a PDF of one page, as large as the drawing, with its fonts."""
    sources = {"main.typ": _PAGE, "drawing.svg": svg.encode()}
    return compiled(sources, "pdf", with_all_fonts=_FOREIGN.search(svg) is not None)
