"""Goes through a window as a person does, and takes a picture at each stop."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, QRect, QSettings
from PySide6.QtWidgets import QApplication, QDialog, QFrame, QWidget

from bertviewer.core.util.progress import Progress
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Job, Worker
from bertviewer.ui.theme.appearance import LIGHT_NAME, SETTING
from tests.screenshots.chapter import Size

TIMEOUT = 180.0
REST = 0.6
"""Seconds that nothing is to happen in before a picture is taken: animations end, tips go."""

Found = TypeVar("Found", bound=QObject)


class HeldWorker(Worker):
    """A worker whose next job can be kept from its work, or made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.before_next: Callable[[Progress], None] | None = None

    def start(self, work: Callable[[Progress], Any], *ends: Any, **named: Any) -> Job:
        """Start a job after what is to come before it."""
        before, self.before_next = self.before_next, None
        if before is None:
            return super().start(work, *ends, **named)

        def first(progress: Progress) -> Any:
            before(progress)
            return work(progress)

        return super().start(first, *ends, **named)


class Guide:
    """A window, what is done to it, and pictures of it as it stands on the screen."""

    def __init__(self, application: QApplication, folder: Path) -> None:
        self.application, self.folder = application, folder
        self.worker = HeldWorker()
        QSettings().setValue(SETTING, LIGHT_NAME)
        self.window = make_window(self.worker)
        self.workspace = self.window.workspace
        self.is_held = False
        self.ends: list[Callable[[], object]] = []
        """What is to be done once the picture is taken."""
        self.last: list[Callable[[], object]] = []
        """What is to be done once the chapter is taken."""
        self.window.show()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let the window work until something is so."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            self.application.processEvents()
            time.sleep(0.005)

    def rest(self) -> None:
        """Wait until all is drawn, and nothing goes on but what is held."""
        until = time.monotonic() + REST
        self.wait(
            lambda: (
                time.monotonic() > until and not self.workspace.deferred.pending
                and (self.is_held or not self.worker.busy)
            )
        )  # fmt: skip

    def find(self, kind: type[Found], name: str) -> Found:
        """Return what has this name in the window."""
        found = self.window.findChild(kind, name)
        if found is None:
            raise LookupError(name)
        return found

    def resize(self, size: Size) -> None:
        """Give the window itself, without its frame, a size."""

        def is_there() -> bool:
            if (self.window.width(), self.window.height()) == size:
                return True
            # Once more: a wide window is arranged otherwise, and can then be narrower still.
            self.window.resize(*size)
            return False

        self.wait(is_there)

    def picture(self, file: str) -> None:
        """Save what is to be seen of the window and of all that it has opened."""
        self.rest()
        place = QRect()
        for widget in self.application.topLevelWidgets():
            if widget.isVisible() and not isinstance(widget, QFrame):
                place = place.united(widget.frameGeometry())
        screen = self.window.screen()
        place &= screen.geometry()
        grabbed = screen.grabWindow(0, place.x(), place.y(), place.width(), place.height())
        self._save(grabbed.save(str(self.folder / file)), file)

    def plain_picture(self, file: str) -> None:
        """Save the open dialog, or else the window, without what the desktop draws around it."""
        self.rest()
        widgets = self.application.topLevelWidgets()
        dialogs = [each for each in widgets if isinstance(each, QDialog) and each.isVisible()]
        self._save((*dialogs, self.window)[0].grab().save(str(self.folder / file)), file)

    def tidy(self) -> None:
        """Have the window as it was before the last picture's steps."""
        while popup := QApplication.activePopupWidget():
            popup.close()
        for widget in self.application.topLevelWidgets():
            if isinstance(widget, QDialog) and widget.isVisible():
                widget.close()
        for palette in self.window.findChildren(QWidget, "palette"):
            palette.hide()
        self.is_held = False
        while self.ends:
            self.ends.pop()()
        self.rest()

    def close(self) -> None:
        """Close the window."""
        self.window.close()
        self.worker.stop(10)
        while self.last:
            self.last.pop()()

    def _save(self, is_saved: bool, file: str) -> None:
        if not is_saved:
            raise OSError(f"cannot write {self.folder / file}")
        sys.stdout.write(f"{self.folder / file}\n")
        sys.stdout.flush()
