"""Texts that run from right to left, inside of lines that run from left to right."""

import re
import unicodedata

FIRST_STRONG, LEFT_TO_RIGHT, END = "\u2068", "\u2066", "\u2069"
"""First strong isolate, left-to-right isolate and pop directional isolate (Unicode Standard Annex
9): signs without width. What stands between them keeps its own direction, or runs from left to
right where its letters do not tell another; and what is around it keeps its place."""

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_STARTS = FIRST_STRONG + LEFT_TO_RIGHT
_ISOLATED = re.compile(f"[{_STARTS}]([^{_STARTS}{END}]*){END}")
_ISOLATE = re.compile("[\u2066-\u2069]")
_MARKED = re.compile(r"##|▁|.*(?:@@|</w>)$", re.DOTALL)
"""A piece of a word with a vocabulary's mark at its start or end."""


def isolated(text: str) -> str:
    """Return a text fit to stand in a sentence: with isolates around it if it needs them.

    Only one with Arabic, Hebrew or other letters that run from right to left does; "(12)" after
    such a letter would else be drawn before it. The mark of a piece, as WordPiece's "##", stands
    before it at the left, as it does where the piece stands alone, in a cell or at an axis.
    """
    if text.isascii() or not any(map(_is_right_to_left, text)):
        return text
    return f"{LEFT_TO_RIGHT if _MARKED.match(text) else FIRST_STRONG}{text}{END}"


def bare(text: str) -> str:
    """Return a text without the isolates that ``isolated()`` put into it: as data, not to be read.

    Isolates that are the text's own and are in pairs go too; nothing tells them from others.
    """
    return _ISOLATED.sub(r"\1", text) if END in text else text


def are_isolates_paired(text: str) -> bool:
    """Return whether each isolate has its end, so that none turns what follows the text."""
    depth = 0
    for isolate in _ISOLATE.findall(text):
        depth += -1 if isolate == END else 1
        if depth < 0:
            return False
    return depth == 0


def _is_right_to_left(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT
