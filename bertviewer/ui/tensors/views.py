"""The views of one tensor: buttons that choose one, and the page of the one that is chosen."""

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from bertviewer.plots.theme import DARK, LIGHT
from bertviewer.ui.tensors.distribution_page import DistributionPage
from bertviewer.ui.tensors.heatmap_page import HeatmapPage
from bertviewer.ui.tensors.norms_page import NormsPage
from bertviewer.ui.tensors.notice import Notice
from bertviewer.ui.tensors.page import Page
from bertviewer.ui.tensors.save_button import SaveButton
from bertviewer.ui.tensors.spectrum_page import SpectrumPage
from bertviewer.ui.tensors.tensor_part import TensorPart
from bertviewer.ui.tensors.values_page import ValuesPage
from bertviewer.ui.workspace import Workspace


class TensorViews(QWidget):
    """Shows a part in the view that is chosen; only the page in sight asks for anything."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._part: TensorPart | None = None
        self._save = SaveButton(workspace)
        self._notice = Notice()
        self._values_page = ValuesPage()
        norms = NormsPage(workspace)
        self._pages: tuple[ValuesPage | Page, ...] = (
            self._values_page,
            HeatmapPage(workspace),
            DistributionPage(workspace),
            SpectrumPage(workspace),
            norms,
        )
        self._stack = QStackedWidget()
        for page in (*self._pages, self._notice):
            self._stack.addWidget(page)
        self._buttons = QButtonGroup(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(self._make_line())
        layout.addWidget(self._stack, 1)
        self._buttons.idToggled.connect(self._on_button)
        norms.chosen.connect(self._go_to)
        self._follow_palette()

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
        self._notice.say(words)
        self._stack.setCurrentWidget(self._notice)

    def leave(self) -> None:
        """Want nothing more: the views are out of sight."""
        self._leave_pages()

    def forget(self) -> None:
        """Keep nothing: the model is another one. A view can be chosen for the next tensor."""
        self._part = None
        self._save.set_part(None)
        for page in self._pages:
            page.forget()

    def changeEvent(self, event: QEvent) -> None:
        """Draw in the window's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_pages"):
            self._follow_palette()

    def _make_line(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setContentsMargins(8, 0, 8, 0)
        line.setSpacing(2)
        titles = (
            self.tr("Values"),
            self.tr("Heatmap"),
            self.tr("Histogram"),
            self.tr("Singular values"),
            self.tr("Norms"),
        )
        for number, title in enumerate(titles):
            button = QToolButton()
            button.setObjectName(f"tensorView{number}")
            button.setText(title)
            button.setCheckable(True)
            button.setAutoRaise(True)
            self._buttons.addButton(button, number)
            line.addWidget(button)
        self._buttons.button(0).setChecked(True)
        line.addStretch(1)
        line.addWidget(self._save)
        return line

    def _take(self, part: TensorPart | None) -> None:
        self._part = part
        self._save.set_part(part)
        for button in self._buttons.buttons():
            button.setEnabled(part is not None)

    def _on_button(self, _number: int, is_checked: bool) -> None:
        if is_checked and self._part is not None:
            self._show_page()

    def _show_page(self) -> None:
        number = self._buttons.checkedId()
        self._leave_pages(number)
        self._stack.setCurrentIndex(number)
        if self._part is not None:
            self._pages[number].show_part(self._part)

    def _leave_pages(self, but: int | None = None) -> None:
        for number, page in enumerate(self._pages):
            if number != but and isinstance(page, Page):
                page.leave()

    def _go_to(self, row: int) -> None:
        self._buttons.button(0).setChecked(True)
        self._values_page.go_to(row)

    def _follow_palette(self) -> None:
        theme = DARK if self.palette().base().color().lightness() < 128 else LIGHT
        for page in self._pages:
            if isinstance(page, Page):
                page.set_theme(theme)
