"""The opened part on its card: what it is, the picture, and what its colours mean."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.map.facts import PartFacts
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.charts.theme import LARGE, NORMAL, ROUND
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.views.staleness import StaleLabel
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.card import draw_card
from bertviewer.ui.widgets.labels import ElidedLabel, muted, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, Gap, hbox, named, stacked, vbox


class MapCard(QWidget):
    """A card with rounded corners around the canvas, or the treemap in its place.

    ``up_wanted`` says that a person wants to see what is around what is shown.
    """

    up_wanted = Signal()

    def __init__(self, canvas: FlowCanvas) -> None:
        super().__init__()
        self.canvas = canvas
        self._is_treemap = False
        self._choice: QWidget | None = None
        self._stale: StaleLabel | None = None
        self.legend = LegendBar()
        self.name = named(QLabel(), "mapTitle")
        self.name.setTextFormat(Qt.TextFormat.PlainText)
        self.name.setFont(weighted(sized(self.font(), LARGE)))
        self.facts = named(ElidedLabel(), "mapFacts")
        self.facts.setFont(sized(self.font(), NORMAL))
        muted(self.facts)
        self._message = named(muted(plain_label("")), "mapMessage")
        self._message.setWordWrap(True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.areas = QPushButton(self.tr("Show the treemap"))
        self.areas.setObjectName("mapShowAreas")
        self.areas.setToolTip(self.tr("Size of each part of the model"))
        self._pages = stacked(canvas, self._make_message())
        self.walk = flat_button("mapWalk", self.tr("Walk"), self.tr("Walkthrough of the model (W)"))
        self.walk.setCheckable(True)
        self.check = flat_button(
            "mapCheck", "", self.tr("Recompute the output in float64 and compare")
        )
        self.check.hide()
        self._up, self._buttons = self._make_buttons()
        self._layout = layout = QVBoxLayout(self)
        self._row = self._head()
        layout.addLayout(self._row)
        layout.addWidget(self._pages, 1)
        layout.addWidget(self.legend)
        self.set_low(False)

    def set_low(self, is_low: bool) -> None:
        """Leave the room to the picture: no legend below it."""
        self.legend.setVisible(not is_low)
        self._layout.setContentsMargins(14, *((3, 10, 3) if is_low else (8, 10, 6)))
        self._layout.setSpacing(1 if is_low else 4)

    def show_flow(self, atlas: PartGraphs, facts: PartFacts, part: Scope) -> None:
        """Say which part is opened, and why it may not be seen."""
        self._show_title(facts.name(part), facts.line(part), atlas.above(part) is not None)
        why = self._why_no_flow(atlas)
        self._message.setText(why)
        hint = "" if why else self.tr("double-click to open · drag to move · scroll to zoom")
        self.legend.show_hint(hint)
        self._show_page()

    def show_areas(self, name: str, facts: str, has_above: bool) -> None:
        """Say which module the treemap is of."""
        self._show_title(name, facts, has_above)
        self.legend.show_hint(self.tr("double-click to open"))

    def _show_title(self, name: str, facts: str, has_above: bool) -> None:
        self.name.setText(name)
        self.facts.setText(facts)
        self.facts.setToolTip("")
        self._up.setEnabled(has_above)

    def _why_no_flow(self, atlas: PartGraphs) -> str:
        """Return why a model has no flow to be seen, in a line; empty if it has one."""
        if atlas.flow(WHOLE) is not None:
            return ""
        if atlas.architecture.flows is None:
            return self.tr("Tracing the model…")
        text = self.tr("This model has no data-flow map: {0}.")
        return text.format(atlas.reason(WHOLE).rstrip("."))

    def _show_page(self) -> None:
        has_flow = not self._message.text() and not self._is_treemap
        self._pages.setCurrentIndex(2 if self._is_treemap else 0 if has_flow else 1)
        for button in self._buttons:
            button.setVisible(has_flow)
        self._up.setVisible(has_flow or self._is_treemap)
        if self._choice is not None:
            self._choice.setVisible(self._is_treemap)

    def offer_check(self, name: str) -> None:
        """Offer to check a module of that name, or nothing."""
        self.check.setText(self.tr("Verify {0}").format(name))
        self.check.setVisible(bool(name))

    def add_bar(self, bar: QWidget) -> None:
        """Put a bar between the picture and its legend."""
        self._layout.insertWidget(self._layout.count() - 1, bar)

    def add_stale(self, stale: StaleLabel) -> None:
        """Put what the last run was of beside the facts."""
        self._stale = stale
        self._row.insertWidget(self._row.indexOf(self.check), stale)

    def add_treemap(self, view: QWidget, choice: QWidget) -> None:
        """Put the treemap beside the flow, with the choice of its areas; one of both is shown."""
        self._pages.addWidget(view)
        self._choice = choice
        self._row.insertWidget(self._row.indexOf(self._up), choice)
        choice.hide()

    def show_treemap(self, is_wanted: bool) -> None:
        """Show the treemap, or the flow."""
        self._is_treemap = is_wanted
        self._show_page()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = theme_of(self), QPainter(self)
        draw_card(painter, self, QColor(theme.surface), QColor(theme.line))
        if self._stale is not None:
            self._stale.mark(painter, ROUND)
        painter.end()

    def _make_message(self) -> QWidget:
        page = QWidget()
        vbox(
            STRETCH,
            self._message,
            (self.areas, Qt.AlignmentFlag.AlignHCenter),
            STRETCH,
            parent=page,
            margins=None,
            spacing=12,
        )
        return page

    def _make_buttons(self) -> tuple[QToolButton, tuple[QToolButton, ...]]:
        up_tip = self.tr("Go to parent (Backspace)")
        up = flat_button("mapUp", "", up_tip, "up")
        farther = flat_button("mapZoomOut", "", self.tr("Zoom out (−)"), "minus")
        closer = flat_button("mapZoomIn", "", self.tr("Zoom in (+)"), "plus")
        fit = flat_button("mapFit", self.tr("Fit"), self.tr("Reset view (0)"))
        up.clicked.connect(self.up_wanted)
        farther.clicked.connect(lambda: self.canvas.zoom(1 / 1.25))
        closer.clicked.connect(lambda: self.canvas.zoom(1.25))
        fit.clicked.connect(self.canvas.fit)
        return up, (self.walk, up, farther, closer, fit)

    def _head(self) -> QHBoxLayout:
        return hbox(self.name, Gap(8), (self.facts, 1), self.check, *self._buttons, spacing=2)
