"""The picture of the opened part: what is seen of it, and what is marked in it."""

from PySide6.QtCore import QEvent, QPointF, QSize, Signal
from PySide6.QtGui import (
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from typing_extensions import override

from bertviewer.charts.graph.drawing import DrawnNode
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.theme import SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.map.animation import Motion
from bertviewer.ui.map.drawing_cache import Sheets
from bertviewer.ui.map.hover import Pointed
from bertviewer.ui.map.map_style import Dress
from bertviewer.ui.map.painting import Marked, Tiles, paint_levels, paint_names, paint_ring
from bertviewer.ui.map.viewport import Sight
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.theme_of import theme_of


class FlowPicture(Pointed):
    """Shows a part of a model, and in large boxes what is in them.

    The signals: ``opened`` that another part is; ``moved`` that it is seen otherwise; ``explored``
    that the user zoomed or moved it, which may have opened another part.
    """

    opened = Signal(object)
    moved = Signal()
    explored = Signal()

    def __init__(self) -> None:
        super().__init__("mapCanvas", translate("map", "Map of the model"))
        self.setMinimumSize(200, 60)
        self.sight: Sight | None = None
        self.tiles: Tiles = {}
        self.head: int | None = None
        self.cursor_at: Marked | None = None  # where the keys are
        self.marked: tuple[Marked, ...] = ()  # what is selected
        self._dress = Dress()
        self._told: Scope | None = None
        self._motion = Motion(self)

    @property
    def part(self) -> Scope:
        """The opened part."""
        return WHOLE if self.sight is None else self.sight.part

    def set_atlas(self, atlas: PartGraphs | None, part: Scope = WHOLE) -> None:
        """Show another model, or the same one of which more is known."""
        self._motion.stop()
        self.cursor_at, self.marked, self._hovered, self._told = None, (), None, None
        self.tiles = {}
        self.sight = None
        if atlas is not None and atlas.flow(part) is not None:
            sheets = Sheets(atlas)
            sheets.set_theme(theme_of(self))
            sheets.set_dress(self._dress)
            self.sight = Sight(sheets)
            self.sight.part = part
            self.sight.resize(self.width(), self.height())
        self._tell()

    def open(self, part: Scope) -> None:
        """Open a part; one that is in sight, or around it, is gone to."""
        sight = self.sight
        if sight is None or sight.sheets.drawing(part) is None:
            return
        base, start = sight.part, sight.camera
        end = sight.seen_from(part, base) if self.isVisible() else None

        def step(share: float) -> None:
            assert end is not None
            sight.look(base, start.towards(end, share, sight.width, sight.height))
            self._tell()

        def finish() -> None:
            sight.fit(part)
            self._tell()
            self._show_marked()

        if end is None:
            self._motion.stop()
            finish()
        else:
            self._motion.start(step, finish)

    def up(self) -> None:
        """Open what is around the opened part, with that marked in it."""
        if self.sight is None:
            return
        part = self.part
        above = self.sight.sheets.atlas.above(part)
        if above is None:
            self.fit()
            return
        box = self.sight.sheets.atlas.box(above, part)
        self.cursor_at = None if box is None else Marked(above, box[0].id)
        self.open(above)

    def fit(self) -> None:
        """Show all of the opened part."""
        self.open(self.part)

    def zoom(self, factor: float, place: QPointF | None = None) -> None:
        """Go closer to a place, the middle if none is named."""
        if self.sight is not None:
            place = place or QPointF(self.width() / 2, self.height() / 2)
            self._motion.stop()
            self.sight.zoom(factor, place.x(), place.y())
            self._tell()
            self.explored.emit()

    def move_by(self, way: QPointF) -> None:
        """Move what is seen."""
        if self.sight is not None:
            self._motion.stop()
            self.sight.move(way.x(), way.y())
            self._tell()
            self.explored.emit()

    def mark(self, keys: tuple[str, ...], *, is_new: bool) -> None:
        """Mark nodes of the opened part as selected, by their ids.

        Where the keys are stays, unless something else is selected than before: ``is_new``.
        """
        self.marked = tuple(Marked(self.part, key) for key in keys)
        at = self.cursor_at
        if at is not None and (at.part != self.part or (is_new and at.key not in keys)):
            self.cursor_at = None
        if self.cursor_at is None and len(keys) == 1:
            self.cursor_at = Marked(self.part, keys[0])
        if is_new and not self._motion.is_going_on:
            self._show_marked()
        self._describe()
        self.update()

    def set_dress(self, dress: Dress) -> None:
        """Show parts in other colours and words."""
        self._dress = dress
        if self.sight is not None:
            self.sight.sheets.set_dress(dress)
            self._describe()
            self.update()

    def show_heads(self, tiles: Tiles, head: int | None) -> None:
        """Show what heads look at in their tiles, one of them selected."""
        self.tiles, self.head = tiles, head
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(760, 380)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self.sight is not None:
            self.sight.sheets.set_theme(theme_of(self))
            self.update()
        elif event.type() == QEvent.Type.FontChange:
            self._fit_anew()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_anew()

    def _fit_anew(self) -> None:
        if self.sight is not None:
            self._motion.stop()
            self.sight.resize(self.width(), self.height())
            self._tell()
            self._show_marked()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.sight is not None:
            self._paint(painter)
        self.paint_focus(painter)
        painter.end()

    def _paint(self, painter: QPainter) -> None:
        assert self.sight is not None
        sheets, levels = self.sight.sheets, self.sight.levels()
        theme = sheets.theme
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        paint_levels(painter, levels, sheets, self.tiles, self.head)
        paint_names(painter, levels, sheets, weighted(sized(self.font(), SMALL)))
        rings = [(each, theme.accent, 2.0) for each in self.marked]
        if self.cursor_at is not None and self.cursor_at not in self.marked:
            rings.append((self.cursor_at, theme.accent, 2.0))
        if isinstance(self._hovered, Marked):
            rings.insert(0, (self._hovered, theme.muted, 1.0))
        for level in levels:
            for each, color, width in rings:
                placed = sheets.placed(each.part, each.key) if each.part == level.part else None
                if placed is not None:
                    paint_ring(painter, placed, level, color, width)

    def _show_marked(self) -> None:
        self.bring_into_sight(self._placed(self.marked[0]) if self.marked else None)

    def bring_into_sight(self, placed: DrawnNode | None) -> None:
        """Move so that a node is seen; where all is, nothing has to move."""
        if self.sight is not None and placed is not None and self.sight.bring(placed.rect):
            self._tell()

    def _placed(self, at: Marked | None) -> DrawnNode | None:
        if self.sight is None or at is None:
            return None
        return self.sight.sheets.placed(at.part, at.key)

    def _describe(self) -> None:
        """Say what is selected to whoever does not see it."""
        placed = self._placed(self.cursor_at)
        at = self.cursor_at
        text = "" if placed is None or at is None else self._dress.tip(at.part, placed.node)
        self.describe(text)

    def _tell(self) -> None:
        """Say what is seen now."""
        self.update()
        if self.part != self._told:
            self._told = self.part
            self.opened.emit(self.part)
        self.moved.emit()
