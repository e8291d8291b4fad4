"""Two models side by side: totals, changes, tensors and configuration."""

import json

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPushButton,
    QTabWidget,
    QWidget,
)

from bertviewer.core.comparison.comparison import Comparison
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.text import printable
from bertviewer.ui.compare.change_page import ChangePage
from bertviewer.ui.compare.tensors_page import TensorsPage
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import Gap, hbox, vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_table

SIZE = 1180, 640  # pixels


class ComparisonWindow(QDialog):
    """What is the same, what changed and by how much, and what only one of both has.

    ``chosen`` brings the path of the module that holds the tensor that was double-clicked.
    ``swap_wanted`` and ``run_wanted`` tell of the buttons.
    """

    chosen = Signal(str)
    swap_wanted = Signal()
    run_wanted = Signal()

    def __init__(
        self, comparison: Comparison, workspace: Workspace, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("comparisonWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.setWindowTitle(f"{comparison.left.name} ↔ {comparison.right.name}")
        self._comparison = comparison
        self._workspace = workspace
        self._is_linked = True
        self._refusal = ""
        self._change = ChangePage(comparison, workspace)
        self._tensors = TensorsPage(comparison, workspace)
        self._tensors.chosen.connect(self.chosen)
        self._change.picked.connect(self._tensors.select)
        self._change.table_wanted.connect(self._show_table)
        self._tabs = tabs = QTabWidget()
        tabs.setObjectName("comparisonTabs")
        tabs.setDocumentMode(True)
        tabs.addTab(self._change, self.tr("Change"))
        tabs.addTab(self._tensors, self.tr("Tensors"))
        keys = self.tr("Configuration ({0})").format(len(comparison.keys))
        tabs.addTab(self._make_keys(), keys)
        vbox(self._make_head(), Gap(4), (tabs, 1), parent=self, margins=(12, 12, 12, 12), spacing=6)
        tabs.tabBar().setFocus()
        # Qt itself would give it two thirds of the screen at most.
        self.resize(QSize(*SIZE).boundedTo(self.screen().availableSize()))

    def unlink(self) -> None:
        """Lead to no modules any more: the model that is open now is another one."""
        self._is_linked = False
        self._change.unlink()
        self._update_run()

    def refuse_run(self, why: str) -> None:
        """Let no sentence be run through both; the button's tip says why."""
        self._refusal = why
        self._update_run()

    def _make_head(self) -> QHBoxLayout:
        """Return what both sides are, and what can be done with them."""
        comparison = self._comparison
        sides = vbox(spacing=2)
        for side, source, parameters in (
            (self.tr("Left (A)"), comparison.left, comparison.left_parameters),
            (self.tr("Right (B)"), comparison.right, comparison.right_parameters),
        ):
            label = ElidedLabel()
            label.setText(f"{side}: {self._described(source, parameters)}")
            sides.addWidget(label)
            for notice in source.notices:
                warning = ElidedLabel()
                warning.setText(printable(notice))
                warning.setForegroundRole(WARNING)
                sides.addWidget(warning)
        swap = QPushButton(self.tr("Swap sides"))
        swap.setObjectName("swapSides")
        swap.setAutoDefault(False)
        swap.setToolTip(self.tr("Swap the two models and compare again"))
        swap.clicked.connect(self.swap_wanted)
        self._run = run = QPushButton(self.tr("Run on both"))
        run.setObjectName("runBoth")
        run.setAutoDefault(False)
        run.clicked.connect(self.run_wanted)
        self._workspace.next_run.changed.connect(self._update_run)
        self._workspace.scheduler.activity_changed.connect(self._update_run)
        self._update_run()
        return hbox(
            (sides, 1),
            (run, Qt.AlignmentFlag.AlignTop),
            (swap, Qt.AlignmentFlag.AlignTop),
            spacing=8,
        )

    def _update_run(self) -> None:
        """Let the sentence be run if it can be; the tip says why not."""
        lacking = self._refusal or self._workspace.next_run.lacking
        if not self._is_linked:
            lacking = self.tr("Another model has been opened since.")
        elif self._workspace.scheduler.activity:
            lacking = self.tr("Another task is running. Wait for it or cancel it.")
        what = self.tr(
            "Run the sentence in the main window on both: the open model as B, the other as A"
        )
        self._run.setEnabled(not lacking)
        self._run.setToolTip(plain_tooltip(lacking or what))

    def _show_table(self) -> None:
        self._tabs.setCurrentWidget(self._tensors)

    def _described(self, source: SourceInfo, parameters: int) -> str:
        text = self.tr("{0} · {1} · {2:,} parameters").format(source.name, source.task, parameters)
        if source.weights != "pretrained":
            is_pickle = source.kind == "pickle"
            why = self.tr(" · pickled weights, not read") if is_pickle else self.tr(" · no weights")
            return text + why
        if source.quantization is not None:
            return text + self.tr(" · quantized: {0}").format(source.quantization.title)
        if source.random_tensors:
            lacking = self.tr(" · tensors missing from the checkpoint: {0:,}")
            return text + lacking.format(len(source.random_tensors))
        return text

    def _make_keys(self) -> QWidget:
        columns = (Column(self.tr("Key")), Column(self.tr("Left")), Column(self.tr("Right")))
        model = TableModel(columns, self)
        model.set_rows(
            [Row((key.key, _value(key.left), _value(key.right))) for key in self._comparison.keys]
        )
        return make_table(model, "comparedKeys", self.tr("Compared configuration"))


def _value(value: object) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
