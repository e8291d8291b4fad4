"""Texts that run from right to left, inside of lines that run from left to right."""

import re
import unicodedata

START, END = "\u2068", "\u2069"
"""First strong isolate and pop directional isolate (Unicode Standard Annex 9): signs without width.
What stands between them keeps its own direction, and what is around it keeps its place."""

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_ISOLATED = re.compile(f"{START}([^{START}{END}]*){END}")


def isolated(text: str) -> str:
    """Return a text fit to stand in a sentence: with isolates around it if it needs them.

    Only one with Arabic, Hebrew or other letters that run from right to left does; "(12)" after
    such a letter would else be drawn before it.
    """
    if text.isascii() or not any(map(_is_right_to_left, text)):
        return text
    return f"{START}{text}{END}"


def bare(text: str) -> str:
    """Return a text without the isolates that ``isolated()`` put into it: as data, not to be read.

    Isolates that are the text's own and are in pairs go too; nothing tells them from others.
    """
    return _ISOLATED.sub(r"\1", text) if START in text else text


def _is_right_to_left(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT
