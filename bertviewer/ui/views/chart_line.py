"""The line above a chart: its title, its controls, and a menu to take it along."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from bertviewer.charts.theme import GRID, NORMAL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox

LEAST_TITLE = 120
"""Pixels of a title, unless it is shorter: of fewer nothing is left but dots."""

ALL_ROOM = 100
"""Beside the 1 of the empty room at the end."""


class ChartLine(QWidget):
    """A title that gives way to the controls, which tell as much, and a menu at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._title = ElidedLabel()
        self._title.setFont(weighted(sized(self._title.font(), NORMAL)))
        self._button: QToolButton = flat_button(
            "chartMenu", "⋯", self.tr("Copy or save this chart")
        )
        # No arrow beside the dots.
        self._button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._row = hbox(self._title, STRETCH, self._button, parent=self, spacing=2 * GRID)

    @property
    def title(self) -> str:
        """What the chart is called, "" if it has no name."""
        return self._title.text()

    def set_title(self, title: str, tip: str = "") -> None:
        """Write another title, and what it tells under the mouse."""
        self._title.setText(title)
        self._title.setToolTip(plain_tooltip(tip))
        self._fit()

    def take_controls(self, *controls: QWidget) -> None:
        """Have controls behind the title, before those that are there; they may be another's."""
        focused = next((widget for widget in controls if widget.hasFocus()), None)
        for place, widget in enumerate(controls, start=1):
            policy = widget.sizePolicy().horizontalPolicy()
            # What takes all the room that there is leaves none behind it.
            is_elastic = policy == QSizePolicy.Policy.Ignored
            self._row.insertWidget(place, widget, ALL_ROOM * is_elastic)
        if focused is not None:
            focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def new_menu(self) -> QMenu:
        """Return an empty menu, in place of the one that there was."""
        if (before := self._button.menu()) is not None:
            before.deleteLater()
        menu = QMenu(self._button)
        self._button.setMenu(menu)
        return menu

    def show_menu(self, is_shown: bool) -> None:
        """Have the menu, or not where there is nothing to take along."""
        self._button.setVisible(is_shown)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out a title that has no room beside its controls; Qt calls it."""
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """See what has room next to controls that have become wider; Qt calls it."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        """See what has room; Qt calls it."""
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        taken = 0
        for number in range(self._row.count()):
            item = self._row.itemAt(number)
            widget = None if item is None else item.widget()
            if widget not in (None, self._title) and not widget.isHidden():
                is_elastic = widget.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Ignored
                taken += 0 if is_elastic else widget.sizeHint().width() + self._row.spacing()
        least = min(LEAST_TITLE, self._title.sizeHint().width())
        # One that has more to tell under the mouse stays in any case.
        has_room = bool(self._title.toolTip()) or self.width() - taken >= least
        self._title.setVisible(bool(self._title.text()) and has_room)
        # Otherwise the layout would take as much from the controls as from the title.
        self._title.setMaximumWidth(max(self.width() - taken, 0))
