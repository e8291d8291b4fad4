"""Visible part of an axis, for zooming and panning."""

from msgspec import Struct

STEP = 1.25
"""Zoom factor of a notch of the wheel, or of a key."""
MIN_LENGTH = 4.0
"""The smallest visible part."""


class Span(Struct, frozen=True):
    """A part of an axis of ``size`` units."""

    start: float
    length: float
    size: float

    @classmethod
    def all_of(cls, size: float) -> "Span":
        """Return the whole axis."""
        return cls(0.0, size, size)

    @property
    def end(self) -> float:
        """The end of the part."""
        return self.start + self.length

    @property
    def is_whole(self) -> bool:
        """Whether the whole axis is visible."""
        return self.length >= self.size

    def moved(self, parts: float) -> "Span":
        """Return a span moved by a fraction of its length."""
        return self._at(self.start + parts * self.length, self.length)

    def showing(self, place: float) -> "Span":
        """Return a span of the same length that contains ``place`` to ``place + 1``."""
        start = min(place, max(self.start, place + 1 - self.length))
        return self._at(start, self.length)

    def part(self, place: float) -> float:
        """Return the position of a place as a fraction, from 0 to 1 if it is visible."""
        return (place - self.start) / self.length

    def starting(self, start: float) -> "Span":
        """Return a span of the same length that starts there, as far as the axis extends."""
        return self._at(start, self.length)

    def _at(self, start: float, length: float) -> "Span":
        return Span(min(max(0.0, start), self.size - length), length, self.size)
