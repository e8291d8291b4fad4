"""Four figures that say most about a module, each on a card."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from bertviewer.charts.theme import GRID, SMALL, TITLE
from bertviewer.plots.fonts import sized, tabular, weighted
from bertviewer.ui.widgets.card import draw_card
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, vbox

_MARGINS = 3 * GRID - 1, GRID - 1, 2 * GRID, GRID - 1


class Figure(Struct, frozen=True):
    """A figure with its name, what is said of it below, and its exact value for the tip."""

    name: str
    value: str
    remark: str
    exact: str = ""


class Cards(QWidget):
    """Shows figures two and two, or below one another where ``widest`` would be cut."""

    def __init__(self, count: int, widest: str) -> None:
        super().__init__()
        self._widest, self._columns = widest, 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, GRID, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID)
        self._cards = tuple(_Card() for _ in range(count))
        self._lay_out(2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use the room that there is; Qt calls it."""
        super().resizeEvent(event)
        each = self._cards[0].width_for(self._widest)
        self._lay_out(2 if 2 * each + self._grid.horizontalSpacing() <= self.width() else 1)

    def _lay_out(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = columns
            for number, card in enumerate(self._cards):
                self._grid.addWidget(card, number // columns, number % columns)
            self._grid.setColumnStretch(0, 1)
            self._grid.setColumnStretch(1, columns - 1)

    def show_figures(self, figures: Sequence[Figure]) -> None:
        """Show these in place of those before; there are as many as cards."""
        for card, figure in zip(self._cards, figures, strict=True):
            card.show_figure(figure)


class _Card(QFrame):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self._name, self._value, self._remark = ElidedLabel(), ElidedLabel(), plain_label("")
        small = sized(self.font(), SMALL)
        for label in (self._name, self._remark):
            label.setFont(small)
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._value.setFont(tabular(weighted(sized(self.font(), TITLE))))
        labels, margins = (self._name, self._value, self._remark), _MARGINS
        vbox(*labels, STRETCH, parent=self, margins=margins, spacing=0)

    def width_for(self, remark: str) -> int:
        return _MARGINS[0] + _MARGINS[2] + self._remark.fontMetrics().horizontalAdvance(remark)

    def show_figure(self, figure: Figure) -> None:
        self._name.setText(figure.name)
        self._value.setText(figure.value)
        self._remark.setText(figure.remark)
        lines = (figure.name, figure.exact or figure.value, figure.remark)
        self.setToolTip(plain_tooltip("\n".join(filter(None, lines))))
        self.setAccessibleName(": ".join(filter(None, lines[:2])))
        self.setAccessibleDescription(figure.remark)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a rounded ground with a line around it; Qt calls it."""
        painter, role = QPainter(self), QPalette.ColorRole
        draw_card(painter, self, self.palette().color(role.Window), self.palette().color(role.Mid))
        painter.end()
