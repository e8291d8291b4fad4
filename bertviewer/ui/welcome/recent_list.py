"""The models that were opened last: where each is, what it is, and when it was opened."""

import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.settings.recent_models import forget, is_there, opened_at, recent_names
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.welcome.card import Card, card_text
from bertviewer.ui.welcome.drop_place import Opens
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, vbox


class Whereabouts(QObject):
    """Looks for files; ``missing`` names each that is gone."""

    missing = Signal(str)
    _found = Signal(int, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._asked = 0
        self._found.connect(self._on_found, Qt.ConnectionType.QueuedConnection)

    def look(self, names: Sequence[str]) -> None:
        """Look for these, and no longer for those before."""
        self._asked += 1
        if names:
            # A daemon: one that waits for a drive must not keep a closed program alive.
            arguments = (self._asked, tuple(names))
            threading.Thread(target=self._look, args=arguments, daemon=True).start()

    def _look(self, number: int, names: Sequence[str]) -> None:
        for name in names:
            if not is_there(name):
                try:
                    self._found.emit(number, name)
                except RuntimeError:
                    return  # the window is gone

    def _on_found(self, number: int, name: str) -> None:
        if number == self._asked:
            self.missing.emit(name)


MOST = 5
NAME_WIDTH = 260
"""Pixels that a name keeps where there is little room; its folder gives way."""


class RecentList(QWidget):
    """A line for each; ``emptied`` says that none is left."""

    emptied = Signal()

    def __init__(self, opening: Opens) -> None:
        super().__init__()
        self._opening = opening
        self._states: dict[str, QLabel] = {}
        self._lines = vbox(parent=self, spacing=GRID)
        self._whereabouts = Whereabouts(self)
        self._whereabouts.missing.connect(self._on_missing)

    def show_names(self) -> None:
        """Show what is remembered now."""
        while (item := self._lines.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        names = recent_names()[:MOST]
        self._states = {}
        for name in names:
            self._lines.addWidget(self._line(name))
        self._lines.addStretch(1)
        self._whereabouts.look(names)
        if not names:
            self.emptied.emit()

    def _line(self, name: str) -> QWidget:
        short, folder = _parts(name)
        when = opened_at(name)
        said = when_text(when) if when is not None else ""
        card = Card(f"recent-{name}", short, ", ".join(filter(None, (folder, said))))
        card.setToolTip(plain_tooltip(name))
        title, path = card_text(short, is_title=True), card_text(folder)
        state = self._states[name] = card_text(said)
        tip = self.tr("Remove from this list")
        remove = flat_button(f"forget-{name}", "✕", tip)
        remove.clicked.connect(lambda: self._forget(name))
        row = hbox(spacing=2 * GRID)
        for widget, stretch in ((title, 0), (path, 1), (state, 0), (remove, 0)):
            row.addWidget(widget, stretch)
        title.setMinimumWidth(min(title.sizeHint().width(), NAME_WIDTH))
        state.setMinimumWidth(state.sizeHint().width())
        card.lines.setContentsMargins(3 * GRID, GRID, GRID, GRID)
        card.lines.addLayout(row)
        card.clicked.connect(lambda: self._open(name))
        return card

    def _open(self, name: str) -> None:
        self._opening.open_recent(name)
        if name not in recent_names():
            self.show_names()

    def _forget(self, name: str) -> None:
        forget(name)
        self.show_names()

    def _on_missing(self, name: str) -> None:
        if (state := self._states.get(name)) is not None:
            state.setText(self.tr("not found"))
            state.setForegroundRole(WARNING)
            state.setMinimumWidth(state.sizeHint().width())


def _parts(name: str) -> tuple[str, str]:
    """Return what is read first of a name, and where it is."""
    if "://" in name:
        return name.partition("://")[2], translate("RecentList", "Hugging Face Hub")
    path = Path(name)
    return path.name or name, str(path.parent)


def when_text(when: datetime, now: datetime | None = None) -> str:
    """Return a day as people say it: its time today, else its date."""
    now = now or datetime.now()
    return f"{when:%H:%M}" if when.date() == now.date() else f"{when:%Y-%m-%d}"
