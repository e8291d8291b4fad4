"""Camera: the position and scale at which a drawing is displayed."""

from math import inf

from msgspec import Struct

from bertviewer.charts.graph.drawing import Point, Rect

_MAX_SCALE = 2.25
"""Maximum scale of a drawing that is fitted to the window."""


class Camera(Struct, frozen=True):
    """Displays a point (a, b) of the drawing at (scale·a + x, scale·b + y)."""

    scale: float = 1.0
    x: float = 0.0
    y: float = 0.0

    def seen(self, rect: Rect) -> Rect:
        """Return where a rectangle of the drawing is displayed."""
        return Rect(
            rect.x * self.scale + self.x,
            rect.y * self.scale + self.y,
            rect.width * self.scale,
            rect.height * self.scale,
        )

    def drawn(self, x: float, y: float) -> Point:
        """Return the point of the drawing at a position of the window."""
        return (x - self.x) / self.scale, (y - self.y) / self.scale

    def zoomed(self, factor: float, x: float, y: float) -> "Camera":
        """Return the camera zoomed about a position of the window."""
        return Camera(self.scale * factor, x + (self.x - x) * factor, y + (self.y - y) * factor)

    def moved(self, x: float, y: float) -> "Camera":
        """Return the camera moved by a distance in the window."""
        return Camera(self.scale, self.x + x, self.y + y)

    def of_inner(self, inset: "Camera") -> "Camera":
        """Return the same view for a drawing that is inset into this one."""
        x, y = inset.x * self.scale + self.x, inset.y * self.scale + self.y
        return Camera(self.scale * inset.scale, x, y)

    def of_outer(self, inset: "Camera") -> "Camera":
        """Return the same view for the drawing into which this one is inset."""
        scale = self.scale / inset.scale
        return Camera(scale, self.x - inset.x * scale, self.y - inset.y * scale)

    def towards(self, other: "Camera", share: float, width: float, height: float) -> "Camera":
        """Interpolate between two cameras: the centre moves straight, the scale exponentially."""
        scale = self.scale ** (1 - share) * other.scale**share
        # Unless the scales are equal, the centre moves as fast as the visible area grows.
        moved = share
        if abs(other.scale - self.scale) >= 1e-9 * self.scale:
            moved = (1 / self.scale - 1 / scale) / (1 / self.scale - 1 / other.scale)
        (a, b), (c, d) = (each.drawn(width / 2, height / 2) for each in (self, other))
        x, y = a + (c - a) * moved, b + (d - b) * moved
        return Camera(scale, width / 2 - x * scale, height / 2 - y * scale)


def fitted(
    rect: Rect, width: float, height: float, most: float = _MAX_SCALE, least: float = 1e-6
) -> Camera:
    """Return the camera that shows a rectangle centred and as large as possible.

    If it does not fit at the minimum scale, its beginning is shown.
    """
    scale = min(width / max(rect.width, 1.0), height / max(rect.height, 1.0), most)
    return _centred(rect, width, height, max(scale, least))


def fitted_width(rect: Rect, width: float, height: float) -> Camera:
    """Return the camera that shows a list in the width of the window, from its beginning."""
    return _centred(rect, width, height, min(width / max(rect.width, 1.0), 1.0))


def _centred(rect: Rect, width: float, height: float, scale: float) -> Camera:
    x, y = max(width - rect.width * scale, 0.0) / 2, max(height - rect.height * scale, 0.0) / 2
    return Camera(scale, x - rect.x * scale, y - rect.y * scale)


def placed_in(inner: Rect, box: Rect) -> Camera:
    """Return the inset of a drawing in a box of another one."""
    inset = fitted(inner, box.width, box.height, most=inf)
    return inset.moved(box.x, box.y)
