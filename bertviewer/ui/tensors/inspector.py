"""Looks into one tensor: its values, its picture, its spread, its singular values, its norms."""

from functools import partial

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from bertviewer.core.architecture import TensorInfo
from bertviewer.core.tensors.heads import head_layout
from bertviewer.core.tensors.token_index import TokenIndex
from bertviewer.plots.theme import DARK, LIGHT
from bertviewer.ui import tasks
from bertviewer.ui.tensors.asking import Asking
from bertviewer.ui.tensors.distribution_page import DistributionPage
from bertviewer.ui.tensors.heatmap_page import HeatmapPage
from bertviewer.ui.tensors.norms_page import NormsPage
from bertviewer.ui.tensors.notice import Notice
from bertviewer.ui.tensors.page import Page
from bertviewer.ui.tensors.part_choice import PartChoice
from bertviewer.ui.tensors.save_button import SaveButton
from bertviewer.ui.tensors.spectrum_page import SpectrumPage
from bertviewer.ui.tensors.subject import Subject
from bertviewer.ui.tensors.title import TensorTitle
from bertviewer.ui.tensors.values_page import ValuesPage
from bertviewer.ui.workspace import Workspace

NO_TOKENS = TokenIndex(())


class Inspector(QWidget):
    """Shows a tensor once its values are found; ``closed`` tells that a person has had enough."""

    closed = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._tensor: TensorInfo | None = None
        self._subject: Subject | None = None
        self._values = Asking(workspace, "tensor values", self)
        self._tokens = Asking(workspace, "token rows", self)
        self._title = TensorTitle()
        self._title.setObjectName("tensorTitle")
        self._parts = PartChoice()
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
        self._views = QButtonGroup(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(self._make_head())
        layout.addLayout(self._make_views())
        layout.addWidget(self._stack, 1)
        self._views.idToggled.connect(self._on_view)
        self._parts.changed.connect(self._on_part)
        self._values.came.connect(self._on_values)
        self._values.late.connect(self._on_late)
        self._tokens.came.connect(self._on_part)
        norms.chosen.connect(self._go_to)
        workspace.run_changed.connect(self._on_run)
        workspace.weights_arrived.connect(self._on_run)
        workspace.architecture_changed.connect(self.forget)
        self._follow_palette()

    @property
    def subject(self) -> Subject | None:
        """What is shown."""
        return self._subject

    def show_tensor(self, tensor: TensorInfo) -> None:
        """Look into a tensor, in the view that is chosen."""
        architecture = self._workspace.architecture
        is_same = self._tensor is not None and self._tensor.name == tensor.name
        self._tensor = tensor
        if architecture is None:
            return
        if not is_same:
            self._tokens.give_up()
            self._parts.show_choices(tensor.shape, head_layout(architecture, tensor))
        if self._values.want(tensor.name, partial(tasks.tensor_values, tensor.name)):
            self._on_values()

    def leave(self) -> None:
        """Want nothing more: the tab is out of sight, or no tensor is chosen."""
        for asking in (self._values, self._tokens):
            asking.give_up()
        self._leave_pages()

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        self._tensor = self._subject = None
        self._title.show_name("")
        self._save.set_subject(None)
        for asking in (self._values, self._tokens):
            asking.forget()
        for page in self._pages:
            page.forget()

    def changeEvent(self, event: QEvent) -> None:
        """Draw in the window's colours; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_pages"):
            self._follow_palette()

    def _make_head(self) -> QHBoxLayout:
        close = QToolButton()
        close.setObjectName("closeTensor")
        close.setText("×")
        close.setAutoRaise(True)
        close.setToolTip(self.tr("Close: only the list of tensors is left"))
        close.setAccessibleName(self.tr("Close the tensor"))
        close.clicked.connect(self.closed)
        line = QHBoxLayout()
        line.setContentsMargins(16, 6, 8, 0)
        line.addWidget(self._title, 1)
        line.addWidget(self._parts)
        line.addWidget(close)
        return line

    def _make_views(self) -> QHBoxLayout:
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
            self._views.addButton(button, number)
            line.addWidget(button)
        self._views.button(0).setChecked(True)
        line.addStretch(1)
        line.addWidget(self._save)
        return line

    def _on_values(self) -> None:
        tensor, values = self._tensor, self._values.result
        if tensor is None:
            return
        if values is None:
            self._say(self._values.error or self._why_not())
            return
        self._title.show_values(values)
        self._on_part()
        self._tokens.want(tensor.name, partial(tasks.token_rows, tensor))

    def _on_part(self) -> None:
        """Show the chosen slice in the view in sight."""
        values = self._values.result
        if values is None or self._tensor is None or self._values.key != self._tensor.name:
            return
        is_known = self._tokens.key == self._tensor.name and self._tokens.result is not None
        tokens = self._tokens.result if is_known else NO_TOKENS
        matrix = self._parts.matrix(values)
        before = self._subject
        if before is None or before.matrix != matrix or before.tokens is not tokens:
            self._subject = Subject(matrix, tokens)
        self._save.set_subject(self._subject)
        for button in self._views.buttons():
            button.setEnabled(True)
        self._show_page()

    def _on_view(self, _number: int, is_checked: bool) -> None:
        if is_checked and self._subject is not None:
            self._show_page()

    def _show_page(self) -> None:
        number = self._views.checkedId()
        self._leave_pages(number)
        self._stack.setCurrentIndex(number)
        if self._subject is not None:
            self._pages[number].show_subject(self._subject)

    def _leave_pages(self, but: int | None = None) -> None:
        for number, page in enumerate(self._pages):
            if number != but and isinstance(page, Page):
                page.leave()

    def _go_to(self, row: int) -> None:
        self._views.button(0).setChecked(True)
        self._values_page.go_to(row)

    def _on_late(self) -> None:
        self._say(self.tr("computing…"))

    def _on_run(self) -> None:
        """Look again where there was nothing: a run draws weights for a model without any."""
        if self._tensor is not None and self._values.result is None:
            self._values.forget()
            if self.isVisible():
                self.show_tensor(self._tensor)

    def _say(self, words: str) -> None:
        self._subject = None
        self._title.show_name("" if self._tensor is None else self._tensor.name)
        self._save.set_subject(None)
        for button in self._views.buttons():
            button.setEnabled(False)
        self._notice.say(words)
        self._stack.setCurrentWidget(self._notice)

    def _why_not(self) -> str:
        return self.tr(
            "This model has no weights. Run a sentence with random weights, and the values that "
            "were drawn are shown here."
        )

    def _follow_palette(self) -> None:
        theme = DARK if self.palette().base().color().lightness() < 128 else LIGHT
        for page in self._pages:
            if isinstance(page, Page):
                page.set_theme(theme)
