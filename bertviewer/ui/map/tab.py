"""The map of the open model: the strip of its blocks, and the opened part as a picture."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent
from typing_extensions import override

from bertviewer.charts.map.blocks import Block, block_of, strips_of
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.map.values import MapData
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT
from bertviewer.core.schema.architecture import Architecture
from bertviewer.ui.map.canvas import FlowCanvas, Hit
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.map.frame import MapFrame
from bertviewer.ui.map.head import MapHead
from bertviewer.ui.map.heads import HeadPictures
from bertviewer.ui.map.map_style import Dressing, dressing, known_of
from bertviewer.ui.map.selection_sync import followed
from bertviewer.ui.map.treemap_page import TreemapPage
from bertviewer.ui.map.walkthrough import Walking
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.views.staleness import StaleLabel

if TYPE_CHECKING:
    from bertviewer.plots.canvas_plot import CanvasPlot


class MapTab(MapFrame):
    """What is opened follows the selection; a click selects, a double click opens."""

    def __init__(self, workspace: Workspace) -> None:
        head, canvas, treemap = MapHead(), FlowCanvas(), TreemapPage()
        super().__init__(head, MapCard(canvas), treemap)
        self.setObjectName("mapTab")
        self._workspace = workspace
        self._architecture: Architecture | None = None
        self._atlas: PartGraphs | None = None
        self._known: MapData | None = None
        self._dressing: Dressing | None = None
        self._own = ""  # what was selected here: it is in sight already
        self._canvas, self._strip = canvas, head.strip
        self._walking = Walking(canvas, self)
        treemap.setParent(self)
        self._heads = HeadPictures(workspace, self)
        self._card.add_bar(self._walking.bar)
        self._card.add_stale(StaleLabel("mapStale", workspace, self._card))
        self._connect()

    @property
    def _path(self) -> str:
        """The selected module."""
        return self._workspace.selection.place.path or ""

    def refresh(self) -> None:
        """Show the open model with what is known of it, and follow the selection."""
        architecture = self._workspace.architecture
        if architecture is None:
            return
        if architecture is not self._architecture:
            self._set_architecture(architecture)
        known = known_of(self._workspace)
        if known != self._known:
            self._known = known
            self._head.measure.offer(known)
            self._color()
        if self._atlas is not None:
            self._walking.set_model(self._atlas, known.run)
        self._follow()
        self._show_heads()

    def open_path(self, path: str) -> None:
        """Open a module's own flow, wherever in the model it is."""
        if self._atlas is not None and self._atlas.flow(Scope(path)) is not None:
            self._head.flow.setChecked(True)
            self._canvas.open(Scope(path))

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._atlas is not None:
            self._color()

    def _connect(self) -> None:
        self._strip.opened.connect(self._on_block)
        self._strip.moved.connect(self.update)
        self._canvas.opened.connect(self._on_opened)
        self._canvas.explored.connect(self._on_explored)
        self._canvas.picked.connect(self._on_picked)
        for picture in (self._canvas, self._treemap.view):
            picture.picture_wanted.connect(self._take_picture)
        self._canvas.selection_wanted.connect(lambda: self.open_path(self._own))
        self._canvas.treemap_wanted.connect(self._head.treemap.toggle)
        self._head.treemap_wanted.connect(self._on_treemap)
        self._head.measure.chosen.connect(lambda _measure: self._color())
        self._card.areas.clicked.connect(lambda: self._head.treemap.setChecked(True))
        self._card.walk.clicked.connect(self._walking.walk)
        self._card.check.clicked.connect(lambda: self._workspace.check(self._path))
        self._card.up_wanted.connect(self._on_up)
        self._walking.toggled.connect(self._card.walk.setChecked)
        self._walking.selected.connect(self._select)
        self._heads.changed.connect(self._show_heads)
        self._treemap.changed.connect(self._show_part)
        self._treemap.view.picked.connect(self._select)
        self._treemap.view.flow_wanted.connect(lambda: self._head.flow.setChecked(True))
        self._workspace.runs.check_changed.connect(self.refresh)
        self._workspace.comparison.changed.connect(self.refresh)

    def _set_architecture(self, architecture: Architecture) -> None:
        before, self._architecture = self._architecture, architecture
        is_same = before is not None and before.modules is architecture.modules
        if is_same and before is not None and before.flows is architecture.flows:
            return
        self._known, self._own = None, ""
        self._atlas = atlas = PartGraphs(architecture)
        flow = atlas.flow(WHOLE)
        self._strip.set_strips(() if flow is None else strips_of(flow))
        self._canvas.set_atlas(atlas)

    def _follow(self) -> None:
        """Open what shows the selected module, and mark it."""
        assert self._atlas is not None
        path = self._path
        is_new = path != self._own
        if is_new:
            self._own = path
            part = followed(self._atlas, self._strip.blocks, self._canvas.part, path)
            if part != self._canvas.part:
                self._canvas.open(part)
            self._walking.follow(path)
        self._mark(is_new=is_new)

    def _mark(self, *, is_new: bool) -> None:
        """Mark what is selected in the opened part, or the step of the walk."""
        if self._atlas is None:
            return
        path, part = self._path, self._canvas.part
        keys = self._walking.keys(part, path)
        if keys is None:
            keys = self._atlas.shown(part, path)
        self._canvas.mark(keys, is_new=is_new)
        self._treemap.view.select(path)
        self._show_part()

    def _color(self) -> None:
        """Colour the map by the chosen measure, and write its figures."""
        atlas, known = self._atlas, self._known
        if atlas is None or known is None:
            return
        measure, blocks = self._head.measure.measure, self._strip.blocks
        self._dressing = made = dressing(atlas, known, measure, theme_of(self), blocks)
        self._canvas.set_dress(made.dress)
        self._strip.set_figures(made.tints, made.tip)
        self._treemap.set_model(atlas, known, made.coloring)
        self._card.legend.show_legend(made.coloring.legend())
        self._show_part()

    def _show_part(self) -> None:
        """Say what is shown."""
        if self._atlas is None or self._dressing is None:
            return
        facts = self._dressing.facts
        self.update()
        self._card.show_flow(self._atlas, facts, self._canvas.part)
        if self._head.treemap.isChecked():
            path = self._treemap.path
            self._card.show_areas(facts.name(Scope(path)), self._treemap.facts, bool(path))
        is_of_checks = self._head.measure.measure.kind == "check"
        self._card.offer_check(facts.name(Scope(self._path)) if is_of_checks else "")

    def _show_heads(self) -> None:
        """Show what the heads of the opened part look at, and which of them is selected."""
        if self._atlas is not None:
            self._heads.want(self._atlas, self._canvas.part, theme_of(self))
        self._canvas.show_heads(self._heads.images, self._workspace.selection.head)

    def export_image(self) -> None:
        """Ask for a file and save the map as an image."""
        self._take_picture(is_saved=True)

    def _take_picture(self, is_saved: bool) -> None:
        """Take a picture of what is shown along, in the colours for paper."""
        if self._atlas is None or self._known is None:
            return
        from bertviewer.ui.map import map_paper  # and with it pyqtgraph

        made = dressing(self._atlas, self._known, self._head.measure.measure, LIGHT, ())
        if self._head.treemap.isChecked():
            title = f"treemap {made.facts.name(Scope(self._treemap.path))}"
            paper: CanvasPlot | None = map_paper.areas_paper(self._treemap, made.coloring)
        else:
            title = f"map {made.facts.name(self._canvas.part)}"
            heads = self._heads.images_in(LIGHT) if self._heads.images else {}
            paper = map_paper.part_paper(self._canvas, made.dress, heads)
        if paper is not None:
            map_paper.take(paper, title, self._workspace, is_saved=is_saved)

    def _on_treemap(self, is_wanted: bool) -> None:
        self._walking.walk(False)
        self._card.show_treemap(is_wanted)
        if is_wanted:
            self._treemap.show_areas()
        self._show_part()

    def _on_up(self) -> None:
        if self._head.treemap.isChecked():
            self._treemap.up()
        else:
            self._canvas.up()

    def _on_block(self, block: Block) -> None:
        self._canvas.open(block.part)
        self._treemap.open(block.path)
        self._select(block.path)

    def _on_opened(self, part: Scope) -> None:
        self._strip.set_current(block_of(self._strip.blocks, part))
        self._mark(is_new=False)
        self._show_heads()

    def _on_explored(self) -> None:
        """Select the part that fills the map now, unless it is around what is selected."""
        part = self._canvas.part.path
        if part and self._path != part and not self._path.startswith(f"{part}."):
            self._select(part)

    def _on_picked(self, found: Hit) -> None:
        node = found.placed.node
        if found.tile is not None and self._workspace.runs.run is not None:
            self._workspace.selection.go(SelectionKey(head=found.tile))
        path = self._atlas.module_of(found.part, node) if self._atlas is not None else None
        if path is not None:
            self._select(path)
            self._walking.follow(path)

    def _select(self, path: str) -> None:
        self._own = path
        self._workspace.selection.select(path)
