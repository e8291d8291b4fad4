"""Canvas of the map: the drawing of a part, with zoom into nested parts, selection and keys.

It paints itself. As a ``QGraphicsScene`` (tried with Qt 6.11: a BERT layer at 1100 × 700 pixels), a
frame takes as long with one item for each drawing or node (1.3 and 1.5 ms, here 1.3 ms), and so
does hit testing (0.14 ms, here 0.12 ms). But fading nested drawings, entering the part that fills
the window, and limits of zoom and text size would need the same code, in items that have to be kept
in step with the drawings; and a ``QGraphicsView`` scrolls by whole pixels, so that animations
tremble.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from PySide6.QtCore import QEasingCurve, QEvent, QPointF, QSize, Qt, QVariantAnimation, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from typing_extensions import override

from bertviewer.charts.graph.drawing import DrawnNode
from bertviewer.charts.map.neighbours import Direction, first_node, last_node, neighbour
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.theme import SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.map.drawing_cache import DrawingCache
from bertviewer.ui.map.gestures import Gestures
from bertviewer.ui.map.hover import HoverView
from bertviewer.ui.map.map_style import NodeStyle
from bertviewer.ui.map.painting import HeadImages, paint_levels, paint_names, paint_ring
from bertviewer.ui.map.viewport import Hit, NodeRef, Viewport
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import has_motion, theme_of

ANIMATION_TIME = 220
"""Milliseconds."""
ZOOM_STEP = 1.25


class FlowCanvas(HoverView[Hit]):
    """Shows a part of a model, and the inside of large nodes.

    Signals: ``opened`` (a part) when another part is opened, ``explored`` when the user has zoomed
    or panned, ``picked`` (a ``Hit``) when the user selects a node, ``selection_wanted`` to open the
    selected module if several nodes show it, ``treemap_wanted``. Of the walkthrough: ``stepped``
    (number of steps) while ``is_walking``, ``play_wanted``, ``walk_wanted`` (start or end).
    """

    opened = Signal(object)
    explored = Signal()
    picked = Signal(object)
    selection_wanted = Signal()
    treemap_wanted = Signal()
    stepped = Signal(int)
    play_wanted = Signal()
    walk_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("mapCanvas", translate("map", "Map of the model"))
        self.setMinimumSize(200, 60)
        self.viewport: Viewport | None = None
        self.head_images: HeadImages = {}
        self.head: int | None = None
        self.cursor_node: NodeRef | None = None  # keys start from here
        self.marked: tuple[NodeRef, ...] = ()  # the selection
        self.is_walking = False
        self._style = NodeStyle()
        self._emitted: Scope | None = None
        self._step: Callable[[float], None] = lambda _progress: None
        self._finish: Callable[[], None] = lambda: None
        self._animation = QVariantAnimation(self)
        self._animation.setStartValue(0.0)
        self._animation.setEndValue(1.0)
        self._animation.setDuration(ANIMATION_TIME)
        self._animation.setEasingCurve(QEasingCurve.Type.InOutCubic)
        self._animation.valueChanged.connect(self._on_step)
        self._animation.finished.connect(self._on_finished)
        self._keys = self._make_keys()
        gestures = Gestures(self)
        gestures.zoomed.connect(self.zoom)
        gestures.panned.connect(self.pan)
        gestures.clicked.connect(lambda position: self._pick(self.item_at(position)))
        gestures.activated.connect(lambda position: self._open(self.item_at(position)))
        gestures.hovered.connect(lambda position: self.hover(self.item_at(position)))
        gestures.left.connect(lambda: self.hover(None))

    @property
    def scope(self) -> Scope:
        """The opened part."""
        return WHOLE if self.viewport is None else self.viewport.scope

    def set_graphs(self, graphs: PartGraphs | None, scope: Scope = WHOLE) -> None:
        """Show a part of another model, or of the same one with other data."""
        self._stop()
        self.cursor_node, self.marked, self._hovered, self._emitted = None, (), None, None
        self.head_images = {}
        self.viewport = None
        if graphs is not None and graphs.flow(scope) is not None:
            cache = DrawingCache(graphs)
            cache.set_theme(theme_of(self))
            cache.set_style(self._style)
            self.viewport = Viewport(cache)
            self.viewport.scope = scope
            self.viewport.resize(self.width(), self.height())
        self._update_view()

    def open(self, scope: Scope) -> None:
        """Open a part; with an animation if it contains the visible one, or the other way round."""
        viewport = self.viewport
        if viewport is None or viewport.cache.drawing(scope) is None:
            return
        base, start = viewport.scope, viewport.camera
        end = viewport.camera_in(scope, base) if self.isVisible() and has_motion() else None

        def finish() -> None:
            viewport.fit(scope)
            self._update_view()
            self._show_marked()

        self._stop()
        if end is None:
            finish()
            return

        def step(progress: float) -> None:
            camera = start.towards(end, progress, viewport.width, viewport.height)
            viewport.set_camera(base, camera)
            self._update_view()

        self._step, self._finish = step, finish
        self._animation.start()

    def up(self) -> None:
        """Open the part around the opened one, and mark that in it."""
        if self.viewport is None:
            return
        scope, graphs = self.scope, self.viewport.cache.graphs
        above = graphs.above(scope)
        if above is None:
            self.fit()
            return
        box = graphs.box(above, scope)
        self.cursor_node = None if box is None else NodeRef(above, box[0].id)
        self.open(above)

    def fit(self) -> None:
        """Show the whole opened part."""
        self.open(self.scope)

    def zoom(self, factor: float, position: QPointF | None = None) -> None:
        """Zoom around a position, by default the centre."""
        if self.viewport is not None:
            position = position or QPointF(self.width() / 2, self.height() / 2)
            self._stop()
            self.viewport.zoom(factor, position.x(), position.y())
            self._update_view()
            self.explored.emit()

    def pan(self, distance: QPointF) -> None:
        """Move the drawing by pixels."""
        if self.viewport is not None:
            self._stop()
            self.viewport.pan(distance.x(), distance.y())
            self._update_view()
            self.explored.emit()

    def mark(self, keys: tuple[str, ...], *, is_new: bool) -> None:
        """Mark nodes of the opened part as selected, by their ids.

        The cursor stays, unless the selection ``is_new``.
        """
        self.marked = tuple(NodeRef(self.scope, key) for key in keys)
        cursor = self.cursor_node
        if cursor is not None and (
            cursor.scope != self.scope or (is_new and cursor.key not in keys)
        ):
            self.cursor_node = None
        if self.cursor_node is None and len(keys) == 1:
            self.cursor_node = NodeRef(self.scope, keys[0])
        if is_new and self._animation.state() != QVariantAnimation.State.Running:
            self._show_marked()
        self._describe()
        self.update()

    def set_style(self, style: NodeStyle) -> None:
        """Set colours and texts of nodes."""
        self._style = style
        if self.viewport is not None:
            self.viewport.cache.set_style(style)
            self._describe()
            self.update()

    def show_heads(self, images: HeadImages, head: int | None) -> None:
        """Show images of attention heads, one of them selected."""
        self.head_images, self.head = images, head
        self.update()

    @override
    def item_at(self, position: QPointF) -> Hit | None:
        return None if self.viewport is None else self.viewport.hit(position.x(), position.y())

    @override
    def tooltip(self, item: Hit) -> str:
        return self._style.tooltip(item.scope, item.placed.node)

    @override
    def sizeHint(self) -> QSize:
        return QSize(760, 380)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self.viewport is not None:
            self.viewport.cache.set_theme(theme_of(self))
            self.update()
        elif event.type() == QEvent.Type.FontChange:
            self._resize_viewport()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._resize_viewport()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.viewport is not None:
            self._paint(painter, self.viewport)
        self.paint_focus(painter)
        painter.end()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        modifiers, shift = event.modifiers(), Qt.KeyboardModifier.ShiftModifier
        key, has_shift, call = Qt.Key(event.key()), bool(modifiers & shift), None
        if not modifiers & ~(shift | Qt.KeyboardModifier.KeypadModifier):
            walking = self._walking_keys if self.is_walking and not has_shift else {}
            call = walking.get(key) or self._keys.get((key, has_shift))
        if call is None:
            super().keyPressEvent(event)
        else:
            call()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() != QContextMenuEvent.Reason.Keyboard:
            self._pick(self.item_at(QPointF(event.pos())))
        entries = (
            ("openPart", self.tr("Open (Enter)"), self._open_cursor),
            ("upFromPart", self.tr("Go to parent (Backspace)"), self.up),
            ("fitPart", self.tr("Reset view (0)"), self.fit),
        )
        self.show_menu(event.globalPos(), entries)

    def _make_keys(self) -> dict[tuple[Qt.Key, bool], Callable[[], object]]:
        """Return actions by key and Shift; those for zooming are Netron's, too."""
        zoom_in, zoom_out = partial(self.zoom, ZOOM_STEP), partial(self.zoom, 1 / ZOOM_STEP)
        keys = Qt.Key
        self._walking_keys: dict[Qt.Key, Callable[[], object]] = {
            keys.Key_Left: partial(self.stepped.emit, -1),
            keys.Key_Right: partial(self.stepped.emit, 1),
            keys.Key_Escape: self.walk_wanted.emit,
        }
        with_shift: dict[Qt.Key, Callable[[], object]] = {
            keys.Key_Left: partial(self._next_head, -1),
            keys.Key_Right: partial(self._next_head, 1),
            keys.Key_Up: zoom_in,
            keys.Key_Down: zoom_out,
            keys.Key_Backspace: self.fit,
            keys.Key_Plus: zoom_in,
        }
        alone: dict[Qt.Key, Callable[[], object]] = {
            keys.Key_Left: partial(self._move_cursor, "left"),
            keys.Key_Right: partial(self._move_cursor, "right"),
            keys.Key_Up: partial(self._move_cursor, "up"),
            keys.Key_Down: partial(self._move_cursor, "down"),
            keys.Key_Home: partial(self._move_cursor, "first"),
            keys.Key_End: partial(self._move_cursor, "last"),
            keys.Key_Return: self._open_cursor,
            keys.Key_Enter: self._open_cursor,
            keys.Key_Backspace: self.up,
            keys.Key_Space: self.play_wanted.emit,
            keys.Key_W: self.walk_wanted.emit,
            keys.Key_T: self.treemap_wanted.emit,
            keys.Key_0: self.fit,
            keys.Key_F: self.fit,
            keys.Key_Plus: zoom_in,
            keys.Key_Equal: zoom_in,
            keys.Key_Minus: zoom_out,
        }
        actions = {(key, True): call for key, call in with_shift.items()}
        return actions | {(key, False): call for key, call in alone.items()}

    def _pick(self, hit: Hit | None) -> None:
        if hit is not None:
            self.cursor_node, self.marked = hit.ref, ()
            self._describe()
            self.update()
            self.picked.emit(hit)

    def _open(self, hit: Hit | None) -> None:
        """Open the inside of a node."""
        if hit is not None and self.viewport is not None:
            inset = self.viewport.cache.inset(hit.scope, hit.placed)
            if inset is not None:
                self.open(inset.scope)

    def _open_cursor(self) -> None:
        """Open the node at the cursor, or the selection if several nodes show it."""
        cursor, placed = self.cursor_node, self._placed(self.cursor_node)
        if cursor is not None and placed is not None:
            self._open(Hit(cursor.scope, placed))
        elif self.marked:
            self.selection_wanted.emit()

    def _move_cursor(self, way: Direction | Literal["first", "last"]) -> None:
        drawing = None if self.viewport is None else self.viewport.cache.drawing(self.scope)
        if drawing is None:
            return
        cursor = self.cursor_node
        if way == "last":
            placed = last_node(drawing)
        elif way == "first" or cursor is None or cursor.scope != self.scope:
            placed = first_node(drawing)
        else:
            placed = neighbour(drawing, cursor.key, way)
        if placed is not None:
            self._pick(Hit(self.scope, placed))
            self._bring_into_view(placed)

    def _next_head(self, step: int) -> None:
        """Select the next or previous head of the attention at the cursor."""
        cursor, placed = self.cursor_node, self._placed(self.cursor_node)
        if cursor is not None and placed is not None and placed.tiles:
            current = -1 if self.head is None and step > 0 else self.head or 0
            head = min(max(current + step, 0), len(placed.tiles) - 1)
            self._pick(Hit(cursor.scope, placed, head))

    def _on_step(self, progress: float) -> None:
        self._step(progress)

    def _on_finished(self) -> None:
        self._finish()

    def _stop(self) -> None:
        """Stop the animation where it is."""
        self._animation.stop()
        self._finish = lambda: None

    def _resize_viewport(self) -> None:
        if self.viewport is not None:
            self._stop()
            self.viewport.resize(self.width(), self.height())
            self._update_view()
            self._show_marked()

    def _paint(self, painter: QPainter, viewport: Viewport) -> None:
        cache, levels = viewport.cache, viewport.levels()
        theme = cache.theme
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        paint_levels(painter, levels, cache, self.head_images, self.head)
        paint_names(painter, levels, cache, weighted(sized(self.font(), SMALL)))
        rings = [] if self._hovered is None else [(self._hovered.ref, theme.muted, 1.0)]
        rings += [(ref, theme.accent, 2.0) for ref in self.marked]
        if self.cursor_node is not None and self.cursor_node not in self.marked:
            rings.append((self.cursor_node, theme.accent, 2.0))
        for level in levels:
            for ref, color, width in rings:
                placed = cache.placed(ref.scope, ref.key) if ref.scope == level.scope else None
                if placed is not None:
                    paint_ring(painter, placed, level, color, width)

    def _show_marked(self) -> None:
        self._bring_into_view(self._placed(self.marked[0]) if self.marked else None)

    def _bring_into_view(self, placed: DrawnNode | None) -> None:
        if (
            self.viewport is not None
            and placed is not None
            and self.viewport.scroll_to(placed.rect)
        ):
            self._update_view()

    def _placed(self, ref: NodeRef | None) -> DrawnNode | None:
        if self.viewport is None or ref is None:
            return None
        return self.viewport.cache.placed(ref.scope, ref.key)

    def _describe(self) -> None:
        cursor, placed = self.cursor_node, self._placed(self.cursor_node)
        text = ""
        if cursor is not None and placed is not None:
            text = self._style.tooltip(cursor.scope, placed.node)
        self.describe(text)

    def _update_view(self) -> None:
        """Repaint, and emit ``opened`` if the visible part has changed."""
        self.update()
        if self.scope != self._emitted:
            self._emitted = self.scope
            self.opened.emit(self.scope)
