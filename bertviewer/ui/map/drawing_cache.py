"""Drawings of the parts of a model, laid out for the size of the window and cached."""

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
from bertviewer.ui.map.map_style import NodeStyle

MIN_FONT, MIN_SUBSCRIPT = 9.0, 6.5
"""Pixels below which text and subscripts are not legible, at the normal text size."""
TOLERANCE = 0.93
"""A whole part is shown if its text has at least this fraction of the minimum."""
_MIN_CANVAS, _MAX_CANVAS = 520.0, 2600.0
_FRACTIONS, _GAIN = (0.65, 0.8), 1.15
"""Scales that are tried to wrap a drawing into rows, and by how much text has to grow by that."""


class Inset(Struct, frozen=True):
    """The part that is drawn inside a node: its rectangle, and the transformation into it."""

    scope: Scope
    box: Rect
    placed: Camera


class _Laid(Struct, frozen=True):
    """A drawing with its bounds and its nodes by id."""

    drawing: Drawing
    bounds: Rect
    nodes: dict[str, DrawnNode]

    @property
    def font_size(self) -> float:
        """The size of the smallest text; a subscript counts as text of the size it belongs to."""
        sizes = (
            label.size * (MIN_FONT / MIN_SUBSCRIPT if label.is_subscript else 1.0)
            for placed in self.drawing.nodes
            for label in placed.labels
        )
        return min(sizes, default=NORMAL)

    @property
    def is_list(self) -> bool:
        """Whether operations are listed, because there are too many for a drawing."""
        return bool(self.drawing.nodes) and self.drawing.nodes[0].form == "list"


class DrawingCache:
    """Lays out the parts of a model, and prepares them for painting.

    ``members`` has the layer that is shown for a node of identical layers, by part and node.
    """

    def __init__(self, graphs: PartGraphs) -> None:
        self.graphs = graphs
        self.members: dict[tuple[Scope, str], str] = {}
        self._style = NodeStyle()
        self._theme = LIGHT
        self._size = (760.0, 380.0)
        self._min_font = MIN_FONT
        self._drawn: dict[tuple[Scope, float, bool], _Laid] = {}
        self._laid: dict[Scope, _Laid | None] = {}
        self._painted: dict[Scope, PreparedDrawing] = {}

    @property
    def theme(self) -> Theme:
        """The theme."""
        return self._theme

    @property
    def style(self) -> NodeStyle:
        """The style of nodes."""
        return self._style

    def set_style(self, style: NodeStyle) -> None:
        """Set another style of nodes."""
        self._style = style
        self._painted.clear()

    def set_theme(self, theme: Theme) -> None:
        """Set another theme."""
        self._theme = theme
        self._painted.clear()

    def set_size(self, width: float, height: float) -> None:
        """Set the size of the window in pixels; the text size is taken from the application."""
        min_font = MIN_FONT * type_scale()
        if (width, height, min_font) != (*self._size, self._min_font):
            self._min_font = min_font
            if width != self._size[0]:
                self._drawn.clear()  # rows are as long as the window
            self._size = (width, height)
            self._laid.clear()
            self._painted.clear()

    def drawing(self, scope: Scope) -> Drawing | None:
        """Return the drawing of a part, ``None`` if it has no graph."""
        laid = self._lay(scope)
        return None if laid is None else laid.drawing

    def bounds(self, scope: Scope) -> Rect:
        """Return the bounds of a part's drawing."""
        laid = self._lay(scope)
        return Rect(0, 0, 1, 1) if laid is None else laid.bounds

    def placed(self, scope: Scope, key: str) -> DrawnNode | None:
        """Return a node of a part's drawing by its id."""
        laid = self._lay(scope)
        return None if laid is None else laid.nodes.get(key)

    def painting(self, scope: Scope) -> PreparedDrawing | None:
        """Return the drawing of a part, prepared for painting."""
        laid = self._lay(scope)
        if laid is None:
            return None
        if scope not in self._painted:
            self._painted[scope] = PreparedDrawing(
                laid.drawing, self._theme, self._style.colors(scope), has_title=False
            )
        return self._painted[scope]

    def inset(self, scope: Scope, placed: DrawnNode) -> Inset | None:
        """Return the part that is drawn inside a node, ``None`` if there is none."""
        member = self.members.get((scope, placed.node.id), "")
        inner = self.graphs.inside(scope, placed.node, member)
        return None if inner is None else self._inset(placed, inner)

    def inset_of(self, scope: Scope, inner: Scope) -> Inset | None:
        """Return how a part is drawn inside another one, and show that layer there from now on."""
        found = self.graphs.box(scope, inner)
        if found is None:
            return None
        node, member = found
        if member and node.repeat is not None:
            self.members[scope, node.id] = member
        placed = self.placed(scope, node.id)
        return None if placed is None else self._inset(placed, inner)

    def _inset(self, placed: DrawnNode, inner: Scope) -> Inset | None:
        if self._lay(inner) is None:
            return None
        return Inset(inner, front_rect(placed), placed_in(self.bounds(inner), inner_rect(placed)))

    def fit(self, scope: Scope) -> Camera:
        """Return the camera that shows a whole part, or its beginning if text is too small."""
        laid = self._lay(scope)
        if laid is None:
            return fitted(self.bounds(scope), *self._size)
        if laid.is_list:
            return fitted_width(laid.bounds, *self._size)
        whole, min_scale = fitted(laid.bounds, *self._size), MIN_FONT / laid.font_size
        if whole.scale >= TOLERANCE * min_scale:
            return whole
        return fitted(laid.bounds, *self._size, least=min_scale)

    def _lay(self, scope: Scope) -> _Laid | None:
        if scope not in self._laid:
            flow = self.graphs.flow(scope)
            self._laid[scope] = None
            if flow is not None and flow.nodes:
                self._laid[scope] = self._best(scope, flow)
        return self._laid[scope]

    def _best(self, scope: Scope, flow: Flow) -> _Laid:
        """Return a drawing whose text is legible in the window, or else the one closest to that.

        If necessary it has more rows, and nodes have only their names.
        """
        width, height = self._size
        laid = self._draw(scope, flow)
        if laid.is_list:
            laid = self._draw(scope, flow, width)
            # A list that is too long for the window has one column.
            return self._draw(scope, flow, 0.0) if laid.bounds.height > height else laid
        best = laid
        for is_brief in (False, True):
            best = max(best, self._in_rows(scope, flow, is_brief=is_brief), key=self._font_size)
            if self._font_size(best) >= self._min_font:
                break
        return best

    def _in_rows(self, scope: Scope, flow: Flow, *, is_brief: bool) -> _Laid:
        """Return the drawing with the number of rows that has the largest text in the window."""
        width, height = self._size
        laid = self._draw(scope, flow, is_brief=is_brief)
        font_size = self._font_size(laid)
        if font_size >= self._min_font:
            return laid
        is_wide = laid.bounds.width / width > laid.bounds.height / height
        for canvas in [width / each for each in _FRACTIONS] if is_wide else [_MAX_CANVAS]:
            other = self._draw(scope, flow, max(canvas, _MIN_CANVAS), is_brief=is_brief)
            if self._font_size(other) > _GAIN * font_size:
                laid, font_size = other, self._font_size(other)
        return laid

    def _font_size(self, laid: _Laid) -> float:
        """Return the size of the smallest text when the drawing is fitted into the window."""
        return laid.font_size * fitted(laid.bounds, *self._size).scale

    def _draw(
        self, scope: Scope, flow: Flow, canvas: float = CANVAS, *, is_brief: bool = False
    ) -> _Laid:
        key = scope, canvas, is_brief
        if key not in self._drawn:
            drawing = draw(flow, text_width, canvas=canvas, is_brief=is_brief)
            self._drawn[key] = _laid(drawing)
        return self._drawn[key]


def _laid(drawing: Drawing) -> _Laid:
    # A node that is drawn several times is found at its first position.
    nodes = {placed.node.id: placed for placed in reversed(drawing.nodes)}
    return _Laid(drawing, drawing_bounds(drawing), nodes)
