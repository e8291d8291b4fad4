"""Viewport of the map: which part is visible at what scale, with nested parts fading in."""

from collections.abc import Iterator

from msgspec import Struct, field

from bertviewer.charts.graph.drawing import DrawnNode, Rect
from bertviewer.charts.map.camera import Camera
from bertviewer.charts.map.part_graphs import WHOLE, Scope
from bertviewer.ui.map.drawing_cache import DrawingCache, Inset

# At zoom 1 a part just fits into the window.
_FADE_IN, _MAX_FADE_IN, _FADE_RANGE = 0.42, 0.74, 0.18
"""Zoom at which the inside of a node starts to fade in, its maximum, and the range of the fade."""
_FADE_IN_FACTOR = 1.1
"""Nodes that are large in the fitted drawing around them fade in at this factor of that zoom."""
_FADE_OUT, _FADED_OUT = 0.64, 0.92
"""Zoom range in which the drawing around the visible part fades out."""

_ENTER, _LEAVE = 0.72, 0.5
"""Zoom at which a part is opened and left."""
_MIN_ZOOM, _MAX_ZOOM = 0.4, 3.0
_MIN_VISIBLE = 48.0
"""Pixels of a node that stay in the window."""
_EDGE = 24.0
"""Pixels between a node that is brought into view and the edge of the window."""
_SMALL_NODE, _TOLERANCE = 24.0, 4.0
"""Nodes smaller than this, in units of the drawing, are hit from so many pixels around them."""
_MIN_OPACITY = 0.5
"""Opacity from which a nested part is hit."""


class NodeRef(Struct, frozen=True):
    """A node of a part by its id."""

    scope: Scope
    key: str


class Hit(Struct, frozen=True):
    """A node at a position; ``head`` is that of the tile at the position, if there is one."""

    scope: Scope
    placed: DrawnNode
    head: int | None = None

    @property
    def ref(self) -> NodeRef:
        """The node."""
        return NodeRef(self.scope, self.placed.node.id)


class Level(Struct, frozen=True):
    """A part to paint.

    Attributes:
        scope: the part.
        camera: maps its drawing to the window.
        opacity: from 0 to 1.
        box: the node around it in the window, ``None`` for the outermost part.
        fading: opacity of the texts of nodes, by id, where their inside fades in.
        owner: the node around it.
    """

    scope: Scope
    camera: Camera
    opacity: float
    box: Rect | None = None
    fading: dict[str, float] = field(default_factory=dict)
    owner: DrawnNode | None = None


class Viewport:
    """A view of nested drawings: the visible part and the camera of its drawing."""

    def __init__(self, cache: DrawingCache) -> None:
        self.cache = cache
        self.scope = WHOLE
        self.camera = Camera()
        self.width, self.height = 760.0, 380.0

    @property
    def zoom_level(self) -> float:
        """Scale of the visible part; 1 if it just fits into the window."""
        return self._zoom_of(self.scope, self.camera)

    def resize(self, width: float, height: float) -> None:
        """Set the size of the window, and fit the visible part."""
        self.width, self.height = width, height
        self.cache.set_size(width, height)
        self.fit(self.scope)

    def fit(self, scope: Scope) -> None:
        """Show the whole of a part."""
        self.scope, self.camera = scope, self.cache.fit(scope)
        # Going up from here leads to the same layer.
        above = self.cache.graphs.above(scope)
        if above is not None:
            self.cache.inset_of(above, scope)

    def set_camera(self, scope: Scope, camera: Camera) -> None:
        """Move the camera; the part that fills the window becomes the visible one."""
        self.scope, self.camera = scope, camera
        self._keep_in_window()
        self._open_visible()

    def zoom(self, factor: float, x: float, y: float) -> None:
        """Zoom by a factor around a position in the window."""
        scope, zoom_level = self.scope, self.zoom_level
        if factor < 1 and not self._outer_inset(scope):
            factor = max(factor, min(1.0, _MIN_ZOOM / zoom_level))
        if factor > 1 and not self._has_inside_at(x, y):
            factor = min(factor, max(1.0, _MAX_ZOOM / zoom_level))
        self.set_camera(scope, self.camera.zoomed(factor, x, y))

    def pan(self, x: float, y: float) -> None:
        """Pan by pixels."""
        self.set_camera(self.scope, self.camera.moved(x, y))

    def scroll_to(self, rect: Rect) -> bool:
        """Pan so that a rectangle of the visible part is in the window; return whether it moved."""
        whole = self.camera.seen(self.cache.bounds(self.scope))
        seen = self.camera.seen(rect)
        x = _missing(seen.x, seen.right, self.width, whole.width)
        y = _missing(seen.y, seen.bottom, self.height, whole.height)
        if x or y:
            self.pan(x, y)
        return bool(x or y)

    def camera_in(self, scope: Scope, other: Scope) -> Camera | None:
        """Return the fitted camera of a part in coordinates of another one around or inside it.

        ``None`` if neither contains the other.
        """
        camera = self.cache.fit(scope)
        if scope == other:
            return camera
        insets = self._insets_between(other, scope)
        if insets is not None:
            for inset in reversed(insets):
                camera = camera.of_outer(inset.placed)
            return camera
        insets = self._insets_between(scope, other)
        for inset in insets or ():
            camera = camera.of_inner(inset.placed)
        return None if insets is None else camera

    def levels(self) -> list[Level]:
        """Return the parts to paint, from back to front."""
        scope, camera, opacity = self.scope, self.camera, 1.0
        zoom = self.zoom_level
        above = self.cache.graphs.above(scope)
        focus = scope
        if above is not None and zoom < _FADED_OUT:
            inset = self.cache.inset_of(above, scope)
            if inset is not None:
                opacity = 1.0 - _smooth(zoom, _FADE_OUT, _FADED_OUT)
                scope, camera = above, camera.of_outer(inset.placed)
        found: list[Level] = []
        self._collect(Level(scope, camera, opacity), focus, found)
        return found

    def hit(self, x: float, y: float) -> Hit | None:
        """Return the innermost visible node at a position."""
        for level in reversed(self.levels()):
            box = level.box
            if level.opacity < _MIN_OPACITY:
                continue
            if box is not None and not (box.x <= x <= box.right and box.y <= y <= box.bottom):
                continue
            drawing = self.cache.drawing(level.scope)
            a, b = level.camera.drawn(x, y)
            for placed in reversed(() if drawing is None else drawing.nodes):
                rect, extra = placed.rect, 0.0
                if min(rect.width, rect.height) < _SMALL_NODE:
                    extra = _TOLERANCE / level.camera.scale
                is_inside_x = rect.x - extra <= a <= rect.right + extra
                if is_inside_x and rect.y - extra <= b <= rect.bottom + extra:
                    return Hit(level.scope, placed, _head_at(placed, a, b))
        return None

    def _collect(self, level: Level, focus: Scope, found: list[Level]) -> None:
        found.append(level)
        for placed, inset in self._insets(level.scope, level.camera):
            camera = level.camera.of_inner(inset.placed)
            begin = self._begin(level.scope, inset)
            share = _smooth(self._zoom_of(inset.scope, camera), begin, begin + _FADE_RANGE)
            if share <= 0:
                continue
            level.fading[placed.node.id] = 1.0 - share
            opacity = share if inset.scope == focus else share * level.opacity
            inner = Level(inset.scope, camera, opacity, level.camera.seen(inset.box), owner=placed)
            self._collect(inner, focus, found)

    def _insets(self, scope: Scope, camera: Camera) -> Iterator[tuple[DrawnNode, Inset]]:
        """Yield the nodes that are large in the window, with the parts inside."""
        drawing = self.cache.drawing(scope)
        for placed in () if drawing is None else drawing.nodes:
            if placed.is_again:
                continue
            seen = camera.seen(placed.rect)
            is_large = seen.width > _FADE_IN * self.width or seen.height > _FADE_IN * self.height
            is_there = (
                seen.right > 0 and seen.bottom > 0 and seen.x < self.width and seen.y < self.height
            )
            if is_large and is_there:
                inset = self.cache.inset(scope, placed)
                if inset is not None:
                    yield placed, inset

    def _open_visible(self) -> None:
        """Enter the part that fills the window, or leave one that no longer does."""
        for _ in range(12):
            if self.zoom_level < _LEAVE and (above := self._outer_inset(self.scope)) is not None:
                inset, outer = above
                self.scope, self.camera = outer, self.camera.of_outer(inset.placed)
                continue
            inner = self._part_in_middle()
            if inner is None:
                return
            self.scope, self.camera = inner.scope, self.camera.of_inner(inner.placed)

    def _part_in_middle(self) -> Inset | None:
        """Return the part that fills the middle of the window."""
        for _, inset in self._insets(self.scope, self.camera):
            seen = self.camera.seen(inset.box)
            has_middle = (
                seen.x < self.width / 2 < seen.right and seen.y < self.height / 2 < seen.bottom
            )
            camera = self.camera.of_inner(inset.placed)
            least = max(_ENTER, self._begin(self.scope, inset) + _FADE_RANGE)
            if has_middle and self._zoom_of(inset.scope, camera) > least:
                return inset
        return None

    def _has_inside_at(self, x: float, y: float) -> bool:
        """Return whether a node with an inside is at a position."""
        drawing = self.cache.drawing(self.scope)
        a, b = self.camera.drawn(x, y)
        for placed in () if drawing is None else drawing.nodes:
            rect = placed.rect
            if rect.x <= a <= rect.right and rect.y <= b <= rect.bottom:
                return self.cache.inset(self.scope, placed) is not None
        return False

    def _keep_in_window(self) -> None:
        """Keep a node in the window, and the whole drawing if it fits."""
        seen = self.camera.seen(self.cache.bounds(self.scope))
        x = _back(seen.x, seen.right, self.width, _least(seen.width, self.width))
        y = _back(seen.y, seen.bottom, self.height, _least(seen.height, self.height))
        self.camera = self.camera.moved(x, y)
        drawing = self.cache.drawing(self.scope)
        nodes = [self.camera.seen(node.rect) for node in (drawing.nodes if drawing else ())]
        moves = [
            (
                _back(node.x, node.right, self.width, min(_MIN_VISIBLE, node.width)),
                _back(node.y, node.bottom, self.height, min(_MIN_VISIBLE, node.height)),
            )
            for node in nodes
        ]
        x, y = min(moves, key=lambda move: abs(move[0]) + abs(move[1]), default=(0.0, 0.0))
        self.camera = self.camera.moved(x, y)

    def _outer_inset(self, scope: Scope) -> tuple[Inset, Scope] | None:
        above = self.cache.graphs.above(scope)
        if above is None:
            return None
        inset = self.cache.inset_of(above, scope)
        return None if inset is None else (inset, above)

    def _insets_between(self, outer: Scope, inner: Scope) -> list[Inset] | None:
        """Return the insets from one part down to another, ``None`` if it does not contain that."""
        found: list[Inset] = []
        scope = inner
        while scope != outer:
            around = self._outer_inset(scope)
            if around is None:
                return None
            found.insert(0, around[0])
            scope = around[1]
        return found

    def _begin(self, scope: Scope, inset: Inset) -> float:
        """Return the zoom at which the inside of a node starts to fade in."""
        fitted = self._zoom_of(inset.scope, self.cache.fit(scope).of_inner(inset.placed))
        return min(max(_FADE_IN, _FADE_IN_FACTOR * fitted), _MAX_FADE_IN)

    def _zoom_of(self, scope: Scope, camera: Camera) -> float:
        return camera.scale / self.cache.fit(scope).scale


def _back(begin: float, end: float, size: float, least: float) -> float:
    """Return the shift after which at least some pixels of an interval are in the window."""
    return max(least - end, 0.0) + min(size - least - begin, 0.0)


def _least(length: float, size: float) -> float:
    """Return the pixels of a drawing that stay in the window: all if it fits, or half a window."""
    return length if length <= size else size / 2


def _smooth(value: float, least: float, most: float) -> float:
    """Return a smooth step from 0 at ``least`` to 1 at ``most``."""
    share = min(max((value - least) / (most - least), 0.0), 1.0)
    return share * share * (3 - 2 * share)


def _missing(begin: float, end: float, size: float, whole: float) -> float:
    """Return the shift after which an interval is in the window, 0 if the whole drawing is."""
    if whole <= size + 1:
        return 0.0
    edge = min(_EDGE, (size - (end - begin)) / 2)
    return max(edge - begin, 0.0) + min(size - edge - end, 0.0)


def _head_at(placed: DrawnNode, x: float, y: float) -> int | None:
    for number, tile in enumerate(placed.tiles):
        if tile.x <= x <= tile.right and tile.y <= y <= tile.bottom:
            return number
    return None
