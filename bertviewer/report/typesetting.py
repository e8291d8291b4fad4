"""Typst: formulas for the screen, pages for paper.

All texts reach the templates as JSON data, where they are text and never markup; only the
program's own formulas are evaluated as mathematics.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typst

from bertviewer.core.formulas.formula import Formula
from bertviewer.core.resources import resources_folder


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
    svg = _compiler().compile(sources, format="svg")  # type: ignore[type-var]
    if not isinstance(svg, bytes):
        raise TypeError("the formula took more than one page")
    return svg


def report_pdf(document: Mapping[str, Any], plots: Mapping[str, bytes]) -> bytes:
    """Set the report's document as PDF; ``plots`` are one-page PDFs by file name."""
    # Binary files can only be read from a folder.
    with TemporaryDirectory(prefix="bertviewer-") as name:
        folder = Path(name)
        for template in ("report.typ", "maths.typ", "counting.typ", "check.typ"):
            (folder / template).write_bytes(_template(template))
        # A file's name may hold bytes that are no Unicode, which Typst's JSON does not know.
        text = json.dumps(document, ensure_ascii=False)
        (folder / "data.json").write_bytes(text.encode("utf-8", "replace"))
        for file, content in plots.items():
            (folder / file).write_bytes(content)
        pdf = typst.compile(folder / "report.typ", root=folder, format="pdf")
    if not isinstance(pdf, bytes):
        raise TypeError("typst gave no single PDF")
    return pdf


def prepare() -> None:
    """Do what only the first formula needs, 0.2 s; any thread may."""
    _compiler()


@cache
def _compiler() -> typst.Compiler:
    """One compiler for all formulas: it scans the fonts once."""
    return typst.Compiler()


@cache
def _template(name: str) -> bytes:
    return (resources_folder() / "report" / name).read_bytes()
