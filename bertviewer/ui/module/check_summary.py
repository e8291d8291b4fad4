"""Whether the selected module's output was computed again, and what came out, in a line."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID, SMALL
from bertviewer.core.schema.check import Check
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.plots.fonts import sized
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import RIGHT, WARNING
from bertviewer.ui.widgets.labels import Badge, ElidedLabel
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox


class CheckSummary(QWidget):
    """The verdict as a pill with its largest difference, beside the button that brings it.

    It is there where the last run called the module; ``stale`` says what that run was of. The
    button stays as it is while it works and afterwards, so that the keys go nowhere else.
    """

    def __init__(self, workspace: Workspace, stale: QWidget) -> None:
        super().__init__()
        self._workspace = workspace
        self._pill = named(Badge(), "checkPill")
        self._text = named(ElidedLabel(), "checkDifference")
        self._text.setFont(sized(self._text.font(), SMALL))
        self._text.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._button = QPushButton(self.tr("Verify"))
        self._button.setObjectName("quickCheckButton")
        self._button.setToolTip(
            self.tr(
                "Recompute the output in float64 from the inputs recorded in the last run and "
                "compare"
            )
        )
        self._button.clicked.connect(self._check)
        line = hbox(self._pill, STRETCH, self._button)
        vbox(
            line,
            self._text,
            stale,
            parent=self,
            margins=(4 * GRID, GRID, 4 * GRID, GRID),
            spacing=0,
        )
        for signal in (
            workspace.selection.row_changed,
            workspace.runs.run_changed,
            workspace.runs.check_changed,
        ):
            signal.connect(self._update)
        self._update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line that parts it from what scrolls above it; Qt calls it."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        line = QRectF(0, 0, self.width(), 1)
        painter.fillRect(line, self.palette().color(QPalette.ColorRole.Mid))
        painter.end()

    def _check(self) -> None:
        row = self._workspace.selection.row
        if row is not None:
            self._workspace.check(row.node.path)

    def _update(self) -> None:
        row, run = self._workspace.selection.row, self._workspace.runs.run
        was_called = row is not None and run is not None and run.activation(row.node.path)
        self.setVisible(bool(was_called))
        check = None if row is None else self._workspace.runs.checks.get(row.node.path)
        self._pill.setVisible(check is not None)
        self._text.setVisible(check is not None)
        if check is not None:
            self._show(check)

    def _show(self, check: Check) -> None:
        count, bad = len(check.steps), len(check.failed)
        text = count_text(count, self.tr("1 step verified"), self.tr("{0} steps verified"))
        if bad:
            text = self.tr("{0} of {1} steps verified").format(f"{count - bad:,}", f"{count:,}")
        is_right = bool(count) and not bad
        self._pill.show_text(text, RIGHT if is_right else WARNING)
        known = [step for step in check.steps if step.max_abs_error is not None]
        if not known:
            self._text.setText(self.tr("Nothing could be compared."))
            return
        worst = max(known, key=lambda step: step.max_abs_error or 0.0)
        found = number_text(worst.max_abs_error or 0.0, 2), number_text(worst.tolerance, 2)
        self._text.setText(self.tr("max difference {0}, tolerance {1}").format(*found))
