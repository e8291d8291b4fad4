"""Says why all layers of a run have the same figures, where random weights leave them no choice."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import NORMAL
from bertviewer.core.analysis.layers import normed_layers
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.plots.fonts import sized


class EqualNote(QLabel):
    """A line above the plots; out of sight where figures tell something of the layers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("equalNote")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.setFont(sized(self.font(), NORMAL))
        self.hide()

    def show_run(self, run: ActivationRun, architecture: Architecture) -> None:
        """Take a look at a run."""
        is_random = run.source.weights == "random"
        found = normed_layers(architecture, run) if is_random else None
        self.setVisible(found is not None)
        if found is None:
            return
        text = self.tr(
            "Every layer ends in a {0}, which is initialised to γ = 1 and β = 0. Each "
            "token therefore has std 1 and norm √{1} = {2}, whatever the other weights are."
        )
        self.setText(text.format(found.class_name, f"{found.features:,}", f"{found.norm:.4g}"))
