"""What-if tab: change configuration values and see counts, shapes, memory and FLOPs."""

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QPushButton,
    QStackedLayout,
    QWidget,
)

from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.what_if.scenario import (
    Outcome,
    Scenario,
    evaluate_scenario,
    preset_sizes,
    remedies,
)
from bertviewer.core.what_if.sheet import ScenarioError, Sheet
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.what_if.config_controls import ConfigControls
from bertviewer.ui.what_if.results import ResultsView
from bertviewer.ui.what_if.texts import problems_text
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, ResponsiveSplitter, hbox, named, vbox

_SHARES, _NARROW = (16_000, 25_000), 36
"""Arguments of the splitter between fields and results."""


class WhatIfTab(QWidget):
    """Fields for the symbols of the formulas, and the results.

    Results come from the formulas; where these are not verified, the worker builds a model with
    the values. Values are kept while other rows are selected, and reset when another model is
    opened.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("whatIfTab")
        self._workspace = workspace
        self._sheet: Sheet | None = None
        self._changed: dict[str, int] = {}
        self._kept: tuple[Relation, ...] = ()
        self._presets: Mapping[str, Mapping[str, int]] = {}
        self._real: Outcome | None = None
        self._outcome: Outcome | None = None
        self._controls = ConfigControls()
        self._results = ResultsView()
        self._preset_choice = QComboBox()
        self._keep = QCheckBox()
        self._reset = QPushButton(self.tr("Reset"))
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._make_content())
        self._nothing = named(plain_label(""), "whatIfNothing")
        self._nothing.setContentsMargins(16, 12, 16, 16)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._stack.addWidget(self._nothing)
        self._controls.changed.connect(self._change)
        self._keep.toggled.connect(self._set_kept)
        self._reset.clicked.connect(self.reset)
        self._preset_choice.activated.connect(self._fill_in)
        self._built = Request[Outcome](workspace.jobs, self)
        self._built.finished.connect(self._show)
        workspace.architecture_changed.connect(self._forget)

    def refresh(self) -> None:
        """Show the results for the selected row."""
        architecture = self._workspace.architecture
        if architecture is None:
            return
        if self._sheet is None or self._sheet.architecture is not architecture:
            self._set_sheet(Sheet.of(architecture))
        self._stack.setCurrentIndex(0 if self._sheet and self._sheet.has_formulas else 1)
        self._nothing.setText(
            self.tr("Deriving the formulas…")
            if self._workspace.is_deriving
            else self.tr("No formulas were found for this model, so nothing can be changed here.")
        )
        self._show()

    def reset(self) -> None:
        """Restore the model's own values."""
        self._changed.clear()
        self._uncheck_keep()
        self._preset_choice.setCurrentIndex(-1)
        self._show()

    def _forget(self) -> None:
        self._changed.clear()
        self._uncheck_keep()
        self._sheet = self._real = self._outcome = None

    def _set_sheet(self, sheet: Sheet) -> None:
        self._sheet = sheet
        # Formulas may have been derived, or become invalid, since the values were set.
        self._changed = {k: v for k, v in self._changed.items() if k in sheet.free}
        self._kept = tuple(multiple for multiple in self._kept if multiple in sheet.multiples)
        self._real = self._outcome = evaluate_scenario(Scenario(sheet, {}))
        self._controls.set_sheet(sheet)
        self._presets = preset_sizes(sheet)
        self._preset_choice.clear()
        self._preset_choice.addItems(list(self._presets))
        self._preset_choice.setCurrentIndex(-1)
        self._preset_choice.setVisible(bool(self._presets))
        texts = (readable(multiple.text) for multiple in sheet.multiples)
        self._keep.setText(self.tr("Keep {0}").format(", ".join(texts)))
        self._keep.setVisible(bool(sheet.multiples))

    def _change(self, name: str, value: int) -> None:
        if self._sheet is None:
            return  # typed for a model that is not open any more
        self._set_value(name, value)
        self._preset_choice.setCurrentIndex(-1)
        self._show()

    def _set_value(self, name: str, value: int) -> None:
        assert self._sheet is not None
        if value == self._sheet.values[name]:
            self._changed.pop(name, None)
        else:
            self._changed[name] = value

    def _set_kept(self, is_kept: bool) -> None:
        if self._sheet is None:
            return
        values = Scenario(self._sheet, self._changed, self._kept).values
        for multiple in self._kept:
            # The value stays as it is and can be edited again.
            self._set_value(multiple.name, values[multiple.name])
        self._kept = self._sheet.multiples if is_kept else ()
        for multiple in self._kept:
            self._changed.pop(multiple.name, None)
        self._show()

    def _uncheck_keep(self) -> None:
        self._kept = ()
        self._keep.blockSignals(True)
        self._keep.setChecked(False)
        self._keep.blockSignals(False)

    def _fill_in(self, index: int) -> None:
        if self._sheet is None:
            return
        sizes = self._presets[self._preset_choice.itemText(index)]
        sentence = {symbol.name for symbol in self._sheet.symbols if not symbol.key}
        self._changed = {k: v for k, v in self._changed.items() if k in sentence} | dict(sizes)
        self._uncheck_keep()
        self._show()

    def _show(self) -> None:
        row, sheet = self._workspace.selection.row, self._sheet
        if row is None or sheet is None or self._real is None:
            return
        scenario = Scenario(sheet, dict(self._changed), self._kept)
        self._controls.show_values(scenario.values, {multiple.name for multiple in self._kept})
        self._reset.setEnabled(bool(self._changed) or bool(self._kept))
        is_valid = True
        try:
            self._outcome = evaluate_scenario(scenario)
            problems = self._outcome.warnings
        except ScenarioError as error:
            built = self._built_with(scenario)
            is_valid, problems = built is not None, () if built is not None else error.problems
            self._outcome = built or self._outcome
        self._controls.show_message(problems_text(problems), remedies(scenario, problems))
        if self._outcome is not None:
            self._results.show_outcome(
                self._outcome, self._real, row, is_valid, self._workspace.is_deriving
            )

    def _built_with(self, scenario: Scenario) -> Outcome | None:
        """Return the results of a built model, ``None`` until it is built or if it can't be."""
        if min(scenario.values.values()) < 0:
            return None
        key = tuple(sorted(scenario.values.items()))
        is_ready = self._built.want(key, partial(jobs.rebuild_job, scenario))
        return self._built.result if is_ready else None

    def _make_content(self) -> QWidget:
        self._preset_choice.setObjectName("whatIfPreset")
        self._preset_choice.setPlaceholderText(self.tr("Start from preset…"))
        self._preset_choice.setAccessibleName(self.tr("Use the sizes of another model"))
        self._preset_choice.setToolTip(self.tr("Use the sizes of another model"))
        self._keep.setObjectName("whatIfKeep")
        self._reset.setObjectName("whatIfReset")
        bar = hbox(
            self._preset_choice,
            self._keep,
            STRETCH,
            self._reset,
            margins=(16, 8, 16, 4),
            spacing=12,
        )
        content = QWidget()
        vbox(
            bar,
            (ResponsiveSplitter(self._controls, self._results, _SHARES, _NARROW), 1),
            parent=content,
            spacing=0,
        )
        return content
