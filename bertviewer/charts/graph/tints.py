"""Other colours for a drawing's nodes, with a figure in each: what is measured of them."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Label, Placed
from bertviewer.charts.theme import SMALL, Part, Theme

MOST_STRENGTH = 0.5
"""Letters can be read on a fill that has no more of its hue."""

_BELOW = 9.0


class Tint(Struct, frozen=True):
    """How one node is coloured.

    Attributes:
        hue: the colour that its fill is mixed from, empty for none.
        strength: how much of it, from 0 to ``MOST_STRENGTH``.
        figure: what is written in it, empty for nothing.
    """

    hue: str = ""
    strength: float = 0.0
    figure: str = ""


Tints = Mapping[str, Tint]
"""Tints by the nodes' ids."""


def part_tint(part: Part, figure: str, theme: Theme) -> Tint:
    """Return how a module is coloured as the part of a model that it is."""
    color = theme.parts["norm" if part == "plain" else part]
    return Tint(color, theme.tint * 1.6, figure)


def tinted_theme(theme: Theme, tint: Tint) -> Theme:
    """Return the colours in which a node is drawn."""
    hue = tint.hue or theme.faint
    # Lines keep their colour.
    parts = {part: color if part == "residual" else hue for part, color in theme.parts.items()}
    return replace(theme, parts=parts, tint=tint.strength)


def with_figure(placed: Placed, figure: str) -> Placed:
    """Return a node with a figure in place of its remark, or below it where it has none."""
    if not figure or placed.form in ("sign", "input", "output", "exit", "list", "dashed pill"):
        return placed
    rect, labels = placed.rect, placed.labels
    if placed.form in ("box", "deck"):
        for place in reversed(range(1, len(labels))):
            if labels[place].ink == "muted":
                told = replace(labels[place], text=figure, style="mono")
                return replace(placed, labels=(*labels[:place], told, *labels[place + 1 :]))
    if placed.form == "attention" and labels:
        # At the right the selected head is named.
        caption = replace(labels[0], text=f"{labels[0].text} · {figure}")
        return replace(placed, labels=(caption, *labels[1:]))
    middle = rect.x + rect.width / 2
    told = Label(figure, middle, rect.bottom + _BELOW, "mono", SMALL, ink="muted")
    return replace(placed, labels=(*labels, told))
