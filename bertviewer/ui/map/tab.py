"""Map tab: the strip of blocks, and the opened part as data flow or treemap."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.map.blocks import Block, block_of, strips_of
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.map.values import MapData
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT
from bertviewer.core.schema.architecture import Architecture
from bertviewer.plots.fonts import grown
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.map.head_images import HeadImages
from bertviewer.ui.map.header import MapHeader
from bertviewer.ui.map.map_style import MapStyle, map_data, map_style
from bertviewer.ui.map.treemap import Treemap
from bertviewer.ui.map.viewport import Hit
from bertviewer.ui.map.walkthrough import Walkthrough
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.layouts import vbox

if TYPE_CHECKING:
    from bertviewer.plots.canvas_plot import CanvasPlot

_GAP, _COMPACT_GAP = 20, 5
"""Pixels between header and card."""
_COMPACT_HEIGHT = 320
"""Height below which the tab is compact."""


class MapTab(QWidget):
    """The opened part follows the selection; a click selects, a double click opens."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("mapTab")
        self._workspace = workspace
        self._architecture: Architecture | None = None
        self._graphs: PartGraphs | None = None
        self._data: MapData | None = None
        self._style: MapStyle | None = None
        self._shown_path = ""  # the selection that is in view
        self._is_compact = False
        self._header, self._canvas, self._treemap = MapHeader(), FlowCanvas(), Treemap()
        self._strip = self._header.strip
        self._treemap.setParent(self)
        self._walkthrough = Walkthrough(self._canvas, self)
        self._heads = HeadImages(workspace, self)
        self._card = MapCard(workspace, self._canvas, self._treemap, self._walkthrough.player)
        rows = self._header, (self._card, 1)
        self._rows = vbox(*rows, parent=self, margins=(14, 8, 14, 10), spacing=_GAP)
        self._connect()

    @property
    def _path(self) -> str:
        """The selected module."""
        return self._workspace.selection.place.path or ""

    def refresh(self) -> None:
        """Show the open model with its run, and follow the selection."""
        architecture = self._workspace.architecture
        if architecture is None:
            return
        if architecture is not self._architecture:
            self._set_architecture(architecture)
        data = map_data(self._workspace)
        if data != self._data:
            self._data = data
            self._header.measure.set_data(data)
            self._update_style()
        if self._graphs is not None:
            self._walkthrough.set_model(self._graphs, data.run)
        self._follow_selection()
        self._show_heads()

    def open_path(self, path: str) -> None:
        """Open a module's own data flow."""
        if self._graphs is not None and self._graphs.flow(Scope(path)) is not None:
            self._header.flow.setChecked(True)
            self._canvas.open(Scope(path))

    def export_image(self) -> None:
        """Ask for a file and save the map as an image."""
        self._export(is_saved=True)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._graphs is not None:
            self._update_style()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_compact = self.height() < grown(_COMPACT_HEIGHT)
        if is_compact != self._is_compact:
            self._is_compact = is_compact
            self._rows.setSpacing(_COMPACT_GAP if is_compact else _GAP)
            self._header.set_compact(is_compact)
            self._card.set_compact(is_compact)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        # Two lines connect the opened block with the card.
        if self._is_compact:
            return
        shown = self._strip.current
        if self._header.treemap.isChecked():
            shown = block_of(self._strip.blocks, Scope(self._treemap.path))
        block = self._strip.rect_of(shown).translated(QPointF(self._header.pos()))
        if block.isEmpty():
            return
        # Lines of the upper row start below both rows.
        block.setBottom(max(block.bottom(), self._header.geometry().bottom()))
        card, theme, painter = self._card.geometry().toRectF(), theme_of(self), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.shade("attention", 0.45)), 1))
        painter.drawLine(block.bottomLeft() + QPointF(4, 0), card.topLeft() + QPointF(3, 3))
        painter.drawLine(block.bottomRight() + QPointF(-4, 0), card.topRight() + QPointF(-3, 3))
        painter.end()

    def _connect(self) -> None:
        self._strip.opened.connect(self._on_block)
        self._strip.moved.connect(self.update)
        self._canvas.opened.connect(self._on_opened)
        self._canvas.explored.connect(self._on_explored)
        self._canvas.picked.connect(self._on_picked)
        for view in (self._canvas, self._treemap.view):
            view.image_wanted.connect(self._export)
        self._canvas.selection_wanted.connect(lambda: self.open_path(self._shown_path))
        self._canvas.treemap_wanted.connect(self._header.treemap.toggle)
        self._header.treemap_wanted.connect(self._show_treemap)
        self._header.measure.chosen.connect(lambda _measure: self._update_style())
        self._card.areas.clicked.connect(lambda: self._header.treemap.setChecked(True))
        self._card.walk.clicked.connect(self._walkthrough.walk)
        self._card.check.clicked.connect(lambda: self._workspace.check(self._path))
        self._card.up_wanted.connect(self._on_up)
        self._walkthrough.toggled.connect(self._card.walk.setChecked)
        self._walkthrough.selected.connect(self._select)
        self._heads.changed.connect(self._show_heads)
        self._treemap.changed.connect(self._show_titles)
        self._treemap.view.picked.connect(self._select)
        self._treemap.view.flow_wanted.connect(lambda: self._header.flow.setChecked(True))
        self._workspace.runs.check_changed.connect(self.refresh)
        self._workspace.comparison.changed.connect(self.refresh)

    def _set_architecture(self, architecture: Architecture) -> None:
        before, self._architecture = self._architecture, architecture
        if (
            before is not None
            and before.modules is architecture.modules
            and before.flows is architecture.flows
        ):
            return
        self._data, self._shown_path = None, ""
        self._graphs = graphs = PartGraphs(architecture)
        flow = graphs.flow(WHOLE)
        self._strip.set_strips(() if flow is None else strips_of(flow))
        self._canvas.set_graphs(graphs)

    def _follow_selection(self) -> None:
        """Open the part that shows the selected module, and mark it."""
        path = self._path
        is_new = path != self._shown_path
        if is_new:
            self._shown_path = path
            scope = self._scope_of(path)
            if scope != self._canvas.scope:
                self._canvas.open(scope)
            self._walkthrough.follow(path)
        self._mark(is_new=is_new)

    def _scope_of(self, path: str) -> Scope:
        """Return the part to open for a module selected elsewhere.

        A block of the strip is opened itself, any other module in the part that shows it: the
        opened one, if possible.
        """
        assert self._graphs is not None
        opened = self._canvas.scope
        if not path or opened.path == path:
            return opened if path else WHOLE
        block = next((each for each in self._strip.blocks if each.path == path), None)
        if block is not None and self._graphs.flow(block.part) is not None:
            return block.part
        if opened != WHOLE and self._graphs.shown(opened, path):
            return opened
        return self._graphs.way(path)[-1]

    def _mark(self, *, is_new: bool) -> None:
        """Mark the selection in the opened part, or the step of the walkthrough."""
        if self._graphs is None:
            return
        path, scope = self._path, self._canvas.scope
        keys = self._walkthrough.keys(scope, path)
        if keys is None:
            keys = self._graphs.shown(scope, path)
        self._canvas.mark(keys, is_new=is_new)
        self._treemap.view.select(path)
        self._show_titles()

    def _update_style(self) -> None:
        """Update all colours and numbers for the chosen measure."""
        graphs, data = self._graphs, self._data
        if graphs is None or data is None:
            return
        measure, blocks = self._header.measure.measure, self._strip.blocks
        self._style = style = map_style(graphs, data, measure, theme_of(self), blocks)
        self._canvas.set_style(style.nodes)
        self._strip.set_style(style.blocks, style.block_tooltip)
        self._treemap.set_model(graphs, data, style.coloring)
        self._card.legend.show_legend(style.coloring.legend())
        self._show_titles()

    def _show_titles(self) -> None:
        if self._graphs is None or self._style is None:
            return
        facts = self._style.facts
        self.update()
        self._card.show_flow(self._graphs, facts, self._canvas.scope)
        if self._header.treemap.isChecked():
            path = self._treemap.path
            self._card.show_areas(facts.name(Scope(path)), self._treemap.facts, bool(path))
        is_check = self._header.measure.measure.kind == "check"
        self._card.offer_check(facts.name(Scope(self._path)) if is_check else "")

    def _show_heads(self) -> None:
        if self._graphs is not None:
            self._heads.request(self._graphs, self._canvas.scope, theme_of(self))
        self._canvas.show_heads(self._heads.images, self._workspace.selection.head)

    def _export(self, is_saved: bool) -> None:
        """Save or copy an image of the view in the colours of the light theme."""
        if self._graphs is None or self._data is None:
            return
        from bertviewer.ui.map import export  # imports numpy

        measure = self._header.measure.measure
        style = map_style(self._graphs, self._data, measure, LIGHT, ())
        if self._header.treemap.isChecked():
            title = f"treemap {style.facts.name(Scope(self._treemap.path))}"
            image: CanvasPlot | None = export.treemap_image(self._treemap, style.coloring)
        else:
            title = f"map {style.facts.name(self._canvas.scope)}"
            heads = self._heads.images_in(LIGHT) if self._heads.images else {}
            image = export.part_image(self._canvas, style.nodes, heads)
        if image is not None:
            export.export_image(image, title, self._workspace, is_saved=is_saved)

    def _show_treemap(self, is_wanted: bool) -> None:
        self._walkthrough.walk(False)
        self._card.show_treemap(is_wanted)
        if is_wanted:
            self._treemap.update_areas()
        self._show_titles()

    def _on_up(self) -> None:
        if self._header.treemap.isChecked():
            self._treemap.up()
        else:
            self._canvas.up()

    def _on_block(self, block: Block) -> None:
        self._canvas.open(block.part)
        self._treemap.open(block.path)
        self._select(block.path)

    def _on_opened(self, scope: Scope) -> None:
        self._strip.set_current(block_of(self._strip.blocks, scope))
        self._mark(is_new=False)
        self._show_heads()

    def _on_explored(self) -> None:
        """Select the part that fills the window, unless the selection is inside it."""
        path = self._canvas.scope.path
        if path and self._path != path and not self._path.startswith(f"{path}."):
            self._select(path)

    def _on_picked(self, hit: Hit) -> None:
        if hit.head is not None and self._workspace.runs.run is not None:
            self._workspace.selection.go(SelectionKey(head=hit.head))
        graphs = self._graphs
        path = None if graphs is None else graphs.module_of(hit.scope, hit.placed.node)
        if path is not None:
            self._select(path)
            self._walkthrough.follow(path)

    def _select(self, path: str) -> None:
        self._shown_path = path
        self._workspace.selection.select(path)
