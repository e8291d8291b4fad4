"""Which piece of a drawing is in sight, and how large."""

from msgspec import Struct

from bertviewer.charts.graph.drawing import Point, Rect

MOST_FITTED = 2.25
"""A drawing that is fitted is never shown larger than so many times."""


class Camera(Struct, frozen=True):
    """A point (a, b) of the drawing is seen at (scale·a + x, scale·b + y)."""

    scale: float = 1.0
    x: float = 0.0
    y: float = 0.0

    def seen(self, rect: Rect) -> Rect:
        """Return where a rectangle of the drawing is seen."""
        return Rect(
            rect.x * self.scale + self.x,
            rect.y * self.scale + self.y,
            rect.width * self.scale,
            rect.height * self.scale,
        )

    def drawn(self, x: float, y: float) -> Point:
        """Return the point of the drawing that is seen at a place."""
        return (x - self.x) / self.scale, (y - self.y) / self.scale

    def zoomed(self, factor: float, x: float, y: float) -> "Camera":
        """Return it closer by a factor, with what is seen at a place kept there."""
        return Camera(self.scale * factor, x + (self.x - x) * factor, y + (self.y - y) * factor)

    def moved(self, x: float, y: float) -> "Camera":
        """Return it with all that is seen moved."""
        return Camera(self.scale, self.x + x, self.y + y)

    def of_inner(self, inset: "Camera") -> "Camera":
        """Return the same sight for a drawing that is set into this one, as ``inset`` says."""
        return Camera(
            self.scale * inset.scale,
            self.scale * inset.x + self.x,
            self.scale * inset.y + self.y,
        )

    def of_outer(self, inset: "Camera") -> "Camera":
        """Return the same sight for the drawing that this one is set into."""
        scale = self.scale / inset.scale
        return Camera(scale, self.x - inset.x * scale, self.y - inset.y * scale)

    def towards(self, other: "Camera", share: float, width: float, height: float) -> "Camera":
        """Return what is between two sights, so much of the way from this one to the other.

        The middle of the window goes straight, and what is seen grows evenly.
        """
        scale = self.scale ** (1 - share) * other.scale**share
        # With equal scales the middle moves evenly; else as fast as what is seen grows.
        if abs(other.scale - self.scale) < 1e-9 * self.scale:
            moved = share
        else:
            moved = (1 / self.scale - 1 / scale) / (1 / self.scale - 1 / other.scale)
        (a, b), (c, d) = (each.drawn(width / 2, height / 2) for each in (self, other))
        x, y = a + (c - a) * moved, b + (d - b) * moved
        return Camera(scale, width / 2 - x * scale, height / 2 - y * scale)


def fitted(
    rect: Rect, width: float, height: float, most: float = MOST_FITTED, least: float = 1e-6
) -> Camera:
    """Return the sight that has a rectangle in the middle, as large as there is room.

    Where it has not enough room it is seen from its beginning on: it is never smaller than so.
    """
    scale = min(width / max(rect.width, 1.0), height / max(rect.height, 1.0), most)
    return _begun(rect, width, height, max(scale, least))


def fitted_width(rect: Rect, width: float, height: float) -> Camera:
    """Return the sight that has a list as wide as the window, from its beginning on."""
    return _begun(rect, width, height, min(width / max(rect.width, 1.0), 1.0))


def _begun(rect: Rect, width: float, height: float, scale: float) -> Camera:
    x, y = max(width - rect.width * scale, 0.0) / 2, max(height - rect.height * scale, 0.0) / 2
    return Camera(scale, x - rect.x * scale, y - rect.y * scale)


def placed_in(inner: Rect, box: Rect) -> Camera:
    """Return how a drawing is set into a box of another one."""
    inset = fitted(inner, box.width, box.height, most=float("inf"))
    return Camera(inset.scale, inset.x + box.x, inset.y + box.y)
