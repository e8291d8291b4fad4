"""Typst's compiler, for files in memory."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import typst

from bertviewer.charts.theme import font_folders

_DRAWING = b"""#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image("drawing.svg")
"""


def compiled(
    files: Mapping[str, bytes], *, with_system: bool = False, **options: Any
) -> tuple[bytes, ...]:
    """Compile ``main.typ`` and return one file, or one for each page.

    Args:
        files: by name.
        with_system: whether to use the system's fonts, too.
        options: of typst's ``Compiler.compile``.
    """
    output = _compiler(with_system=with_system).compile(dict(files), **options)
    if output is None:
        raise TypeError("typst returned no output")
    return (output,) if isinstance(output, bytes) else tuple(output)


def drawing_as(svg: bytes, *, with_system: bool = False, **options: Any) -> bytes:
    """Return an SVG drawing in another format, on a page of its size."""
    files = {"main.typ": _DRAWING, "drawing.svg": svg}
    (page,) = compiled(files, with_system=with_system, **options)
    return page


def query(files: Mapping[str, bytes], label: str, *, with_system: bool) -> Any:
    """Compile files and return the metadata with a label."""
    # typst's annotations allow files in memory only under names of one type.
    compiler = typst.Compiler(files, font_paths=_fonts(with_system=with_system))  # type: ignore[type-var]
    return json.loads(compiler.query(label, field="value", one=True))


def prepare() -> None:
    """Load the fonts, which the first page or formula would wait for; from any thread."""
    _compiler(with_system=False)


@cache
def _compiler(*, with_system: bool) -> Any:
    """Return the compiler that all pages and formulas share."""
    return typst.Compiler(font_paths=_fonts(with_system=with_system))


@cache
def _fonts(*, with_system: bool) -> typst.Fonts:
    """Search fonts; with those of the system this takes 0.1 s and holds the GIL."""
    return typst.Fonts(include_system_fonts=with_system, font_paths=font_folders())
