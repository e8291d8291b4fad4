"""A module's tensors as a table."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.ui.table_copies import PATH_ROLE
from bertviewer.ui.tables import Column, Index, Row, TableModel


class TensorTableModel(TableModel):
    """One row a tensor; names are given relative to the module that is shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._tensors: tuple[TensorInfo, ...] = ()
        self._random: frozenset[str] = frozenset()
        self._columns = (
            Column(self.tr("Name")),
            Column(self.tr("Shape")),
            Column(self.tr("In symbols")),
            Column(self.tr("Elements"), is_number=True),
            Column(self.tr("Dtype")),
            Column(self.tr("Trainable")),
            Column(self.tr("Notes")),
        )

    def set_tensors(
        self, tensors: Sequence[TensorInfo], prefix: str, random: Sequence[str] = ()
    ) -> None:
        """Show other tensors; ``prefix`` is cut off their names, ``random`` ones are marked."""
        self._random = frozenset(random)
        self._tensors = tuple(tensors)
        self.set_rows(
            [
                Row(self._cells(tensor, prefix, tensor.name in self._random), hint=tensor.name)
                for tensor in tensors
            ]
        )

    def tensor(self, row: int) -> TensorInfo | None:
        """Return the tensor of a row, ``None`` if there is no such row."""
        return self._tensors[self.given(row)] if 0 <= row < len(self._tensors) else None

    def largest(self) -> int | None:
        """Return the row of the first of the largest tensors, of those with values of their own.

        ``None`` if there is none. What is random is passed by: all weights would be loaded for it.
        """
        own = [row for row, each in enumerate(self._tensors) if each.name not in self._random]
        rows = own or range(len(self._tensors))
        number = max(rows, key=lambda row: (self._tensors[row].numel, -row), default=None)
        return None if number is None else self.place(self._tensors[number].name)

    def place(self, name: str) -> int | None:
        """Return the row of the tensor of that name, ``None`` if it is not shown."""
        rows = (row for row in range(len(self._tensors)) if self._name(row) == name)
        return next(rows, None)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if role == PATH_ROLE and index.isValid():
            return self._name(index.row())
        return super().data(index, role)

    def _name(self, row: int) -> str:
        return self._tensors[self.given(row)].name

    def _cells(self, tensor: TensorInfo, prefix: str, is_random: bool) -> tuple[str, ...]:
        return (
            tensor.name.removeprefix(prefix),
            shape_text(tensor.shape),
            readable(shape_text(tensor.symbolic_shape)),
            f"{tensor.numel:,}",
            tensor.dtype,
            self.tr("yes") if tensor.trainable else self.tr("no"),
            self._notes(tensor, is_random),
        )

    def _notes(self, tensor: TensorInfo, is_random: bool) -> str:
        if tensor.tied_to is not None:
            return self.tr("tied to {0}, counted there").format(tensor.tied_to)
        return self.tr("not in the checkpoint: random") if is_random else ""
