"""Check panel below a formula: verifies the module against the last run, and lists the steps."""

from collections.abc import Sequence

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.numbers import deviation_text, with_minus
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.links import RichLabel, show_step
from bertviewer.ui.widgets.buttons import fold_button
from bertviewer.ui.widgets.labels import heading_label, muted_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.tables import (
    Column,
    Row,
    TableModel,
    connect_links,
    make_sortable,
    make_table,
)

MAX_ROWS = 14
"""Visible rows; longer tables scroll."""


class CheckPanel(QWidget):
    """Verifies one module, and shows the result as long as the run is the last one."""

    def __init__(self, workspace: Workspace, row: TreeRow) -> None:
        super().__init__()
        self._workspace = workspace
        self._row, self._path = row, row.node.path
        self._button = named(QPushButton(self.tr("Verify")), "checkButton")
        self._button.clicked.connect(lambda: workspace.check(self._path))
        self._hint = muted_label("")
        self._verdict = named(RichLabel("", workspace), "checkVerdict")
        self._steps = _StepTable("checkTable", self.tr("Verification steps"))
        connect_links(self._steps.view, workspace.selection.select)
        tip = self.tr("All values of the selected step, or of the one with the largest difference")
        self._values = QPushButton(self.tr("Given, recomputed, difference"))
        named(self._values, "checkValuesButton", tooltip=tip)
        self._values.clicked.connect(self._show_values)
        self._heads = _StepTable("checkHeads", self.tr("Individual heads"))
        self._fold = fold_button("checkHeadsButton", "", self._heads.view)
        vbox(
            heading_label(self.tr("Verification")),
            hbox(self._button, self._values, (self._hint, 1), spacing=12),
            self._verdict,
            self._steps.view,
            self._fold,
            self._heads.view,
            parent=self,
            margins=(0, 6, 0, 0),
            spacing=6,
        )
        workspace.runs.run_changed.connect(self._update)
        workspace.runs.check_changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        check = self._workspace.runs.checks.get(self._path)
        self._values.setVisible(check is not None and bool(check.steps))
        self._update_button()
        for widget in (self._verdict, self._steps.view, self._fold):
            widget.setVisible(check is not None)
        if check is None:
            self._heads.view.hide()
            return
        heads = tuple(step for step in check.steps if step.step.startswith("head "))
        others = tuple(step for step in check.steps if step not in heads)
        self._show_verdict(check)
        self._steps.set_steps(others, self._path)
        self._heads.set_steps(heads, self._path)
        self._fold.setVisible(bool(heads))
        failed = sum(not step.ok for step in heads)
        text = self.tr("{0} individual heads, all equal")
        if failed:
            text = self.tr("{0} individual heads, {1} different")
        self._fold.setText(text.format(len(heads), failed))
        self._fold.setChecked(bool(failed))
        self._heads.view.setVisible(bool(failed))

    def _show_verdict(self, check: Check) -> None:
        lines = [check.verdict] if check.steps else []
        lines += filter(None, [check.attention_note])
        lines += [
            self.tr("Not verified: {0}: {1}.").format(
                left.path or self.tr("the model itself"), left.reason
            )
            for left in check.unchecked
        ]
        self._verdict.show_text("\n".join(lines))
        is_bad = bool(check.failed) or not check.steps
        self._verdict.setForegroundRole(WARNING if is_bad else QPalette.ColorRole.WindowText)
        self._steps.view.setVisible(bool(check.steps))

    def _show_values(self) -> None:
        """Show the values of the selected step, or of the one with the largest difference."""
        check = self._workspace.runs.checks.get(self._path)
        if check is None:
            return
        worst = max(check.steps, key=lambda step: (not step.ok, step.max_abs_error or 0.0))
        show_step(self._workspace, self._steps.selected or self._heads.selected or worst)

    def _update_button(self) -> None:
        run = self._workspace.runs.run
        reason = ""
        if run is None:
            reason = self.tr("Run a sentence first to have an output to verify.")
        elif run.activation(self._path) is None:
            reason = self.tr(
                "The last run did not call this module, so there is no output to verify."
            )
        # It stays enabled while it works; otherwise it would lose the focus.
        self._button.setEnabled(not reason)
        text = reason or self.tr(
            "Recomputes the output in float64 from the inputs recorded in the last run, by "
            "plain sums and products, and compares it with the recorded output. The "
            "tolerance is 16 times the expected rounding error."
        )
        if self._row.is_folded and not reason:
            folded = self.tr("This is layer {1} of the {0} layers.")
            text += " " + folded.format(len(self._row.members), self._row.node.name)
        self._hint.setText(text)


class _StepTable:
    """Table of steps, as high as its rows up to a limit.

    Failures have a sign, a word and a colour.
    """

    def __init__(self, name: str, accessible_name: str) -> None:
        columns = (
            Column(translate("check", "Step")),
            Column(translate("check", "Max |Δ|"), is_number=True),
            Column(translate("check", "Tolerance"), is_number=True),
            Column(translate("check", "Result")),
        )
        self._model = TableModel(columns)
        self._steps: tuple[CheckStep, ...] = ()
        self.view = make_table(self._model, name, accessible_name)
        self._model.setParent(self.view)
        make_sortable(self.view)
        self.view.setFrameShape(QFrame.Shape.StyledPanel)

    @property
    def selected(self) -> CheckStep | None:
        """The step of the current row."""
        row = self.view.currentIndex().row()
        return None if row < 0 else self._steps[self._model.number(row)]

    def set_steps(self, steps: Sequence[CheckStep], path: str) -> None:
        """Show other steps, with their paths relative to ``path``."""
        self._steps = tuple(steps)
        equal, different = translate("check", "✓ equal"), translate("check", "✗ different")
        rows = [
            Row(
                (
                    _step_name(step, path),
                    with_minus(deviation_text(step.max_abs_error)),
                    with_minus(deviation_text(step.tolerance)),
                    equal if step.ok else different,
                ),
                hint=step.path,
                is_bold=not step.ok,
                path=None if step.path == path else step.path,
                is_link=step.path != path,
                color=None if step.ok else WARNING,
            )
            for step in steps
        ]
        self._model.set_rows(rows)
        height = min(len(steps), MAX_ROWS) * self.view.verticalHeader().defaultSectionSize()
        header = self.view.horizontalHeader().sizeHint().height()
        self.view.setFixedHeight(height + header + 2 * self.view.frameWidth())


def _step_name(step: CheckStep, path: str) -> str:
    if step.path == path:
        return step.step
    relative = step.path.removeprefix(f"{path}.") if path else step.path
    return f"{relative}: {step.step}"
