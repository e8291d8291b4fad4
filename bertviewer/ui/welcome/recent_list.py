"""List of recently opened models, with their folders and when they were opened."""

import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.settings.settings import exists, forget, opened_at, recent_names
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.welcome.cards import Card, card_text
from bertviewer.ui.welcome.question_runner import ModelOpener
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, vbox


class _FileChecker(QObject):
    """Checks in a thread whether files exist; ``missing`` is emitted for those that don't."""

    missing = Signal(str)
    _found = Signal(int, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._request = 0
        self._found.connect(self._on_found, Qt.ConnectionType.QueuedConnection)

    def check(self, names: Sequence[str]) -> None:
        """Check these names instead of earlier ones."""
        self._request += 1
        if names:
            # A daemon thread: waiting for a drive must not keep the process alive.
            arguments = (self._request, tuple(names))
            threading.Thread(target=self._check, args=arguments, daemon=True).start()

    def _check(self, number: int, names: Sequence[str]) -> None:
        for name in names:
            if not exists(name):
                try:
                    self._found.emit(number, name)
                except RuntimeError:
                    return  # the window has been closed

    def _on_found(self, number: int, name: str) -> None:
        if number == self._request:
            self.missing.emit(name)


MAX_NAMES = 5
NAME_WIDTH = 260
"""Pixels of a name that are never elided, unlike those of its folder."""


class RecentList(QWidget):
    """A card for each model; ``emptied`` is emitted when there are none."""

    emptied = Signal()

    def __init__(self, opener: ModelOpener) -> None:
        super().__init__()
        self._opener = opener
        self._states: dict[str, QLabel] = {}
        self._lines = vbox(parent=self, spacing=GRID)
        self._file_checker = _FileChecker(self)
        self._file_checker.missing.connect(self._on_missing)

    def show_names(self) -> None:
        """Show the stored names."""
        while (item := self._lines.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        names = recent_names()[:MAX_NAMES]
        self._states = {}
        for name in names:
            self._lines.addWidget(self._card(name))
        self._lines.addStretch(1)
        self._file_checker.check(names)
        if not names:
            self.emptied.emit()

    def _card(self, name: str) -> QWidget:
        short, folder = _parts(name)
        when = opened_at(name)
        opened = when_text(when) if when is not None else ""
        card = Card(f"recent-{name}", short, ", ".join(filter(None, (folder, opened))))
        card.setToolTip(plain_tooltip(name))
        title, path = card_text(short, is_title=True), card_text(folder)
        state = self._states[name] = card_text(opened)
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
        self._opener.open_recent(name)
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
    """Return the short name and where it is."""
    if "://" in name:
        return name.partition("://")[2], translate("RecentList", "Hugging Face Hub")
    path = Path(name)
    return path.name or name, str(path.parent)


def when_text(when: datetime, now: datetime | None = None) -> str:
    """Return the time of today, or the date of another day."""
    now = now or datetime.now()
    return f"{when:%H:%M}" if when.date() == now.date() else f"{when:%Y-%m-%d}"
