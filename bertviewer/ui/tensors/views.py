"""Views of one tensor, chosen by buttons, and a button that saves its values."""

import re
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QButtonGroup, QFileDialog, QHBoxLayout, QMenu, QToolButton, QWidget

from bertviewer.core.saving.atomic_files import check_writable
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.heatmap_page import HeatmapPage
from bertviewer.ui.tensors.norms_page import NormsPage
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.tensors.plot_pages import HistogramPage, SpectrumPage
from bertviewer.ui.tensors.values_page import ValuesPage
from bertviewer.ui.views.empty_state import EmptyState
from bertviewer.ui.views.pages import PageKind, Pages
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import STRETCH, hbox, stacked, vbox
from bertviewer.ui.widgets.messages import show_error

PAGES: tuple[PageKind[TensorPage], ...] = (
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Values"), ValuesPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Heatmap"), HeatmapPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Histogram"), HistogramPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Singular values"), SpectrumPage),
    PageKind(QT_TRANSLATE_NOOP("TensorViews", "Norms"), NormsPage),
)


class SaveButton(QToolButton):
    """Menu of file formats; the worker writes the values of the part to a file."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._part: TensorPart | None = None
        self.setObjectName("saveTensor")
        self.setText(self.tr("Save…"))
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        for suffix, title in (
            (".npy", self.tr("As .npy…")),
            (".safetensors", self.tr("As .safetensors…")),
            (".csv", self.tr("As CSV…")),
        ):
            action = menu.addAction(title)
            action.setObjectName(f"save{suffix}")
            action.triggered.connect(partial(self._choose_file, suffix))
        self.setMenu(menu)
        self.set_part(None)

    def set_part(self, part: TensorPart | None) -> None:
        """Set what is saved; ``None`` disables the button."""
        self._part = part
        self.setEnabled(part is not None)

    def save(self, path: Path) -> None:
        """Write the values to a file, in the format of its suffix."""
        part, models = self._part, self._workspace.models
        if part is None:
            return
        try:
            check_writable(path, models)
        except UserError as error:
            show_error(self, str(error))
            return

        def work(progress: Progress) -> Path:
            from bertviewer.core.tensors.saving import save

            return save(part, path, models, progress)

        saved = self._workspace.saved
        self._workspace.jobs.start("save", work, lambda written: saved.emit(str(written)))

    def _choose_file(self, suffix: str) -> None:
        if self._part is None:
            return
        name, _ = QFileDialog.getSaveFileName(
            self,
            self.tr("Save the values"),
            f"{_file_name(self._part)}{suffix}",
            f"{suffix[1:].upper()} (*{suffix})",
        )
        if name:
            path = Path(name)
            # The format is that of the menu, whatever suffix was typed.
            self.save(path if path.suffix.lower() == suffix else Path(f"{name}{suffix}"))


def _file_name(part: TensorPart) -> str:
    """Return a default file name: module, side and name of the tensor."""
    module, side = part.metadata.get("module", ""), part.metadata.get("side", "")
    parts = filter(None, (module, side, part.matrix.values.name))
    return re.sub(r"[^\w.\-]+", "-", "-".join(parts)).strip("-.")


class TensorViews(QWidget):
    """Shows a part in the chosen view; only the visible page requests data.

    ``save_button`` is placed by the inspector.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._part: TensorPart | None = None
        self.save_button = SaveButton(workspace)
        self._message = EmptyState("tensorNotice")
        self._pages = Pages(PAGES, workspace, self._refresh, self)
        self._pages.built.connect(lambda page: page.row_chosen.connect(self._go_to_row))
        self._stack = stacked(*self._pages.slots, self._message)
        self._buttons = QButtonGroup(self)
        vbox(self._make_buttons(), (self._stack, 1), parent=self, spacing=2)
        self._buttons.idToggled.connect(self._on_button)

    @property
    def part(self) -> TensorPart | None:
        """The part that is shown, ``None`` while there is a message."""
        return self._part

    def show_part(self, part: TensorPart) -> None:
        """Show a part in the chosen view."""
        self._set_part(part)
        self._show_page()

    def show_message(self, text: str) -> None:
        """Show a message instead of values."""
        self._set_part(None)
        self._message.show_message(text)
        self._stack.setCurrentWidget(self._message)

    def cancel(self) -> None:
        """Cancel all requests."""
        self._pages.leave()

    def clear(self) -> None:
        """Forget everything, as the model is another one; a view can still be chosen."""
        self._part = None
        self.save_button.set_part(None)
        for page in self._pages.all_built:
            page.clear()

    def go_to(self, row: int, column: int) -> None:
        """Show an element of the part's matrix in the table of values."""
        self._values_page().go_to_cell(row, column)

    def _make_buttons(self) -> QHBoxLayout:
        for number, kind in enumerate(PAGES):
            title = translate("TensorViews", kind.title)
            button = tool_button(f"tensorView{number}", title, is_checkable=True)
            button.setAutoRaise(True)
            self._buttons.addButton(button, number)
        self._buttons.button(0).setChecked(True)
        return hbox(*self._buttons.buttons(), STRETCH, margins=(8, 0, 8, 0), spacing=2)

    def _set_part(self, part: TensorPart | None) -> None:
        self._part = part
        # Hidden pages must not keep the values of another activation alive.
        for page in self._pages.all_built:
            if page.part is None or page.isVisible():
                continue
            if part is None or page.part.matrix.values is not part.matrix.values:
                page.clear()
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

    def _go_to_row(self, row: int) -> None:
        self._values_page().go_to(row)

    def _values_page(self) -> ValuesPage:
        """Show the table of values and return its page."""
        self._buttons.button(0).setChecked(True)
        page = self._pages.current
        assert isinstance(page, ValuesPage)
        return page
