"""What an SVG is made of, and how its numbers are written."""

from hashlib import sha256

from msgspec import Struct
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainterPath

Attributes = tuple[tuple[str, str], ...]

_ELEMENT = QPainterPath.ElementType


class Clip(Struct, frozen=True):
    """An area outside of which nothing is seen, by its outline."""

    outline: str

    @property
    def name(self) -> str:
        """A name that says what the area is: many drawings may stand in one page."""
        return f"clip-{sha256(self.outline.encode()).hexdigest()[:10]}"


class Piece(Struct, frozen=True):
    """An element to write.

    Attributes:
        tag: its name.
        place: the attributes that are its own: where it is.
        look: those that others may share: colours, pens, type.
        clip: the area that cuts it, if one does.
        text: what it says, if it is a text.
    """

    tag: str
    place: Attributes
    look: Attributes
    clip: Clip | None = None
    text: str = ""


def number(value: float) -> str:
    """Return a number to two digits, in as few letters as can be."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def numbers(*values: float) -> str:
    """Return numbers as they stand in a list."""
    return " ".join(map(number, values))


def steps_of(path: QPainterPath) -> str:
    """Return an outline as the steps of an SVG's path."""
    steps: list[str] = []
    start = last = (0.0, 0.0)
    for index in range(path.elementCount()):
        element = path.elementAt(index)
        x, y, kind = element.x, element.y, element.type
        if kind == _ELEMENT.MoveToElement:
            _close(steps, start, last)
            steps.append(f"M{numbers(x, y)}")
            start = x, y
        elif kind == _ELEMENT.LineToElement:
            steps.append(f"L{numbers(x, y)}")
        elif kind == _ELEMENT.CurveToElement:
            steps.append(f"C{numbers(x, y)}")
        else:
            steps.append(f" {numbers(x, y)}")
        last = x, y
    _close(steps, start, last)
    return "".join(steps)


def _close(steps: list[str], start: tuple[float, float], last: tuple[float, float]) -> None:
    """Close an outline that has come back to where it began: its corner is one as others are."""
    if len(steps) < 2 or start != last or steps[-1][0] == "M":
        return
    if steps[-1][0] == "L":
        steps.pop()
    steps.append("Z")


def rectangle(rect: QRectF) -> Attributes:
    """Return where an upright rectangle is."""
    return (
        ("x", number(rect.x())),
        ("y", number(rect.y())),
        ("width", number(rect.width())),
        ("height", number(rect.height())),
    )
