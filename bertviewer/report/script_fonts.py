"""Fonts for what the paper's own have not: chosen by name, never by chance.

The program's own families and Typst's have Latin, Greek and Cyrillic letters and signs. For other
scripts families of the system are taken, the first one of a list that has the character. What none
of them has is printed as its code, as no report may be refused because of a token.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

import typst
from msgspec import Struct

from bertviewer.core.util.text import has_paired_isolates
from bertviewer.report.typst_files import compiled

OWN = ("Libertinus Serif", "Inter", "New Computer Modern Math", "DejaVu Sans Mono")
"""The families that are there on every machine."""

OTHERS = (
    *("Noto Serif CJK SC", "Noto Sans CJK SC", "Source Han Serif SC", "Source Han Sans SC"),
    *("Songti SC", "PingFang SC", "SimSun", "Microsoft YaHei"),
    *("Noto Serif Hebrew", "Noto Sans Hebrew", "Noto Naskh Arabic", "Noto Sans Arabic"),
    *("Noto Serif Devanagari", "Noto Sans Devanagari", "Noto Serif Thai", "Noto Sans Thai"),
    *("Noto Sans Symbols", "Noto Sans Symbols 2", "Noto Sans Math", "DejaVu Sans"),
    *("Noto Color Emoji", "Noto Emoji", "Apple Color Emoji", "Segoe UI Emoji", "Arial Unicode MS"),
)
"""Families of the system, in the order in which they are tried."""

_FOREIGN = re.compile(r"[^\u0000-\u024f]")
"""What is asked for, as not all fonts have it: anything but Latin letters."""
_CONTROL = re.compile(
    r"[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ud800-\udfff\ufffe\uffff]"
)
"""What has no letter, or has the letters after it run the other way."""
_ISOLATE = re.compile(r"[\u2066-\u2069]")


class Lettering(Struct, frozen=True):
    """What a text is set with.

    Attributes:
        with_system: whether it has what the own families have not.
        codes: what is printed in place of each character that no known font has.
    """

    with_system: bool
    codes: Mapping[str, str]

    @property
    def families(self) -> tuple[str, ...]:
        """The families to take, in their order."""
        return (*OWN, *(OTHERS if self.with_system else ()))

    def printable(self, text: str) -> str:
        """Return a text with codes as ``‹U+1F600›`` for what cannot be printed."""
        for character, code in self.codes.items():
            text = text.replace(character, code)
        if text.isascii() or has_paired_isolates(text):
            return text
        return _ISOLATE.sub(lambda isolate: _code(isolate[0]), text)


def lettering_of(text: str) -> Lettering:
    """Return what all texts of a document, taken together, are set with."""
    characters = frozenset(_FOREIGN.findall(text)) | frozenset(_CONTROL.findall(text))
    foreign = _missing(characters, with_system=False)
    missing = _missing(foreign, with_system=True)
    return Lettering(len(missing) < len(foreign), {one: _code(one) for one in missing})


def _code(character: str) -> str:
    return f"‹U+{ord(character):04X}›"


def _missing(characters: Iterable[str], *, with_system: bool) -> tuple[str, ...]:
    """Return those that cannot be set, found by halves: most texts are tried once, as a whole."""
    some = tuple(sorted(characters))
    if not some or _can_set("".join(some), with_system=with_system):
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
def _can_set(text: str, *, with_system: bool) -> bool:
    """Return whether all of it can be set: an archive's PDF may have no character without one."""
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
