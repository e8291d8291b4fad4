"""Where the small heatmaps of an attention's heads stand, and the words above them."""

from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import Literal

from PySide6.QtCore import QRectF

GAP, MARGIN = 10.0, 6.0  # pixels
BELOW_WORDS = 3.0  # for the frame of the one that is selected
LEAST = 4.0
KEPT = 0.8
"""Captions may take no more of the heatmaps than leaves them this part of their size."""


@dataclass(frozen=True, slots=True)
class Words:
    """How much room the widest words take, in pixels."""

    name_width: float
    name_height: float
    caption_width: float
    caption_height: float


@dataclass(frozen=True, slots=True)
class HeadLayout:
    """The heatmaps, and how high the room above each of them is.

    ``captions`` says where they stand: beside the names, below them, or nowhere. Where there is no
    room for names, ``has_names`` is not set, and a number has to do.
    """

    rects: tuple[QRectF, ...]
    title_height: float
    captions: Literal["beside", "below", ""]
    has_names: bool

    @property
    def bounds(self) -> QRectF:
        """The rectangle around all heatmaps."""
        return reduce(QRectF.united, self.rects, QRectF())


def lay_out_heads(
    shape: tuple[int, int, int], width: float, height: float, words: Words
) -> HeadLayout:
    """Return a layout of heads [A, S_q, S_k] in which the heatmaps are as large as can be.

    There is at least one head. Cells are squares. Captions get a line of their own where they do
    not fit beside the names, as long as that leaves the heatmaps large.
    """
    title = words.name_height + BELOW_WORDS
    rects = _rects(shape, width, height, title)
    wide = rects[0].width()
    has_names = words.name_width <= wide
    if not words.caption_width:
        return HeadLayout(rects, title, "", has_names)
    if words.name_width + GAP + words.caption_width <= wide:
        return HeadLayout(rects, title, "beside", True)
    higher = title + words.caption_height
    lower = _rects(shape, width, height, higher)
    if lower[0].width() >= max(words.caption_width, KEPT * wide):
        return HeadLayout(lower, higher, "below", words.name_width <= lower[0].width())
    return HeadLayout(rects, title, "", has_names)


def _rects(
    shape: tuple[int, int, int], width: float, height: float, title: float
) -> tuple[QRectF, ...]:
    heads, rows, columns = shape

    def size(across: int) -> tuple[float, float]:
        wide = (width - 2 * MARGIN - GAP * (across - 1)) / across
        down = ceil(heads / across)
        tall = (height - 2 * MARGIN - GAP * (down - 1)) / down - title
        side = max(0.0, min(wide / columns, tall / rows))
        return max(LEAST, side * columns), max(LEAST, side * rows)

    across = max(range(1, heads + 1), key=lambda number: size(number)[0])
    wide, tall = size(across)
    return tuple(
        QRectF(
            MARGIN + (head % across) * (wide + GAP),
            MARGIN + title + (head // across) * (tall + title + GAP),
            wide,
            tall,
        )
        for head in range(heads)
    )
