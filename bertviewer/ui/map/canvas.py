"""The picture of the opened part, in which one moves, zooms and selects."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QKeyEvent,
)
from typing_extensions import override

from bertviewer.charts.graph.drawing import DrawnNode
from bertviewer.charts.map.neighbours import Direction, first_node, last_node, neighbour
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.ui.map.drawing_cache import Sheets
from bertviewer.ui.map.gestures import Gestures
from bertviewer.ui.map.painting import Marked
from bertviewer.ui.map.picture import FlowPicture
from bertviewer.ui.map.viewport import Level

_AROUND = 4.0
"""So many pixels beside a small sign are still the sign."""
_SEEN = 0.5


class Hit(Struct, frozen=True):
    """A node that was pointed at; ``tile`` is the head whose picture it was, if it was one."""

    part: Scope
    placed: DrawnNode
    tile: int | None = None


def hit(levels: Sequence[Level], sheets: Sheets, x: float, y: float) -> Hit | None:
    """Return the innermost node at a place that is seen there, ``None`` if there is none."""
    for level in reversed(levels):
        if level.opacity < _SEEN:
            continue
        box = level.box
        if box is not None and not (box.x <= x <= box.right and box.y <= y <= box.bottom):
            continue
        drawing = sheets.drawing(level.part)
        a, b = level.camera.drawn(x, y)
        around = _AROUND / level.camera.scale
        for placed in reversed(() if drawing is None else drawing.nodes):
            rect = placed.rect
            room = around if min(rect.width, rect.height) < 24 else 0.0
            if rect.x - room <= a <= rect.right + room and rect.y - room <= b <= rect.bottom + room:
                return Hit(level.part, placed, _tile(placed, a, b))
    return None


def _tile(placed: DrawnNode, x: float, y: float) -> int | None:
    for number, tile in enumerate(placed.tiles):
        if tile.x <= x <= tile.right and tile.y <= y <= tile.bottom:
            return number
    return None


_STEP = 1.25
"""How much closer one press of a key goes."""


class FlowCanvas(FlowPicture):
    """A picture with hands: mouse, wheel, touch and keys.

    ``picked`` brings the node that a person chose, as a ``Hit``. While ``is_walking`` the arrow
    keys go through the walk: ``stepped`` brings by how many steps. ``play_wanted`` and
    ``walk_wanted`` say that it shall play or rest, and begin or end; ``selection_wanted`` that the
    selected module shall be opened, which several nodes are.
    """

    picked = Signal(object)
    stepped = Signal(int)
    play_wanted = Signal()
    walk_wanted = Signal()
    treemap_wanted = Signal()
    selection_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.is_walking = False
        self._keys = self._make_keys()
        self._walking_keys: dict[Qt.Key, Callable[[], object]] = {
            Qt.Key.Key_Left: partial(self.stepped.emit, -1),
            Qt.Key.Key_Right: partial(self.stepped.emit, 1),
            Qt.Key.Key_Escape: self.walk_wanted.emit,
        }
        gestures = Gestures(self)
        gestures.zoomed.connect(self.zoom)
        gestures.moved.connect(self.move_by)
        gestures.clicked.connect(self._on_click)
        gestures.opened.connect(self._on_open)
        gestures.hovered.connect(self._on_hover)
        gestures.left.connect(lambda: self.hover(None))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        shift, keypad = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.KeypadModifier
        key, has_shift = Qt.Key(event.key()), bool(event.modifiers() & shift)
        call = None
        if not event.modifiers() & ~(shift | keypad):
            walking = self._walking_keys if self.is_walking and not has_shift else {}
            call = walking.get(key) or self._keys.get((key, has_shift))
        if call is None:
            super().keyPressEvent(event)
        else:
            call()

    def _make_keys(self) -> dict[tuple[Qt.Key, bool], Callable[[], object]]:
        """Return what keys do, alone or with Shift; those for zooming are Netron's too."""
        closer, farther = partial(self.zoom, _STEP), partial(self.zoom, 1 / _STEP)
        calls: dict[tuple[Qt.Key, bool], Callable[[], object]] = {
            (Qt.Key.Key_Left, True): partial(self._next_head, -1),
            (Qt.Key.Key_Right, True): partial(self._next_head, 1),
            (Qt.Key.Key_Up, True): closer,
            (Qt.Key.Key_Down, True): farther,
            (Qt.Key.Key_Backspace, True): self.fit,
            (Qt.Key.Key_Plus, True): closer,
        }
        alone: dict[Qt.Key, Callable[[], object]] = {
            Qt.Key.Key_Left: partial(self._walk, "left"),
            Qt.Key.Key_Right: partial(self._walk, "right"),
            Qt.Key.Key_Up: partial(self._walk, "up"),
            Qt.Key.Key_Down: partial(self._walk, "down"),
            Qt.Key.Key_Home: partial(self._walk, "first"),
            Qt.Key.Key_End: partial(self._walk, "last"),
            Qt.Key.Key_Return: self._open_marked,
            Qt.Key.Key_Enter: self._open_marked,
            Qt.Key.Key_Backspace: self.up,
            Qt.Key.Key_Space: self.play_wanted.emit,
            Qt.Key.Key_W: self.walk_wanted.emit,
            Qt.Key.Key_T: self.treemap_wanted.emit,
            Qt.Key.Key_0: self.fit,
            Qt.Key.Key_F: self.fit,
            Qt.Key.Key_Plus: closer,
            Qt.Key.Key_Equal: closer,
            Qt.Key.Key_Minus: farther,
        }
        return calls | {(key, False): call for key, call in alone.items()}

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        is_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        found = None if is_key else self._hit(QPointF(event.pos()))
        if found is not None:
            self._pick(found)
        entries = (
            ("openPart", self.tr("Open (Enter)"), self._open_marked),
            ("upFromPart", self.tr("Go to parent (Backspace)"), self.up),
            ("fitPart", self.tr("Reset view (0)"), self.fit),
        )
        self.show_menu(event.globalPos(), entries)

    def _on_click(self, place: QPointF) -> None:
        found = self._hit(place)
        if found is not None:
            self._pick(found)

    def _on_open(self, place: QPointF) -> None:
        found = self._hit(place)
        if found is not None:
            self._open(found)

    def _on_hover(self, place: QPointF) -> None:
        found = self._hit(place)
        self.hover(None if found is None else Marked(found.part, found.placed.node.id))

    def _pick(self, found: Hit) -> None:
        self.cursor_at = Marked(found.part, found.placed.node.id)
        self.marked = ()
        self._describe()
        self.update()
        self.picked.emit(found)

    def _open(self, found: Hit) -> None:
        """Open what a node has inside."""
        assert self.sight is not None
        inset = self.sight.sheets.inset(found.part, found.placed)
        if inset is not None:
            self.open(inset.part)

    def _open_marked(self) -> None:
        """Open where the keys are, or what is selected if several nodes are that."""
        at = self.cursor_at
        placed = self._placed(at)
        if at is not None and placed is not None:
            self._open(Hit(at.part, placed))
        elif self.marked:
            self.selection_wanted.emit()

    def _walk(self, way: Direction | Literal["first", "last"]) -> None:
        if self.sight is None or (drawing := self.sight.sheets.drawing(self.part)) is None:
            return
        at = self.cursor_at
        if way == "last":
            found = last_node(drawing)
        elif way == "first" or at is None or at.part != self.part:
            found = first_node(drawing)
        else:
            found = neighbour(drawing, at.key, way)
        if found is not None:
            self._pick(Hit(self.part, found))
            self.bring_into_sight(found)

    def _next_head(self, step: int) -> None:
        """Go from head to head of the attention where the keys are."""
        at = self.cursor_at
        placed = self._placed(at)
        if at is not None and placed is not None and placed.tiles:
            last = len(placed.tiles) - 1
            before = -1 if self.head is None and step > 0 else self.head or 0
            self._pick(Hit(at.part, placed, min(max(before + step, 0), last)))

    def _hit(self, place: QPointF) -> Hit | None:
        if self.sight is None:
            return None
        return hit(self.sight.levels(), self.sight.sheets, place.x(), place.y())

    def tip_at(self, place: QPointF) -> str:
        """Return what is told of what stands at a place."""
        found = self._hit(place)
        return "" if found is None else self._dress.tip(found.part, found.placed.node)
