"""What the views of a tensor share: what they show comes from the worker."""

from collections.abc import Hashable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util import libraries
from bertviewer.ui.jobs.requests import ModelWork, Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.empty_state import CallToAction, EmptyState
from bertviewer.ui.widgets.layouts import stacked, vbox


class TensorPage(QWidget):
    """A view of one tensor, or of the slice that is chosen; ``row_chosen`` carries a row to go to.

    A subclass shows ``part`` in ``refresh()``.
    """

    row_chosen = Signal(int)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
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

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.request = Request[Any](workspace.requests, self, needs_torch=self.needs_torch)
        self._is_stopped = False
        self._message = EmptyState("tensorNotice")
        self._pages = stacked(self._message)
        vbox(self._pages, parent=self)
        self.request.finished.connect(self.refresh)
        self.request.late.connect(self._on_late)
        self.request.progressed.connect(self._message.show_progress)

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
        self._say("")

    def refresh(self) -> None:
        """Show the part, or ask for what that takes."""
        part = self.part
        if part is None:
            return
        if why := self.why_not(part):
            self.request.cancel()
            self._say(why, self.way_out(part))
        elif self._is_stopped:
            self._say(self.tr("Cancelled."), CallToAction(self.tr("Compute"), self._go_on))
        elif not self.request.want(self.key(part), self.work(part)):
            return
        elif self.request.error:
            self._say(self.request.error)
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

    def way_out(self, part: TensorPart) -> CallToAction | None:
        """Return how it is shown all the same, ``None`` if it is not."""
        del part
        return None

    def _say(
        self, words: str, offer: CallToAction | None = None, *, is_computing: bool = False
    ) -> None:
        if is_computing:
            self._message.show_busy(words, offer)
        else:
            self._message.show_message(words, offer)
        self._pages.setCurrentIndex(0)

    def _on_late(self) -> None:
        is_for_torch = self.needs_torch and not libraries.are_settled()
        words = self.tr("Loading torch…") if is_for_torch else self.tr("Computing…")
        self._say(words, CallToAction(self.tr("Cancel"), self._stop), is_computing=True)

    def _stop(self) -> None:
        self.request.cancel()
        self._is_stopped = True
        self.refresh()

    def _go_on(self) -> None:
        self._is_stopped = False
        self.refresh()
