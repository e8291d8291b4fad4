"""Status bar: progress, size of the model, and its weights."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from bertviewer.charts.labels import tensors_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util import libraries
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.settings import write_status
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import named


class WeightsLabel(QLabel):
    """The kind of weights; the tooltip has notices, and the tensors that are random."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
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
            "random": self.tr("Random weights (seed 0)"),
        }[source.weights]
        if source.quantization is not None and source.weights == "pretrained":
            text = self.tr("Quantized weights: {0}").format(source.quantization.title)
        elif random:
            text = count_text(
                len(random),
                self.tr("Pretrained, 1 tensor random"),
                self.tr("Pretrained, {0} tensors random"),
            )
        if source.offloaded:
            text = self.tr("{0}, loaded layer by layer").format(text)
        self.setText(text)
        self.setToolTip(plain_tooltip("\n".join((*source.notices, *random[:30]))))
        is_qualified = bool(random or source.notices) or source.weights == "random"
        role = WARNING if is_qualified else QPalette.ColorRole.WindowText
        self.setForegroundRole(role)


MESSAGE_TIME = 10_000  # milliseconds that a result is shown


class Status(QStatusBar):
    """Shows progress and results of the workspace's jobs, and the size of the model."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setSizeGripEnabled(False)
        self._totals = ElidedLabel()
        self._totals.setContentsMargins(0, 0, 16, 0)
        self._write_error = named(QLabel(self.tr("Settings cannot be saved")), "settingsRefused")
        self._write_error.setForegroundRole(WARNING)
        self._write_error.setContentsMargins(0, 0, 16, 0)
        self._write_error.hide()
        self.addPermanentWidget(self._write_error)
        self.addPermanentWidget(self._totals)
        weights = WeightsLabel(workspace)
        weights.setContentsMargins(0, 0, 12, 0)
        self.addPermanentWidget(weights)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.jobs.activity_changed.connect(self._on_activity)
        workspace.jobs.progressed.connect(self._on_progress)
        workspace.exported.connect(self._on_exported)
        workspace.saved.connect(self._on_saved)
        workspace.jobs.cancelled.connect(self._on_cancelled)
        write_status.changed.connect(self._on_write_status)

    def _on_architecture(self, architecture: Architecture) -> None:
        parameters = architecture.root.parameters
        modules = len(architecture.modules)
        self._totals.setText(
            " · ".join(
                (
                    count_text(parameters, self.tr("1 parameter"), self.tr("{0} parameters")),
                    tensors_text(architecture.parameters),
                    count_text(modules, self.tr("1 module"), self.tr("{0} modules")),
                )
            )
        )

    def _on_activity(self) -> None:
        activity = self._workspace.jobs.activity
        if not activity:
            self.clearMessage()
        elif activity == "run" and not libraries.are_loaded():
            self.showMessage(self.tr("Loading torch and transformers… Your run will follow."))

    def _on_progress(self, _done: int, _total: int, label: str) -> None:
        if label == libraries.LABEL and self._workspace.jobs.activity == "run":
            return  # _on_activity has shown more
        # Deriving formulas is no activity; downloads and a first model have their own bars.
        activity = self._workspace.jobs.activity
        is_first = activity == "open" and self._workspace.architecture is None
        if activity not in ("", "download") and not is_first:
            self.showMessage(f"{label}…")

    def _on_exported(self, path: str) -> None:
        self.showMessage(self.tr("Report saved to {0}").format(path), MESSAGE_TIME)

    def _on_saved(self, path: str) -> None:
        self.showMessage(self.tr("Saved to {0}").format(path), MESSAGE_TIME)

    def _on_write_status(self, path: str) -> None:
        text = self.tr("Cannot write {0}. Your settings will not be remembered.")
        self._write_error.setToolTip(plain_tooltip(text.format(path)))
        self._write_error.setVisible(bool(path))

    def _on_cancelled(self, activity: str) -> None:
        messages = {
            "corpus": self.tr(
                "Corpus run stopped. To resume, run again with the same files and folder."
            ),
            "export": self.tr("Export cancelled. No report was written."),
            "save": self.tr("Saving cancelled. No file was written."),
        }
        if activity in messages:
            self.showMessage(messages[activity], MESSAGE_TIME)
