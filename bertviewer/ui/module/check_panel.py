"""Below a formula: the button that checks it against the last run, and what came out."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QFrame,
    QPushButton,
    QTableView,
    QToolButton,
    QWidget,
)

from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.report.check_summary import check_verdict, other_attention_note
from bertviewer.ui.module.check_table import CheckTableModel
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.links import show_step
from bertviewer.ui.views.rich_label import Prose
from bertviewer.ui.widgets.labels import heading_label, muted_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.tables import connect_links, make_sortable, make_table

MOST_ROWS = 14  # rows in sight; more of them scroll


class CheckPanel(QWidget):
    """Checks one module, and shows what is known of it for as long as the run lasts."""

    def __init__(self, workspace: Workspace, row: TreeRow) -> None:
        super().__init__()
        self._workspace = workspace
        self._row = row
        self._path = row.node.path
        self._button = named(QPushButton(self.tr("Verify")), "checkButton")
        self._button.clicked.connect(self._on_click)
        self._hint = muted_label("")
        self._verdict = named(Prose("", workspace), "checkVerdict")
        self._steps, self._table = _make_steps("checkTable", self.tr("Verification steps"))
        connect_links(self._table, workspace.selection.select)
        self._values = QPushButton(self.tr("Given, recomputed, difference"))
        self._values.setObjectName("checkValuesButton")
        self._values.setToolTip(
            self.tr("All values of the selected step, or of the one with the largest difference")
        )
        self._values.clicked.connect(self._show_values)
        self._heads, self._head_table = _make_steps("checkHeads", self.tr("Individual heads"))
        self._fold = named(QToolButton(), "checkHeadsButton")
        self._fold.setCheckable(True)
        self._fold.setAutoRaise(True)
        self._fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._fold.toggled.connect(self._show_heads)

        line = hbox(self._button, self._values, (self._hint, 1), spacing=12)
        vbox(
            heading_label(self.tr("Verification")),
            line,
            self._verdict,
            self._table,
            self._fold,
            self._head_table,
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
        for widget in (self._verdict, self._table, self._fold):
            widget.setVisible(check is not None)
        if check is None:
            self._head_table.hide()
            return
        heads = tuple(step for step in check.steps if step.step.startswith("head "))
        others = tuple(step for step in check.steps if step not in heads)
        self._tell(check)
        _fill(self._steps, self._table, others, self._path)
        _fill(self._heads, self._head_table, heads, self._path)
        self._fold.setVisible(bool(heads))
        crosses = sum(not step.ok for step in heads)
        text = (
            self.tr("{0} individual heads, all equal")
            if not crosses
            else self.tr("{0} individual heads, {1} different")
        )
        self._fold.setText(text.format(len(heads), crosses))
        # What went wrong is not left folded away.
        self._fold.setChecked(bool(crosses))
        self._show_heads(self._fold.isChecked())

    def _tell(self, check: Check) -> None:
        lines = [check_verdict(check)] if check.steps else []
        lines += filter(None, [other_attention_note(check)])
        lines += [
            self.tr("Not verified: {0}: {1}.").format(
                left.path or self.tr("the model itself"), left.reason
            )
            for left in check.unchecked
        ]
        self._verdict.show_text("\n".join(lines))
        is_bad = bool(check.failed) or not check.steps
        role = WARNING if is_bad else QPalette.ColorRole.WindowText
        self._verdict.setForegroundRole(role)
        self._table.setVisible(bool(check.steps))

    def _on_click(self) -> None:
        self._workspace.check(self._path)

    def _show_values(self) -> None:
        """Show the numbers of the step that is chosen in a table, or else of the worst one."""
        check = self._workspace.runs.checks.get(self._path)
        if check is None:
            return
        pairs = (self._steps, self._table), (self._heads, self._head_table)
        rows = [
            model.step(table.currentIndex().row())
            for model, table in pairs
            if table.currentIndex().isValid()
        ]
        worst = max(check.steps, key=lambda step: (not step.ok, step.max_abs_error or 0.0))
        show_step(self._workspace, next(filter(None, rows), worst))

    def _update_button(self) -> None:
        run = self._workspace.runs.run
        if run is None:
            reason = self.tr("Run a sentence first to have an output to verify.")
        elif run.activation(self._path) is None:
            reason = self.tr(
                "The last run did not call this module, so there is no output to verify."
            )
        else:
            reason = ""
        # Not off while it works: the keys would go elsewhere.
        self._button.setEnabled(not reason)
        text = reason or self.tr(
            "Recomputes the output in float64 from the inputs recorded in the last run, by "
            "plain sums and products, and compares it with the recorded output. The "
            "tolerance is 16 times the expected rounding error."
        )
        if self._row.is_folded and not reason:
            text += " " + self.tr("This is layer {1} of the {0} layers.").format(
                len(self._row.members), self._row.node.name
            )
        self._hint.setText(text)

    def _show_heads(self, shown: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow
        self._fold.setArrowType(arrow)
        self._head_table.setVisible(shown and not self._fold.isHidden())


def _make_steps(name: str, accessible_name: str) -> tuple[CheckTableModel, QTableView]:
    model = CheckTableModel()
    table = make_table(model, name, accessible_name)
    model.setParent(table)
    make_sortable(table)
    table.setFrameShape(QFrame.Shape.StyledPanel)
    return model, table


def _fill(model: CheckTableModel, table: QTableView, steps: Sequence[CheckStep], path: str) -> None:
    """Show the steps, in a table as high as its rows up to a limit."""
    model.set_steps(steps, path)
    rows = min(len(steps), MOST_ROWS)
    height = rows * table.verticalHeader().defaultSectionSize()
    frame = 2 * table.frameWidth()
    table.setFixedHeight(height + table.horizontalHeader().sizeHint().height() + frame)
