"""Has the worker compute something of the open model: one thing at a time, the latest."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from bertviewer.core.progress import Progress
from bertviewer.ui.run.wanted import PATIENCE
from bertviewer.ui.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

ModelTask = Callable[["LoadedModel", Progress], Any]


class Asking(QObject):
    """A result by a key that says what it is of.

    ``came`` tells that it is there, or why not, in ``error``; ``late`` that it takes a while;
    ``progressed`` how far it is.
    """

    came = Signal()
    late = Signal()
    progressed = Signal(int, int)

    def __init__(
        self, workspace: Workspace, name: str, parent: QObject, *, needs_torch: bool
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._name = name
        self._needs_torch = needs_torch
        self.result: Any = None
        self.error = ""
        self.key: Hashable = None
        self._asked: tuple[Hashable, ModelTask] | None = None
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self.late)
        # A run gives up all that views have asked for.
        workspace.run_changed.connect(self._ask)
        workspace.progressed.connect(self._on_progress)

    @property
    def is_waiting(self) -> bool:
        """Whether something is on its way."""
        return self._asked is not None

    def want(self, key: Hashable, task: ModelTask) -> bool:
        """Return whether this is there; if not, it is on its way."""
        if key == self.key:
            self.give_up()
            return True
        if self._asked is None or key != self._asked[0]:
            self.give_up()
            self._asked = key, task
            self._patience.start()
            self._ask()
        return False

    def give_up(self) -> None:
        """Want nothing more."""
        self._patience.stop()
        if self._asked is not None:
            self._asked = None
            self._workspace.forget_look(self._name)

    def forget(self) -> None:
        """Want nothing more, and keep nothing."""
        self.give_up()
        self.key, self.result, self.error = None, None, ""

    def _ask(self) -> None:
        if self._asked is None:
            return
        key, task = self._asked
        self._workspace.look_into(
            self._name,
            task,
            lambda result: self._take(key, result),
            lambda error: self._take(key, None, str(error)),
            needs_torch=self._needs_torch,
        )

    def _take(self, key: Hashable, result: Any, error: str = "") -> None:
        self._patience.stop()
        self._asked = None
        self.key, self.result, self.error = key, result, error
        self.came.emit()

    def _on_progress(self, done: int, total: int, _label: str) -> None:
        # While this is waited for the worker does it, or what has to be done first.
        if self._asked is not None:
            self.progressed.emit(done, total)
