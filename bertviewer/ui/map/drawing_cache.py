"""The drawings of a model's parts, each laid out once."""

from msgspec import Struct

from bertviewer.charts.graph.drawing import (
    Drawing,
    DrawnNode,
    Rect,
    drawing_bounds,
    front_rect,
    inner_rect,
)
from bertviewer.charts.graph.layout import CANVAS, draw
from bertviewer.charts.map.camera import Camera, fitted, fitted_width, placed_in
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.theme import LIGHT, NORMAL, Theme
from bertviewer.core.schema.flow import Flow
from bertviewer.plots.fonts import type_scale
from bertviewer.plots.graph_painting import PreparedDrawing, text_width
from bertviewer.ui.map.map_style import Dress

LEAST_LETTERS = 9.0
"""Letters of fewer pixels are not to be read; of larger type more."""
LEAST_SUBSCRIPT = 6.5
"""The same for a subscript, which has to be smaller than its letter."""
ALMOST = 0.93
"""All of a part is shown if its letters are smaller than that by so little."""
_NARROWEST, _WIDEST = 520.0, 2600.0
_SHARES, _BETTER = (0.65, 0.8), 1.15
"""So much of a drawing's width the window may have when it goes on in another row."""


class Inset(Struct, frozen=True):
    """What is drawn inside of a node: which part, in which box, and how it is placed there."""

    part: Scope
    box: Rect
    placed: Camera


class _Laid(Struct, frozen=True):
    """A drawing with its bounds and its nodes by their ids."""

    drawing: Drawing
    bounds: Rect
    nodes: dict[str, DrawnNode]

    @property
    def letters(self) -> float:
        """The size of its smallest letters; a subscript counts as the letters it may go with."""
        sizes = (
            label.size * (LEAST_LETTERS / LEAST_SUBSCRIPT if label.is_subscript else 1.0)
            for placed in self.drawing.nodes
            for label in placed.labels
        )
        return min(sizes, default=NORMAL)

    @property
    def is_list(self) -> bool:
        """Whether its operations are listed: they are too many for a picture."""
        return bool(self.drawing.nodes) and self.drawing.nodes[0].form == "list"


class Sheets:
    """Lays parts out for a window of some size, and prepares them to be painted.

    ``members`` tells which layer of a deck is looked at, by the deck's part and its node.
    """

    def __init__(self, atlas: PartGraphs) -> None:
        self.atlas = atlas
        self.members: dict[tuple[Scope, str], str] = {}
        self._dress = Dress()
        self._theme = LIGHT
        self._size = (760.0, 380.0)
        self._least = LEAST_LETTERS
        self._drawn: dict[tuple[Scope, float, bool], _Laid] = {}
        self._laid: dict[Scope, _Laid | None] = {}
        self._painted: dict[Scope, PreparedDrawing] = {}

    @property
    def theme(self) -> Theme:
        """The colours that sheets have."""
        return self._theme

    @property
    def dress(self) -> Dress:
        """The colours, names and words that parts have."""
        return self._dress

    def set_dress(self, dress: Dress) -> None:
        """Paint parts otherwise from now on."""
        self._dress = dress
        self._painted.clear()

    def set_theme(self, theme: Theme) -> None:
        """Paint in other colours from now on."""
        self._theme = theme
        self._painted.clear()

    def set_size(self, width: float, height: float) -> None:
        """Lay parts out for a window of another size, or larger type, from now on."""
        least = LEAST_LETTERS * type_scale()
        if (width, height, least) != (*self._size, self._least):
            self._least = least
            if width != self._size[0]:
                self._drawn.clear()  # rows are as long as the window is wide
            self._size = (width, height)
            self._laid.clear()
            self._painted.clear()

    def drawing(self, part: Scope) -> Drawing | None:
        """Return a part's drawing, ``None`` if it has no flow."""
        laid = self._lay(part)
        return None if laid is None else laid.drawing

    def bounds(self, part: Scope) -> Rect:
        """Return the room that a part's drawing takes."""
        laid = self._lay(part)
        return Rect(0, 0, 1, 1) if laid is None else laid.bounds

    def placed(self, part: Scope, key: str) -> DrawnNode | None:
        """Return a node of a part in its place."""
        laid = self._lay(part)
        return None if laid is None else laid.nodes.get(key)

    def sheet(self, part: Scope) -> PreparedDrawing | None:
        """Return a part ready to be painted."""
        laid = self._lay(part)
        if laid is None:
            return None
        if part not in self._painted:
            self._painted[part] = PreparedDrawing(
                laid.drawing, self._theme, self._dress.tints(part), has_title=False
            )
        return self._painted[part]

    def inset(self, part: Scope, placed: DrawnNode) -> Inset | None:
        """Return what is drawn inside of a node, ``None`` if nothing is."""
        member = self.members.get((part, placed.node.id), "")
        inner = self.atlas.inside(part, placed.node, member)
        if inner is None or self._lay(inner) is None:
            return None
        return Inset(inner, front_rect(placed), placed_in(self.bounds(inner), inner_rect(placed)))

    def inset_of(self, part: Scope, inner: Scope) -> Inset | None:
        """Return how a part is set into the one in which it is drawn; it is looked at from now."""
        found = self.atlas.box(part, inner)
        if found is None:
            return None
        node, member = found
        if member and node.repeat is not None:
            self.members[part, node.id] = member
        placed = self.placed(part, node.id)
        if placed is None or self._lay(inner) is None:
            return None
        return Inset(inner, front_rect(placed), placed_in(self.bounds(inner), inner_rect(placed)))

    def fit(self, part: Scope) -> Camera:
        """Return the sight that has all of a part that can be read so, or else its beginning."""
        laid = self._lay(part)
        if laid is None:
            return fitted(self.bounds(part), *self._size)
        if laid.is_list:
            return fitted_width(laid.bounds, *self._size)
        whole, least = fitted(laid.bounds, *self._size), LEAST_LETTERS / laid.letters
        if whole.scale >= ALMOST * least:
            return whole
        return fitted(laid.bounds, *self._size, least=least)

    def _lay(self, part: Scope) -> _Laid | None:
        if part not in self._laid:
            flow = self.atlas.flow(part)
            self._laid[part] = None
            if flow is not None and flow.nodes:
                self._laid[part] = self._best(part, flow)
        return self._laid[part]

    def _best(self, part: Scope, flow: Flow) -> _Laid:
        """Return a drawing whose letters can be read in the window.

        If need be it has more rows, and if that is not enough no more than names; of those with
        letters that are too small, the one with the largest.
        """
        width, height = self._size
        laid = self._draw(part, flow)
        if laid.is_list:
            laid = self._draw(part, flow, width)
            # What is too long for the window is read downwards, in one column.
            return self._draw(part, flow, 0.0) if laid.bounds.height > height else laid
        best = laid
        for is_brief in (False, True):
            best = max(best, self._in_rows(part, flow, is_brief=is_brief), key=self._letters)
            if self._letters(best) >= self._least:
                break
        return best

    def _in_rows(self, part: Scope, flow: Flow, *, is_brief: bool) -> _Laid:
        """Return a drawing with as many rows as have the largest letters in the window."""
        width, height = self._size
        laid = self._draw(part, flow, is_brief=is_brief)
        letters = self._letters(laid)
        if letters >= self._least:
            return laid
        is_wide = laid.bounds.width / width > laid.bounds.height / height
        for canvas in [width / share for share in _SHARES] if is_wide else [_WIDEST]:
            other = self._draw(part, flow, max(canvas, _NARROWEST), is_brief=is_brief)
            if self._letters(other) > _BETTER * letters:
                laid, letters = other, self._letters(other)
        return laid

    def _letters(self, laid: _Laid) -> float:
        """Return how large the smallest letters are when all is fitted into the window."""
        return laid.letters * fitted(laid.bounds, *self._size).scale

    def _draw(
        self, part: Scope, flow: Flow, canvas: float = CANVAS, *, is_brief: bool = False
    ) -> _Laid:
        key = part, canvas, is_brief
        if key not in self._drawn:
            drawing = draw(flow, text_width, canvas=canvas, is_brief=is_brief)
            self._drawn[key] = _laid(drawing)
        return self._drawn[key]


def _laid(drawing: Drawing) -> _Laid:
    # A node that stands in several places is found at its first.
    nodes = {placed.node.id: placed for placed in reversed(drawing.nodes)}
    return _Laid(drawing, drawing_bounds(drawing), nodes)
