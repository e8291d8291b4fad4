"""Typst: formulas for the screen, pages for paper.

All texts reach the templates as JSON data, where they are text and never markup; only the
program's own formulas are evaluated as mathematics.
"""

import json
import re
from dataclasses import asdict
from functools import cache
from pathlib import Path

import typst

from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.core.errors import UserError
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.system.resources import resources_folder
from bertviewer.plots.fonts import font_folders
from bertviewer.report.choices import Paper
from bertviewer.report.document import ReportDocument


def formula_svg(formula: Formula, width: float, size: float, color: str, muted: str) -> bytes:
    """Set a formula's lines and its legend as SVG.

    Args:
        formula: the formula.
        width: the width to fill, in points.
        size: the font size of the mathematics, in points.
        color: ``#rrggbb`` of the mathematics.
        muted: ``#rrggbb`` of the legend's words.
    """
    data = {
        "maths": formula.maths,
        "terms": [asdict(term) for term in formula.terms],
        "width": width,
        "size": size,
        "color": color,
        "muted": muted,
    }
    sources: dict[str, bytes] = {
        "main.typ": _template("formula.typ"),
        "maths.typ": _template("maths.typ"),
        "data.json": json.dumps(data).encode(),
    }
    # typst's annotations know files in memory under one name for paths only.
    compiler = _compiler(with_all_fonts=_FOREIGN.search(str(data)) is not None)
    svg = compiler.compile(sources, format="svg")  # type: ignore[type-var]
    if not isinstance(svg, bytes):
        raise TypeError("the formula took more than one page")
    return svg


FONTS = ("Libertinus Serif", "Inter", "New Computer Modern Math", "DejaVu Sans Mono")
"""The families that are there on every machine: the program's own, and Typst's."""


def report_pdf(document: ReportDocument, paper: Paper = "a4", theme: Theme = LIGHT) -> bytes:
    """Set a report as PDF/A-2a: tagged, with all fonts embedded, the same bytes each time.

    Raises:
        UserError: it cannot be set.
    """
    said = document.to_json()
    pictures = said.pop("pictures")
    day = document.front.date
    said["front"]["shown-date"] = f"{day.day} {day:%B %Y}"
    said |= {
        "paper": {"a4": "a4", "letter": "us-letter"}[paper],
        "date": {"year": day.year, "month": day.month, "day": day.day},
        "colors": _colors(theme),
        "fonts": FONTS,
    }
    # A file's name may hold bytes that are no Unicode, which Typst's JSON does not know.
    data = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
    files: dict[str, bytes] = {
        "main.typ": _template("report.typ"),
        "maths.typ": _template("maths.typ"),
        "data.json": data,
        **{f"{name}.svg": drawing.encode() for name, drawing in pictures.items()},
    }
    # typst's annotations know files in memory under one name for paths only.
    try:
        pdf = _compiler(with_all_fonts=False).compile(
            files,  # type: ignore[type-var]
            format="pdf",
            pdf_standards=["a-2a"],
        )
    except BaseException as error:
        # It is no Exception, and has no public name.
        if type(error).__name__ not in ("PanicException", "TypstError"):
            raise
        raise UserError(f"cannot typeset the report: {error}") from error
    if not isinstance(pdf, bytes):
        raise TypeError("typst gave no single PDF")
    return pdf


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


def prepare() -> None:
    """Do what only the first formula needs; any thread may."""
    _compiler(with_all_fonts=False)


_FOREIGN = re.compile(r"[^\u0000-\u03ff\u2000-\u2bff]")
"""What Typst's own fonts may not have: anything but Latin, Greek, and signs."""


@cache
def _compiler(*, with_all_fonts: bool) -> typst.Compiler:
    """One compiler for all formulas, with Typst's own fonts alone or the system's too.

    To look through the system's takes 0.1 s and more, in which all threads stand still.
    """
    return typst.Compiler(ignore_system_fonts=not with_all_fonts, font_paths=font_folders())


def _folder() -> Path:
    return resources_folder() / "report"


@cache
def _template(name: str) -> bytes:
    return (_folder() / name).read_bytes()
