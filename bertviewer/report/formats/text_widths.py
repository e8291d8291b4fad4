"""How wide texts are in print, roughly and rather too much, to give a table's columns room."""

import unicodedata

from bertviewer.report import blocks

POINTS = 9.0
"""The size of a table's type."""
BAR, TICK = 52.0, 9.0
_CODE = 0.525 * 0.9
_BOLD = 1.12
_WIDE, _NARROW, _NORMAL = 0.9, 0.33, 0.53
_WIDES = frozenset("mwMWGOQD@%—…×→=+<>~")
_NARROWS = frozenset("ijlftI.,:;'|!()[]/ -·’")
_SEE = 11  # letters of ``Figure 12.3``


def text_width(text: blocks.Text) -> float:
    """Return the width of a cell's widest line, in points."""
    lines = [0.0]
    for span in text:
        match span:
            case blocks.Break():
                lines.append(0.0)
            case blocks.Bar():
                lines[-1] += BAR
            case blocks.Tick():
                lines[-1] += TICK
            case blocks.Code(words):
                lines[-1] += sum(_CODE if _is_usual(letter) else 1.0 for letter in words) * POINTS
            case blocks.Strong(words):
                lines[-1] += words_width(words) * _BOLD
            case blocks.See():
                lines[-1] += _SEE * _NORMAL * POINTS
            case blocks.Maths(words):
                lines[-1] += words_width(words)
            case blocks.Muted(words) | blocks.Letters(words) | str(words):
                lines[-1] += words_width(words)
    return max(lines)


def words_width(words: str) -> float:
    """Return the width of plain words on one line."""
    return sum(map(_letter, words)) * POINTS


def _letter(letter: str) -> float:
    if letter in _NARROWS:
        return _NARROW
    if letter in _WIDES or letter.isupper():
        return _WIDE if letter in _WIDES else 0.75
    return _NORMAL if _is_usual(letter) else 1.0


def _is_usual(letter: str) -> bool:
    return letter < "\u0250" or unicodedata.east_asian_width(letter) in "NaNH"
