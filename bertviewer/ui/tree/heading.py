"""The line above the module tree: what it is, and how much of it there is."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.theme import SMALL
from bertviewer.core.text.numerals import count_text
from bertviewer.plots.fonts import sized
from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.labels import muted
from bertviewer.ui.layouts import in_row, named
from bertviewer.ui.workspace import Workspace


class TreeHeading(QWidget):
    """The numbers of tensors and modules, for the line above the tree."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._counts = named(ElidedLabel(), "treeCounts")
        muted(self._counts)
        self._counts.setFont(sized(self._counts.font(), SMALL))
        in_row(self._counts, on=self)
        workspace.architecture_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        architecture = self._workspace.architecture
        if architecture is None:
            self._counts.clear()
            return
        tensors = self.tr("1 tensor"), self.tr("{0} tensors")
        modules = self.tr("1 module"), self.tr("{0} modules")
        counts = count_text(architecture.tensor_count, *tensors)
        self._counts.setText(f"{counts} · {count_text(len(architecture.modules), *modules)}")
