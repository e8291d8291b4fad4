"""Keeping a run as A, and how the next ones are compared with it."""

from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QToolButton, QWidget

from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.workspace import Workspace

CHOICES = (
    ("overlay", QT_TRANSLATE_NOOP("CompareBar", "A and B")),
    ("difference", QT_TRANSLATE_NOOP("CompareBar", "B − A")),
)


class CompareBar(QWidget):
    """A button as long as there is no run A; then its sentence, and how to compare."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._keep = QPushButton(self.tr("Keep as A"))
        self._keep.setObjectName("keepRun")
        self._keep.setToolTip(self.tr("Keep this run, to compare the next ones (B) with it"))
        self._name = ElidedLabel()
        self._name.setObjectName("keptRun")
        self._drop = QToolButton()
        self._drop.setObjectName("dropRun")
        self._drop.setText("✕")
        self._drop.setAutoRaise(True)
        self._drop.setAccessibleName(self.tr("Compare no longer"))
        self._drop.setToolTip(self.tr("Compare no longer"))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._keep)
        layout.addWidget(self._name, 1)
        self._choices = QButtonGroup(self)
        self._buttons = []
        for name, title in CHOICES:
            button = QToolButton()
            button.setObjectName(name)
            button.setText(self.tr(title))
            button.setCheckable(True)
            self._choices.addButton(button)
            self._buttons.append(button)
            layout.addWidget(button)
            button.clicked.connect(lambda _=False, name=name: workspace.compare(name))
        layout.addWidget(self._drop)
        self._keep.clicked.connect(workspace.keep_run)
        self._drop.clicked.connect(workspace.drop_run)
        workspace.run_changed.connect(self._update)
        workspace.comparison_changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        kept = self._workspace.kept
        self._keep.setVisible(self._workspace.kept is not self._workspace.watched or kept is None)
        self._keep.setEnabled(self._workspace.run is not None)
        for widget in (self._name, self._drop, *self._buttons):
            widget.setVisible(kept is not None)
        if kept is not None:
            text = " / ".join(t for t in (kept.run.sentence.text, kept.run.sentence.pair) if t)
            self._name.setText(f"A: {text}")
        for button in self._buttons:
            button.setChecked(button.objectName() == self._workspace.comparison)
