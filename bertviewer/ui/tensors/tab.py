"""The tensors in the selected node."""

from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from bertviewer.ui.facts import plain_label
from bertviewer.ui.tables import make_table
from bertviewer.ui.tensor_table import TensorTableModel
from bertviewer.ui.workspace import Workspace


class TensorsTab(QWidget):
    """A table of the tensors in and below the node, in the order of ``named_parameters()``."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._model = TensorTableModel(self)
        self._summary: QLabel = plain_label("")
        self._summary.setContentsMargins(16, 10, 16, 4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._summary)
        table = make_table(self._model, "tensorTable", self.tr("Tensors of the module"))
        layout.addWidget(table, 1)

    def refresh(self) -> None:
        """List the tensors of the selected row."""
        row, architecture = self._workspace.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        path = row.node.path
        tensors = architecture.tensors_below(path)
        random = architecture.source.random_tensors
        self._model.set_tensors(tensors, f"{path}." if path else "", random)
        if not tensors:
            text = self.tr("{0} has no tensors: nothing in it is learnt.").format(row.class_label)
        else:
            text = self.tr("{0} tensors, {1} elements").format(
                len(tensors), f"{row.node.parameters:,}"
            )
            if row.is_folded:
                text += self.tr(" in each of the {0} layers; those of layer {1} are shown").format(
                    len(row.members), row.node.name
                )
        self._summary.setText(text)
