"""Card of the map: title, buttons, and the canvas, the treemap or a message, above the legend."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.map.facts import PartFacts
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.theme import LARGE, NORMAL, ROUND
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.map.canvas import ZOOM_STEP, FlowCanvas
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.map.treemap import Treemap
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.views.staleness import StaleLabel
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.card import draw_card
from bertviewer.ui.widgets.labels import ElidedLabel, muted, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, Gap, hbox, named, stacked, vbox


class MapCard(QWidget):
    """A rounded card; ``up_wanted`` asks for the parent of what is shown."""

    up_wanted = Signal()

    def __init__(
        self, workspace: Workspace, canvas: FlowCanvas, treemap: Treemap, step_bar: QWidget
    ) -> None:
        super().__init__()
        self._is_treemap = False
        self._area_button = treemap.area_button
        self._stale = StaleLabel("mapStale", workspace, self)
        self.legend = LegendBar()
        self.name = named(QLabel(), "mapTitle")
        self.name.setTextFormat(Qt.TextFormat.PlainText)
        self.name.setFont(weighted(sized(self.font(), LARGE)))
        self.facts = named(muted(ElidedLabel()), "mapFacts")
        self.facts.setFont(sized(self.font(), NORMAL))
        self._message = named(muted(plain_label("")), "mapMessage")
        self._message.setWordWrap(True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        tip = self.tr("Size of each part of the model")
        self.areas = named(QPushButton(self.tr("Show the treemap")), "mapShowAreas", tooltip=tip)
        message_page = QWidget()
        center = Qt.AlignmentFlag.AlignHCenter
        message = STRETCH, self._message, (self.areas, center), STRETCH
        vbox(*message, parent=message_page, margins=None, spacing=12)
        self._pages = stacked(canvas, message_page, treemap.view)
        self.walk = flat_button("mapWalk", self.tr("Walk"), self.tr("Walkthrough of the model (W)"))
        self.walk.setCheckable(True)
        tip = self.tr("Recompute the output in float64 and compare")
        self.check = flat_button("mapCheck", "", tip)
        self.check.hide()
        self._area_button.hide()
        self._up = flat_button("mapUp", "", self.tr("Go to parent (Backspace)"), "up")
        self._up.clicked.connect(self.up_wanted)
        self._flow_buttons = (self.walk, *self._zoom_buttons(canvas))
        head = hbox(
            self.name,
            Gap(8),
            (self.facts, 1),
            self._stale,
            self.check,
            self.walk,
            self._area_button,
            self._up,
            *self._flow_buttons[1:],
            spacing=2,
        )
        self._layout = vbox(head, (self._pages, 1), step_bar, self.legend, parent=self)
        self.set_compact(False)

    def set_compact(self, is_compact: bool) -> None:
        """Hide the legend and reduce margins."""
        self.legend.setVisible(not is_compact)
        self._layout.setContentsMargins(14, *((3, 10, 3) if is_compact else (8, 10, 6)))
        self._layout.setSpacing(1 if is_compact else 4)

    def show_flow(self, graphs: PartGraphs, facts: PartFacts, scope: Scope) -> None:
        """Show the title of the opened part, or why the model has no data flow."""
        message = self._why_no_flow(graphs)
        self._message.setText(message)
        hint = "" if message else self.tr("double-click to open · drag to move · scroll to zoom")
        has_parent = graphs.above(scope) is not None
        self._show_title(facts.name(scope), facts.line(scope), hint, has_parent)
        self._show_page()

    def show_areas(self, name: str, facts: str, has_parent: bool) -> None:
        """Show the title of the treemap's module."""
        self._show_title(name, facts, self.tr("double-click to open"), has_parent)

    def offer_check(self, name: str) -> None:
        """Show a button that verifies a module, none for an empty name."""
        self.check.setText(self.tr("Verify {0}").format(name))
        self.check.setVisible(bool(name))

    def show_treemap(self, is_wanted: bool) -> None:
        """Show the treemap or the canvas."""
        self._is_treemap = is_wanted
        self._show_page()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = theme_of(self), QPainter(self)
        draw_card(painter, self, QColor(theme.surface), QColor(theme.line))
        self._stale.mark(painter, ROUND)
        painter.end()

    def _show_title(self, name: str, facts: str, hint: str, has_parent: bool) -> None:
        self.name.setText(name)
        self.facts.setText(facts)
        self.facts.setToolTip("")
        self._up.setEnabled(has_parent)
        self.legend.show_hint(hint)

    def _why_no_flow(self, graphs: PartGraphs) -> str:
        if graphs.flow(WHOLE) is not None:
            return ""
        if graphs.architecture.flows is None:
            return self.tr("Tracing the model…")
        text = self.tr("This model has no data-flow map: {0}.")
        return text.format(graphs.reason(WHOLE).rstrip("."))

    def _show_page(self) -> None:
        has_flow = not self._message.text() and not self._is_treemap
        self._pages.setCurrentIndex(2 if self._is_treemap else 0 if has_flow else 1)
        for button in self._flow_buttons:
            button.setVisible(has_flow)
        self._up.setVisible(has_flow or self._is_treemap)
        self._area_button.setVisible(self._is_treemap)

    def _zoom_buttons(self, canvas: FlowCanvas) -> tuple[QToolButton, ...]:
        zoom_out = flat_button("mapZoomOut", "", self.tr("Zoom out (−)"), "minus")
        zoom_in = flat_button("mapZoomIn", "", self.tr("Zoom in (+)"), "plus")
        fit = flat_button("mapFit", self.tr("Fit"), self.tr("Reset view (0)"))
        zoom_out.clicked.connect(lambda: canvas.zoom(1 / ZOOM_STEP))
        zoom_in.clicked.connect(lambda: canvas.zoom(ZOOM_STEP))
        fit.clicked.connect(canvas.fit)
        return zoom_out, zoom_in, fit
