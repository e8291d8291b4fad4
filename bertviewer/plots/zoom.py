"""Which part of a picture is looked at, in its own units: from near or all of it."""

from msgspec import Struct

STEP = 1.25
"""By what a notch of the wheel, or a key, goes nearer."""
LEAST = 4.0
"""So much is left at the nearest, if there is so much."""


class Span(Struct, frozen=True):
    """A part of an axis: from ``start``, so long, of one that has ``size``."""

    start: float
    length: float
    size: float

    @classmethod
    def all_of(cls, size: float) -> "Span":
        """Return the whole axis."""
        return cls(0.0, size, size)

    @property
    def end(self) -> float:
        """Where it ends."""
        return self.start + self.length

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.length >= self.size

    def zoomed(self, part: float, factor: float) -> "Span":
        """Return one so many times as long, with the same at ``part`` of it, from 0 to 1."""
        length = min(self.size, max(min(LEAST, self.size), self.length * factor))
        return self._at(self.start + part * (self.length - length), length)

    def moved(self, parts: float) -> "Span":
        """Return one as long, farther by parts of it."""
        return self._at(self.start + parts * self.length, self.length)

    def showing(self, place: float) -> "Span":
        """Return one as long in which all from ``place`` to ``place + 1`` is seen."""
        start = min(place, max(self.start, place + 1 - self.length))
        return self._at(start, self.length)

    def part(self, place: float) -> float:
        """Return where a place is, from 0 to 1 if it is inside."""
        return (place - self.start) / self.length

    def starting(self, start: float) -> "Span":
        """Return one as long that starts there, or as near to it as there is room for."""
        return self._at(start, self.length)

    def _at(self, start: float, length: float) -> "Span":
        return Span(min(max(0.0, start), self.size - length), length, self.size)
