"""Typst: formulas for the screen, pages for paper.

All texts reach the templates as JSON data, where they are text and never markup; only the
program's own formulas are evaluated as mathematics.
"""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from msgspec.structs import asdict

from bertviewer.charts.theme import PAPER, Theme
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.numbers import day_text
from bertviewer.report.choices import Paper
from bertviewer.report.document import ReportDocument
from bertviewer.report.paging import fill_pages
from bertviewer.report.script_fonts import Lettering, lettering_of
from bertviewer.report.typst_files import compiled, drawing_as, what_is_said

_PARTS = ("maths.typ", "look.typ", "spans.typ", "tables.typ", "blocks.typ")
"""What the report's template is made of."""
_FOREIGN = re.compile(r"[^\u0000-\u03ff\u2000-\u2bff]")
"""What Typst's own fonts may not have: anything but Latin, Greek, and signs."""


def formula_svg(
    formula: Formula, width: float, size: float, color: str, muted: str, *, spacing: float = 1.1
) -> bytes:
    """Set a formula's lines and its legend as SVG.

    Args:
        formula: the formula.
        width: the width to fill, in points.
        size: the font size of the mathematics, in points.
        color: ``#rrggbb`` of the mathematics.
        muted: ``#rrggbb`` of the legend's words.
        spacing: what is between two lines, as a part of the size.
    """
    data = {
        "maths": formula.maths,
        "terms": [asdict(term) for term in formula.terms],
        "width": width,
        "size": size,
        "spacing": spacing,
        "color": color,
        "muted": muted,
    }
    files = {
        "main.typ": _template("formula.typ"),
        "maths.typ": _template("maths.typ"),
        "data.json": json.dumps(data).encode(),
    }
    is_foreign = _FOREIGN.search(str(data)) is not None
    (svg,) = compiled(files, with_system=is_foreign, format="svg")
    return svg


def report_pdf(document: ReportDocument, paper: Paper = "a4", theme: Theme = PAPER) -> bytes:
    """Set a report as PDF/A-2a and PDF/UA-1: tagged, its fonts embedded, the same bytes each time.

    Raises:
        UserError: it cannot be set.
    """
    files, lettering = _files(document, paper, theme)
    with _refusals():
        (pdf,) = compiled(
            files,
            with_system=lettering.with_system,
            format="pdf",
            pdf_standards=["a-2a", "ua-1"],
        )
    return pdf


def report_pages(
    document: ReportDocument, paper: Paper = "a4", theme: Theme = PAPER
) -> tuple[bytes, ...]:
    """Set a report's pages as SVG, to be looked at: they are those of the PDF.

    Raises:
        UserError: it cannot be set.
    """
    files, lettering = _files(document, paper, theme)
    with _refusals():
        return compiled(files, with_system=lettering.with_system, format="svg")


def page_png(page: bytes, pixels_per_inch: float) -> bytes:
    """Draw one of ``report_pages`` as it is printed, as a PNG."""
    # Of pictures that are files in the page, all but the first would be without their letters.
    with _refusals():
        return drawing_as(_PICTURE.sub(_inside, page), format="png", ppi=pixels_per_inch)


_PICTURE = re.compile(
    rb'<image ((?:transform="[^"]+" )?)xlink:href="data:image/svg\+xml;base64,([^"]+)" '
    rb'(width="[^"]+" height="[^"]+" preserveAspectRatio="none")/>'
)
_SIZE = re.compile(rb'\s(?:width|height|preserveAspectRatio)="[^"]*"')
_LINK = re.compile(rb'(\bid="|url\(#|href="#)')


def _inside(picture: re.Match[bytes]) -> bytes:
    """Return a picture as a part of its page: its own box, scaled to the room that it has."""
    svg = base64.b64decode(picture[2])
    svg = _LINK.sub(rb"\1p%d-" % picture.start(), svg[svg.index(b"<svg") :])
    root, _, rest = svg.partition(b">")
    return b"<g %b>%b %b>%b</g>" % (picture[1], _SIZE.sub(b"", root), picture[3], rest)


def _files(
    document: ReportDocument, paper: Paper, theme: Theme
) -> tuple[dict[str, bytes], Lettering]:
    """Return all that Typst reads to set a report, and in what letters."""
    said = document.to_json()
    pictures: dict[str, str] = said.pop("pictures")
    lettering = lettering_of("".join((*_texts(said), *pictures.values())))
    day = document.front.date
    said["front"]["shown-date"] = day_text(day)
    said |= {
        "paper": {"a4": "a4", "letter": "us-letter"}[paper],
        "date": {"year": day.year, "month": day.month, "day": day.day},
        "colors": _colors(theme),
        "fonts": lettering.families,
    }
    data = _printable(said, lettering)
    files = {
        "main.typ": _template("report.typ"),
        **{name: _template(name) for name in _PARTS},
        **{f"{name}.svg": lettering.printable(svg).encode() for name, svg in pictures.items()},
    }

    def places() -> Any:
        files["data.json"] = json.dumps(data, ensure_ascii=False).encode()
        with _refusals():
            return what_is_said(files, "<places>", with_system=lettering.with_system)

    fill_pages(data["chapters"], places)
    files["data.json"] = json.dumps(data, ensure_ascii=False).encode()
    return files, lettering


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what Typst refuses into an error that a person reads.

    Raises:
        UserError: it refused.
    """
    try:
        yield
    except BaseException as error:
        # A panic is no Exception, and has no public name.
        if type(error).__name__ not in ("PanicException", "TypstError", "RuntimeError"):
            raise
        raise UserError(f"cannot typeset the report: {error}") from error


def _colors(theme: Theme) -> dict[str, str]:
    """Return the theme's colours as the template calls them."""
    return {
        "text": theme.text,
        "muted": theme.muted,
        "line": theme.line,
        "accent": theme.accent,
        "warning": theme.warning,
        "right": theme.right,
        "field": theme.field,
        "first": theme.selection,
        "second": theme.fill("feed-forward"),
    }


def _texts(value: object) -> Iterator[str]:
    """Yield all texts of a document's data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _printable(value: Any, lettering: Lettering) -> Any:
    """Return the data with what can be printed of its texts."""
    if isinstance(value, str):
        return lettering.printable(value)
    if isinstance(value, dict):
        return {key: _printable(one, lettering) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(one, lettering) for one in value]
    return value


@cache
def _template(name: str) -> bytes:
    return (resources_folder() / "report" / name).read_bytes()
