"""Where two rows of tokens stand, one above the other, and the lines between them."""

from math import floor

from msgspec import Struct
from PySide6.QtCore import QPointF

from bertviewer.plots.token_labels import GAP, SIZES, label_size, line_height
from bertviewer.plots.zoom import Span

MARGIN = 6.0
PART = 0.26
"""Names of one row take no more of the height than that."""


class ArcLayout(Struct, frozen=True):
    """Where names and lines are.

    Attributes:
        left, width: the room of both rows in pixels.
        top, bottom: where lines begin and end.
        names: how much room the names of a row have above or below.
        rows, columns: how many tokens there are above and below.
        span: what is seen of both, from 0 to 1.
        upright: whether names stand upright above and below.
    """

    left: float
    width: float
    top: float
    bottom: float
    names: float
    rows: int
    columns: int
    span: Span
    upright: tuple[bool, bool]

    @property
    def pixels(self) -> tuple[float, float]:
        """How many pixels a token has above and below."""
        whole = self.width / self.span.length
        return whole / self.rows, whole / self.columns

    def x(self, index: float, count: int) -> float:
        """Return where a token of so many is; one before it begins half a token earlier."""
        return self.left + self.span.part((index + 0.5) / count) * self.width

    def token_at(self, position: QPointF) -> tuple[bool, int] | None:
        """Return whether a position is nearer to the row above, and to which token."""
        part = (position.x() - self.left) / self.width
        if not 0 <= part < 1:
            return None
        is_above = position.y() < (self.top + self.bottom) / 2
        count = self.rows if is_above else self.columns
        place = self.span.start + part * self.span.length
        return is_above, min(count - 1, floor(place * count))

    def tokens(self, count: int) -> Span:
        """Return what is seen of a row of so many tokens, in tokens."""
        return Span(self.span.start * count, self.span.length * count, count)


def lay_out_arcs(
    size: tuple[float, float],
    tokens: tuple[int, int],
    widest: tuple[float, float],
    left: float,
    span: Span,
) -> ArcLayout:
    """Return two rows of tokens in a widget; names stand upright where they have no other room."""
    width, height = size
    room = max(1.0, width - left - 2 * MARGIN)

    def is_upright(count: int, wide: float) -> bool:
        pixels = room / span.length / count
        return wide * label_size(pixels) / SIZES[0] + GAP > pixels

    upright = is_upright(tokens[0], widest[0]), is_upright(tokens[1], widest[1])
    high = min(max(widest), PART * height) if any(upright) else line_height()
    top = MARGIN + high + GAP
    return ArcLayout(
        left=left + MARGIN,
        width=room,
        top=top,
        bottom=max(top + 1, height - top - line_height()),
        names=high,
        rows=tokens[0],
        columns=tokens[1],
        span=span,
        upright=upright,
    )
