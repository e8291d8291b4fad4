"""Window of a comparison: both models, changes, tensors and configuration."""

import json

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from bertviewer.core.comparison.comparison import Comparison
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.text import printable
from bertviewer.ui.compare.change_page import ChangePage
from bertviewer.ui.compare.tensor_table import TensorsPage
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.result_window import ResultWindow
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_table

SIZE = 1180, 640  # pixels


class ComparisonWindow(ResultWindow):
    """Pages for the change of each tensor, all tensors, and the configurations.

    ``chosen`` has the path of a module to select; ``swap_wanted`` and ``run_wanted`` are the
    buttons' clicks.
    """

    chosen = Signal(str)
    swap_wanted = Signal()
    run_wanted = Signal()

    def __init__(
        self, comparison: Comparison, workspace: Workspace, parent: QWidget | None = None
    ) -> None:
        title = f"{comparison.left.name} ↔ {comparison.right.name}"
        super().__init__("comparison", title, parent)
        self._comparison = comparison
        self._workspace = workspace
        self._is_linked = True
        self._disabled_reason = ""
        self._change = ChangePage(comparison, workspace)
        self._tensors = TensorsPage(comparison, workspace)
        self._tensors.chosen.connect(self.chosen)
        self._change.picked.connect(self._tensors.select)
        tabs = self.tabs
        self._change.table_wanted.connect(lambda: tabs.setCurrentWidget(self._tensors))
        tabs.addTab(self._change, self.tr("Change"))
        tabs.addTab(self._tensors, self.tr("Tensors"))
        keys = self.tr("Configuration ({0})").format(len(comparison.keys))
        tabs.addTab(self._make_keys(), keys)
        self.lay_out(self._make_head(), *SIZE)

    def unlink(self) -> None:
        """Stop selecting and running, as another model is open."""
        self._is_linked = False
        self._change.unlink()
        self._update_run()

    def disable_run(self, reason: str) -> None:
        """Disable running on both; the button's tooltip says why."""
        self._disabled_reason = reason
        self._update_run()

    def _make_head(self) -> QHBoxLayout:
        """Return a description of both models, and the buttons."""
        comparison = self._comparison
        sides = vbox(spacing=2)
        for side, source, parameters in (
            (self.tr("Left (A)"), comparison.left, comparison.left_parameters),
            (self.tr("Right (B)"), comparison.right, comparison.right_parameters),
        ):
            sides.addWidget(_line(f"{side}: {self._described(source, parameters)}"))
            for notice in source.notices:
                sides.addWidget(_line(printable(notice), WARNING))
        tooltip = self.tr("Swap the two models and compare again")
        swap = named(QPushButton(self.tr("Swap sides")), "swapSides", tooltip=tooltip)
        self._run = run = named(QPushButton(self.tr("Run on both")), "runBoth")
        for button, signal in ((swap, self.swap_wanted), (run, self.run_wanted)):
            button.setAutoDefault(False)
            button.clicked.connect(signal)
        self._workspace.run_input.changed.connect(self._update_run)
        self._workspace.jobs.activity_changed.connect(self._update_run)
        self._update_run()
        top = Qt.AlignmentFlag.AlignTop
        return hbox((sides, 1), (run, top), (swap, top), spacing=8)

    def _update_run(self) -> None:
        """Enable the button if the sentence can be run; its tooltip says why not."""
        reason = self._disabled_reason or self._workspace.run_input.disabled_reason
        if not self._is_linked:
            reason = self.tr("Another model has been opened since.")
        elif self._workspace.jobs.activity:
            reason = self.tr("Another task is running. Wait for it or cancel it.")
        what = self.tr(
            "Run the sentence in the main window on both: the open model as B, the other as A"
        )
        self._run.setEnabled(not reason)
        self._run.setToolTip(plain_tooltip(reason or what))

    def _described(self, source: SourceInfo, parameters: int) -> str:
        text = self.tr("{0} · {1} · {2:,} parameters").format(source.name, source.task, parameters)
        if source.weights != "pretrained":
            is_pickle = source.kind == "pickle"
            why = self.tr(" · pickled weights, not read") if is_pickle else self.tr(" · no weights")
            return text + why
        if source.quantization is not None:
            return text + self.tr(" · quantized: {0}").format(source.quantization.title)
        if source.random_tensors:
            missing = self.tr(" · tensors missing from the checkpoint: {0:,}")
            return text + missing.format(len(source.random_tensors))
        return text

    def _make_keys(self) -> QWidget:
        columns = (Column(self.tr("Key")), Column(self.tr("Left")), Column(self.tr("Right")))
        model = TableModel(columns, self)
        model.set_rows(
            [Row((key.key, _value(key.left), _value(key.right))) for key in self._comparison.keys]
        )
        return make_table(model, "comparedKeys", self.tr("Compared configuration"))


def _line(text: str, role: QPalette.ColorRole = QPalette.ColorRole.WindowText) -> QLabel:
    label = ElidedLabel()
    label.setText(text)
    label.setForegroundRole(role)
    return label


def _value(value: object) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
