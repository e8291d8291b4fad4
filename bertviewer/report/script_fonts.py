"""Fonts for the scripts of a report, always chosen in the same order.

The bundled fonts and Typst's have Latin, Greek and Cyrillic letters and signs. For other scripts,
the first system font of a list is used that has the character. Characters without a font are
printed as their code point.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

import typst
from msgspec import Struct

from bertviewer.core.util.text import has_paired_isolates
from bertviewer.report.typst_compiler import compiled

OWN = ("Libertinus Serif", "Inter", "New Computer Modern Math", "DejaVu Sans Mono")
"""Font families that are available on every machine."""

OTHERS = (
    *("Noto Serif CJK SC", "Noto Sans CJK SC", "Source Han Serif SC", "Source Han Sans SC"),
    *("Songti SC", "PingFang SC", "SimSun", "Microsoft YaHei"),
    *("Noto Serif Hebrew", "Noto Sans Hebrew", "Noto Naskh Arabic", "Noto Sans Arabic"),
    *("Noto Serif Devanagari", "Noto Sans Devanagari", "Noto Serif Thai", "Noto Sans Thai"),
    *("Noto Sans Symbols", "Noto Sans Symbols 2", "Noto Sans Math", "DejaVu Sans"),
    *("Noto Color Emoji", "Noto Emoji", "Apple Color Emoji", "Segoe UI Emoji", "Arial Unicode MS"),
)
"""System font families, in order of preference."""

_FOREIGN = re.compile(r"[^\u0000-\u024f]")
"""Characters that a font may lack: all but Latin letters."""
_CONTROL = re.compile(
    r"[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ud800-\udfff\ufffe\uffff]"
)
"""Characters without a glyph, and those that reverse the writing direction."""
_ISOLATE = re.compile(r"[\u2066-\u2069]")


class FontChoice(Struct, frozen=True):
    """The fonts of a document.

    Attributes:
        with_system: whether it needs system fonts.
        codes: replacements of the characters that no font has.
    """

    with_system: bool
    codes: Mapping[str, str]

    @property
    def families(self) -> tuple[str, ...]:
        """The font families in order of preference."""
        return (*OWN, *(OTHERS if self.with_system else ()))

    def printable(self, text: str) -> str:
        """Return a text with codes such as ``‹U+1F600›`` for characters without a font."""
        for character, code in self.codes.items():
            text = text.replace(character, code)
        if text.isascii() or has_paired_isolates(text):
            return text
        return _ISOLATE.sub(lambda isolate: _code(isolate[0]), text)


def choose_fonts(text: str) -> FontChoice:
    """Return the fonts for all texts of a document, concatenated."""
    characters = frozenset(_FOREIGN.findall(text)) | frozenset(_CONTROL.findall(text))
    foreign = _missing(characters, with_system=False)
    missing = _missing(foreign, with_system=True)
    return FontChoice(len(missing) < len(foreign), {one: _code(one) for one in missing})


def _code(character: str) -> str:
    return f"‹U+{ord(character):04X}›"


def _missing(characters: Iterable[str], *, with_system: bool) -> tuple[str, ...]:
    """Return the characters that no font has, by bisection."""
    some = tuple(sorted(characters))
    if not some or _has_glyphs("".join(some), with_system=with_system):
        return ()
    if len(some) == 1:
        return some
    half = len(some) // 2
    return tuple(
        character
        for part in (some[:half], some[half:])
        for character in _missing(part, with_system=with_system)
    )


@cache
def _has_glyphs(text: str, *, with_system: bool) -> bool:
    """Return whether a font has each character: PDF/A requires it."""
    if _CONTROL.search(text):
        return False
    families = (*OWN, *(OTHERS if with_system else ()))
    names = ", ".join(f'"{name}"' for name in families)
    page = (
        "#set document(date: datetime(year: 2000, month: 1, day: 1))\n"
        f"#set text(font: ({names}), fallback: false)\n"
        '#read("text").clusters().join(" ")'
    )
    try:
        files = {"main.typ": page.encode(), "text": text.encode()}
        compiled(files, with_system=with_system, format="pdf", pdf_standards=["a-2b"])
    except typst.TypstError:
        return False
    return True
