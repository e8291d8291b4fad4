"""Typst: formulas for the screen, pages for paper.

All texts reach the templates as JSON data, where they are text and never markup; only the
program's own formulas are evaluated as mathematics.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typst

from bertviewer.charts.theme import LIGHT
from bertviewer.core.errors import UserError
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.system.resources import resources_folder


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


_COLORS = (
    *(LIGHT.text, LIGHT.muted, LIGHT.line, LIGHT.accent, LIGHT.warning),
    *(LIGHT.field, LIGHT.selection, LIGHT.fill("feed-forward")),
)
"""Those of the report, in the order in which ``report.typ`` takes them."""

MOST_SHOWN = 2_000
"""Characters of one value of a configuration, as of a thousand labels: it is no book."""


def report_pdf(document: Mapping[str, Any], plots: Mapping[str, bytes]) -> bytes:
    """Set the report's document as PDF; ``plots`` are one-page PDFs by file name.

    Raises:
        UserError: the folder for temporary files has no room for it.
    """
    config = [[key, _shortened(value)] for key, value in document["config"]]
    # A file's name may hold bytes that are no Unicode, which Typst's JSON does not know.
    said = {**document, "config": config, "colors": _COLORS}
    data = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
    templates = (path.name for path in _folder().glob("*.typ"))
    files = {name: _template(name) for name in templates} | {"data.json": data} | dict(plots)
    try:
        # Binary files can only be read from a folder.
        temporary = TemporaryDirectory(prefix="bertviewer-")
    except OSError as error:
        raise UserError(f"cannot typeset the report: {error.strerror}") from error
    with temporary as place:
        folder = Path(place)
        try:
            for name, content in files.items():
                (folder / name).write_bytes(content)
        except OSError as error:
            raise UserError(f"cannot typeset the report in {place}: {error.strerror}") from error
        try:
            pdf = typst.compile(folder / "report.typ", root=folder, format="pdf")
        except BaseException as error:
            if (
                type(error).__name__ != "PanicException"
            ):  # it is no Exception, and has no public name
                raise
            raise UserError(f"cannot typeset the report: {error}") from error
    if not isinstance(pdf, bytes):
        raise TypeError("typst gave no single PDF")
    return pdf


def _shortened(value: str) -> str:
    more = len(value) - MOST_SHOWN
    return value if more <= 0 else f"{value[:MOST_SHOWN]} … and {more:,} characters more"


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
    return typst.Compiler(ignore_system_fonts=not with_all_fonts)


def _folder() -> Path:
    return resources_folder() / "report"


@cache
def _template(name: str) -> bytes:
    return (_folder() / name).read_bytes()
