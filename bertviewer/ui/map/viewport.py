"""What is in sight of the map: which part, how close, and what shows its inside by itself."""

from collections.abc import Iterator

from msgspec import Struct, field

from bertviewer.charts.graph.drawing import DrawnNode, Rect
from bertviewer.charts.map.camera import Camera
from bertviewer.charts.map.part_graphs import WHOLE, Scope
from bertviewer.ui.map.drawing_cache import Inset, Sheets

FADE_IN, _LATEST, _FADING, _AWAY = 0.42, 0.74, 0.18, 1.1
"""How close a box is when its inside begins to be seen, and how much closer when it is seen whole.

1 is where all of the inside just fits into the window. What is large when all around it is seen
begins later.
"""
FADE_OUT, IS_ALONE = 0.64, 0.92
"""Likewise for what is around the part that fills the window: it goes."""

_ENTER, _LEAVE = 0.72, 0.5
_FARTHEST, _CLOSEST = 0.4, 3.0
_IN_SIGHT = 48.0
"""So many pixels of a node stay in the window."""
_EDGE = 24.0
"""So many pixels away from the window's edge is that which is to be seen."""


class Level(Struct, frozen=True):
    """A part as it is painted: a drawing in its place.

    Attributes:
        part: which.
        camera: where its drawing is seen.
        opacity: how much of it is seen.
        box: the box of the drawing around that it is in, as it is seen; ``None`` for the outermost.
        fading: how much is seen of nodes' texts, less where their inside takes their place.
        owner: the node around it.
    """

    part: Scope
    camera: Camera
    opacity: float
    box: Rect | None = None
    fading: dict[str, float] = field(default_factory=dict)
    owner: DrawnNode | None = None


class Sight:
    """A window on the drawings, which are set into one another."""

    def __init__(self, sheets: Sheets) -> None:
        self.sheets = sheets
        self.part = WHOLE
        self.camera = Camera()
        self.width, self.height = 760.0, 380.0

    @property
    def closeness(self) -> float:
        """How close the opened part is; 1 where it just fits."""
        return self._closeness(self.part, self.camera)

    def resize(self, width: float, height: float) -> None:
        """Take a window of another size; the same part is fitted into it."""
        self.width, self.height = width, height
        self.sheets.set_size(width, height)
        self.fit(self.part)

    def fit(self, part: Scope) -> None:
        """Show all of a part."""
        self.part, self.camera = part, self.sheets.fit(part)
        # Whoever goes up from here comes to the layer that this was.
        above = self.sheets.atlas.above(part)
        if above is not None:
            self.sheets.inset_of(above, part)

    def look(self, part: Scope, camera: Camera) -> None:
        """Look at a part from so close; what fills the window becomes the opened part."""
        self.part, self.camera = part, camera
        self._limit()
        self._settle()

    def zoom(self, factor: float, x: float, y: float) -> None:
        """Go closer by a factor, to what is seen at a place."""
        part, closeness = self.part, self.closeness
        if factor < 1 and not self._has_around(part):
            factor = max(factor, min(1.0, _FARTHEST / closeness))
        if factor > 1 and not self._opens_at(x, y):
            # Between boxes there is nothing to come closer to.
            factor = min(factor, max(1.0, _CLOSEST / closeness))
        self.look(part, self.camera.zoomed(factor, x, y))

    def move(self, x: float, y: float) -> None:
        """Move what is seen."""
        self.look(self.part, self.camera.moved(x, y))

    def bring(self, place: Rect) -> bool:
        """Move so that a place of the opened part is seen; return whether that took a move."""
        all_of_it = self.camera.seen(self.sheets.bounds(self.part))
        seen = self.camera.seen(place)
        x = _missing(seen.x, seen.right, self.width, all_of_it.width)
        y = _missing(seen.y, seen.bottom, self.height, all_of_it.height)
        if x or y:
            self.move(x, y)
        return bool(x or y)

    def seen_from(self, part: Scope, other: Scope) -> Camera | None:
        """Return the fitted sight of a part in places of another one that is around it or in it.

        ``None`` stands for parts that are not set into one another.
        """
        camera = self.sheets.fit(part)
        if part == other:
            return camera
        for outer, inner, is_up in ((other, part, False), (part, other, True)):
            way = self._chain(outer, inner)
            if way is None:
                continue
            for inset in way if is_up else reversed(way):
                camera = camera.of_inner(inset.placed) if is_up else camera.of_outer(inset.placed)
            return camera
        return None

    def levels(self) -> list[Level]:
        """Return all that is to be painted, what is behind first."""
        part, camera, opacity = self.part, self.camera, 1.0
        closeness = self.closeness
        above = self.sheets.atlas.above(part)
        focus = part
        if above is not None and closeness < IS_ALONE:
            inset = self.sheets.inset_of(above, part)
            if inset is not None:
                opacity = 1.0 - _smooth(closeness, FADE_OUT, IS_ALONE)
                part, camera = above, camera.of_outer(inset.placed)
        found: list[Level] = []
        self._collect(Level(part, camera, opacity), focus, found)
        return found

    def _collect(self, level: Level, focus: Scope, found: list[Level]) -> None:
        found.append(level)
        for placed, inset in self._insets(level.part, level.camera):
            camera = level.camera.of_inner(inset.placed)
            begin = self._begin(level.part, inset)
            share = _smooth(self._closeness(inset.part, camera), begin, begin + _FADING)
            if share <= 0:
                continue
            level.fading[placed.node.id] = 1.0 - share
            opacity = share if inset.part == focus else share * level.opacity
            inner = Level(inset.part, camera, opacity, level.camera.seen(inset.box), owner=placed)
            self._collect(inner, focus, found)

    def _insets(self, part: Scope, camera: Camera) -> Iterator[tuple[DrawnNode, Inset]]:
        """Yield the boxes that are large in the window, with what is in them."""
        drawing = self.sheets.drawing(part)
        for placed in () if drawing is None else drawing.nodes:
            if placed.is_again:
                continue
            seen = camera.seen(placed.rect)
            is_large = seen.width > FADE_IN * self.width or seen.height > FADE_IN * self.height
            is_there = (
                seen.right > 0 and seen.bottom > 0 and seen.x < self.width and seen.y < self.height
            )
            if is_large and is_there:
                inset = self.sheets.inset(part, placed)
                if inset is not None:
                    yield placed, inset

    def _settle(self) -> None:
        """Open what fills the window, and leave what no longer does."""
        for _ in range(12):
            if self.closeness < _LEAVE and (above := self._around(self.part)) is not None:
                inset, outer = above
                self.part, self.camera = outer, self.camera.of_outer(inset.placed)
                continue
            inner = self._entered()
            if inner is None:
                return
            self.part, self.camera = inner.part, self.camera.of_inner(inner.placed)

    def _entered(self) -> Inset | None:
        """Return what has grown into the window around its middle."""
        for _, inset in self._insets(self.part, self.camera):
            seen = self.camera.seen(inset.box)
            has_middle = (
                seen.x < self.width / 2 < seen.right and seen.y < self.height / 2 < seen.bottom
            )
            camera = self.camera.of_inner(inset.placed)
            least = max(_ENTER, self._begin(self.part, inset) + _FADING)
            if has_middle and self._closeness(inset.part, camera) > least:
                return inset
        return None

    def _opens_at(self, x: float, y: float) -> bool:
        """Tell whether something that has an inside is seen at a place."""
        drawing = self.sheets.drawing(self.part)
        a, b = self.camera.drawn(x, y)
        for placed in () if drawing is None else drawing.nodes:
            rect = placed.rect
            if rect.x <= a <= rect.right and rect.y <= b <= rect.bottom:
                return self.sheets.inset(self.part, placed) is not None
        return False

    def _limit(self) -> None:
        """Keep a node in the window, and all of a drawing that has room in it."""
        seen = self.camera.seen(self.sheets.bounds(self.part))
        x = _back(seen.x, seen.right, self.width, _least(seen.width, self.width))
        y = _back(seen.y, seen.bottom, self.height, _least(seen.height, self.height))
        self.camera = self.camera.moved(x, y)
        drawing = self.sheets.drawing(self.part)
        nodes = [self.camera.seen(node.rect) for node in (drawing.nodes if drawing else ())]
        moves = [
            (
                _back(node.x, node.right, self.width, min(_IN_SIGHT, node.width)),
                _back(node.y, node.bottom, self.height, min(_IN_SIGHT, node.height)),
            )
            for node in nodes
        ]
        x, y = min(moves, key=lambda move: abs(move[0]) + abs(move[1]), default=(0.0, 0.0))
        self.camera = self.camera.moved(x, y)

    def _around(self, part: Scope) -> tuple[Inset, Scope] | None:
        above = self.sheets.atlas.above(part)
        if above is None:
            return None
        inset = self.sheets.inset_of(above, part)
        return None if inset is None else (inset, above)

    def _has_around(self, part: Scope) -> bool:
        return self._around(part) is not None

    def _chain(self, outer: Scope, inner: Scope) -> list[Inset] | None:
        """Return the insets from one part down to another, ``None`` if that is not in it."""
        found: list[Inset] = []
        part = inner
        while part != outer:
            around = self._around(part)
            if around is None:
                return None
            found.insert(0, around[0])
            part = around[1]
        return found

    def _begin(self, part: Scope, inset: Inset) -> float:
        """Return how close a box is when its inside begins to be seen: not where all is seen."""
        fitted = self._closeness(inset.part, self.sheets.fit(part).of_inner(inset.placed))
        return min(max(FADE_IN, _AWAY * fitted), _LATEST)

    def _closeness(self, part: Scope, camera: Camera) -> float:
        return camera.scale / self.sheets.fit(part).scale


def _back(begin: float, end: float, room: float, least: float) -> float:
    """Return how far to move for so many pixels of what reaches from here to there to be seen."""
    return max(least - end, 0.0) + min(room - least - begin, 0.0)


def _least(size: float, room: float) -> float:
    """Return how much of a drawing stays in the window: all that has room, or half a window."""
    return size if size <= room else room / 2


def _smooth(value: float, least: float, most: float) -> float:
    """Return 0 up to the least, 1 from the most on, and evenly between."""
    share = min(max((value - least) / (most - least), 0.0), 1.0)
    return share * share * (3 - 2 * share)


def _missing(begin: float, end: float, room: float, whole: float) -> float:
    """Return how far to move for what reaches from here to there, none where all has room."""
    if whole <= room + 1:
        return 0.0
    edge = min(_EDGE, (room - (end - begin)) / 2)
    return max(edge - begin, 0.0) + min(room - edge - end, 0.0)
