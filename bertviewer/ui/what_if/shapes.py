"""The shapes that a module's tensors get from the changed numbers."""

from PySide6.QtWidgets import QWidget

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.what_if.scenario import Outcome
from bertviewer.ui.widgets.labels import heading_label
from bertviewer.ui.widgets.layouts import vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_table

_ROWS_IN_SIGHT = 10


class TensorShapes(QWidget):
    """A table of names and shapes under its heading; out of sight where there are no tensors."""

    def __init__(self) -> None:
        super().__init__()
        columns = self.tr("Name"), self.tr("In symbols"), self.tr("What if")
        self._model = TableModel([Column(title) for title in columns], self)
        self._table = make_table(
            self._model, "whatIfTensors", self.tr("Shapes of the module’s tensors")
        )
        vbox(heading_label(self.tr("Tensors")), self._table, parent=self, spacing=4)

    def show_outcome(self, outcome: Outcome, path: str) -> None:
        """List the tensors that the module at ``path`` has with these numbers."""
        prefix = f"{path}." if path else ""
        tensors = [
            tensor
            for tensor in outcome.sheet.architecture.tensors_below(path)
            if outcome.exists(tensor.owner)
        ]
        self._model.set_rows(
            [
                Row(
                    (
                        tensor.name.removeprefix(prefix),
                        readable(shape_text(tensor.symbolic_shape)),
                        shape_text(outcome.shape(tensor)),
                    ),
                    hint=tensor.name,
                )
                for tensor in tensors
            ]
        )
        self.setVisible(bool(tensors))
        line = self._table.verticalHeader().defaultSectionSize()
        # One more for the heading, and one for a scroll bar.
        self._table.setFixedHeight(line * (min(len(tensors), _ROWS_IN_SIGHT) + 2))
