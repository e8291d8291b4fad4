"""Opens the palette over the window, and carries out what is chosen in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from bertviewer.charts.theme import GRID
from bertviewer.ui.actions.action import Commands, Entry, keys_of

if TYPE_CHECKING:
    from bertviewer.ui.palette.popup import PalettePopup
    from bertviewer.ui.palette.sources import Item, TopicSources

TOP = 60
"""Pixels above it, where no field in sight opens it."""


class Palette(QObject):
    """The window's one palette; it is built when it is first opened."""

    def __init__(self, entries: Sequence[Entry], commands: Commands, window: QWidget) -> None:
        super().__init__(window)
        self._entries, self._commands, self._window = entries, commands, window
        self._popup: PalettePopup | None = None
        self._topics: TopicSources | None = None
        self._field: QWidget | None = None
        self._focused: QWidget | None = None

    @property
    def keys(self) -> str:
        """The keys that open it."""
        return next((keys_of(entry) for entry in self._entries if entry.name == "palette"), "")

    def set_field(self, field: QWidget) -> None:
        """Open over this widget from now on, while it is in sight."""
        self._field = field

    def open(self, typed: str = "") -> None:
        """Come into sight with what is typed already, and take the keys."""
        from bertviewer.ui.palette.sources import TopicSources, first_sources, sources_of

        if self._popup is None:
            self._popup = self._build()
        if self._popup.isHidden():
            self._focused = QApplication.focusWidget()
        place, field = QPoint(self._window.width() // 2, TOP), self._field
        if field is not None and field.isVisible():
            # Over it, edit over button, so that there is one field and not two.
            place = field.mapTo(self._window, QPoint(field.width() // 2, -2 * GRID))
            place.setY(max(0, place.y()))
        self._topics = self._topics or TopicSources()
        sources = sources_of(self._entries, self._commands, self._topics)
        at_first = first_sources(self._entries, self._commands)
        self._popup.open_at(place, sources, at_first, typed)

    def _build(self) -> "PalettePopup":
        from bertviewer.ui.palette.popup import PalettePopup

        popup = PalettePopup(self._window)
        popup.chosen.connect(self._choose)
        popup.left.connect(self._on_left)
        return popup

    def _on_left(self, restores_focus: bool) -> None:
        focused, self._focused = self._focused, None
        # It may be gone by now, with the window that it stood in.
        if restores_focus and focused is not None and isValid(focused) and focused.isVisible():
            focused.setFocus(Qt.FocusReason.PopupFocusReason)

    def _choose(self, item: "Item") -> None:
        item.choose()
