"""Strangers' texts, made fit for a page: what is none to see is shown as an escape."""

import re

from bertviewer.core.util.text import has_paired_isolates, printable

_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_JOINERS = "\u200c\u200d"  # Persian words and emoji are spelled with them
_ISOLATES = "\u2066-\u2069"
_KEPT = re.compile(f"([\n\t{_SPACES}{_JOINERS}{_ISOLATES}])")
_ISOLATE = re.compile(f"[{_ISOLATES}]")
_SPACE = re.compile(f"[\n\t{_SPACES}]")
# The index of one letter, as in N_e and d_k: no name of a module.
_INDEX = re.compile(r"(?<=\b[^\W\d_])_([^\W_]{1,3})\b(?!_)")

_DOTS = re.compile(r"(?<=[./])(?=\w)")
_WORDS = re.compile(r"(?<=_)(?=\w)|(?<=[a-z])(?=[A-Z])")


def shown(text: str) -> str:
    """Return a text as a page shows it, with its lines, spaces, joiners and isolates.

    An escape stands for what moves, hides or turns other words, for what no file can hold, as a
    lone surrogate, and for isolates that are not in pairs.
    """
    if text.isprintable():
        return text
    parts = _KEPT.split(text)
    shown = "".join(part if place % 2 else printable(part) for place, part in enumerate(parts))
    if has_paired_isolates(shown):
        return shown
    return _ISOLATE.sub(lambda isolate: printable(isolate[0]), shown)


def indexed(text: str) -> tuple[str, ...]:
    """Return a text in pieces: words and, between them, indices that stand below a letter."""
    return tuple(_INDEX.split(text))


def breakable(name: str) -> list[str]:
    """Cut a name where a line may end: a path after its dots, another between its words."""
    return (_DOTS if "." in name or "/" in name else _WORDS).split(name)


def one_line(text: str) -> str:
    """Return the same on one line, with spaces that are all alike."""
    return _SPACE.sub(" ", shown(text))
