"""Base class of the views of a tensor."""

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.data_view import DataView, Notice, Query
from bertviewer.ui.views.empty_state import ContentStack
from bertviewer.ui.widgets.layouts import vbox


class TensorPage(DataView[Any]):
    """View of a tensor or a slice of it; ``row_chosen`` has a row to show among the values.

    A subclass implements ``part_query()`` and ``draw_result()``, and calls ``set_content()``.
    """

    row_chosen = Signal(int)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.part: TensorPart | None = None

    def set_content(self, content: QWidget) -> None:
        """Set the widget that shows the results."""
        content.setContentsMargins(8, 2, 8, 4)
        self.stack = ContentStack(content, "tensorNotice")
        self.display = self.stack
        vbox(self.stack, parent=self)

    def show_part(self, part: TensorPart) -> None:
        """Show a tensor or slice."""
        self.part = part
        self.refresh()

    @override
    def query(self) -> Query[Any] | Notice | None:
        if self.part is None:
            return None
        if not min(self.part.matrix.shape):
            return Notice(self.tr("The tensor has no elements."))
        return self.part_query(self.part)

    def part_query(self, part: TensorPart) -> Query[Any] | Notice:
        """Return what the worker computes for a part with elements, or why it cannot be shown."""
        raise NotImplementedError

    @override
    def draw(self, result: Any) -> None:
        assert self.part is not None
        self.draw_result(self.part, result)
        self.stack.show_content()

    def draw_result(self, part: TensorPart, result: Any) -> None:
        """Show what was computed for a part."""
        raise NotImplementedError

    @override
    def clear(self) -> None:
        self.part = None
        super().clear()
