"""Typst, as the formats use it: for mathematics, and for drawings that become PDF."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

import typst

from bertviewer.plots.fonts import font_folders


def compiled(
    sources: Mapping[str, bytes], form: Literal["html", "pdf"], *, with_all_fonts: bool = False
) -> bytes:
    """Return what ``main.typ`` gives, with the fonts of the program or those of the system too."""
    # typst's annotations know files in memory under one name for paths only.
    made = _compiler(with_all_fonts=with_all_fonts).compile(dict(sources), format=form)  # type: ignore[type-var]
    if not isinstance(made, bytes):
        raise TypeError("typst gave no single file")
    return made


@cache
def _compiler(*, with_all_fonts: bool) -> typst.Compiler:
    return typst.Compiler(ignore_system_fonts=not with_all_fonts, font_paths=font_folders())
