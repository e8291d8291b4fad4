"""Says at all times what the weights are, and makes random ones hard to miss."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.core.text.numerals import count_text
from bertviewer.ui.look.appearance import WARNING
from bertviewer.ui.tips import plain_tip
from bertviewer.ui.workspace import Workspace


class WeightsLabel(QLabel):
    """Stands in the status bar; the tooltip lists tensors that are random among trained ones."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setObjectName("statusWeights")
        self.setTextFormat(Qt.TextFormat.PlainText)
        workspace.architecture_changed.connect(self._update)
        workspace.runs.run_changed.connect(self._update)
        workspace.formulas_changed.connect(self._update)

    def _update(self) -> None:
        if self._workspace.architecture is None:
            return
        source = self._workspace.architecture.source
        random = source.random_tensors
        text = {
            "none": self.tr("No weights"),
            "pretrained": self.tr("Pretrained weights"),
            "random": self.tr("RANDOM weights, seed 0"),
        }[source.weights]
        if random:
            text = count_text(
                len(random),
                self.tr("Pretrained weights, but 1 tensor RANDOM"),
                self.tr("Pretrained weights, but {0} tensors RANDOM"),
            )
        if source.offloaded:
            text = self.tr("{0}, read layer by layer").format(text)
        self.setText(text)
        self.setToolTip(plain_tip("\n".join(random[:30])))
        is_random = bool(random) or source.weights == "random"
        role = WARNING if is_random else QPalette.ColorRole.WindowText
        self.setForegroundRole(role)
