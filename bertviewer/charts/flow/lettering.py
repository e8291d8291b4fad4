"""Texts that have to fit: cut where they are too long, and with a subscript behind them."""

from bertviewer.charts.flow.drawing import NORMAL, Label, Measure, Style

ELLIPSIS = "…"
_LOWER, _DROP = 0.72, 0.3
"""A subscript's size and how far down it is, as parts of its text's size."""


def cut_in_middle(text: str, room: float, measure: Measure, style: Style, size: float) -> str:
    """Return a text that is no wider than the room: what is left out is in its middle."""
    if measure(text, style, size) <= room:
        return text
    least, most = 0, len(text)
    while least < most:
        kept = (least + most + 1) // 2
        if measure(_cut(text, kept), style, size) <= room:
            least = kept
        else:
            most = kept - 1
    return _cut(text, least)


def _cut(text: str, kept: int) -> str:
    first = (kept + 1) // 2
    return text[:first] + ELLIPSIS + text[len(text) - (kept - first) :]


def named(text: str, subscript: str, x: float, y: float, measure: Measure) -> tuple[Label, ...]:
    """Return a name in the middle of a place, with what stands behind it and lower."""
    if not subscript:
        return (Label(text, x, y, "strong"),)
    behind = measure(subscript, "strong", NORMAL * _LOWER)
    end = x + (measure(text, "strong", NORMAL) - behind) / 2
    lower = Label(subscript, end, y + NORMAL * _DROP, "strong", NORMAL * _LOWER, "start")
    return Label(text, x - behind / 2, y, "strong"), lower
