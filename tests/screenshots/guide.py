"""Window of a chapter: does steps in it, and takes pictures."""

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
"""Seconds before a picture, in which animations end and tooltips disappear."""

Found = TypeVar("Found", bound=QObject)


class HeldWorker(Worker):
    """A worker whose next job can be delayed or made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.before_next: Callable[[Progress], None] | None = None

    def start(self, work: Callable[[Progress], Any], *ends: Any, **named: Any) -> Job:
        """Start a job, after ``before_next``."""
        before, self.before_next = self.before_next, None
        if before is None:
            return super().start(work, *ends, **named)

        def first(progress: Progress) -> Any:
            before(progress)
            return work(progress)

        return super().start(first, *ends, **named)


class Guide:
    """A window, the steps that are done in it, and pictures of it on the screen."""

    def __init__(self, application: QApplication, folder: Path) -> None:
        self.application, self.folder = application, folder
        self.worker = HeldWorker()
        QSettings().setValue(SETTING, LIGHT_NAME)
        self.window = make_window(self.worker)
        self.workspace = self.window.workspace
        self.is_held = False
        self.ends: list[Callable[[], object]] = []
        """Called after the picture."""
        self.last: list[Callable[[], object]] = []
        """Called after the chapter."""
        self.window.show()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Process events until a condition holds."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            self.application.processEvents()
            time.sleep(0.005)

    def rest(self) -> None:
        """Wait until everything is drawn, and no job runs except one that is held."""
        until = time.monotonic() + REST
        self.wait(
            lambda: (
                time.monotonic() > until and not self.workspace.deferred.pending
                and (self.is_held or not self.worker.busy)
            )
        )  # fmt: skip

    def find(self, kind: type[Found], name: str) -> Found:
        """Return the child of the window with this name."""
        found = self.window.findChild(kind, name)
        if found is None:
            raise LookupError(name)
        return found

    def resize(self, size: Size) -> None:
        """Resize the window without its frame."""

        def is_there() -> bool:
            if (self.window.width(), self.window.height()) == size:
                return True
            # Again: a wide window is arranged differently, and can then become narrower.
            self.window.resize(*size)
            return False

        self.wait(is_there)

    def picture(self, file: str) -> None:
        """Save a picture of the window and all its dialogs and menus."""
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
        """Save the open dialog, or else the window, without a frame."""
        self.rest()
        widgets = self.application.topLevelWidgets()
        dialogs = [each for each in widgets if isinstance(each, QDialog) and each.isVisible()]
        self._save((*dialogs, self.window)[0].grab().save(str(self.folder / file)), file)

    def tidy(self) -> None:
        """Undo the steps of the last picture."""
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
