"""Typst, which sets files that are in memory alone."""

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
    files: Mapping[str, bytes], *, with_system: bool = False, **wishes: Any
) -> tuple[bytes, ...]:
    """Set ``main.typ``, and return what came of it: a file, or one for each page.

    ``with_system``: whether the system's fonts may be taken.
    """
    made = _compiler(with_system=with_system).compile(dict(files), **wishes)
    if made is None:
        raise TypeError("typst returned no output")
    return (made,) if isinstance(made, bytes) else tuple(made)


def drawing_as(svg: bytes, *, with_system: bool = False, **wishes: Any) -> bytes:
    """Return a drawing in another format, on a page of its size."""
    files = {"main.typ": _DRAWING, "drawing.svg": svg}
    (page,) = compiled(files, with_system=with_system, **wishes)
    return page


def what_is_said(files: Mapping[str, bytes], label: str, *, with_system: bool) -> Any:
    """Set files, and return what the template says about them under a label."""
    # typst's annotations know files in memory under one name for paths only.
    compiler = typst.Compiler(files, font_paths=_fonts(with_system=with_system))  # type: ignore[type-var]
    return json.loads(compiler.query(label, field="value", one=True))


def prepare() -> None:
    """Do what only the first page or formula needs; any thread may."""
    _compiler(with_system=False)


@cache
def _compiler(*, with_system: bool) -> Any:
    """Return one compiler for all pages and formulas, with the system's fonts or without."""
    return typst.Compiler(font_paths=_fonts(with_system=with_system))


@cache
def _fonts(*, with_system: bool) -> typst.Fonts:
    """Look for fonts, once: with the system's it takes 0.1 s, in which all threads stand still."""
    return typst.Fonts(include_system_fonts=with_system, font_paths=font_folders())
