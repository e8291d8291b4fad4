"""The views of one tensor: buttons that choose one, and the page of the one that is chosen."""

from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QWidget

from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.distribution_page import DistributionPage
from bertviewer.ui.tensors.heatmap_page import HeatmapPage
from bertviewer.ui.tensors.norms_page import NormsPage
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.tensors.save_button import SaveButton
from bertviewer.ui.tensors.spectrum_page import SpectrumPage
from bertviewer.ui.tensors.values_page import ValuesPage
from bertviewer.ui.views.empty_state import EmptyState
from bertviewer.ui.views.pages import PageKind, Pages
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import STRETCH, hbox, stacked, vbox

PAGES: tuple[PageKind[TensorPage], ...] = (
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Values"), ValuesPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Heatmap"), HeatmapPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Histogram"), DistributionPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Singular values"), SpectrumPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Norms"), NormsPage),
)


class TensorViews(QWidget):
    """Shows a part in the view that is chosen; only the page in sight asks for anything."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._part: TensorPart | None = None
        self.save_button = SaveButton(workspace)
        """To be put wherever there is room for it."""
        self._message = EmptyState("tensorNotice")
        self._pages = Pages(PAGES, workspace, self._refresh, self)
        self._pages.built.connect(self._on_built)
        self._stack = stacked(*self._pages.slots, self._message)
        self._buttons = QButtonGroup(self)
        vbox(self._make_line(), (self._stack, 1), parent=self, spacing=2)
        self._buttons.idToggled.connect(self._on_button)

    @property
    def part(self) -> TensorPart | None:
        """What is shown, ``None`` while there is nothing but words."""
        return self._part

    def show_part(self, part: TensorPart) -> None:
        """Show this in the view that is chosen."""
        self._take(part)
        self._show_page()

    def say(self, words: str) -> None:
        """Show nothing but words: there are no values."""
        self._take(None)
        self._message.show_message(words)
        self._stack.setCurrentWidget(self._message)

    def leave(self) -> None:
        """Want nothing more: the views are out of sight."""
        self._pages.leave()

    def forget(self) -> None:
        """Keep nothing: the model is another one. A view can be chosen for the next tensor."""
        self._part = None
        self.save_button.set_part(None)
        for page in self._pages.all_built:
            page.forget()

    def _make_line(self) -> QHBoxLayout:
        for number, kind in enumerate(PAGES):
            title = translate("TensorViews", kind.title)
            button = tool_button(f"tensorView{number}", title, is_checkable=True)
            button.setAutoRaise(True)
            self._buttons.addButton(button, number)
        self._buttons.button(0).setChecked(True)
        return hbox(*self._buttons.buttons(), STRETCH, margins=(8, 0, 8, 0), spacing=2)

    def go_to(self, row: int, column: int) -> None:
        """Bring a cell of the matrix that is shown into sight, among its values."""
        self._values_page().go_to_cell(row, column)

    def _take(self, part: TensorPart | None) -> None:
        self._part = part
        # Of an activation there is no other copy: a page out of sight shall not keep it alive.
        for page in self._pages.all_built:
            if page.part is None or page.isVisible():
                continue
            if part is None or page.part.matrix.values is not part.matrix.values:
                page.forget()
        self.save_button.set_part(part)
        for button in self._buttons.buttons():
            button.setEnabled(part is not None)

    def _on_button(self, _number: int, is_checked: bool) -> None:
        if is_checked and self._part is not None:
            self._show_page()

    def _show_page(self) -> None:
        number = self._buttons.checkedId()
        self._stack.setCurrentIndex(number)
        self._pages.show(number)

    def _refresh(self, page: TensorPage) -> None:
        if self._part is not None:
            page.show_part(self._part)

    def _on_built(self, page: TensorPage) -> None:
        page.row_chosen.connect(self._go_to)

    def _go_to(self, row: int) -> None:
        self._values_page().go_to(row)

    def _values_page(self) -> ValuesPage:
        """Return the page of the values, in sight by now."""
        self._buttons.button(0).setChecked(True)
        values = self._pages.current
        assert isinstance(values, ValuesPage)
        return values
