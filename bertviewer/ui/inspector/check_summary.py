"""Whether a module's output was computed again, and what came out, in a line."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from bertviewer.core.activations.check_step import Check
from bertviewer.core.text.numerals import number_text
from bertviewer.ui.labels import plain_label
from bertviewer.ui.look.appearance import RIGHT, WARNING
from bertviewer.ui.pill import Pill
from bertviewer.ui.workspace import Workspace


class CheckSummary(QWidget):
    """The verdict as a pill with its largest difference, or the button that brings it."""

    def __init__(self, workspace: Workspace, path: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._path = path
        self._pill = Pill()
        self._pill.setObjectName("checkPill")
        self._text = plain_label("")
        self._text.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._button = QPushButton(self.tr("Check this step"))
        self._button.setObjectName("quickCheckButton")
        self._button.setToolTip(
            self.tr("Compute it again in float64 from what it took in the last run, and compare")
        )
        self._button.clicked.connect(lambda: workspace.check(path))
        line = QHBoxLayout()
        line.addWidget(self._pill, 0, Qt.AlignmentFlag.AlignLeft)
        line.addWidget(self._button)
        line.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.addLayout(line)
        layout.addWidget(self._text)
        workspace.runs.check_changed.connect(self._update)
        workspace.scheduler.activity_changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        check = self._workspace.runs.checks.get(self._path)
        self._button.setVisible(check is None)
        # Not disabled while it works: the keys would go elsewhere.
        self._pill.setVisible(check is not None)
        self._text.setVisible(check is not None)
        if check is not None:
            self._show(check)

    def _show(self, check: Check) -> None:
        count, bad = len(check.steps), len(check.crosses)
        text = self.tr("{0} of {1} steps").format(f"{count - bad:,}", f"{count:,}")
        is_right = bool(count) and not bad
        self._pill.show_word(text, RIGHT if is_right else WARNING)
        known = [step for step in check.steps if step.max_abs_error is not None]
        if not known:
            self._text.setText(self.tr("Nothing could be compared."))
            return
        worst = max(known, key=lambda step: step.max_abs_error or 0.0)
        self._text.setText(
            self.tr(
                "Computed again in float64 from its own inputs; largest difference {0}, rounding "
                "allows {1}."
            ).format(number_text(worst.max_abs_error or 0.0, 2), number_text(worst.tolerance, 2))
        )
