"""The map of the open model: the strip of its blocks, and the opened part as a picture."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from bertviewer.charts.map.atlas import WHOLE, Atlas
from bertviewer.charts.map.blocks import Block, strips_of
from bertviewer.charts.map.coloring import Coloring
from bertviewer.charts.map.facts import PartFacts
from bertviewer.charts.map.part import Part
from bertviewer.charts.map.values import Known, Values
from bertviewer.charts.place import Place
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.ui.look.theme_of import theme_of
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.map.dress import Dress
from bertviewer.ui.map.following import followed
from bertviewer.ui.map.heads import HeadPictures
from bertviewer.ui.map.measure_choice import MeasureChoice
from bertviewer.ui.map.pointing import Hit
from bertviewer.ui.map.strip import ModelStrip
from bertviewer.ui.translation import translate
from bertviewer.ui.workspace import Workspace

_BETWEEN = 24
"""Pixels between strip and card, through which two lines lead down."""


class MapTab(QWidget):
    """What is opened follows the selection; a click selects, a double click opens."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mapTab")
        self._workspace = workspace
        self._architecture: Architecture | None = None
        self._atlas: Atlas | None = None
        self._known: Known | None = None
        self._own = ""  # what was selected here: it is in sight already
        self.strip, self.canvas = ModelStrip(), FlowCanvas()
        self._card = MapCard(self.canvas)
        self._measure = MeasureChoice()
        self._heads = HeadPictures(workspace, self)
        self._heads.changed.connect(self._show_heads)
        self._arrange()
        self.strip.opened.connect(self._on_block)
        self.strip.moved.connect(self.update)
        self.canvas.opened.connect(self._on_opened)
        self.canvas.picked.connect(self._on_picked)
        self._measure.chosen.connect(lambda _measure: self._color())
        workspace.runs.check_changed.connect(self._on_figures)
        workspace.runs.comparison_changed.connect(self._on_figures)

    def refresh(self) -> None:
        """Show the open model with what is known of it, and follow the selection."""
        architecture = self._workspace.architecture
        if architecture is None:
            return
        if architecture is not self._architecture:
            self._set_architecture(architecture)
        runs = self._workspace.runs
        run_a = None if runs.watched_a is None else runs.watched_a.run
        known = Known(runs.run, run_a, dict(runs.checks))
        if known != self._known:
            self._known = known
            self._measure.offer(has_run=known.run is not None, has_run_a=known.run_a is not None)
            self._color()
        self._follow()
        self._show_heads()

    def open_path(self, path: str) -> None:
        """Open a module's own flow, wherever in the model it is."""
        if self._atlas is not None and self._atlas.flow(Part(path)) is not None:
            self.canvas.open(Part(path))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines that lead from the opened block to its picture; Qt calls it."""
        del event
        block = self.strip.current_rect().translated(QPointF(self.strip.pos()))
        if block.isEmpty():
            return
        theme, painter = theme_of(self), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.shade("attention", 0.45)), 1))
        card = QRectF(self._card.geometry())
        painter.drawLine(block.bottomLeft() + QPointF(4, 0), card.topLeft() + QPointF(3, 3))
        painter.drawLine(block.bottomRight() + QPointF(-4, 0), card.topRight() + QPointF(-3, 3))
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the colours of the window; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._atlas is not None:
            self._color()

    def _arrange(self) -> None:
        # The choice stands beside the strip's caption, above its blocks.
        head = QGridLayout()
        head.addWidget(self.strip, 0, 0, 2, 1)
        head.addWidget(self._measure, 0, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 8, 14, 10)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addSpacing(_BETWEEN)
        layout.addWidget(self._card, 1)
        self.setFocusProxy(self.canvas)

    def _set_architecture(self, architecture: Architecture) -> None:
        before, self._architecture = self._architecture, architecture
        same = before is not None and before.modules is architecture.modules
        if same and before is not None and before.flows is architecture.flows:
            return
        self._known, self._own = None, ""
        self._atlas = atlas = Atlas(architecture)
        flow = atlas.flow(WHOLE)
        self.strip.set_strips(() if flow is None else strips_of(flow))
        self.strip.setVisible(flow is not None)
        self.canvas.set_atlas(atlas)

    def _follow(self) -> None:
        """Open what shows the selected module, and mark it."""
        assert self._atlas is not None
        path = self._workspace.selection.place.path or ""
        is_new = path != self._own
        if is_new:
            self._own = path
            part = followed(self._atlas, self.strip.blocks, self.canvas.part, path)
            if part != self.canvas.part:
                self.canvas.open(part)
        self.canvas.mark(self._atlas.shown(self.canvas.part, path), is_new=is_new)

    def _color(self) -> None:
        """Colour the map by the chosen measure, and write its figures."""
        atlas, known = self._atlas, self._known
        if atlas is None or known is None:
            return
        values = Values(atlas, known)
        coloring = Coloring(atlas, values, self._measure.measure, theme_of(self), translate)
        facts = PartFacts(atlas, known.run, translate)
        self.canvas.set_dress(Dress(coloring.tints, facts.name, facts.tip))
        calls: dict[str, int] = {}
        for block in self.strip.blocks:
            calls[block.path] = max(calls.get(block.path, 0), block.part.call + 1)
        tints = {block: coloring.block(block, calls[block.path]) for block in self.strip.blocks}
        tips = {block: self._block_tip(facts, block, tints[block].figure) for block in tints}
        self.strip.set_figures(tints, tips)
        hint = self.tr("double-click opens · drag moves · wheel zooms")
        self._card.legend.show_legend(coloring.legend(), hint)
        self._show_part()

    def _block_tip(self, facts: PartFacts, block: Block, figure: str) -> str:
        lines = (block.name, block.path, facts.line(block.part), figure)
        return "\n".join(dict.fromkeys(line for line in lines if line))

    def _show_part(self) -> None:
        if self._atlas is None or self._known is None:
            return
        part = self.canvas.part
        facts = PartFacts(self._atlas, self._known.run, translate)
        above = self._atlas.above(part)
        self._card.show_part(facts.name(part), facts.line(part), above is not None)
        self._card.show_message(self._message())

    def _message(self) -> str:
        """Return why there is no map, in a line; empty if there is one."""
        assert self._atlas is not None
        if self._atlas.flow(WHOLE) is not None:
            return ""
        if self._atlas.architecture.flows is None:
            return self.tr("The map is read off the model's code as it runs; it comes in a moment.")
        reason = self._atlas.reason(WHOLE)
        return self.tr("This model has no map: {0}.").format(reason)

    def _on_figures(self) -> None:
        if self.isVisible():
            self.refresh()

    def _on_block(self, block: Block) -> None:
        self.canvas.open(block.part)
        self._select(block.path)

    def _on_opened(self, part: Part) -> None:
        self.strip.set_current(_block_of(self.strip.blocks, part))
        if self._atlas is not None:
            path = self._workspace.selection.place.path or ""
            self.canvas.mark(self._atlas.shown(part, path), is_new=False)
        self._show_part()
        self._show_heads()
        self.update()

    def _show_heads(self) -> None:
        """Show what the heads of the opened part look at, and which of them is selected."""
        if self._atlas is not None:
            self._heads.want(self._atlas, self.canvas.part, theme_of(self))
        self.canvas.show_heads(self._heads.images, self._workspace.selection.head)

    def _on_picked(self, found: Hit) -> None:
        node = found.placed.node
        if found.tile is not None and self._workspace.runs.run is not None:
            self._workspace.selection.go(Place(head=found.tile))
        if node.kind in ("module", "group") and node.path and node.path != found.part.path:
            self._select(node.path)

    def _select(self, path: str) -> None:
        self._own = path
        self._workspace.selection.select(path)


def _block_of(blocks: tuple[Block, ...], part: Part) -> Block | None:
    """Return the block in which a part is."""
    inside = [
        block
        for block in blocks
        if part.path == block.path or part.path.startswith(f"{block.path}.")
    ]
    return next(
        (block for block in inside if block.part.call == part.call), inside[0] if inside else None
    )
