"""Where the small heatmaps of an attention's heads stand, and the words above them."""

from functools import reduce
from math import ceil, prod
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QRectF, Qt

GAP, MARGIN = 10.0, 6.0  # pixels
BELOW_WORDS = 3.0  # for the frame of the one that is selected
LEAST = 4.0
KEPT = 0.55
"""Captions may take no more of the heatmaps than leaves them this part of their area."""


class Words(Struct, frozen=True):
    """How much room the widest words take, in pixels."""

    name_width: float
    name_height: float
    caption_width: float
    caption_height: float


class HeadLayout(Struct, frozen=True):
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

    def head_beside(self, head: int, key: int) -> int | None:
        """Return the head that an arrow, Home or End leads to; ``None`` where there is none."""
        last = len(self.rects) - 1
        across = sum(rect.y() == self.rects[0].y() for rect in self.rects)
        ways: dict[int, int] = {
            Qt.Key.Key_Left: head - 1,
            Qt.Key.Key_Right: head + 1,
            Qt.Key.Key_Up: head - across,
            Qt.Key.Key_Down: head + across,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        found = ways.get(key)
        return found if found is not None and 0 <= found <= last else None


def lay_out_heads(
    shape: tuple[int, int, int], width: float, height: float, words: Words
) -> HeadLayout:
    """Return a layout of heads [A, S_q, S_k] in which the heatmaps are as large as can be.

    There is at least one head. Cells are squares. Captions get a
    line of their own where they do not fit beside the names, as long as that leaves the heatmaps
    large.
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
    is_large = _area(lower[0]) >= KEPT * _area(rects[0])
    if is_large and lower[0].width() >= words.caption_width:
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
        cell = max(0.0, min(wide / columns, tall / rows))
        return max(LEAST, cell * columns), max(LEAST, cell * rows)

    across = max(range(1, heads + 1), key=lambda number: prod(size(number)))
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


def _area(rect: QRectF) -> float:
    return rect.width() * rect.height()
