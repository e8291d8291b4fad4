"""Says above everything, for as long as the model is open, that some of its weights are random."""

from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPushButton

from bertviewer.core.text.numerals import count_text
from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.layouts import in_row, named
from bertviewer.ui.look.appearance import WARNING
from bertviewer.ui.workspace import Workspace

TINT, LINE = 26, 110  # of 255: how much of the warning's colour lies on the window's


class RandomBanner(QFrame):
    """A line with a button that shows which; out of sight where the checkpoint has everything."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("randomBanner")
        self._text = named(ElidedLabel(), "randomBannerText")
        self._text.setForegroundRole(WARNING)
        self._button = named(QPushButton(self.tr("Show which…")), "randomBannerButton")
        self._button.clicked.connect(self._show_report)
        in_row((self._text, 1), self._button, on=self, margins=(12, 5, 8, 5))
        self.hide()
        workspace.architecture_changed.connect(self._update)
        workspace.runs.run_changed.connect(self._update)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tint the window's colour with the warning's; Qt calls it."""
        super().paintEvent(event)
        color = QColor(self.palette().color(WARNING))
        painter = QPainter(self)
        color.setAlpha(TINT)
        painter.fillRect(self.rect(), color)
        color.setAlpha(LINE)
        painter.setPen(color)
        painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())
        painter.end()

    def _update(self) -> None:
        architecture = self._workspace.architecture
        random = () if architecture is None else architecture.source.random_tensors
        if architecture is not None and random:
            # Nothing is drawn before it is needed.
            before = (
                self.tr(
                    "1 of {1} tensors is not in the checkpoint: it is drawn at random when the "
                    "model is used."
                ),
                self.tr(
                    "{0} of {1} tensors are not in the checkpoint: they are drawn at random when "
                    "the model is used."
                ),
            )
            after = (
                self.tr(
                    "1 of {1} tensors is not in the checkpoint and was drawn at random: no figure "
                    "with it comes from training."
                ),
                self.tr(
                    "{0} of {1} tensors are not in the checkpoint and were drawn at random: no "
                    "figure with them comes from training."
                ),
            )
            words = before if self._workspace.runs.run is None else after
            text = count_text(len(random), *words, architecture.tensor_count)
            self._text.setText(text)
            self._text.setToolTip(text)
        self._button.setVisible(self._workspace.keys is not None)
        self.setVisible(bool(random))

    def _show_report(self) -> None:
        if self._workspace.keys is not None:
            from bertviewer.ui.checkpoint.dialog import show_key_report

            show_key_report(self._workspace.keys, self._workspace, self.window())
