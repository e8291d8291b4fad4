"""What the views of a tensor share: what they show comes from the worker."""

from collections.abc import Hashable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from bertviewer.core.system import libraries
from bertviewer.core.tensors.part import TensorPart
from bertviewer.ui.background.requests import ModelWork, Request
from bertviewer.ui.tensors.notice import Notice
from bertviewer.ui.workspace import Workspace


class TensorPage(QWidget):
    """A view of one tensor, or of the slice that is chosen; ``row_chosen`` carries a row to go to.

    A subclass shows ``part`` in ``refresh()``.
    """

    row_chosen = Signal(int)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.part: TensorPart | None = None

    def show_part(self, part: TensorPart) -> None:
        """Show another tensor or slice; the page is in sight."""
        if part is not self.part:
            self.part = part
            self.on_part()
        self.refresh()

    def on_part(self) -> None:
        """Prepare for a new part."""

    def refresh(self) -> None:
        """Show the part."""
        raise NotImplementedError

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        self.part = None


class ComputedPage(TensorPage):
    """A view whose figures the worker computes.

    A subclass says in ``key()`` and ``work()`` what it needs of the worker, and draws that in
    ``draw()``; ``why_not()`` says why a part cannot be shown, and ``needs_torch`` whether the
    worker calculates with torch.
    """

    needs_torch = True

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.request = Request[Any](workspace.requests, self, needs_torch=self.needs_torch)
        self._is_stopped = False
        self._notice = Notice()
        self._pages = QStackedWidget()
        self._pages.addWidget(self._notice)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._pages)
        self.request.finished.connect(self.refresh)
        self.request.late.connect(self._on_late)
        self.request.progressed.connect(self._notice.show_progress)
        self._notice.pressed.connect(self._on_pressed)

    def set_content(self, content: QWidget) -> None:
        """Take the widget that shows the results."""
        content.setContentsMargins(8, 2, 8, 4)
        self._pages.addWidget(content)

    def show_part(self, part: TensorPart) -> None:
        """Show another tensor or slice, though the one before was stopped."""
        if part is not self.part:
            self._is_stopped = False
        super().show_part(part)

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        super().forget()
        self.request.forget()
        self._pages.setCurrentIndex(0)
        self._notice.say("")

    def refresh(self) -> None:
        """Show the part, or ask for what that takes."""
        part = self.part
        if part is None:
            return
        if why := self.why_not(part):
            self.request.cancel()
            self._notice.say(why, self.way_out(part))
            self._pages.setCurrentIndex(0)
        elif self._is_stopped:
            self._notice.say(self.tr("Cancelled."), self.tr("Compute"))
            self._pages.setCurrentIndex(0)
        elif not self.request.want(self.key(part), self.work(part)):
            return
        elif self.request.error:
            self._notice.say(self.request.error)
            self._pages.setCurrentIndex(0)
        else:
            self.draw(part, self.request.result)
            self._pages.setCurrentIndex(1)

    def key(self, part: TensorPart) -> Hashable:
        """Return what tells this result from others."""
        return part.matrix

    def work(self, part: TensorPart) -> ModelWork[Any]:
        """Return what the worker has to do."""
        raise NotImplementedError

    def draw(self, part: TensorPart, result: Any) -> None:
        """Show a result."""
        raise NotImplementedError

    def why_not(self, part: TensorPart) -> str:
        """Return why a part cannot be shown, "" if it can."""
        return "" if min(part.matrix.shape) else self.tr("The tensor has no elements.")

    def way_out(self, part: TensorPart) -> str:
        """Return the title of a button that shows it all the same, "" if nothing does."""
        del part
        return ""

    def insist(self) -> None:
        """Show what ``why_not()`` has warned of."""

    def _on_late(self) -> None:
        is_for_torch = self.needs_torch and not libraries.are_settled()
        words = self.tr("Loading torch…") if is_for_torch else self.tr("Computing…")
        self._notice.say(words, self.tr("Cancel"), is_computing=True)
        self._pages.setCurrentIndex(0)

    def _on_pressed(self) -> None:
        if self.request.is_waiting:
            self.request.cancel()
            self._is_stopped = True
        else:
            self._is_stopped = False
            self.insist()
        self.refresh()
