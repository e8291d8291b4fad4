"""Whether the shown run is stale, and how that is marked."""

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.theme import NORMAL
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.plots.fonts import sized
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.run_input import RunInput
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import ElidedLabel

STRIPE_WIDTH = 3  # pixels

_CLEARED = QT_TRANSLATE_NOOP("staleness", "Results are for a cleared sentence")
_SENTENCE = QT_TRANSLATE_NOOP("staleness", "Results are for an earlier sentence")
_WEIGHTS = QT_TRANSLATE_NOOP("staleness", "Results are for random weights, now deselected")
_DEVICE = QT_TRANSLATE_NOOP("staleness", "Computed on {0}, {1} is now selected")


def why_stale(run: ActivationRun, run_input: RunInput, device: str) -> str:
    """Return why a run is stale, "" if it is not."""
    typed = run_input.sentence
    if not typed.text.strip():
        return translate("staleness", _CLEARED)
    if (typed.text, typed.pair) != (run.sentence.text, run.sentence.pair):
        return translate("staleness", _SENTENCE)
    if run.source.weights == "random" and not run_input.random_weights:
        return translate("staleness", _WEIGHTS)
    if device != run.device:
        return translate("staleness", _DEVICE).format(run.device, device)
    return ""


class StaleLabel(ElidedLabel):
    """Label that says why the current run is stale; hidden while it is not.

    ``marked`` is a widget that calls ``mark()`` in its ``paintEvent``; it is repainted when the
    state changes.
    """

    def __init__(self, name: str, workspace: Workspace, marked: QWidget | None = None) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setFont(sized(self.font(), NORMAL))
        self._workspace, self._marked = workspace, marked
        for signal in (
            workspace.run_input.changed,
            workspace.device_chosen,
            workspace.devices_changed,
            workspace.runs.run_changed,
        ):
            signal.connect(self._update)
        self._update()

    def mark(self, painter: QPainter, margin: int = 0) -> None:
        """Paint a stripe along the left edge of the marked widget if the run is stale."""
        if self.text() and self._marked is not None:
            paint_stripe(painter, self._marked, margin)

    def _update(self) -> None:
        workspace, run = self._workspace, self._workspace.runs.run
        text = "" if run is None else why_stale(run, workspace.run_input, workspace.device)
        self.setText(text)
        self.setToolTip(self.text())
        if self.parent() is not None or not self.text():
            self.setVisible(bool(self.text()))  # one without a parent would be a window
        if self._marked is not None:
            self._marked.setAccessibleDescription(self.text())
            self._marked.update()


def paint_stripe(painter: QPainter, widget: QWidget, margin: int = 0) -> None:
    """Paint a stripe along the left edge of a widget, with a margin at its ends."""
    edge = QRect(0, margin, STRIPE_WIDTH, widget.height() - 2 * margin)
    painter.fillRect(edge, widget.palette().color(WARNING))
