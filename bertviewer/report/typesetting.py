"""Typesets formulas for the screen and pages for reports with Typst.

Texts reach the templates as JSON data, so they are never markup; only formulas written by the
program are evaluated.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from msgspec.structs import asdict

from bertviewer.charts.theme import PAPER, Theme
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.notation import styled
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.numbers import day_text
from bertviewer.report.blocks import strings_in
from bertviewer.report.document import ReportDocument
from bertviewer.report.mathml import math_lines, mathml_of
from bertviewer.report.options import Paper
from bertviewer.report.paging import fill_pages
from bertviewer.report.script_fonts import FontChoice, choose_fonts
from bertviewer.report.spoken import spoken
from bertviewer.report.typst_compiler import compiled, drawing_as, query

_PARTS = ("maths.typ", "look.typ", "spans.typ", "tables.typ", "blocks.typ")
"""The files of the report's template."""
_FOREIGN = re.compile(r"[^\u0000-\u03ff\u2000-\u2bff]")
"""Characters that Typst's fonts may lack: all but Latin, Greek and signs."""


def formula_svg(
    formula: Formula, width: float, size: float, color: str, muted: str, *, spacing: float = 1.1
) -> bytes:
    """Return a formula's lines and its legend as SVG.

    Args:
        formula: the formula.
        width: width in points.
        size: font size of the formula in points.
        color: ``#rrggbb`` of the formula.
        muted: ``#rrggbb`` of the legend's text.
        spacing: space between two lines as a fraction of the font size.
    """
    data = {
        "maths": [styled(line) for line in formula.maths],
        "terms": [{**asdict(term), "symbol": styled(term.symbol)} for term in formula.terms],
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


class TypesetReport:
    """A report whose pages are filled, as PDF or as images of the same pages.

    Its methods raise ``UserError`` if Typst fails.
    """

    def __init__(self, document: ReportDocument, paper: Paper = "a4", theme: Theme = PAPER) -> None:
        data = document.to_json()
        pictures: dict[str, str] = data.pop("pictures")
        fonts = choose_fonts("".join((*strings_in(data), *pictures.values())))
        day = document.front.date
        data["front"]["shown-date"] = day_text(day)
        data["has-contents"] = bool(document.listed)
        data |= {
            "paper": {"a4": "a4", "letter": "us-letter"}[paper],
            "date": {"year": day.year, "month": day.month, "day": day.day},
            "colors": _colors(theme),
            "fonts": fonts.families,
            "citations": document.citations.pattern,
            "spoken": {
                line.source: spoken(mathml)
                for line, mathml in mathml_of(math_lines(document)).items()
            },
        }
        self._data = _printable(data, fonts)
        self._with_system = fonts.with_system
        self._files = {
            "main.typ": _template("report.typ"),
            **{name: _template(name) for name in _PARTS},
            **{f"{name}.svg": fonts.printable(svg).encode() for name, svg in pictures.items()},
        }
        fill_pages(self._data["chapters"], self._positions)
        self._write_data()

    def pdf(self) -> bytes:
        """Return PDF/A-2a and PDF/UA-1, tagged, with embedded fonts, reproducible."""
        standards = ["a-2a", "ua-1"]
        (pdf,) = self._compiled(format="pdf", pdf_standards=standards)
        return pdf

    def pages(self) -> tuple[bytes, ...]:
        """Return the pages as SVG."""
        return self._compiled(format="svg")

    def _compiled(self, **options: Any) -> tuple[bytes, ...]:
        with _typst_errors():
            return compiled(self._files, with_system=self._with_system, **options)

    def _positions(self) -> Any:
        """Return the positions of all blocks, with their current placements."""
        self._write_data()
        with _typst_errors():
            return query(self._files, "<places>", with_system=self._with_system)

    def _write_data(self) -> None:
        self._files["data.json"] = json.dumps(self._data, ensure_ascii=False).encode()


def report_pdf(document: ReportDocument, paper: Paper = "a4", theme: Theme = PAPER) -> bytes:
    """Return a report as PDF.

    Raises:
        UserError: Typst fails.
    """
    return TypesetReport(document, paper, theme).pdf()


def drawings_as_pdf(drawings: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the PDF of each SVG drawing, on a page of its size."""
    fonts = choose_fonts("".join(drawings.values()))
    for name, svg in drawings.items():
        content = fonts.printable(svg).encode()
        yield name, drawing_as(content, with_system=fonts.with_system, format="pdf")


def page_png(page: bytes, pixels_per_inch: float) -> bytes:
    """Return one of ``TypesetReport.pages`` as PNG."""
    # Typst draws the text of only the first embedded SVG, so they are inlined.
    with _typst_errors():
        return drawing_as(_PICTURE.sub(_inside, page), format="png", ppi=pixels_per_inch)


_PICTURE = re.compile(
    rb'<image ((?:transform="[^"]+" )?)xlink:href="data:image/svg\+xml;base64,([^"]+)" '
    rb'(width="[^"]+" height="[^"]+" preserveAspectRatio="none")/>'
)
_SIZE = re.compile(rb'\s(?:width|height|preserveAspectRatio)="[^"]*"')
_LINK = re.compile(rb'(\bid="|url\(#|href="#)')


def _inside(picture: re.Match[bytes]) -> bytes:
    """Return an embedded picture as a group of its page, scaled to its size."""
    svg = base64.b64decode(picture[2])
    svg = _LINK.sub(rb"\1p%d-" % picture.start(), svg[svg.index(b"<svg") :])
    root, _, rest = svg.partition(b">")
    return b"<g %b>%b %b>%b</g>" % (picture[1], _SIZE.sub(b"", root), picture[3], rest)


@contextmanager
def _typst_errors() -> Iterator[None]:
    """Convert errors of Typst.

    Raises:
        UserError: Typst fails.
    """
    try:
        yield
    except BaseException as error:
        # A panic is not an Exception, and its class is not public.
        if type(error).__name__ not in ("PanicException", "TypstError", "RuntimeError"):
            raise
        raise UserError(f"cannot typeset the report: {error}") from error


def _colors(theme: Theme) -> dict[str, str]:
    """Return the theme's colours by their names in the template."""
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


def _printable(value: Any, fonts: FontChoice) -> Any:
    """Return the data with replacements for characters without a font."""
    if isinstance(value, str):
        return fonts.printable(value)
    if isinstance(value, dict):
        return {key: _printable(one, fonts) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(one, fonts) for one in value]
    return value


@cache
def _template(name: str) -> bytes:
    return (resources_folder() / "report" / name).read_bytes()
