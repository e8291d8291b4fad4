"""Whether files are still there, asked for beside the window: a network's drive may not answer."""

import threading
from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal

from bertviewer.ui.recent import is_there


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
