"""A module's tensors as a table: parameters, what it took and gave in a run, what was checked."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QObject, Qt
from typing_extensions import override

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ModuleTensor
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import with_minus
from bertviewer.report.numbers import deviation
from bertviewer.ui.widgets.table_export import PATH_ROLE
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel

Listed = TensorInfo | ModuleTensor | CheckStep
"""What a row can be of."""


class Group(Struct, frozen=True):
    """Rows of one kind below a title."""

    title: str
    listed: tuple[Listed, ...]


class TensorTableModel(TableModel):
    """One row a tensor; names are given relative to the module that is shown.

    Where there is more than parameters, each group stands below its title, and is sorted by
    itself.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._listed: tuple[Listed | None, ...] = ()  # of a title there is none
        self._random: frozenset[str] = frozenset()
        self._quantized: frozenset[str] = frozenset()
        self._columns = (
            Column(self.tr("Name")),
            Column(self.tr("Shape")),
            Column(self.tr("In symbols")),
            Column(self.tr("Elements"), is_number=True),
            Column(self.tr("Dtype")),
            Column(self.tr("Trainable")),
            Column(self.tr("Notes")),
        )

    def set_groups(
        self, groups: Sequence[Group], prefix: str, source: SourceInfo | None = None
    ) -> None:
        """Show other tensors; ``prefix`` is cut off their names.

        Those that ``source`` calls random or quantized are marked.
        """
        self._random = frozenset(() if source is None else source.random_tensors)
        self._quantized = frozenset(() if source is None else source.quantized_tensors)
        shown = [group for group in groups if group.listed]
        listed: list[Listed | None] = []
        rows = []
        for group in shown:
            if len(groups) > 1:
                listed.append(None)
                rows.append(Row((group.title, *[""] * (len(self._columns) - 1)), is_bold=True))
            listed += group.listed
            rows += [self._row(one, prefix) for one in group.listed]
        self._listed = tuple(listed)
        self.set_rows(rows)

    def listed(self, row: int) -> Listed | None:
        """Return what a row is of, ``None`` if there is no such row, or it is a title."""
        return self._listed[self.number(row)] if 0 <= row < len(self._listed) else None

    def largest(self) -> int | None:
        """Return the row of the first of the largest parameters with values of their own.

        ``None`` if there is none. What is random is passed by: all weights would be loaded for it.
        """
        every = [one for one in self._listed if isinstance(one, TensorInfo)]
        own = [one for one in every if one.name not in self._random | self._quantized]
        tensors = own or every
        number = max(range(len(tensors)), key=lambda n: (tensors[n].numel, -n), default=None)
        return None if number is None else self.place(tensors[number])

    def place(self, listed: Listed) -> int | None:
        """Return the row of something, ``None`` if it is not shown."""
        rows = (row for row in range(len(self._listed)) if self.listed(row) == listed)
        return next(rows, None)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return no flags for a title: it is not chosen, and the keys pass it by. Qt calls it."""
        is_title = index.isValid() and self.listed(index.row()) is None
        return Qt.ItemFlag.NoItemFlags if is_title else super().flags(index)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if role == PATH_ROLE and index.isValid():
            listed = self.listed(index.row())
            return listed.name if isinstance(listed, TensorInfo) else None
        return super().data(index, role)

    @override
    def _sort(self) -> Sequence[int]:
        """Sort each group by itself, below its title."""
        column, order = self._sorted
        if column < 0:
            return super()._sort()
        found: list[int] = []
        start = 0
        for end in [*(n for n, one in enumerate(self._listed) if one is None), len(self._rows)]:
            found += self._sorted_rows(range(start, end), column, order)
            found += [end] if end < len(self._rows) else []
            start = end + 1
        return found

    def _row(self, listed: Listed, prefix: str) -> Row:
        if isinstance(listed, TensorInfo):
            return Row(self._of_parameter(listed, prefix), hint=listed.name)
        if isinstance(listed, ModuleTensor):
            return Row(self._of_run(listed))
        return Row(self._of_step(listed, prefix), hint=listed.path, is_bold=not listed.ok)

    def _of_parameter(self, tensor: TensorInfo, prefix: str) -> tuple[str, ...]:
        is_random = tensor.name in self._random
        note = self.tr("not in the checkpoint (random)") if is_random else ""
        if tensor.name in self._quantized:
            note = self.tr("quantized: stored as codes")
        if tensor.tied_to is not None:
            note = self.tr("tied to {0}, counted there").format(tensor.tied_to)
        return (
            tensor.name.removeprefix(prefix),
            shape_text(tensor.shape),
            readable(shape_text(tensor.symbolic_shape)),
            f"{tensor.numel:,}",
            tensor.dtype,
            self.tr("yes") if tensor.trainable else self.tr("no"),
            note,
        )

    def _of_run(self, seen: ModuleTensor) -> tuple[str, ...]:
        note = self.tr("{0}: values not shown").format(seen.skip_reason)
        return (
            seen.key.name,
            shape_text(seen.shape),
            readable(shape_text(seen.symbolic_shape)),
            f"{seen.numel:,}",
            seen.dtype,
            "",
            note if seen.skip_reason else "",
        )

    def _of_step(self, step: CheckStep, prefix: str) -> tuple[str, ...]:
        below = step.path.removeprefix(prefix)
        is_below = bool(below) and f"{step.path}." != prefix
        verdict = self.tr("✓ equal") if step.ok else self.tr("✗ different")
        figures = (with_minus(deviation(n)) for n in (step.max_abs_error, step.tolerance))
        note = self.tr("{0}: max |Δ| {1}, tolerance {2}").format(verdict, *figures)
        return (f"{below}: {step.step}" if is_below else step.step, *[""] * 5, note)
